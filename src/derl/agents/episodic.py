"""An actor-critic that learns from replayed whole episodes of whoever acted, corrected by V-trace."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from derl.agents.a2c import policy_loss, value_loss
from derl.agents.actor_critic import ActorCritic, ActorCriticAgent, Correction, actor_critic_loss, entropy
from derl.agents.base import Clock, Experience, Metrics, Role, comparison, learn_if
from derl.agents.divergences import constrained_loss
from derl.agents.episodes import EpisodeReplay, Episodes
from derl.agents.returns import importance_ratio, select
from derl.core.checks import require_at_least, require_positive, require_share
from derl.core.errors import require
from derl.core.optimiser import apply_gradient, move_towards
from derl.core.types import Spec


class EpisodicLearner(eqx.Module):
    """The part of the agent that gradient steps change."""

    network: ActorCritic
    average: ActorCritic | None
    """A running average of the network's weights."""
    opt_state: optax.OptState

    @property
    def acting(self) -> ActorCritic:
        """The network whose policy counts."""
        return self.network if self.average is None else self.average


class EpisodicState(eqx.Module):
    """What the agent has learnt and remembers."""

    learner: EpisodicLearner
    replay: EpisodeReplay


class EpisodicA2C(ActorCriticAgent):
    """A2C on episodes drawn from a replay memory, each seen from its first step to its last.

    Returns then need no bootstrap within an episode, and V-trace cuts them only where the policy would have acted
    differently: what followed a good action reaches it at once, however old the episode is.
    """

    correction: Correction = eqx.field(default="vtrace", static=True)
    """How data of other policies are corrected."""
    capacity: int = eqx.field(default=100_000, static=True)
    """Steps the replay memory holds if all episodes are of the greatest length; of shorter ones it holds as many."""
    batch_steps: int = eqx.field(default=256, static=True)
    """Steps per update: as many episodes of the greatest length as fit, at least `min_episodes`."""
    min_episodes: int = eqx.field(default=2, static=True)
    """Episodes per update at least."""
    entropy_steps: float = 0.0
    """Steps in memory from which on the entropy bonus falls as one over their number (0: it never falls)."""
    averaged: bool = eqx.field(default=False, static=True)
    """Whether the policy that counts is that of a running average of the weights, rather than of the newest."""
    average_rate: float = 0.01
    """How far the average moves towards the network after each update, at most."""
    average_share: float = 0.0
    """The average spans about this share of all updates so far, but at least 1 / `average_rate` updates."""

    version: ClassVar[int] = 2
    tabulates: ClassVar[bool] = True
    uses_rollout: ClassVar[bool] = False

    @property
    def replayed_steps(self) -> int:
        return self.batch_steps

    @property
    def remembered_steps(self) -> int:
        return self.capacity

    def init(self, key: PRNGKeyArray, spec: Spec, num_envs: int, rollout_length: int) -> EpisodicState:  # pyright: ignore
        fresh = super().init(key, spec, num_envs, rollout_length)
        average = jax.tree.map(jnp.copy, fresh.network) if self.averaged else None
        room = spec.max_episode_steps * num_envs
        require(
            self.capacity >= room,
            f"{type(self).__name__}: capacity {self.capacity} has no room for an episode of each environment: together "
            f"they can have {room} steps; raise capacity",
        )
        replay = EpisodeReplay.init(spec, num_envs, self.capacity, rollout_length)
        return EpisodicState(EpisodicLearner(fresh.network, average, fresh.opt_state), replay)

    def logits(self, state: EpisodicState, obs: Array, clock: Clock) -> Float[Array, "*b A"]:  # pyright: ignore
        return state.learner.acting.actor(obs)

    def greedy(self, state: EpisodicState, obs: Array) -> Int[Array, "*b"]:  # pyright: ignore
        return jnp.argmax(state.learner.acting.actor(obs), axis=-1)

    def value(self, state: EpisodicState, obs: Array) -> Float[Array, "*b"]:  # pyright: ignore
        return state.learner.acting.value(obs)

    def observe(self, state: EpisodicState, clock: Clock, experience: Experience) -> EpisodicState:  # pyright: ignore
        rollout, log_mu = experience.rollout, experience.behaviour
        if log_mu is None:
            log_mu = self.log_probs(state, rollout.obs, clock)  # pyright: ignore[reportArgumentType]
        replay = state.replay.write(clock, rollout, select(log_mu, rollout.action))
        return EpisodicState(state.learner, replay)

    def entropy_weight(self, kept: Int[Array, ""]) -> Float[Array, ""]:
        """beta min(1, N_0 / N) with N steps in memory.

        The loss averages over memory, so a constant coefficient is a prior whose total weight grows with it. The
        evidence against a bad action does not grow, since a solved policy rarely takes it. Scaling by N_0 / N keeps the
        prior constant.
        """
        falling = jnp.minimum(1.0, self.entropy_steps / kept)
        return self.entropy_coef * jnp.where(jnp.asarray(self.entropy_steps) > 0, falling, 1.0)

    def loss(
        self,
        network: ActorCritic,
        spec: Spec,
        episodes: Episodes,
        newest: Experience,
        entropy_coef: float | Float[Array, ""],
    ) -> tuple[Float[Array, ""], Metrics]:
        """Policy loss + value loss - entropy bonus, each a mean over the steps of the episodes.

        A divergence constraint holds on the observations of the newest rollout.
        """
        rollout, alive = episodes.rollout, episodes.alive / episodes.alive.mean()
        log_pi = network.log_probs(rollout.obs)
        v_t = network.value(rollout.obs)
        # Where nothing is truncated every episode ends by itself, and what comes after has no value.
        after = network.value(rollout.next_obs) if spec.truncates else jnp.concatenate([v_t[1:], 0 * v_t[:1]])
        rho_t = importance_ratio(select(log_pi, rollout.action), episodes.log_mu)
        targets = jax.lax.stop_gradient(self.targets(rollout, v_t, after, rho_t))
        metrics = {
            "policy_loss": policy_loss(
                select(log_pi, rollout.action), targets.advantage, targets.policy_weight * alive
            ),
            "value_loss": value_loss(v_t, targets.value, targets.value_weight * alive),
            "entropy": (entropy(log_pi) * alive).mean(),
        }
        total, near = actor_critic_loss(metrics, self.value_coef, entropy_coef), newest.constraint
        if near is not None:
            log_now = network.log_probs(newest.rollout.obs)
            total, metrics["divergence"] = constrained_loss(total, near.alpha, near.divergence, log_now, near.log_probs)
        return total, metrics

    def learn(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, state: EpisodicState, key: PRNGKeyArray, spec: Spec, clock: Clock, experience: Experience
    ) -> tuple[EpisodicState, Metrics]:
        replay = state.replay
        batch = max(self.min_episodes, self.batch_steps // replay.longest)
        # Of equal episodes that is known from the clock alone.
        equal = replay.ring.filled(clock) * experience.rollout.reward.shape[1]
        entropy_coef = self.entropy_weight(equal if spec.equal_episodes else replay.steps(clock))

        def step(learner: EpisodicLearner) -> tuple[EpisodicLearner, Metrics]:
            episodes = replay.draw(key, batch)
            (_, metrics), gradient = eqx.filter_value_and_grad(self.loss, has_aux=True)(
                learner.network, spec, episodes, experience, entropy_coef
            )
            network, opt_state, norm = apply_gradient(self.optimiser, learner.network, learner.opt_state, gradient)
            average = learner.average
            if average is not None:
                updates = optax.tree.get(opt_state, "count")
                rate = jnp.minimum(self.average_rate, 1 / (1 + self.average_share * updates))
                average = move_towards(average, network, rate)
            learner = EpisodicLearner(network, average, opt_state)
            if experience.behaviour is not None:
                log_pi = learner.acting.log_probs(experience.rollout.obs)
                metrics |= comparison(log_pi, experience.behaviour, experience.rollout.action)
            return learner, metrics | {"grad_norm": norm}

        # The predicate is shared by a population, so this stays a branch; the memory is only read inside it.
        learner, metrics = learn_if(replay.ready(clock), step, state.learner)
        return EpisodicState(learner, replay), metrics

    def idle(self, role: Role) -> dict[str, str]:
        found = super().idle(role)
        # What is in memory is another policy's even if nobody else acts: that of some time ago. And returns are over
        # whole episodes, so that the number of steps is only how often an explorer learns.
        found.pop("correction", None)
        found.pop("gae_lambda", None)
        if role.exploits:
            found["n_steps"] = "for an exploiter, which does not decide how often data come"
        if not self.averaged:
            found |= dict.fromkeys(("average_rate", "average_share"), "without averaged")
        if not self.entropy_coef:
            found["entropy_steps"] = "with entropy_coef 0"
        return found

    def check(self) -> None:
        super().check()
        require_at_least(self, 1, "capacity", "batch_steps", "min_episodes")
        require_at_least(self, 0, "entropy_steps", "average_share")
        require_share(self, "average_rate")
        require_positive(self, "average_rate")
