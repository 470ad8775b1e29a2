"""Episodes in which both policies act: on the sum of what each prefers, from an episode's start to its end."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import derl
from derl.agents import A2C, DQN
from derl.core.errors import DerlError
from derl.core.types import empty_rollout
from derl.envs import DeepSea
from derl.training.algorithm import Decoupling
from derl.training.collection import collect, start_collector
from derl.training.loop import behaviour, init_run, to_explore
from derl.training.members import check_neighbours, expand

DQN_EXPLORER = DQN(hidden=(8,), epsilon_start=0.0, epsilon_end=0.0, collect_steps=4, batch_size=8, capacity=64)
CONFIG = derl.configure(
    "DeepSea-4",
    "dea2c-count",
    explorer=DQN_EXPLORER,
    exploiter=A2C(hidden=(8,)),
    decoupling=Decoupling(mixture=0.5, mixture_floor=-1.0, mixture_weight=2.0),
)
OBS = jnp.asarray([0, 5, 5, 9])
LUCK = jnp.asarray([0.1, 0.2, 0.7, 0.9])


def numbers(explorer):
    """Both agents' preferences, and the policy that acts."""
    algorithm = dataclasses.replace(CONFIG, explorer=explorer).algorithm()
    state = init_run(algorithm, jax.random.key(3))
    # Far from uniform, so that the floor matters.
    actor = jax.tree.map(lambda w: 300 * w, state.exploiter.network.actor)
    state = eqx.tree_at(lambda s: s.exploiter.network.actor, state, actor)
    clock = jnp.asarray(0)
    wanted = algorithm.explorer.preferences(state.explorer, OBS, clock)
    advice = algorithm.exploiter.log_probs(state.exploiter, OBS, clock)
    assert float(advice.min()) < -1.0
    return map(np.asarray, (wanted, advice, behaviour(algorithm, state, clock, OBS, LUCK)))


def test_an_actor_critic_mixes_as_a_product_of_policies():
    wanted, advice, acting = numbers(A2C(hidden=(8,)))
    mixed = np.maximum(advice, -1.0) + 2.0 * wanted
    np.testing.assert_allclose(acting, np.where(np.asarray(LUCK)[:, None] < 0.5, mixed, wanted), rtol=1e-6)


def test_a_q_network_takes_the_best_of_the_sum():
    wanted, advice, acting = numbers(DQN_EXPLORER)
    mixed = np.where(np.asarray(LUCK)[:, None] < 0.5, np.maximum(advice, -1.0) + 2.0 * wanted, wanted)
    np.testing.assert_array_equal(acting.argmax(-1), mixed.argmax(-1))
    np.testing.assert_allclose(acting.max(-1), 0.0, atol=1e-6)


def test_a_q_network_advises_as_its_schedule_ends():
    """At the first rollout its schedule says that all actions are alike: that is about exploring alone."""
    exploiter = DQN(hidden=(8,), epsilon_start=1.0, epsilon_end=0.4, batch_size=8, capacity=64)
    algorithm = dataclasses.replace(CONFIG, explorer=A2C(hidden=(8,)), exploiter=exploiter).algorithm()
    state, clock = init_run(algorithm, jax.random.key(3)), jnp.asarray(0)
    q = np.asarray(state.exploiter.learner.network(OBS))
    advice = np.where(q == q.max(-1, keepdims=True), np.log(0.8), -1.0)  # log 0.2 is below the floor
    mixed = advice + 2.0 * np.asarray(algorithm.explorer.preferences(state.explorer, OBS, clock))
    acting = behaviour(algorithm, state, clock, OBS, LUCK)
    np.testing.assert_allclose(acting[:2], mixed[:2], rtol=1e-5)


@pytest.mark.parametrize(("explorer", "told"), [(A2C(hidden=(8,)), True), (DQN_EXPLORER, False)])
def test_an_explorer_whose_learning_depends_on_it_is_told_who_acted(explorer, told):
    algorithm = dataclasses.replace(CONFIG, explorer=explorer).algorithm()
    state, log_mu = init_run(algorithm, jax.random.key(0)), jnp.log(jnp.full((3, 4, 2), 0.5))
    rollout = empty_rollout(algorithm.env.spec, 4, 3)
    explore = to_explore(algorithm, state, rollout, rollout.reward, log_mu)
    assert (explore.behaviour is log_mu) == told
    alone = dataclasses.replace(algorithm, mixes=False)
    assert to_explore(alone, state, rollout, rollout.reward, log_mu).behaviour is None


def test_an_episode_keeps_its_mixture_draw_to_its_end():
    env, seen = derl.make("DeepSea-4"), []

    def policy(obs, mixture_draw):
        return jnp.stack([mixture_draw, 1 - mixture_draw], -1)

    collector = start_collector(env, jax.random.key(0), 3, mixes=True)
    for i in range(4):
        seen.append(np.asarray(collector.mixture_draw))
        keys = jax.random.split(jax.random.key(i))
        collector, _, log_mu = collect(env, policy, collector, keys[0], keys[1], 2)
        inside = np.exp(log_mu[:, :, 0] - log_mu[:, :, 1])
        np.testing.assert_allclose(inside, np.exp(2 * seen[-1] - 1)[None].repeat(2, 0), rtol=1e-4)
    np.testing.assert_array_equal(seen[0], seen[1])
    np.testing.assert_array_equal(seen[2], seen[3])
    assert (seen[1] != seen[2]).all()


class Lottery(DeepSea):
    """A DeepSea that shows a random number as its first observation, made of its key as environments may."""

    def reset(self, key):
        state, obs = super().reset(key)
        return state, (2**20 * jax.random.uniform(jax.random.split(key)[1])).astype(obs.dtype)


def test_where_an_episode_begins_says_nothing_about_who_acts_in_it():
    """JAX makes split(key)[1] and fold_in(key, 1) alike, and whole numbers are drawn with the former."""
    for env, cells in ((Lottery(4), 2**20), (derl.make("Hallway-8-0", random_start=True), 8)):
        starts, draws, logits = [], [], jnp.zeros((200, env.spec.num_actions))
        collector = start_collector(env, jax.random.key(0), 200, mixes=True)
        for i in range(3):
            starts.append(np.asarray(collector.obs) / cells)
            draws.append(np.asarray(collector.mixture_draw))
            keys = jax.random.split(jax.random.key(i))
            collector, _, _ = collect(env, lambda *_, out=logits: out, collector, *keys, env.max_episode_steps)
        for start, draw in zip(starts, draws, strict=True):
            # Of 200 pairs that have nothing to do with each other: four standard deviations.
            assert abs(np.corrcoef(start, draw)[0, 1]) < 4 / np.sqrt(200)


def test_without_a_share_only_the_explorer_acts():
    plain = CONFIG.with_value("decoupling.mixture", 0.0).algorithm()
    assert not plain.mixes
    mixing = dataclasses.replace(plain, mixes=True)
    state, clock = init_run(mixing, jax.random.key(0)), jnp.asarray(0)
    wanted = plain.explorer.logits(state.explorer, OBS, clock)
    np.testing.assert_array_equal(behaviour(mixing, state, clock, OBS, LUCK), wanted)
    np.testing.assert_array_equal(behaviour(plain, state, clock, OBS, None), wanted)


def test_runs_without_a_mixture_are_not_put_beside_runs_with_one():
    """They would draw their random starts otherwise than alone. A sweep gives each a program of its own."""
    with pytest.raises(DerlError, match="a separate run for 0"):
        derl.train(CONFIG, seeds=1, vary={"decoupling.mixture": [0.0, 0.5]})
    check_neighbours(expand(CONFIG, [0, 1], {"decoupling.mixture": [0.2, 0.5]}))


def test_a_mixture_needs_an_exploiter():
    with pytest.raises(DerlError, match="exploiter"):
        dataclasses.replace(CONFIG, exploiter=None).check()
