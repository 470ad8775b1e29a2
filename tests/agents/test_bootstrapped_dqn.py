"""An ensemble: who acts, who learns from what, and what is bootstrapped from."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agents.building import ACTIONS, KEY, SPEC, flat, random_rollout
from derl.agents import BootstrappedDQN
from derl.agents.base import Experience
from derl.agents.q_network import Memory
from derl.bonuses import Count
from derl.bonuses.base import CurrentBonus
from derl.bonuses.count import CountState

AGENT = BootstrappedDQN(
    n_steps=1,
    gamma=0.9,
    hidden=(6,),
    batch_size=4,
    capacity=16,
    heads=3,
    prior_scale=2.0,
    epsilon_start=0.0,
    epsilon_end=0.0,
)
BATCH = Memory(
    jnp.asarray([0, 1]), jnp.asarray([2, 0]), jnp.asarray([0.5, 0.0]), jnp.asarray([0.9, 0.0]), jnp.asarray([1, 4])
)


def parts(state, networks, obs):
    """Each network's own values plus twice its prior's."""
    learnt, prior = (jax.vmap(lambda n: n(obs))(nets) for nets in (networks, state.extra.priors))
    return np.asarray(learnt + 2.0 * prior)


def test_all_networks_and_priors_begin_apart_and_targets_as_the_networks():
    state = AGENT.init(KEY, SPEC, 2, 4)
    np.testing.assert_array_equal(flat(state.learner.target), flat(state.learner.network))
    for own, prior in zip(state.learner.network.mlp.weights, state.extra.priors.mlp.weights, strict=True):
        assert len(np.unique(np.concatenate([own, prior]), axis=0)) == 6


def test_one_network_acts_for_a_rollout_and_the_mean_is_greedy():
    state, obs = AGENT.init(KEY, SPEC, 2, 4), jnp.arange(5)
    values = parts(state, state.learner.network, obs)
    assert values.shape == (3, 5, ACTIONS)
    acting = {
        int(np.abs(values - np.asarray(AGENT.preferences(state, obs, c))).sum((1, 2)).argmin()) for c in range(30)
    }
    assert acting == {0, 1, 2}
    np.testing.assert_array_equal(AGENT.greedy(state, obs), values.mean(0).argmax(-1))
    np.testing.assert_array_equal(AGENT.settled_log_probs(state, obs).argmax(-1), values.mean(0).argmax(-1))


@pytest.mark.parametrize("double", [True, False])
def test_each_network_bootstraps_from_its_own_target_and_learns_only_from_its_own_steps(double):
    agent = dataclasses.replace(AGENT, double=double)
    state = AGENT.init(KEY, SPEC, 2, 4)
    # A target of other networks, upside down: their best action is not the networks'.
    turned = jax.tree.map(lambda x: -2 * x, AGENT.init(jax.random.key(8), SPEC, 2, 4).learner.network)
    state = eqx.tree_at(lambda s: s.learner.target, state, turned)
    mask = jnp.asarray([[True, False], [True, True], [False, False]])
    q = parts(state, state.learner.network, BATCH.obs)
    chooser = parts(state, state.learner.network, BATCH.bootstrap_obs)
    after = parts(state, turned, BATCH.bootstrap_obs)
    assert (chooser.argmax(-1) != after.argmax(-1)).any()
    wanted = 0.0
    for k in range(3):
        for b in range(2):
            best = (chooser if double else after)[k, b].argmax()
            target = float(BATCH.reward[b] + BATCH.discount[b] * after[k, b, best])
            wanted += float(mask[k, b]) * (q[k, b, int(BATCH.action[b])] - target) ** 2 / 2
    loss, gradient = jax.value_and_grad(lambda n: agent.ensemble_loss(n, state, BATCH, mask)[0])(state.learner.network)
    np.testing.assert_allclose(loss, wanted, rtol=1e-4)
    norms = np.asarray(jax.vmap(lambda g: sum(jnp.abs(x).sum() for x in jax.tree.leaves(g)))(gradient))
    assert norms[0] > 0
    assert norms[1] > 0
    assert norms[2] == 0


@pytest.mark.parametrize(("probability", "learns"), [(1e-9, False), (1.0, True)])
def test_a_step_is_for_a_network_with_the_given_probability(probability, learns):
    agent = dataclasses.replace(AGENT, mask_probability=probability)
    state = agent.observe(agent.init(KEY, SPEC, 2, 4), jnp.asarray(0), Experience(random_rollout(0)))
    learner, _ = agent.gradient_step(state, KEY, jnp.asarray(0), None)
    changed = jax.tree.map(
        lambda a, b: (a != b).reshape(3, -1).any(1), learner.network.mlp.weights, state.learner.network.mlp.weights
    )
    assert np.array(jax.tree.leaves(changed)).any(0).tolist() == [learns] * 3


def remembering(agent):
    """A fresh ensemble with one rollout in memory."""
    return agent.observe(agent.init(KEY, SPEC, 2, 4), jnp.asarray(0), Experience(random_rollout(0)))


@jax.jit
def step(agent, state, bonus=None):
    """What a gradient step makes of the learner."""
    return agent.gradient_step(state, KEY, jnp.asarray(0), None, bonus)[0]


def test_targets_move_towards_the_networks_as_the_step_leaves_them():
    agent = dataclasses.replace(AGENT, target_rate=0.25, learning_rate=0.1, mask_probability=1.0)
    state = remembering(agent)
    turned = jax.tree.map(lambda x: -x, state.learner.target)
    state = eqx.tree_at(lambda s: s.learner.target, state, turned)
    learner = step(agent, state)
    assert np.abs(flat(learner.network) - flat(state.learner.network)).max() > 0.01
    wanted = 0.75 * flat(turned) + 0.25 * flat(learner.network)
    np.testing.assert_allclose(flat(learner.target), wanted, rtol=1e-5, atol=1e-6)


def test_remembered_steps_are_learnt_from_with_the_bonus_of_today():
    """A bonus of 3 for every state now is as if every remembered reward were larger by 3."""
    agent = dataclasses.replace(AGENT, recompute_bonus=True, mask_probability=1.0)
    state = remembering(agent)
    richer = eqx.tree_at(lambda s: s.replay.data.reward, state, state.replay.data.reward + 3.0)
    now = CurrentBonus(Count(), CountState(jnp.ones(6, jnp.int32)), 3.0)
    learnt, as_if, without = (
        flat(step(agent, s, bonus).network) for s, bonus in ((state, now), (richer, None), (state, None))
    )
    np.testing.assert_allclose(learnt, as_if, rtol=1e-5, atol=1e-7)
    assert np.abs(learnt - without).max() > 1e-4


@pytest.fixture
def masks(monkeypatch):
    """Those of all gradient steps: which network may learn from which step of the batch."""
    found, loss = [], BootstrappedDQN.ensemble_loss

    def noted(self, network, state, batch, mask):
        found.append(np.asarray(mask))
        return loss(self, network, state, batch, mask)

    monkeypatch.setattr(BootstrappedDQN, "ensemble_loss", noted)
    return found


def test_a_remembered_step_always_belongs_to_the_same_networks(masks):
    """However often it is drawn, and wherever in a batch: otherwise all would learn from all steps in time."""
    agent = dataclasses.replace(AGENT, mask_probability=0.5, batch_size=16)
    state = agent.observe(agent.init(KEY, SPEC, 2, 4), jnp.asarray(0), Experience(random_rollout(0)))
    owners = {}
    for key in jax.random.split(KEY, 2):
        index, _ = agent.draw(state, key, jnp.asarray(0))
        agent.gradient_step(state, key, jnp.asarray(0), None)
        for i, column in zip(index.tolist(), masks[-1].T.tolist(), strict=True):
            owners.setdefault(i, []).append(tuple(column))
    # Eight steps are in memory, so that nearly all of them were drawn with both keys.
    assert len(owners) >= 6
    assert all(len(set(columns)) == 1 for columns in owners.values())
    assert len({columns[0] for columns in owners.values()}) > 1


def test_which_steps_are_whose_is_drawn_for_each_network(masks):
    """One draw for all of them would make an ensemble of equals."""
    agent = dataclasses.replace(AGENT, mask_probability=0.5, batch_size=16)
    state = agent.observe(agent.init(KEY, SPEC, 2, 4), jnp.asarray(0), Experience(random_rollout(0)))
    agent.gradient_step(state, KEY, jnp.asarray(0), None)
    (mask,) = masks
    assert mask.shape == (3, agent.batch_size)
    # Of the steps in memory about half are each network's.
    assert 0.1 < mask.mean() < 0.9
    assert all((mask[i] != mask[j]).any() for i, j in ((0, 1), (0, 2), (1, 2)))


def test_who_acts_says_nothing_about_whose_a_step_is(monkeypatch):
    """The head of rollout 3 was drawn from the key that made the mask of step 3."""
    agent = dataclasses.replace(AGENT, mask_probability=0.5)
    state = agent.observe(agent.init(KEY, SPEC, 2, 4), jnp.asarray(0), Experience(random_rollout(0)))
    folded = []
    fold_in = jax.random.fold_in

    def noted(key, number):
        if not isinstance(number, jax.core.Tracer):
            folded.append((jax.random.key_data(key).tolist(), int(number)))
        return fold_in(key, number)

    monkeypatch.setattr(jax.random, "fold_in", noted)
    agent.preferences(state, BATCH.obs, jnp.asarray(3))
    agent.gradient_step(state, KEY, jnp.asarray(0), None)
    own = jax.random.key_data(state.extra.key).tolist()
    # Masks are drawn from keys folded from another one, which no clock can give.
    (acting, masks) = (number for key, number in folded if key == own)
    assert (acting, masks) == (3, 2**31)


def test_it_learns_from_memory_and_leaves_its_priors_alone():
    state, experience = AGENT.init(KEY, SPEC, 2, 4), Experience(random_rollout(0))
    state = AGENT.observe(state, jnp.asarray(0), experience)
    learnt, metrics = jax.jit(AGENT.learn, static_argnums=2)(state, KEY, SPEC, jnp.asarray(0), experience)
    assert float(metrics["updated"]) == 1
    changed = jax.tree.map(lambda a, b: bool((a != b).any()), learnt.learner.network, state.learner.network)
    assert any(jax.tree.leaves(changed))
    same = jax.tree.map(lambda a, b: bool((a == b).all()), learnt.extra.priors, state.extra.priors)
    assert all(jax.tree.leaves(same))
