"""How large a run is, and how many of them make one compiled program."""

import os
from itertools import pairwise

import jax

from derl.training.config import Config
from derl.training.memory import replay_bytes

CACHE_BYTES = 4_000_000
"""What the weights of one population may take together: beyond a core's caches, larger populations are slower.

The same on every machine, whatever its caches: it decides who goes with whom, and programs of another size may round
differently. A machine with other caches is a little slower this way, but gets the same numbers.
"""
MEMORY_BYTES = 1_500_000_000
"""What the whole state of one population may take. Less on a machine that has not got it."""
MOST_RUNS = 16
MOST_RUNS_GPU = 512


def parameters(config: Config) -> int:
    """About how many weights a run's networks have. Counted by hand: asking JAX for shapes takes too long."""
    spec = config.make_env().spec
    inputs = spec.observation.size
    agents = [agent for agent in (config.explorer, config.exploiter) if agent is not None]
    learners = [agent.hidden for agent in agents for _ in range(agent.ensemble)]
    learners += [] if config.bonus.learned is None else [config.bonus.learned]
    # Each has two networks: actor and critic, network and target, predictor and target.
    return 2 * sum(sum(a * b for a, b in pairwise((inputs, *hidden, 16))) for hidden in learners)


def sizes(config: Config) -> tuple[int, int]:
    """About how many bytes a run's weights and optimisers take, and its whole state with its replay memories."""
    hot = 12 * parameters(config)
    return hot, hot + replay_bytes(config)


def population_size(config: Config, most: int = MOST_RUNS, memory: int = MEMORY_BYTES) -> int:
    """How many runs of this kind go together best."""
    hot, whole = sizes(config)
    # A GPU's caches are not what limits it.
    cached = CACHE_BYTES // hot if most <= MOST_RUNS else most
    return max(1, min(most, cached, memory // whole))


def best_size(config: Config) -> int:
    """`population_size` for the backend of this process."""
    return population_size(config, MOST_RUNS if jax.default_backend() == "cpu" else MOST_RUNS_GPU)


def available_cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
