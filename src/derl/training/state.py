"""Everything one run is made of, and what it is before its first step."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from derl.agents.base import Experience
from derl.core.running import Moments, RewardScale
from derl.core.types import Box, Discrete, empty_rollout
from derl.training.algorithm import Algorithm
from derl.training.collection import Collector, start_collector
from derl.training.segments import SegmentReplay, empty_experience


class RunState(eqx.Module):
    """Everything one run is made of. Saving it and the clock saves the run."""

    key: PRNGKeyArray
    collector: Collector
    explorer: Any
    bonus: Any
    bonus_scale: RewardScale
    """What `normalise` keeps of the bonuses."""
    exploiter: Any
    recent: tuple[Experience, ...]
    """The rollouts before the newest that the exploiter still learns from."""
    segments: SegmentReplay | None
    obs_moments: Moments | None
    evaluation_moments: Moments | None
    """Of the observations in evaluations, where these are normalised by statistics of their own."""
    reward_scale: RewardScale | None
    visits: Int[Array, " states"] | None
    """How often the explorer was in each state, where states can be counted."""
    totals: Float[Array, " metrics"]
    """Sums of the metrics (in `metric_names` order) since they were last read."""
    failed_at: Int[Array, ""]
    """The first iteration whose numbers were not finite, or -1."""


def blank_run(algorithm: Algorithm, key: PRNGKeyArray) -> RunState:
    """A run before its first step, without totals."""
    spec, agent_spec, envs = algorithm.env.spec, algorithm.agent_spec, algorithm.num_envs
    run_key, env_key, explorer_key, bonus_key, exploiter_key = jax.random.split(key, 5)
    length = algorithm.rollout_length
    exploiter = algorithm.exploiter
    countable = isinstance(spec.observation, Discrete)
    recent, segments = data_buffers(algorithm)
    space = agent_spec.observation
    moments = Moments.init(space.shape) if algorithm.normalise_observations and isinstance(space, Box) else None
    return RunState(
        key=run_key,
        collector=start_collector(algorithm.env, env_key, envs, algorithm.mixes),
        explorer=algorithm.explorer.init(explorer_key, agent_spec, envs, length),
        bonus=algorithm.bonus.init(bonus_key, agent_spec if algorithm.normalised_bonus else spec, envs),
        bonus_scale=RewardScale.init(envs),
        exploiter=None if exploiter is None else exploiter.init(exploiter_key, agent_spec, envs, length),
        recent=recent,
        segments=segments,
        obs_moments=moments,
        evaluation_moments=moments if algorithm.own_statistics else None,
        reward_scale=RewardScale.init(envs) if algorithm.normalise_rewards else None,
        visits=jnp.zeros(spec.observation.size, jnp.int32) if countable else None,
        totals=jnp.zeros(0),
        failed_at=jnp.asarray(-1, jnp.int32),
    )


def data_buffers(algorithm: Algorithm) -> tuple[tuple[Experience, ...], SegmentReplay | None]:
    """Room for the rollouts an exploiter learns from beside the newest one."""
    decoupling, window = algorithm.decoupling, algorithm.window

    def example(length: int, copies: int = 1) -> Experience:
        rollout = empty_rollout(algorithm.agent_spec, algorithm.num_envs * copies, length)
        return empty_experience(rollout, algorithm.env.spec.num_actions)

    recent = tuple(example(algorithm.rollout_length) for _ in range(window - 1))
    if decoupling.replay_segments == 0 or algorithm.exploiter is None or not algorithm.exploiter.uses_rollout:
        return recent, None
    segment = algorithm.segment_rollouts
    whole = example(algorithm.rollout_length * segment, window // segment)
    return recent, SegmentReplay.init(whole, decoupling.replay_segments, decoupling.replay_batch, window - 1)
