"""What a run is made of: explorer x bonus x exploiter on an environment.

An `Algorithm` is a pytree of hyper-parameters: numbers are leaves and can differ between the runs of a population;
structure is static.
"""

import dataclasses
from typing import Literal

import equinox as eqx

from derl.agents.base import AnyAgent
from derl.agents.divergences import Divergence
from derl.bonuses.base import AnyBonus
from derl.core.checks import check_choices, require_at_least, require_below, require_share
from derl.core.types import Box, Discrete, Spec
from derl.envs.base import AnyEnvironment


class Decoupling(eqx.Module):
    """How the exploiter learns from the explorer's data, how close the two stay, and when both act."""

    period: int = eqx.field(default=1, static=True)
    """T_Dec: the exploiter learns after every so many rollouts."""
    denominator: Literal["collected", "updated"] = eqx.field(default="collected", static=True)
    """What importance weights divide by: the explorer that acted, or as updated since (as in the paper's code)."""
    divergence: Divergence = eqx.field(default="kl", static=True)
    """Which divergence the two constraints use: kl, chi-squared, jensen-shannon, mmd or wasserstein."""
    alpha_explorer: float = 0.0
    """alpha_beta: weight of the constraint that keeps the explorer near the exploiter."""
    alpha_exploiter: float = 0.0
    """alpha_e: weight of the constraint that keeps the exploiter near the explorer."""
    replay_segments: int = eqx.field(default=0, static=True)
    """Rollouts an actor-critic exploiter keeps to learn from (0: only the newest)."""
    replay_batch: int = eqx.field(default=1, static=True)
    """Kept rollouts drawn for each of its updates, beside the newest."""
    stale_segments: bool = eqx.field(default=False, static=True)
    """Every other time let the exploiter see the newer of its two rollouts first and the older one after it, as a
    mistake in the paper's code does for DePPO."""
    mixture: float = 0.0
    """Share of the episodes in which both policies act together, on the sum of what each prefers."""
    mixture_floor: float = -3.0
    """The exploiter's log-probabilities count for no less than this in the sum: it can advise, not forbid."""
    mixture_weight: float = 1.0
    """Weight of the explorer's preferences in the sum."""

    def idle(self, alone: bool) -> dict[str, str]:
        """Settings that cannot change anything, each with the rest of "it changes nothing ..."."""
        if alone:
            return dict.fromkeys((field.name for field in dataclasses.fields(self)), "without an exploiter")
        found = {} if self.replay_segments else {"replay_batch": "without decoupling.replay_segments"}
        if not self.mixture:
            found |= dict.fromkeys(("mixture_floor", "mixture_weight"), "without decoupling.mixture")
        if not (self.alpha_explorer or self.alpha_exploiter):
            found["divergence"] = "without a constraint (decoupling.alpha_explorer, decoupling.alpha_exploiter)"
        return found

    def check(self) -> None:
        """Raise a `DerlError` if a setting makes no sense."""
        check_choices(self)
        require_at_least(self, 1, "period", "replay_batch")
        require_at_least(self, 0, "alpha_explorer", "alpha_exploiter", "replay_segments", "mixture_weight")
        require_share(self, "mixture")
        # Log-probabilities are at most 0: above that the exploiter would have no say at all.
        require_below(self, 0, "mixture_floor")


class Algorithm(eqx.Module):
    """Explorer x bonus x exploiter on an environment."""

    env: AnyEnvironment
    explorer: AnyAgent
    bonus: AnyBonus
    exploiter: AnyAgent | None
    decoupling: Decoupling
    num_envs: int = eqx.field(static=True)
    explorer_reward: Literal["both", "intrinsic"] = eqx.field(static=True)
    normalise_observations: bool = eqx.field(static=True)
    normalise_rewards: bool = eqx.field(static=True)
    explorer_constrained: bool = eqx.field(default=False, static=True)
    """Whether the explorer is kept near the exploiter at all: a weight of 0 should cost nothing."""
    exploiter_constrained: bool = eqx.field(default=False, static=True)
    """Whether the exploiter is kept near the explorer at all."""
    mixes: bool = eqx.field(default=False, static=True)
    """Whether both policies act together in some episodes."""
    own_statistics: bool = eqx.field(default=False, static=True)
    """Whether evaluations normalise observations by statistics of their own."""
    normalised_bonus: bool = eqx.field(default=False, static=True)
    """Whether the bonus sees observations as the agents do."""

    @property
    def rollout_length(self) -> int:
        """Steps of each environment in one iteration: what the explorer wants, or as many as the longest episode."""
        return self.explorer.rollout_length or self.env.max_episode_steps

    @property
    def steps_per_iteration(self) -> int:
        """Environment steps of one iteration."""
        return self.rollout_length * self.num_envs

    @property
    def segment_rollouts(self) -> int:
        """How many rollouts make one sequence that an actor-critic exploiter takes its returns over."""
        if self.exploiter is None or not self.exploiter.uses_rollout:
            return 1
        return -(-self.exploiter.rollout_length // self.rollout_length)

    @property
    def window(self) -> int:
        """How many of the newest rollouts make up D, what an actor-critic exploiter learns from.

        All since its last update, rounded up to whole sequences.
        """
        if self.exploiter is None or not self.exploiter.uses_rollout:
            return 1
        return -(-self.decoupling.period // self.segment_rollouts) * self.segment_rollouts

    @property
    def agent_spec(self) -> Spec:
        """The environment as the agents see it: normalised observations are vectors."""
        env = self.env
        equal = env.episode_length is not None
        spec = env.spec._replace(max_episode_steps=env.max_episode_steps, equal_episodes=equal)
        if not self.normalise_observations:
            return spec
        shape = (spec.observation.size,) if isinstance(spec.observation, Discrete) else spec.observation.shape
        return spec._replace(observation=Box(shape))
