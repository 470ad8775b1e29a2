"""The actor-critic on whole episodes: what its loss is, and what it leaves out."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agents.building import (
    KEY,
    SPEC,
    chosen,
    flat,
    log_softmax,
    numpy_mlp,
    random_log_probs,
    random_rollout,
    random_state,
)
from derl.agents import EpisodicA2C
from derl.agents.base import Constraint, Experience
from derl.agents.episodes import Episodes

AGENT = EpisodicA2C(gamma=0.9, entropy_coef=0.3, value_coef=0.7, hidden=(6,), capacity=40)
LENGTHS = (3, 4)


def episodes_of(seed: int) -> Episodes:
    """Two episodes of different lengths, with the beginning of another one behind the shorter."""
    rollout = random_rollout(seed)
    ends = jnp.asarray(np.arange(4)[:, None] == np.array(LENGTHS) - 1)
    rollout = eqx.tree_at(lambda r: r.terminated, rollout, ends)
    alive = jnp.asarray(np.arange(4)[:, None] < np.array(LENGTHS), jnp.float32)
    log_mu = chosen(random_log_probs(seed), rollout.action)
    return Episodes(rollout, jnp.asarray(log_mu), alive)


def plain_loss(network, episodes: Episodes) -> float:
    """One episode after the other, in NumPy, straight from the definition of V-trace."""
    rollout, sums = episodes.rollout, np.zeros(3)
    for e, length in enumerate(LENGTHS):
        obs, action, r = (np.asarray(x)[:length, e] for x in (rollout.obs, rollout.action, rollout.reward))
        log_pi = log_softmax(numpy_mlp(network.actor, obs))
        v = np.append(numpy_mlp(network.critic, obs)[:, 0], 0.0)
        rho = np.minimum(1, np.exp(chosen(log_pi, action) - np.asarray(episodes.log_mu)[:length, e]))
        vs = np.zeros(length + 1)
        for t in reversed(range(length)):
            delta = rho[t] * (r[t] + 0.9 * v[t + 1] - v[t])
            vs[t] = v[t] + delta + 0.9 * rho[t] * (vs[t + 1] - v[t + 1])
        advantage = r + 0.9 * vs[1:] - v[:-1]
        sums[0] -= (rho * advantage * chosen(log_pi, action)).sum()
        sums[1] += ((v[:-1] - vs[:-1]) ** 2).sum()
        sums[2] -= (np.exp(log_pi) * log_pi).sum()
    return float(sums @ np.array([1, 0.7, -0.3]) / sum(LENGTHS))


def test_the_loss_is_a_mean_over_the_steps_of_the_episodes():
    network, episodes = random_state(AGENT).network, episodes_of(3)
    newest = Experience(random_rollout(5))
    total, _ = jax.jit(AGENT.loss, static_argnums=1)(network, SPEC, episodes, newest, 0.3)
    np.testing.assert_allclose(total, plain_loss(network, episodes), rtol=1e-4)


@pytest.mark.parametrize(("steps", "kept", "weight"), [(0.0, 400, 0.3), (100.0, 50, 0.3), (100.0, 400, 0.075)])
def test_the_entropy_bonus_is_a_prior_of_one_size(steps, kept, weight):
    agent = dataclasses.replace(AGENT, entropy_steps=steps)
    assert float(agent.entropy_weight(jnp.asarray(kept))) == pytest.approx(weight)


@jax.jit
def after_two(agent, rollout):
    """The learner after one update, with the same rollout twice in memory."""
    spec, experience = SPEC._replace(max_episode_steps=4), Experience(rollout)
    state = agent.init(KEY, spec, 2, 4)
    for clock in range(2):
        state = agent.observe(state, jnp.asarray(clock), experience)
    return agent.learn(state, KEY, spec, jnp.asarray(1), experience)


def actor_after_two(rollout, **changes) -> np.ndarray:
    state, metrics = after_two(dataclasses.replace(AGENT, **changes), rollout)
    assert float(metrics["updated"]) == 1
    return flat(state.learner.network.actor)


def test_the_entropy_bonus_falls_with_what_is_in_memory():
    """Sixteen steps in memory and a bonus that falls from the fourth on: a quarter of it from the first."""
    rollout = random_rollout(0)
    falling, quarter, whole = (
        actor_after_two(rollout, **changes) for changes in ({"entropy_steps": 4.0}, {"entropy_coef": 0.3 / 4}, {})
    )
    np.testing.assert_allclose(falling, quarter, atol=1e-6)
    assert np.abs(falling - whole).max() > 1e-5


def test_of_short_episodes_only_those_that_are_kept_count_for_the_entropy_bonus():
    """Room for two episodes of each environment. All have one step: four steps are kept of the sixteen in the ring."""
    rollout = random_rollout(0)
    rollout = eqx.tree_at(lambda r: r.terminated, rollout, jnp.ones_like(rollout.terminated))
    falling, half = (
        actor_after_two(rollout, capacity=16, **changes) for changes in ({"entropy_steps": 2.0}, {"entropy_coef": 0.15})
    )
    np.testing.assert_allclose(falling, half, atol=1e-6)


def test_a_constraint_holds_on_the_newest_rollout():
    network, episodes, rollout = random_state(AGENT).network, episodes_of(3), random_rollout(5)
    other = random_log_probs(6)
    newest = Experience(rollout, constraint=Constraint(jnp.asarray(2.0), other, "kl"))
    total, metrics = AGENT.loss(network, SPEC, episodes, newest, 0.3)
    log_pi = log_softmax(numpy_mlp(network.actor, np.asarray(rollout.obs).reshape(-1))).reshape(other.shape)
    divergence = (np.exp(log_pi) * (log_pi - np.asarray(other))).sum(-1).mean()
    np.testing.assert_allclose(metrics["divergence"], divergence, rtol=1e-4)
    np.testing.assert_allclose(total, plain_loss(network, episodes) + 2.0 * divergence, rtol=1e-4)


def test_what_pads_an_episode_does_not_matter():
    network, episodes, other = random_state(AGENT).network, episodes_of(3), episodes_of(4)
    padding = episodes.alive == 0
    mixed = jax.tree.map(lambda a, b: jnp.where(padding, b, a) if a.shape == padding.shape else a, episodes, other)
    mixed = mixed._replace(alive=episodes.alive)
    newest = Experience(random_rollout(5))
    gradients = [jax.grad(lambda n, e=e: AGENT.loss(n, SPEC, e, newest, 0.3)[0])(network) for e in (episodes, mixed)]
    for a, b in zip(*map(jax.tree.leaves, gradients), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)


# The first update has count 1: a share of 7 of all updates is 7 of them, an average that moves by 1 / 8.
@pytest.mark.parametrize(("share", "rate"), [(0.0, 0.25), (1.0, 0.25), (7.0, 0.125)])
def test_the_average_follows_the_network_and_is_what_acts(share, rate):
    agent = dataclasses.replace(AGENT, averaged=True, average_rate=0.25, average_share=share, learning_rate=0.1)
    spec = SPEC._replace(max_episode_steps=4)
    state = agent.init(KEY, spec, 2, 4)
    experience = Experience(episodes_of(0).rollout, random_log_probs(0))
    before = state.learner.average
    state = agent.observe(state, jnp.asarray(0), experience)
    state, metrics = agent.learn(state, KEY, spec, jnp.asarray(0), experience)
    assert float(metrics["updated"]) == 1
    wanted = jax.tree.map(lambda a, w: a + rate * (w - a), before, state.learner.network)
    for a, b in zip(jax.tree.leaves(state.learner.average), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(agent.logits(state, jnp.arange(5), 0), state.learner.average.actor(jnp.arange(5)))


def test_steps_of_ones_own_are_remembered_as_the_averages_that_took_them():
    agent, spec = dataclasses.replace(AGENT, averaged=True), SPEC._replace(max_episode_steps=4)
    networks = [random_state(AGENT, seed).network for seed in (0, 5)]
    state = eqx.tree_at(lambda s: (s.learner.network, s.learner.average), agent.init(KEY, spec, 2, 4), networks)
    rollout = random_rollout(0)
    kept = agent.observe(state, jnp.asarray(0), Experience(rollout)).replay.ring.data.log_mu[:4]
    newest, average = (chosen(log_softmax(numpy_mlp(n.actor, rollout.obs)), rollout.action) for n in networks)
    np.testing.assert_allclose(kept, average, rtol=1e-4)
    assert np.abs(newest - average).max() > 0.1


def test_nothing_is_learnt_before_there_are_episodes():
    agent, spec = AGENT, SPEC._replace(max_episode_steps=5)
    state = agent.init(KEY, spec, 2, 4)
    experience = Experience(random_rollout(0), random_log_probs(0))
    state = agent.observe(state, jnp.asarray(0), experience)
    learnt, metrics = agent.learn(state, KEY, spec, jnp.asarray(0), experience)
    assert float(metrics["updated"]) == 0
    np.testing.assert_array_equal(learnt.learner.network.actor.weights[0], state.learner.network.actor.weights[0])
