"""Every agent, in either seat, on tasks so small that what it learns can only be right or wrong.

A wrong sign, a shifted index, a forgotten discount or a wrong successor shows in one of them.
"""

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agents.probes import STATES, TASKS, Task
from agents.training import algorithm, train
from derl.agents import A2C, DQN, PPO

COMMON = {"hidden": (16,), "learning_rate": 0.01}
ACTOR_CRITIC = COMMON | {"n_steps": 2, "entropy_coef": 0.0}
EPSILON = {"epsilon_start": 1.0, "epsilon_end": 0.2, "epsilon_steps": 500.0}
AGENTS = {
    "a2c": A2C(**ACTOR_CRITIC),
    "ppo": PPO(**ACTOR_CRITIC | {"learning_rate": 0.004}, epochs=2, minibatches=2),
    "dqn": DQN(**COMMON, **EPSILON, n_steps=2, collect_steps=2, batch_size=64, capacity=4000, target_rate=0.05),
}
UNIFORM = {
    # With a learning rate of 0 an actor-critic keeps its first policy, which is almost uniform.
    "a2c": dataclasses.replace(AGENTS["a2c"], learning_rate=0.0),
    "ppo": dataclasses.replace(AGENTS["ppo"], learning_rate=0.0),
    "dqn": dataclasses.replace(AGENTS["dqn"], learning_rate=0.0, epsilon_end=1.0),
}
PAIRS = {
    # explorer, exploiter, whether they see vectors, iterations. In half of the runs of each pair the explorer learns
    # and is looked at; in the others it acts at random and the exploiter is. So three programs have every agent in
    # either seat.
    "a2c-ppo": ("a2c", "ppo", False, 600),
    "ppo-dqn": ("ppo", "dqn", True, 600),
    "dqn-a2c": ("dqn", "a2c", True, 600),
}
SEATS = ("explorer", "exploiter")


class Learnt(NamedTuple):
    """What a run believes about every state."""

    values: np.ndarray
    """Of states, or for a DQN of states and actions."""
    greedy: np.ndarray
    evaluated: float | None
    """The return of a greedy episode, in one of the pairs."""


def train_on_probes(pair: str) -> dict[tuple[str, str], Learnt]:
    """What is learnt in each seat about each task."""
    explorer, exploiter, vectors, iterations = PAIRS[pair]
    algorithms = {}
    for seat in SEATS:
        for name, task in TASKS.items():
            agents = (AGENTS if seat == "explorer" else UNIFORM)[explorer], AGENTS[exploiter]
            discounted = [dataclasses.replace(agent, gamma=task.gamma) for agent in agents]
            algorithms[seat, name] = algorithm(task.probe(vectors=vectors), *discounted)
    population, state = train(list(algorithms.values()), iterations)
    assert (np.asarray(state.failed_at) == -1).all()
    obs = next(iter(algorithms.values())).env.look(jnp.arange(STATES))

    def look(agent, learnt):
        values = learnt.learner.network(obs) if isinstance(agent, DQN) else learnt.network.value(obs)
        return values, agent.greedy(learnt, obs), agent.log_probs(learnt, obs, jnp.asarray(iterations))

    learnt = {}
    for seat, agent in zip(SEATS, (population.algorithm.explorer, population.algorithm.exploiter), strict=True):
        values, greedy, log_probs = (np.asarray(x) for x in jax.jit(jax.vmap(look))(agent, getattr(state, seat)))
        returns = [[None]] * len(algorithms)
        if pair == "a2c-ppo":
            _, returns = population.evaluate(state, iterations, 0, episodes=1, greedy=True, seat=seat)
        for i, member in enumerate(algorithms):
            if member[0] == seat:
                learnt[member] = Learnt(values[i], greedy[i], returns[i][0])
            elif seat == "explorer":
                np.testing.assert_allclose(np.exp(log_probs[i]), 0.5, atol=0.02, err_msg="it should act at random")
    return learnt


@pytest.fixture(scope="module", params=PAIRS)
def learnt(request):
    return request.param, train_on_probes(request.param)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("seat", SEATS)
def test_what_is_learnt_is_right(learnt, seat, task):
    pair, found = learnt
    found, wanted = found[seat, task], TASKS[task]
    assert isinstance(wanted, Task)
    values, tolerance = wanted.values, wanted.tolerance
    if (pair, seat) == ("a2c-ppo", "exploiter") and wanted.actions:
        # DePPO's critic learns the value of the explorer's policy: its loss is not weighted, as in the authors' code.
        # And as that policy goes on acting at random, what it learns from stays noisy.
        values, tolerance = {state: wanted.uniform_values()[state] for state in values}, 0.3
    for state, value in values.items():
        by_action = found.values[state]
        np.testing.assert_allclose(by_action.max(), value, atol=tolerance, err_msg=f"value of state {state}")
        if by_action.ndim:
            expected = wanted.action_values()[state]
            np.testing.assert_allclose(by_action, expected, atol=tolerance, err_msg=f"actions of state {state}")
    for state, action in wanted.actions.items():
        assert found.greedy[state] == action, f"action in state {state}"
    if wanted.best_return is not None and found.evaluated is not None:
        np.testing.assert_allclose(found.evaluated, wanted.best_return)


@pytest.mark.parametrize("task", TASKS)
def test_the_answers_follow_from_the_tables(task):
    q = TASKS[task].action_values()
    for state, value in TASKS[task].values.items():
        np.testing.assert_allclose(q[state].max(), value, rtol=1e-6)
    for state, action in TASKS[task].actions.items():
        assert q[state].argmax() == action
