"""How long a run is, in steps and in iterations, and when it is evaluated."""

import math
from typing import NamedTuple

from derl.training.algorithm import Algorithm
from derl.training.config import Config


class Schedule(NamedTuple):
    """What follows from a protocol once it is known how many steps an iteration has."""

    steps: int
    """Steps of the environment, of all copies of it together."""
    iterations: int
    evaluations: list[int]
    """After which iterations it is evaluated."""


def schedule_of(config: Config, algorithm: Algorithm | None = None) -> Schedule:
    """The schedule of a run. Its algorithm may be given where there is one already, for to make one takes a while."""
    algorithm = config.algorithm() if algorithm is None else algorithm
    steps, every = config.protocol.budget(algorithm.env)
    iterations = max(1, steps // algorithm.steps_per_iteration)
    return Schedule(steps, iterations, evaluation_times(iterations, every / algorithm.steps_per_iteration))


def evaluation_times(iterations: int, every: float) -> list[int]:
    """After which iterations to evaluate: every `every` (rounded up), and at the end."""
    times = {min(iterations, math.ceil(k * every - 1e-9)) for k in range(1, int(iterations / every) + 2)}
    return sorted(t for t in times if t > 0)
