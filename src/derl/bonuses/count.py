"""Count: rewards states in inverse proportion to how often they were visited."""

from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from derl.bonuses.base import Bonus, Looks, looked_at, looked_at_again
from derl.core.checks import require_positive
from derl.core.errors import DerlError
from derl.core.types import Discrete, Rollout, Spec


def inverse_root_count(count: Float[Array, "*batch"], capped: bool = True) -> Float[Array, "*batch"]:
    """r^i = 1 / sqrt(N(s)), the paper's eq. count_curiosity, for N(s) >= 1; if capped, at most 1."""
    # A state is counted before it is rewarded, so N >= 1 unless visits weigh less than 1. Then a reward above 1 would
    # say that the state had been visited less than once; the authors' code caps it in the same way.
    root = jnp.sqrt(count)
    return 1.0 / (jnp.maximum(1.0, root) if capped else root)


def visits_in_rollout(states: Int[Array, "T E"], simultaneous: bool = False) -> Int[Array, "T E"]:
    """How often each state has been visited since the rollout's start, this visit included.

    Steps happen in order of time, and within one time step in order of environment; if `simultaneous`, all
    environments of a time step are counted before any is rewarded.
    """
    flat = states.reshape(-1)
    order = jnp.arange(flat.size)
    if simultaneous:
        order = order // states.shape[1]
    same = flat[:, None] == flat[None, :]
    counted = order[None, :] <= order[:, None]
    return jnp.sum(same & counted, axis=1, dtype=jnp.int32).reshape(states.shape)


def count_visits(
    visits: Int[Array, " states"], states: Int[Array, "T E"], simultaneous: bool = False
) -> tuple[Int[Array, " states"], Int[Array, "T E"]]:
    """The table with the rollout's visits added, and for each step how often its state was visited by then."""
    by_then = visits[states] + visits_in_rollout(states, simultaneous)
    # Of a state's visits the last one has the largest number. Writing these numbers, rather than adding ones, makes
    # the writing wait for the reading, so that XLA updates the table in place; it would copy all of it otherwise.
    return visits.at[states].max(by_then), by_then


def visits_in_step(states: Int[Array, "T E"]) -> Int[Array, "T E"]:
    """How many environments have been in each state at the same time step, in their order, this one included."""
    return jax.vmap(visits_in_rollout)(states[:, None])[:, 0]


UNCAPPED = "with an increment of 1 or more, where no bonus is above 1"
"""Why a cap may have no effect."""


class CountState(eqx.Module):
    """How often each state was visited, over all environments and all time."""

    # Whole numbers rather than sums of increments: adding 0.01 to a large float32 stops being exact.
    visits: Int[Array, " states"]


class Count(Bonus[CountState]):
    """r^i = 1 / sqrt(N(s)) from a table of visits; for discrete observations."""

    increment: float = 1.0
    """How much one visit adds to N: below 1 the bonus decays more slowly, above 1 faster."""
    divide_by_increment: bool = eqx.field(default=False, static=True)
    """Divide the bonus by the increment as well, as the authors' code does and the paper does not say."""
    looks: Looks = eqx.field(default="state", static=True)
    """Which state of a transition is counted and rewarded."""
    capped: bool = eqx.field(default=True, static=True)
    """Cap the bonus at 1 while N < 1. If off, the increment only rescales the bonus, which normalisation cancels."""
    memory: Literal["all", "step"] = eqx.field(default="all", static=True)
    """Which visits are counted: all, or those of the same time step in other environments. The latter is what counts of
    normalised observations come to in the authors' code: their statistics drift, so that none is ever seen again."""

    def init(self, key: PRNGKeyArray, spec: Spec, num_envs: int) -> CountState:
        if not isinstance(spec.observation, Discrete):
            raise DerlError("count needs discrete observations; for vectors use the hash-count bonus")
        # One entry more than there are states: `size` itself is the terminal observation.
        return CountState(jnp.zeros(spec.observation.size + 1, jnp.int32))

    def step(self, state: CountState, rollout: Rollout) -> tuple[CountState, Float[Array, "T E"]]:
        states = looked_at(rollout, self.looks)
        if self.memory == "step":
            return state, self.reward(visits_in_step(states))
        visits, by_then = count_visits(state.visits, states)
        return CountState(visits), self.reward(by_then)

    def reward(self, visits: Int[Array, "*b"]) -> Float[Array, "*b"]:
        """r^i of a state visited so often."""
        bonus = inverse_root_count(self.increment * visits, self.capped)
        return bonus / self.increment if self.divide_by_increment else bonus

    @property
    def recomputable(self) -> bool:
        # A remembered step does not know where the other environments were.
        return self.memory == "all"

    @property
    def needs_resets(self) -> bool:
        return self.looks == "successor_after_reset"

    def current(self, state: CountState, obs: Array, action: Array, next_obs: Array) -> Float[Array, "*b"]:
        return self.reward(jnp.maximum(1, state.visits[looked_at_again(obs, next_obs, self.looks)]))

    def idle(self, spec: Spec, num_envs: int) -> dict[str, str]:
        found = {"capped": UNCAPPED} if self.increment >= 1 else {}
        return found | ({"divide_by_increment": "with increment 1"} if self.increment == 1 else {})

    def check(self) -> None:
        super().check()
        require_positive(self, "increment")
