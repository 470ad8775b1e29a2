"""What each agent is rewarded with, and how a rollout is normalised before the agents see it."""

import dataclasses
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from derl import Bonus, Count, recipe
from derl.core.types import Rollout
from derl.training.loop import explorer_rewards, init_run, iterate, take_in, to_explore
from training.limited import Limited

CONFIG = recipe("dea2c-count", "DeepSea-3")
NORMALISED = dataclasses.replace(CONFIG, num_envs=2, normalise_observations=True, normalise_rewards=True)
SIZE = NORMALISED.make_env().spec.observation.size


@pytest.mark.parametrize(
    ("reward", "normalise", "expected"),
    [
        ("both", "none", [[3.0, 1.0], [0.25, -1.0]]),
        ("intrinsic", "none", [[2.0, -1.0], [0.25, 0.0]]),
        # A bonus in units of its own recent size: beside extrinsic rewards lambda still counts, alone it does not.
        ("both", "recent", [[3.0, 1.0], [0.25, -1.0]]),
        ("intrinsic", "recent", [[4.0, -2.0], [0.5, 0.0]]),
    ],
)
def test_the_explorers_reward_by_hand(reward, normalise, expected):
    bonus = Count(scale=0.5, normalise=normalise)
    algorithm = dataclasses.replace(CONFIG, bonus=bonus, explorer_reward=reward).algorithm()
    r_e, r_i = jnp.asarray([[1.0, 2.0], [0.0, -1.0]]), jnp.asarray([[4.0, -2.0], [0.5, 0.0]])
    np.testing.assert_allclose(explorer_rewards(algorithm, r_e, r_i), expected)


def rollouts(seed: int) -> list[Rollout]:
    """Two consecutive rollouts of three steps, in which some episodes end, in the terminal observation: most by
    themselves, one in either rollout cut off."""
    rng = np.random.default_rng(seed)
    obs = rng.integers(0, SIZE, (7, 2))
    done = np.asarray([[0, 1], [0, 0], [1, 0], [0, 0], [0, 1], [0, 0]], bool)
    next_obs, reward = np.where(done, SIZE, obs[1:]), rng.normal(size=(6, 2)).astype(np.float32)
    action = np.zeros((6, 2), np.int32)
    cut = np.zeros_like(done)
    cut[0, 1] = cut[4, 1] = True
    steps = (obs[:-1], action, reward, next_obs, done & ~cut, cut)
    parts = [[x[:3] for x in steps] + [obs[3]], [x[3:] for x in steps] + [obs[6]]]
    return [Rollout(*map(jnp.asarray, part)) for part in parts]


def moments(data: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of rows, among them a pseudo-observation of mean 0, variance 1 and weight 1e-4."""
    total = len(data) + 1e-4
    mean = data.sum(0) / total
    return mean, (1e-4 + np.square(data).sum(0)) / total - np.square(mean)


def one_hot(obs) -> np.ndarray:
    return np.eye(SIZE + 1, SIZE)[np.asarray(obs)]  # the terminal observation is the zero vector


def test_two_rollouts_are_taken_in_as_in_numpy():
    algorithm, (first, second) = NORMALISED.algorithm(), rollouts(0)
    state = init_run(algorithm, jax.random.key(0))
    seen, sums, g = [], [], np.zeros(2)
    data = np.zeros((0, SIZE))
    for rollout in (first, second):
        state, taken = take_in(algorithm, state, rollout)
        # The policy acted on what was known before the rollout, so that is what its observations are encoded with.
        mean, variance = moments(data)
        for name in ("obs", "next_obs", "last_obs"):
            expected = np.clip((one_hot(getattr(rollout, name)) - mean) / np.sqrt(variance + 1e-8), -10, 10)
            np.testing.assert_allclose(getattr(taken, name), expected, rtol=1e-3, atol=1e-4, err_msg=name)
        seen.append(np.asarray(rollout.obs).reshape(-1))
        data = one_hot(np.concatenate(seen))
        # Rewards are divided by the deviation of all discounted sums so far, those of this rollout among them.
        for reward, done in zip(np.asarray(rollout.reward), np.asarray(rollout.done), strict=True):
            g = algorithm.explorer.gamma * g + reward
            sums.append(g.copy())
            g[done] = 0
        scale = np.sqrt(moments(np.concatenate(sums))[1] + 1e-8)
        np.testing.assert_allclose(taken.reward, np.clip(np.asarray(rollout.reward) / scale, -10, 10), rtol=1e-4)
        for name in ("action", "terminated", "truncated"):
            np.testing.assert_array_equal(getattr(taken, name), getattr(rollout, name))
    np.testing.assert_array_equal(state.visits, np.bincount(np.concatenate(seen), minlength=SIZE))


def test_without_normalisers_agents_see_a_rollout_as_it_is():
    algorithm, (rollout, _) = dataclasses.replace(CONFIG, num_envs=2).algorithm(), rollouts(0)
    _, taken = take_in(algorithm, init_run(algorithm, jax.random.key(0)), rollout)
    assert eqx.tree_equal(taken, rollout)


def test_the_explorer_gets_normalised_rewards_plus_the_bonus():
    algorithm, (rollout, _) = NORMALISED.with_value("bonus.scale", 0.5).algorithm(), rollouts(0)
    state, taken = take_in(algorithm, init_run(algorithm, jax.random.key(0)), rollout)
    explore = to_explore(algorithm, state, taken, jnp.full((3, 2), 4.0), jnp.zeros((3, 2, 2)))
    np.testing.assert_allclose(explore.rollout.reward, taken.reward + 2.0, rtol=1e-6)
    np.testing.assert_array_equal(explore.rollout.obs, taken.obs)


class Watching(Bonus[tuple[()]]):
    """Notes what it is shown."""

    def init(self, key, spec, num_envs):
        return ()

    def step(self, state, rollout):
        SHOWN.append((rollout.obs.dtype, rollout.obs.shape))
        return state, jnp.zeros_like(rollout.reward)


SHOWN = []


def test_bonuses_see_observations_as_they_are():
    """As integers, while the agents of the same run see standardised vectors."""
    algorithm = dataclasses.replace(NORMALISED, bonus=Watching()).algorithm()
    SHOWN.clear()
    state = eqx.filter_eval_shape(lambda: init_run(algorithm, jax.random.key(0)))
    eqx.filter_eval_shape(iterate, algorithm, state, jnp.asarray(0))
    assert SHOWN
    for dtype, shape in SHOWN:
        assert jnp.issubdtype(dtype, jnp.integer)
        assert shape == (algorithm.rollout_length, 2)
    assert algorithm.agent_spec.observation.shape == (SIZE,)


@partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})
def first_iteration(algorithm):
    return iterate(algorithm, init_run(algorithm, jax.random.key(0)), jnp.asarray(0))


class Paying(Watching):
    """Pays 1 for every step."""

    def step(self, state, rollout):
        return state, jnp.ones_like(rollout.reward)


def test_sums_of_bonuses_begin_anew_where_an_episode_is_cut_off():
    """A bonus of 1 at every step of episodes of two: its discounted sums are 1 and 1 + gamma, again and again."""
    config = recipe("a2c-count", "DeepSea-3").with_value("explorer.hidden", (8,))
    config = dataclasses.replace(config, env=Limited(limit=2), bonus=Paying(normalise="returns"), num_envs=1)
    algorithm = config.algorithm()
    gamma, steps = algorithm.explorer.gamma, algorithm.rollout_length
    state, metrics = first_iteration(algorithm)
    mean, variance = moments(np.resize([1.0, 1.0 + gamma], steps))
    np.testing.assert_allclose(state.bonus_scale.moments.mean, mean, rtol=1e-4)
    np.testing.assert_allclose(metrics["bonus"], 1 / np.sqrt(variance), rtol=1e-3)
