from collections import Counter

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bonuses.building import SMALL, init, numpy_mlp, rollout_of, step
from derl.bonuses import RIDE
from derl.bonuses.ride import EpisodicCounts
from derl.core.types import Box, Discrete, Spec

KEY = jax.random.key(0)
SIZE = 6
SPEC = Spec(Discrete(SIZE), 3)


def numpy_impact(state, obs, next_obs):
    encoder = state.learner.model.encoder
    return ((numpy_mlp(encoder, next_obs) - numpy_mlp(encoder, obs)) ** 2).sum(-1)


def root_visits(bonus: RIDE, *rollouts):
    """What the impact is divided by, for each rollout in turn."""
    state = init(bonus, KEY, SPEC, rollouts[0].obs.shape[1])
    out = []
    for rollout in rollouts:
        half_impact = 0.5 * numpy_impact(state, rollout.obs, rollout.next_obs)
        state, r = step(bonus, state, rollout)
        out.append(half_impact / np.asarray(r))
    return out


@pytest.mark.parametrize("halve", [True, False])
def test_first_visits_are_rewarded_with_the_impact(halve):
    bonus = RIDE(**SMALL, learning_rate=0.0, halve=halve)
    state = init(bonus, KEY, SPEC, 2)
    _, r = step(bonus, state, rollout_of([[0, 3]], last_obs=[1, 5]))
    np.testing.assert_allclose(r[0], numpy_impact(state, [0, 3], [1, 5]) * (0.5 if halve else 1), rtol=1e-4)


def test_coming_back_to_where_the_episode_began_is_a_second_visit():
    [n] = root_visits(RIDE(**SMALL, learning_rate=0.0), rollout_of([[0], [1], [0], [1]], last_obs=[0]))
    np.testing.assert_allclose(n[:, 0], np.sqrt([1, 2, 2, 3]), rtol=1e-3)


def test_the_state_acted_in_may_be_counted_instead():
    rollout = rollout_of([[0], [1], [0], [2]], last_obs=[0])
    [n] = root_visits(RIDE(**SMALL, learning_rate=0.0, counts="state"), rollout)
    np.testing.assert_allclose(n[:, 0], np.sqrt([1, 1, 2, 1]), rtol=1e-3)


def test_counts_begin_anew_with_each_episode_and_each_environment_has_its_own():
    first = rollout_of([[0, 0], [1, 1], [0, 0]], last_obs=[1, 2], next_obs=[[1, 1], [0, 5], [1, 2]],
                       terminated=[[False] * 2, [False, True], [False] * 2])  # fmt: skip
    second = rollout_of([[1, 2], [0, 0]], last_obs=[1, 3], truncated=[[False] * 2, [True, False]])
    bonus = RIDE(**SMALL, learning_rate=0.0, counts="state")
    n, m = root_visits(bonus, first, second)
    np.testing.assert_allclose(n, np.sqrt([[1, 1], [1, 1], [2, 1]]), rtol=1e-3)
    np.testing.assert_allclose(m, np.sqrt([[2, 1], [3, 2]]), rtol=1e-3)


def test_after_a_reset_the_first_state_is_visited_once():
    rollout = rollout_of([[0], [1], [0]], last_obs=[1], terminated=[[False], [True], [False]])
    bonus = RIDE(**SMALL, learning_rate=0.0, counts="successor_after_reset", successor="successor_after_reset")
    [n] = root_visits(bonus, rollout)
    np.testing.assert_allclose(n[:, 0], [1, 1, 1], rtol=1e-3)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**31), shape=st.sampled_from([(1, 3), (5, 2)]))
def test_episodic_counts_agree_with_dictionaries(seed, shape):
    rng = np.random.default_rng(seed)
    steps, envs = shape
    counts = EpisodicCounts.init(envs, 4)
    tables = [Counter() for _ in range(envs)]
    for _ in range(4):
        states, looked = rng.integers(0, 4, (2, steps, envs))
        done = rng.random((steps, envs)) < 0.2
        counts, visits = counts.count(states, looked, done)
        for t in range(steps):
            for e in range(envs):
                tables[e][states[t, e]] += 1
                assert visits[t, e] == tables[e][looked[t, e]]
                if done[t, e]:
                    tables[e].clear()


def test_each_time_step_is_rewarded_before_it_is_learned_from():
    bonus = RIDE(**SMALL, learning_rate=1e-2, counts="state")
    state = init(bonus, KEY, SPEC, 2)
    rollout = rollout_of([[0, 1], [2, 3]], last_obs=[4, 5], action=[[0, 2], [1, 1]])
    _, r = step(bonus, state, rollout)
    after, _ = step(bonus, state, rollout_of([[0, 1]], last_obs=[2, 3], action=rollout.action[:1]))
    np.testing.assert_allclose(r[0], 0.5 * numpy_impact(state, [0, 1], [2, 3]), rtol=1e-4)
    np.testing.assert_allclose(r[1], 0.5 * numpy_impact(after, [2, 3], [4, 5]), rtol=1e-4)
    assert not np.allclose(r[1], 0.5 * numpy_impact(state, [2, 3], [4, 5]), rtol=1e-2)


def test_vectors_are_counted_by_their_hash():
    bonus = RIDE(**SMALL, learning_rate=0.0, counts="state", key_bits=24)
    state = init(bonus, KEY, Spec(Box((3,)), 3), 2)
    assert state.counts.marks.shape == (2, 2**20)
    a, b, c, d = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
    obs = np.array([[a, a], [b, a], [a, c], [a, a]])
    rollout = rollout_of(
        obs, last_obs=np.array([d, d]), truncated=[[False] * 2, [False] * 2, [True, False], [False] * 2]
    )
    _, r = step(bonus, state, rollout)
    visits = np.array([[1, 1], [1, 2], [2, 1], [1, 3]])
    impact = numpy_impact(state, obs, np.concatenate([obs[1:], [[d, d]]]))
    np.testing.assert_allclose(r, 0.5 * impact / np.sqrt(visits), rtol=1e-4, atol=1e-7)
