"""RIDE: rewards actions that change the learned representation of the state (Raileanu and Rocktäschel 2020)."""

from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from derl.bonuses.base import looked_at
from derl.bonuses.hash_count import SimHash
from derl.bonuses.inverse_dynamics import DynamicsBonus, Learner
from derl.core.checks import require_positive
from derl.core.types import Discrete, Rollout, Spec


def impact_per_root_visit(
    successor: Float[Array, "*batch k"], state: Float[Array, "*batch k"], visits: Int[Array, "*batch"]
) -> Float[Array, "*batch"]:
    """(phi(s_{t+1}) - phi(s_t))^2 / sqrt(N_ep(s_{t+1})) summed over features, the paper's eq. ride_prediction."""
    return jnp.sum((successor - state) ** 2, axis=-1) / jnp.sqrt(visits)


class EpisodicCounts(eqx.Module):
    """How often each environment has been in each state since its episode began.

    Clearing a table at every episode's end would cost as much as the table is large. Instead each environment has a
    clock of its steps, and a state visited n times since the clock stood at `began` holds `began + n`. A number up to
    `began` is then left over from an earlier episode, and stands for no visit.
    """

    marks: Int[Array, "E states"]
    began: Int[Array, " E"]
    clock: Int[Array, " E"]

    @staticmethod
    def init(num_envs: int, table_size: int) -> "EpisodicCounts":
        """Before any step."""
        # Two separate arrays of zeros: a buffer that appears twice could not be donated.
        began, clock = jnp.zeros(num_envs, jnp.int32), jnp.zeros(num_envs, jnp.int32)
        return EpisodicCounts(jnp.zeros((num_envs, table_size), jnp.int32), began, clock)

    def count(
        self, states: Int[Array, "T E"], looked: Int[Array, "T E"], done: Bool[Array, "T E"]
    ) -> tuple["EpisodicCounts", Int[Array, "T E"]]:
        """Visit `states` in turn; how often `looked` has been visited in the same episode, up to and with each step."""
        steps, num_envs = states.shape
        env, time = jnp.arange(num_envs), jnp.arange(steps)
        # When the episode of each step began, and (last row) the episode of the step after the rollout.
        restarts = jnp.where(done, self.clock + time[:, None] + 1, self.began)
        began = jax.lax.cummax(jnp.concatenate([self.began[None], restarts]))
        this, following = began[:-1], began[-1]
        counted = (time[None, :] <= time[:, None])[..., None] & (this[None, :] == this[:, None])
        # Reading for both at once lets XLA write the marks in place (see `derl.bonuses.count.count_visits`).
        both = jnp.stack([states, looked])
        earlier = jnp.maximum(self.marks[env, both] - this, 0)
        within = jnp.sum((states[None, None] == both[:, :, None]) & counted, axis=2, dtype=jnp.int32)
        of_states, of_looked = earlier + within
        # A state's marks only ever grow, so that of several visits in a rollout the last one stays.
        marks = self.marks.at[env, states].max(this + of_states)
        return EpisodicCounts(marks, following, self.clock + steps), of_looked


Counted = Literal["state", "successor", "successor_after_reset", "none"]
"""Whose visits are counted: one of what a bonus can look at, or nothing's."""


class RIDEState(eqx.Module):
    """The dynamics model, the visits of the running episodes (if any), and (for vectors) what numbers the states."""

    learner: Learner
    counts: EpisodicCounts | None
    simhash: SimHash | None


class RIDE(DynamicsBonus[RIDEState]):
    """r^i = 1/2 (phi(s_{t+1}) - phi(s_t))^2 / sqrt(N_ep), by the model as it was before it learned from that step."""

    counts: Counted = eqx.field(default="successor", static=True)
    """Whose visits in the running episode divide the bonus (the paper: successor; the authors' code: state, or with
    observations that are normalised anew at every step in effect none)."""
    key_bits: int = eqx.field(default=16, static=True)
    """For vector observations, which are counted by their hash: the length of its code."""

    def init(self, key: PRNGKeyArray, spec: Spec, num_envs: int) -> RIDEState:
        model_key, hash_key = jax.random.split(key)
        if self.counts == "none":
            return RIDEState(self.init_learner(model_key, spec), None, None)
        if isinstance(spec.observation, Discrete):
            simhash, table_size = None, spec.observation.size + 1
        else:
            simhash = SimHash(hash_key, spec.observation, self.key_bits)
            table_size = simhash.table_size
        return RIDEState(self.init_learner(model_key, spec), EpisodicCounts.init(num_envs, table_size), simhash)

    def count_visits(
        self, counts: EpisodicCounts | None, simhash: SimHash | None, rollout: Rollout
    ) -> tuple[EpisodicCounts | None, Int[Array, "T E"]]:
        """N_ep: how often the counted state of each step was visited in its episode, this visit included."""
        if counts is None or self.counts == "none":
            return None, jnp.ones(rollout.action.shape, jnp.int32)
        states, looked = rollout.obs, looked_at(rollout, self.counts)
        if simhash is not None:
            states, looked = simhash(states), simhash(looked)
        counts, visits = counts.count(states, looked, rollout.done)
        if self.counts == "state":
            return counts, visits
        visits = visits + 1  # arriving there is a visit as well, which the table takes in with the next step
        if self.counts == "successor_after_reset":
            visits = jnp.where(rollout.done, 1, visits)  # the first state of another episode
        return counts, visits

    def step(self, state: RIDEState, rollout: Rollout) -> tuple[RIDEState, Float[Array, "T E"]]:
        counts, visits = self.count_visits(state.counts, state.simhash, rollout)
        learner, encoded = self.learn(state.learner, rollout)
        impact = impact_per_root_visit(encoded.successor, encoded.state, visits)
        return RIDEState(learner, counts, state.simhash), impact / 2 if self.halve else impact

    def idle(self, spec: Spec, num_envs: int) -> dict[str, str]:
        if self.counts == "none":
            return {"key_bits": "where nothing is counted (counts none)"}
        discrete = isinstance(spec.observation, Discrete)
        return {"key_bits": "where observations can be counted as they are"} if discrete else {}

    def check(self) -> None:
        super().check()
        require_positive(self, "key_bits")
