"""Short training through the library's own loop."""

from collections.abc import Callable, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp

from derl.agents.base import AnyAgent
from derl.bonuses import NoBonus
from derl.envs.base import AnyEnvironment
from derl.training.algorithm import Algorithm, Decoupling
from derl.training.loop import RunState
from derl.training.population import Population


def algorithm(
    env: AnyEnvironment,
    explorer: AnyAgent,
    exploiter: AnyAgent | None = None,
    *,
    num_envs: int = 8,
    constrained: tuple[bool, bool] = (False, False),
    **decoupling,
) -> Algorithm:
    """Two agents (or one) without an intrinsic reward."""
    parts = (env, explorer, NoBonus(), exploiter, Decoupling(**decoupling))
    return Algorithm(*parts, num_envs, "both", False, False, constrained)


def train(
    algorithms: Sequence[Algorithm], iterations: int, prepare: Callable[[RunState], RunState] = lambda state: state
) -> tuple[Population, RunState]:
    """All at once, one run each, from states that `prepare` may change first."""
    population = Population(algorithms, range(len(algorithms)))
    return population, population.advance(prepare(population.init()), 0, iterations)


def member(state: RunState, i: int) -> RunState:
    """One run of a population."""
    return jax.tree.map(lambda x: x[i], state)


def with_policy(where: Callable, logits) -> Callable[[RunState], RunState]:
    """Gives every run's actor-critic (found by `where`) a policy that is the same in all states."""

    def prepare(state: RunState) -> RunState:
        bias = where(state).network.actor.biases[-1]
        return eqx.tree_at(
            lambda s: where(s).network.actor.biases[-1], state, jnp.broadcast_to(jnp.asarray(logits), bias.shape)
        )

    return prepare
