"""Optimism in the action and in the bootstrap, and bonuses computed anew."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from core.building import random_mlp

from agents.building import ACTIONS, KEY, SPEC, random_rollout
from derl.agents import DQN, OptimisticDQN
from derl.agents.base import Experience
from derl.agents.optimism import CountOptimism, DistilledOptimism, HashOptimism, Tries
from derl.agents.q_network import Memory, QNetwork
from derl.bonuses import Count
from derl.bonuses.base import CurrentBonus
from derl.bonuses.count import CountState
from derl.core.errors import DerlError

AGENT = OptimisticDQN(
    n_steps=1,
    gamma=0.9,
    hidden=(6,),
    batch_size=4,
    capacity=16,
    optimism_weight=2.0,
    epsilon_start=0.0,
    epsilon_end=0.0,
    recompute_bonus=True,
)
BATCH = Memory(
    jnp.asarray([0, 1]), jnp.asarray([2, 0]), jnp.asarray([0.5, 0.0]), jnp.asarray([0.9, 0.0]), jnp.asarray([1, 4])
)


def state_with(agent, tries):
    """A fresh agent with random networks, and actions tried so often."""
    state = agent.init(KEY, SPEC, 2, 4)
    networks = [QNetwork(random_mlp(SPEC.observation, (6,), ACTIONS, seed), False) for seed in (1, 2)]
    changed = (*networks, Tries(jnp.asarray(tries, jnp.int32)))
    return eqx.tree_at(lambda s: (s.learner.network, s.learner.target, s.extra), state, changed)


TRIES = np.array([[0, 0, 0], [3, 0, 1], [9, 9, 9], [0, 0, 0], [0, 0, 0], [0, 0, 0]])


def test_the_untried_is_taken_and_bootstrapped_from():
    state = state_with(AGENT, TRIES)
    optimism = 2.0 / (TRIES[1] + 1.0) ** 2
    q, q_target = (np.asarray(n(jnp.asarray(1))) for n in (state.learner.network, state.learner.target))
    np.testing.assert_allclose(AGENT.preferences(state, jnp.asarray(1), 0), q + optimism, rtol=1e-5)
    best = int(np.argmax(q + optimism))
    assert int(np.argmax(AGENT.logits(state, jnp.asarray(1), jnp.asarray(0)))) == best
    batch = AGENT.refresh(state, BATCH, None)
    target = AGENT.target_values(state.learner, batch.reward, batch.discount, batch.bootstrap_obs, batch.optimism)
    np.testing.assert_allclose(target, [0.5 + 0.9 * (q_target + optimism)[best], 0.0], rtol=1e-5)


def test_what_an_exploiter_is_asked_for_has_no_optimism():
    # Every action's optimism is another, and larger than any difference of values.
    state = state_with(dataclasses.replace(AGENT, optimism_weight=100.0), TRIES)
    values = np.asarray(state.learner.network(jnp.asarray(1)))
    best = int(np.argmax(values))
    assert best != int(np.argmin(TRIES[1])), "else this would show nothing"
    assert int(AGENT.greedy(state, jnp.asarray(1))) == best
    settled = np.exp(AGENT.settled_log_probs(state, jnp.asarray(1)))
    np.testing.assert_allclose(settled, np.eye(ACTIONS)[best], atol=1e-6)


@pytest.mark.parametrize("agent", [AGENT, DQN(n_steps=1, hidden=(6,), batch_size=4, recompute_bonus=True)])
def test_replayed_steps_are_rewarded_with_the_bonus_of_today(agent):
    now = CurrentBonus(Count(), CountState(jnp.asarray([4, 16, 0, 0, 0, 0])), 3.0)
    state = state_with(AGENT, TRIES)
    np.testing.assert_allclose(agent.refresh(state, BATCH, now).reward, [0.5 + 3 / 2, 3 / 4])


def test_tries_are_counted_as_they_are_observed():
    state, rollout = AGENT.init(KEY, SPEC, 2, 4), random_rollout(0)
    state = AGENT.observe(state, jnp.asarray(0), Experience(rollout))
    wanted = np.zeros((6, 3))
    np.add.at(wanted, (np.asarray(rollout.obs), np.asarray(rollout.action)), 1)
    np.testing.assert_array_equal(state.extra.count, wanted)


def test_it_learns_only_through_its_network():
    state, rollout = AGENT.init(KEY, SPEC, 2, 4), random_rollout(0)
    experience = Experience(rollout, bonus=CurrentBonus(Count(), CountState(jnp.ones(6, jnp.int32)), 1.0))
    state = AGENT.observe(state, jnp.asarray(0), experience)
    learnt, metrics = jax.jit(AGENT.learn, static_argnums=2)(state, KEY, SPEC, jnp.asarray(0), experience)
    assert float(metrics["updated"]) == 1
    assert all((a != b).any() for a, b in zip(*map(network_weights, (learnt, state)), strict=True))
    np.testing.assert_array_equal(learnt.extra.count, state.extra.count)
    # Optimism stands beside the values: more of it in all actions of a state moves its target, not its own value.
    lazy = dataclasses.replace(AGENT, optimism_weight=0.0)
    unmoved, _ = jax.jit(lazy.learn, static_argnums=2)(state, KEY, SPEC, jnp.asarray(0), experience)
    assert any((a != b).any() for a, b in zip(*map(network_weights, (learnt, unmoved)), strict=True))


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        ("count", CountOptimism(1.5)),
        ("hash", HashOptimism(1.5, bits=7)),
        ("distilled", DistilledOptimism(1.5, learning_rate=0.1)),
    ],
)
def test_every_kind_of_optimism_has_the_agents_settings(kind, wanted):
    settings = {"optimism_power": 1.5, "optimism_bits": 7, "optimism_learning_rate": 0.1}
    assert OptimisticDQN(optimism=kind, **settings).untried == wanted


def network_weights(state) -> list[np.ndarray]:
    return [np.asarray(w) for w in state.learner.network.mlp.weights]


@pytest.mark.parametrize(
    "changes", [{"n_steps": 2}, {"frozen_targets": True}, {"optimism": "counts"}, {"optimism_weight": -1.0}]
)
def test_what_makes_no_sense_is_refused(changes):
    with pytest.raises(DerlError):
        dataclasses.replace(AGENT, **changes).check()
