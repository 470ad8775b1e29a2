"""Whether a training fits into memory, asked before it begins."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from derl.core.errors import DerlError
from derl.core.memory import memory_bytes
from derl.core.types import Box
from derl.training.config import Config
from derl.training.state import RunState

SMALL = 0.25
"""Replay memories that take less than this share of what there is leave room for everything else."""


def check_memory(config: Config, runs: int, shapes: Callable[[], RunState]) -> None:
    """Raise if so many runs have no room: the system would kill the process in the middle, without a word.

    The `shapes` of their state take a second to find out, so they are asked for only where replay memories are large.
    """
    there = memory_bytes() if jax.default_backend() == "cpu" else accelerator_bytes()
    if there is None or runs * replay_bytes(config) < SMALL * there:
        return
    state = shapes()
    needed = size_of(state)
    if needed <= there:
        return
    # An agent with a replay memory is nearly all memory.
    held = {name: size_of(getattr(state, name)) for name, steps in capacities(config).items() if steps}
    held |= {"segments": size_of(state.segments)} if state.segments is not None else {}
    largest = max(held, key=lambda name: held[name])
    share, steps = held[largest] / needed, capacities(config).get(largest, 0)
    count, fewer = ("1 run needs", "") if runs == 1 else (f"{runs} runs need", "train fewer seeds at once, or ")
    room = f"{share:.0%} of it is room for {steps:,} steps" if steps else f"{share:.0%} of it is room for them"
    remedy = f"{fewer}set {f'{largest}.capacity' if steps else 'decoupling.replay_segments'} lower ({room})"
    raise DerlError(f"{count} {needed / 1e9:.1f} GB of memory and there are {there / 1e9:.1f} GB: {remedy}")


def accelerator_bytes() -> int | None:
    """How much JAX may use of an accelerator's memory; None if it does not say."""
    return (jax.devices()[0].memory_stats() or {}).get("bytes_limit")


def capacities(config: Config) -> dict[str, int]:
    """How many steps each agent's replay memory has room for; 0 for an agent without one."""
    agents = {"explorer": config.explorer, "exploiter": config.exploiter}
    return {name: 0 if agent is None else agent.remembered_steps for name, agent in agents.items()}


def replay_bytes(config: Config) -> int:
    """About how many bytes a run's replay memories take: two observations and three numbers a step, or less."""
    algorithm = config.algorithm()
    # What agents see: normalised, a state is a vector.
    observation = algorithm.agent_spec.observation
    row = 4 * (3 + 2 * (int(np.prod(observation.shape)) if isinstance(observation, Box) else 1))
    kept = config.decoupling.replay_segments * algorithm.window * algorithm.steps_per_iteration
    return row * (sum(capacities(config).values()) + kept)


def size_of(shapes: Any) -> int:
    """How many bytes arrays of these shapes take."""
    return sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(shapes))
