"""Whether a training fits into memory, asked before it begins."""

from collections.abc import Callable
from typing import Any

import jax

from derl.core.errors import DerlError
from derl.core.memory import memory_bytes
from derl.training.config import Config
from derl.training.sizes import capacities, rollout_bytes, sizes
from derl.training.state import RunState

SMALL = 0.25
"""What is estimated to take less than this share of what there is leaves room for everything else."""


def check_memory(config: Config, runs: int, shapes: Callable[[], RunState], there: int | None = None) -> None:
    """Raise if so many runs have no room: the system would kill the process in the middle, without a word.

    The `shapes` of their state take a second to find out, so they are asked for only where it is large. `there` is how
    many bytes there are; if it is not given, of what this process computes with.
    """
    if there is None:
        there = memory_bytes() if jax.default_backend() == "cpu" else accelerator_bytes()
    rollouts = runs * rollout_bytes(config)
    if there is None or runs * sizes(config)[1] + rollouts < SMALL * there:
        return
    state = shapes()
    needed = size_of(state) + rollouts
    if needed <= there:
        return
    parts = ("explorer", "exploiter", "bonus", "segments")
    held = {"rollouts": rollouts, **{name: size_of(getattr(state, name)) for name in parts}}
    largest = max(held, key=lambda name: held[name])
    count, fewer = ("1 run needs", "") if runs == 1 else (f"{runs} runs need", "train fewer seeds at once, or ")
    share = f"{held[largest] / needed:.0%} of it is"
    remedy = f"{fewer}{remedies(config)[largest].format(share)}"
    raise DerlError(f"{count} {needed / 1e9:,.1f} GB of memory and there are {there / 1e9:.1f} GB: {remedy}")


def remedies(config: Config) -> dict[str, str]:
    """What to do if most of the memory is for a part, with a place for how much that is."""
    found = {
        "rollouts": "set num_envs or the length of rollouts (explorer.n_steps) lower ({} room for rollouts)",
        "segments": "set decoupling.replay_segments lower ({} room for them)",
        "bonus": "make the bonus smaller ({} its state)",
    }
    for name, steps in capacities(config).items():
        # An agent with a replay memory is nearly all memory.
        memory = f"set {name}.capacity lower ({{}} room for {steps:,} steps)"
        found[name] = memory if steps else f"make the layers of the {name} smaller ({{}} its networks)"
    return found


def accelerator_bytes() -> int | None:
    """How much JAX may use of an accelerator's memory; None if it does not say."""
    return (jax.devices()[0].memory_stats() or {}).get("bytes_limit")


def size_of(shapes: Any) -> int:
    """How many bytes arrays of these shapes take."""
    return sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(shapes))
