"""Short training through the library's own loop."""

from collections.abc import Sequence

from derl.agents.base import AnyAgent
from derl.bonuses import NoBonus
from derl.envs.base import AnyEnvironment
from derl.training.algorithm import Algorithm, Decoupling
from derl.training.population import Population
from derl.training.state import RunState


def algorithm(
    env: AnyEnvironment,
    explorer: AnyAgent,
    exploiter: AnyAgent | None = None,
    *,
    num_envs: int = 8,
    constrained: bool = False,
    **decoupling,
) -> Algorithm:
    """Two agents (or one) without an intrinsic reward."""
    parts = (env, explorer, NoBonus(), exploiter, Decoupling(**decoupling))
    both = {"explorer_constrained": constrained, "exploiter_constrained": constrained}
    return Algorithm(*parts, num_envs, "both", normalise_observations=False, normalise_rewards=False, **both)


def train(algorithms: Sequence[Algorithm], iterations: int) -> tuple[Population, RunState]:
    """All at once, one run each."""
    population = Population(algorithms, range(len(algorithms)))
    return population, population.advance(population.init(), 0, iterations)
