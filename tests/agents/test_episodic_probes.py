"""The actor-critic on episodes, behind a policy that acts at random, on tasks whose values are known."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agents.probes import STATES, TASKS
from agents.training import algorithm, train
from derl.agents import A2C, EpisodicA2C

RANDOM = A2C(hidden=(16,), n_steps=2, learning_rate=0.0)
AGENT = EpisodicA2C(
    hidden=(16,), learning_rate=0.01, adam_epsilon=1e-5, entropy_coef=0.0, capacity=2000, batch_steps=256, averaged=True
)


@pytest.fixture(scope="module")
def learnt():
    """Values and greedy actions of all states, by task."""
    algorithms = []
    for task in TASKS.values():
        agents = [dataclasses.replace(agent, gamma=task.gamma) for agent in (RANDOM, AGENT)]
        algorithms.append(algorithm(task.probe(vectors=True), *agents, num_envs=4))
    _, state = train(algorithms, 800)
    assert (np.asarray(state.failed_at) == -1).all()
    obs = algorithms[0].env.look(jnp.arange(STATES))
    look = jax.jit(jax.vmap(lambda s: (s.learner.acting.value(obs), AGENT.greedy(s, obs))))
    values, greedy = (np.asarray(x) for x in look(state.exploiter))
    return {name: (values[i], greedy[i]) for i, name in enumerate(TASKS)}


@pytest.mark.parametrize("task", TASKS)
def test_what_is_learnt_is_right(learnt, task):
    values, greedy = learnt[task]
    for state, value in TASKS[task].values.items():
        np.testing.assert_allclose(values[state], value, atol=TASKS[task].tolerance, err_msg=f"value of state {state}")
    for state, action in TASKS[task].actions.items():
        assert greedy[state] == action, f"action in state {state}"
