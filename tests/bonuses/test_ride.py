from collections import Counter

import equinox as eqx
import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bonuses.building import SMALL, init, numpy_mlp, quick_jit, random_rollout, rollout_of, step
from derl.bonuses import RIDE
from derl.bonuses.hash_count import SimHash
from derl.bonuses.ride import EpisodicCounts
from derl.core.types import Box, Discrete, Spec

SIZE = 6
SPEC = Spec(Discrete(SIZE), 3)


def numpy_impact(learner, obs, next_obs):
    encoder = learner.model.encoder
    return ((numpy_mlp(encoder, next_obs) - numpy_mlp(encoder, obs)) ** 2).sum(-1)


@quick_jit
def count_visits(bonus: RIDE, counts: EpisodicCounts, rollout):
    return bonus.count_visits(counts, None, rollout)


def visits(bonus: RIDE, *rollouts):
    """N_ep of each rollout in turn."""
    counts, out = EpisodicCounts.init(rollouts[0].obs.shape[1], SIZE + 1), []
    for rollout in rollouts:
        counts, n = count_visits(bonus, counts, rollout)
        out.append(np.asarray(n))
    return out


@pytest.mark.parametrize("halve", [True, False])
def test_the_bonus_is_the_impact_over_the_root_of_the_visits(halve):
    bonus = RIDE(**SMALL, learning_rate=0.0, halve=halve)
    state = init(bonus, SPEC, 2)
    rollout = rollout_of([[0, 3], [1, 4], [0, 4]], last_obs=[1, 4])
    _, r = step(bonus, state, rollout)
    impact = numpy_impact(state.learner, rollout.obs, rollout.next_obs)
    n = np.array([[1, 1], [2, 2], [2, 3]])
    np.testing.assert_allclose(r, impact / np.sqrt(n) * (0.5 if halve else 1), rtol=1e-4, atol=1e-7)
    assert impact[:, 0].min() > 0.01


def test_coming_back_to_where_the_episode_began_is_a_second_visit():
    [n] = visits(RIDE(counts="successor"), rollout_of([[0], [1], [0], [1]], last_obs=[0]))
    np.testing.assert_array_equal(n[:, 0], [1, 2, 2, 3])


def test_the_state_acted_in_may_be_counted_instead():
    [n] = visits(RIDE(counts="state"), rollout_of([[0], [1], [0], [2]], last_obs=[0]))
    np.testing.assert_array_equal(n[:, 0], [1, 1, 2, 1])


def test_without_counts_coming_back_pays_as_much():
    bonus = RIDE(**SMALL, learning_rate=0.0, counts="none")
    state = init(bonus, SPEC, 1)
    assert state.counts is None
    rollout = rollout_of([[0], [1], [0], [1]], last_obs=[0])
    after, r = step(bonus, state, rollout)
    np.testing.assert_allclose(r, numpy_impact(state.learner, rollout.obs, rollout.next_obs) / 2, rtol=1e-4, atol=1e-7)
    assert jax.tree.structure(after) == jax.tree.structure(state)


def test_counts_begin_anew_with_each_episode_and_each_environment_has_its_own():
    first = rollout_of([[0, 0], [1, 1], [0, 0]], last_obs=[1, 2], terminated=[[0, 0], [0, 1], [0, 0]])
    second = rollout_of([[1, 2], [0, 0]], last_obs=[1, 3], truncated=[[0, 0], [1, 0]])
    third = rollout_of([[1, 0]])
    n = visits(RIDE(counts="state"), first, second, third)
    np.testing.assert_array_equal(n[0], [[1, 1], [1, 1], [2, 1]])
    np.testing.assert_array_equal(n[1], [[2, 1], [3, 2]])
    np.testing.assert_array_equal(n[2], [[1, 3]])


@pytest.mark.parametrize("ended", ["terminated", "truncated"])
def test_after_a_reset_the_first_state_is_visited_once(ended):
    rollout = rollout_of([[0], [1], [0], [0]], last_obs=[1], **{ended: [[False], [True], [False], [False]]})
    [n] = visits(RIDE(counts="successor_after_reset"), rollout)
    np.testing.assert_array_equal(n[:, 0], [1, 1, 2, 1])


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**31), shape=st.sampled_from([(1, 3), (5, 2)]))
def test_episodic_counts_agree_with_dictionaries(seed, shape):
    rng = np.random.default_rng(seed)
    steps, envs = shape
    count, counts = quick_jit(EpisodicCounts.count), EpisodicCounts.init(envs, 4)
    tables = [Counter() for _ in range(envs)]
    for _ in range(4):
        states, looked = rng.integers(0, 4, (2, steps, envs))
        done = rng.random((steps, envs)) < 0.2
        counts, n = count(counts, states, looked, done)
        for t in range(steps):
            for e in range(envs):
                tables[e][states[t, e]] += 1
                assert n[t, e] == tables[e][looked[t, e]]
                if done[t, e]:
                    tables[e].clear()


def test_each_time_step_is_rewarded_before_it_is_learned_from():
    bonus = RIDE(**SMALL, learning_rate=1e-2)
    state = init(bonus, SPEC, 2)
    for seed in range(2):
        rollout = random_rollout(seed, SIZE)
        after, r = step(bonus, state, rollout)
        _, n = count_visits(bonus, state.counts, rollout)
        expected = 0.5 * numpy_impact(state.learner, rollout.obs, rollout.next_obs) / np.sqrt(n)
        np.testing.assert_allclose(r[0], expected[0], rtol=1e-4, atol=1e-7)
        assert not np.allclose(r[1:], expected[1:], rtol=1e-2)
        state = after


def test_vectors_are_counted_by_their_hash():
    bonus = RIDE(**SMALL, learning_rate=0.0, counts="state", key_bits=24)
    spec = Spec(Box((3,)), 3)
    state = eqx.tree_at(lambda s: s.simhash, init(bonus, spec, 2), SimHash(jax.random.key(0), spec.observation, 24))
    assert state.counts.marks.shape == (2, 2**20)
    a, b, c, d = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
    obs = np.array([[a, a], [b, a], [a, c], [a, a]])
    rollout = rollout_of(obs, last_obs=np.array([d, d]), truncated=[[0, 0], [0, 0], [1, 0], [0, 0]])
    _, r = step(bonus, state, rollout)
    n = np.array([[1, 1], [1, 2], [2, 1], [1, 3]])
    impact = numpy_impact(state.learner, obs, np.concatenate([obs[1:], [[d, d]]]))
    np.testing.assert_allclose(r, 0.5 * impact / np.sqrt(n), rtol=1e-4, atol=1e-7)
