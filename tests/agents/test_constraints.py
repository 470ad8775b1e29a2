"""Divergence constraints keep either policy near the other, through the whole decoupled loop."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agents.probes import TASKS
from agents.training import algorithm
from derl.agents import A2C, DQN
from derl.training.population import Population

PROBE = TASKS["action"].probe()  # action 1 earns 1, action 0 earns -1
WRONG = jnp.asarray([2.0, -2.0])
"""Logits of a policy that nearly always takes action 0: probability 0.018 of action 1."""
SMALL = {"hidden": (8,), "learning_rate": 0.01}
ACTOR_CRITIC = SMALL | {"n_steps": 2, "entropy_coef": 0.0}
ITERATIONS = 400


def with_rate(agent, rate: float):
    return eqx.tree_at(lambda a: a.learning_rate, agent, rate)


def prejudiced(state, seat: str):
    """Every run's actor-critic in a seat prefers the wrong action."""
    where = lambda s: getattr(s, seat).network.actor.biases[-1]  # noqa: E731
    return eqx.tree_at(where, state, jnp.broadcast_to(WRONG, where(state).shape))


in_state_0 = jax.jit(jax.vmap(lambda learnt: learnt.network.log_probs(jnp.asarray(0))))
"""The policies of all runs there."""


def run(population: Population, state, iterations: int):
    """Train, and give the metrics of the last fifty iterations."""
    state = population.advance(state, 0, iterations)
    state, _ = population.read(state, iterations)
    return population.read(population.advance(state, iterations, iterations + 50), 50)


@pytest.fixture(scope="module")
def actor_critics():
    """Names of the runs, their final policies in state 0, and their metrics."""
    learns, frozen = A2C(**ACTOR_CRITIC), with_rate(A2C(**ACTOR_CRITIC), 0.0)
    runs = {
        "identical": (frozen, frozen, {}),
        "free exploiter": (frozen, learns, {}),
        "held exploiter": (frozen, learns, {"alpha_exploiter": 100.0}),
        "free explorer": (learns, frozen, {}),
        "held explorer": (learns, frozen, {"alpha_explorer": 100.0}),
    }
    algorithms = [algorithm(PROBE, a, b, constrained=True, **alphas) for a, b, alphas in runs.values()]
    population = Population(algorithms, [0] * len(algorithms))
    state = prejudiced(prejudiced(population.init(), "explorer"), "exploiter")
    weights = lambda s, seat: getattr(s, seat).network.actor.weights  # noqa: E731
    state = eqx.tree_at(lambda s: weights(s, "exploiter"), state, jax.tree.map(jnp.copy, weights(state, "explorer")))
    state, metrics = run(population, state, ITERATIONS)
    policies = {}
    for seat in ("explorer", "exploiter"):
        policies[seat] = dict(zip(runs, np.exp(in_state_0(getattr(state, seat)))[:, 1], strict=True))
    by_run = {name: {k: v[i] for k, v in metrics.items()} for i, name in enumerate(runs)}
    return policies, by_run


def test_identical_policies_have_weight_1_and_divergence_0(actor_critics):
    policies, metrics = actor_critics
    assert policies["explorer"]["identical"] == policies["exploiter"]["identical"]
    np.testing.assert_allclose(metrics["identical"]["importance_weight"], 1, rtol=1e-4)
    np.testing.assert_allclose(metrics["identical"]["kl"], 0, atol=1e-5)
    np.testing.assert_allclose(metrics["identical"]["divergence"], 0, atol=1e-5)


def test_a_constraint_keeps_the_exploiter_near_the_explorer(actor_critics):
    policies, metrics = actor_critics
    assert policies["explorer"]["free exploiter"] < 0.03
    assert policies["exploiter"]["free exploiter"] > 0.9
    assert metrics["free exploiter"]["kl"] > 1
    assert policies["exploiter"]["held exploiter"] < 0.05
    assert metrics["held exploiter"]["kl"] < 0.01
    assert metrics["held exploiter"]["divergence"] < 0.01


def test_a_constraint_keeps_the_explorer_near_the_exploiter(actor_critics):
    policies, metrics = actor_critics
    assert policies["exploiter"]["free explorer"] < 0.03
    assert policies["explorer"]["free explorer"] > 0.9
    assert metrics["free explorer"]["explorer_divergence"] > 1
    assert policies["explorer"]["held explorer"] < 0.05
    assert metrics["held explorer"]["explorer_divergence"] < 0.01
    assert metrics["held explorer"]["kl"] < 0.01


def test_constraints_reach_a_dqn_exploiter():
    agent = DQN(**SMALL, n_steps=1, batch_size=16, capacity=1000)
    frozen, learns = (A2C(**ACTOR_CRITIC | {"learning_rate": rate}) for rate in (0.0, 0.01))
    runs = {
        "free": (frozen, agent, {}),
        "held exploiter": (frozen, agent, {"alpha_exploiter": 100.0}),
        "held explorer": (learns, with_rate(agent, 0.0), {"alpha_explorer": 100.0}),
    }
    algorithms = [algorithm(PROBE, a, b, constrained=True, **alphas) for a, b, alphas in runs.values()]
    population = Population(algorithms, [0, 0, 0])
    state, metrics = run(population, prejudiced(population.init(), "explorer"), ITERATIONS)
    q = np.asarray(jax.jit(jax.vmap(lambda s: s.learner.network(jnp.asarray(0))))(state.exploiter))
    assert q[0].argmax() == 1, "free: the better action"
    assert metrics["divergence"][0] > 1
    assert q[1].argmax() == 0, "held near an explorer that prefers the other one"
    assert metrics["divergence"][1] < 0.05
    softmax = np.exp(q[1] / 0.1) / np.exp(q[1] / 0.1).sum()
    np.testing.assert_allclose(softmax[1], 0.018, atol=0.02)
    policy = np.asarray(in_state_0(state.explorer))
    best = np.eye(2)[q[2].argmax()]
    # Near the exploiter's policy at its final epsilon of 0.05, though the schedule is still at its beginning.
    np.testing.assert_allclose(np.exp(policy[2]), 0.025 + 0.95 * best, atol=0.02)
