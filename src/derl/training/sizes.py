"""How large a run is, and how many of them make one compiled program."""

import os
from itertools import pairwise
from typing import NamedTuple

import jax
import numpy as np

from derl.agents import AnyAgent
from derl.core.types import Box
from derl.training.algorithm import Algorithm
from derl.training.config import Config

CACHE_BYTES = 4_000_000
"""What the weights of one population may take together: beyond a core's caches, larger populations are slower.

The same on every machine, whatever its caches: it decides who goes with whom, and programs of another size may round
differently. A machine with other caches is a little slower this way, but gets the same numbers.
"""
MEMORY_BYTES = 1_500_000_000
"""What the whole state of one population may take. Less on a machine that has not got it."""
MOST_RUNS = 16
MOST_RUNS_GPU = 512


MOVED = 15_000
"""About how many weights one of many gradient steps on a rollout moves: of a first layer it moves a few rows alone (see
`derl.core.rows`)."""


class Weights(NamedTuple):
    """About how many weights the networks of a run's parts have."""

    agents: tuple[tuple[AnyAgent, int], ...]
    bonus: int

    @property
    def all(self) -> int:
        """Of the whole run."""
        return self.bonus + sum(weights for _, weights in self.agents)

    @property
    def moved(self) -> int:
        """Those that a gradient step of each part moves."""
        return self.bonus + sum(moved_by(agent, weights) for agent, weights in self.agents)


def moved_by(agent: AnyAgent, weights: int) -> int:
    """How many of so many weights a gradient step moves."""
    return weights if agent.gradient_steps == 1 else min(weights, MOVED)


def weights_of(config: Config) -> Weights:
    """The weights of a run. Counted by hand: asking JAX for shapes takes too long."""
    inputs = config.make_env().spec.observation.size

    def learner(hidden: tuple[int, ...]) -> int:
        # Each has two networks: actor and critic, network and target, predictor and target.
        return 2 * sum(a * b for a, b in pairwise((inputs, *hidden, 16)))

    agents = [agent for agent in (config.explorer, config.exploiter) if agent is not None]
    learned = config.bonus.learned
    return Weights(
        tuple((agent, agent.ensemble * learner(agent.hidden)) for agent in agents),
        0 if learned is None else learner(learned),
    )


def capacities(config: Config) -> dict[str, int]:
    """How many steps each agent's replay memory has room for; 0 for an agent without one."""
    agents = {"explorer": config.explorer, "exploiter": config.exploiter}
    return {name: 0 if agent is None else agent.remembered_steps for name, agent in agents.items()}


def replay_bytes(config: Config) -> int:
    """About how many bytes a run's replay memories take."""
    algorithm = config.algorithm()
    kept = config.decoupling.replay_segments * algorithm.window * algorithm.steps_per_iteration
    return _step_bytes(algorithm) * (sum(capacities(config).values()) + kept)


def rollout_bytes(config: Config) -> int:
    """About how many bytes the newest rollout of a run takes, which is no part of its state."""
    algorithm = config.algorithm()
    return _step_bytes(algorithm) * algorithm.steps_per_iteration


def _step_bytes(algorithm: Algorithm) -> int:
    """What is kept of a step: two observations and three numbers, or less."""
    # What agents see: normalised, a state is a vector.
    observation = algorithm.agent_spec.observation
    return 4 * (3 + 2 * (int(np.prod(observation.shape)) if isinstance(observation, Box) else 1))


def sizes(config: Config) -> tuple[int, int]:
    """About how many bytes of weights and optimisers a run works on, and its whole state with its replay memories."""
    weights = weights_of(config)
    return 12 * weights.moved, 12 * weights.all + replay_bytes(config)


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
