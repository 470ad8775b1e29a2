"""An exploiter learns from a skewed explorer: what each correction makes of the same data."""

import dataclasses
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from core.building import random_mlp

from agents.building import KEY, first_step
from agents.probes import STATES, TASKS, Outcome, Task
from agents.training import algorithm
from derl.agents import A2C, AGENTS
from derl.agents.actor_critic import ActorCritic, ActorCriticState
from derl.agents.base import Constraint, Experience
from derl.core.types import Discrete
from derl.training.collection import collect, start_collector
from derl.training.population import Population

# First a step that does not matter, then two arms, of which the explorer nearly always pulls the worse.
ARMS = Task((0,), {(0, None): Outcome(0.0, 1, end=0.0), (1, 0): Outcome(0.5), (1, 1): Outcome(1.0)}, 0.8, {}, {})
MU = np.asarray([0.9, 0.1])
CLOCK = jnp.asarray(0)
AGENT = A2C(hidden=(8,), learning_rate=0.01, entropy_coef=0.0, gamma=0.8, n_steps=4)


CORRECTIONS = ("none", "importance", "clipped", "vtrace", "retrace")
NAMES = ("jensen-shannon", "mmd")
"""Divergences; kl is tested through the whole loop."""
ALPHAS = jnp.asarray([0.0, 100.0])
ENVS, ITERATIONS = 8, 1500


def fresh(seed: int) -> ActorCriticState:
    """An actor-critic at the start, with an almost uniform policy."""
    actor = random_mlp(Discrete(STATES), (8,), 2, seed, scale=0.3)
    network = ActorCritic(actor, random_mlp(Discrete(STATES), (8,), 1, seed + 1))
    return ActorCriticState(network, first_step(AGENT, network))


def with_correction(correction, state, rollout, log_mu):
    agent = dataclasses.replace(AGENT, correction=correction)
    return agent.learn(state, KEY, ARMS.probe().spec, CLOCK, Experience(rollout, log_mu))


def with_constraint(name, states, rollout, log_mu):
    """Two learners, one for each weight of the constraint."""

    def learn(alpha, state):
        constraint = Constraint(alpha, log_mu, name)
        return AGENT.learn(state, KEY, ARMS.probe().spec, CLOCK, Experience(rollout, log_mu, constraint))

    return jax.vmap(learn)(ALPHAS, states)


@pytest.fixture(scope="module")
def learnt():
    """Policies, values and last metrics of learners that all learn from the same rollouts of a frozen explorer."""
    env, log_mu = ARMS.probe(), jnp.log(jnp.asarray(MU, jnp.float32))
    learners = {name: partial(with_correction, name) for name in CORRECTIONS}
    learners |= {name: partial(with_constraint, name) for name in NAMES}
    states = {name: fresh(i) for i, name in enumerate(CORRECTIONS)}
    states |= {name: jax.tree.map(lambda x: np.stack([x, x]), fresh(9)) for name in NAMES}

    def iteration(carry, key):
        collector, states = carry
        policy = lambda obs: jnp.broadcast_to(log_mu, (*obs.shape, 2))  # noqa: E731
        collector, rollout, behaviour = collect(env, policy, collector, *jax.random.split(key), 4)
        results = {name: learn(states[name], rollout, behaviour) for name, learn in learners.items()}
        return (collector, {name: r[0] for name, r in results.items()}), {name: r[1] for name, r in results.items()}

    @jax.jit
    def train(states):
        carry = (start_collector(env, KEY, ENVS), states)
        (_, states), metrics = jax.lax.scan(iteration, carry, jax.random.split(KEY, ITERATIONS))
        obs = jnp.arange(2)
        look = lambda state: (state.network.log_probs(obs), state.network.value(obs))  # noqa: E731
        views = {name: (look if name in CORRECTIONS else jax.vmap(look))(state) for name, state in states.items()}
        return views, jax.tree.map(lambda x: x[-100:].mean(0), metrics)

    return jax.tree.map(np.asarray, train(states))


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_the_better_arm_is_found(learnt, correction):
    log_probs, _ = learnt[0][correction]
    assert np.exp(log_probs[1, 1]) > 0.9
    # Recorded whatever the correction: KL of "always the second arm" from MU is log 10, in one of two states.
    metrics = learnt[1][correction]
    assert metrics["kl"] > 0.9
    assert abs(metrics["log_importance_weight"]) > 0.5


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_what_the_values_are_values_of(learnt, correction):
    _, values = learnt[0][correction]
    of_mu, of_pi = float(MU @ [0.5, 1.0]), 1.0
    # Uncorrected, V is the explorer's. Weights of single steps correct the last one, but not the returns that pass
    # through the explorer's later choices. V-trace and Retrace correct these too.
    last = of_mu if correction == "none" else of_pi
    first = 0.8 * (of_pi if correction in ("vtrace", "retrace") else of_mu)
    np.testing.assert_allclose(values[1], last, atol=0.17)
    np.testing.assert_allclose(values[0], first, atol=0.17)


@pytest.mark.parametrize("name", NAMES)
def test_other_divergences_can_keep_the_exploiter_near(learnt, name):
    (free, held), _ = learnt[0][name]
    divergence = learnt[1][name]["divergence"]
    assert np.exp(free[1, 1]) > 0.9
    assert divergence[0] > 0.1
    np.testing.assert_allclose(np.exp(held), [MU, MU], atol=0.05)
    assert divergence[1] < 0.01


@pytest.mark.parametrize("exploiter", [A2C(correction="none"), *(kind() for kind in AGENTS.values())])
def test_every_exploiter_records_how_far_it_is_from_the_explorer(exploiter):
    env = TASKS["action"].probe()
    names = Population([algorithm(env, A2C(), exploiter)], [0]).metric_names
    assert {"importance_weight", "log_importance_weight", "kl"} <= set(names)
    assert not {"explorer_importance_weight", "explorer_kl"} & set(names)
