from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bonuses.building import init, quick_jit, random_rollout, rollout_of, step
from derl.bonuses import Count
from derl.core.errors import DerlError
from derl.core.types import Box, Discrete, Spec

KEY = jax.random.key(0)


def rewards(bonus: Count, *rollouts, size: int = 5):
    state = init(bonus, Spec(Discrete(size), 2), rollouts[0].obs.shape[1])
    out = []
    for rollout in rollouts:
        state, r = step(bonus, state, rollout)
        out.append(np.asarray(r))
    return state, out


def test_environments_in_the_same_new_state_are_counted_one_after_another():
    _, [r] = rewards(Count(), rollout_of([[3, 3, 3, 3]]))
    np.testing.assert_allclose(r, [[1.0, 0.70711, 0.57735, 0.5]], atol=1e-5)


def test_time_comes_before_environment():
    _, [r] = rewards(Count(), rollout_of([[0, 1], [1, 0], [1, 1]]))
    np.testing.assert_allclose(r, [[1, 1], [2**-0.5, 2**-0.5], [3**-0.5, 0.5]], rtol=1e-6)


def test_counts_carry_over_to_the_next_rollout():
    state, [_, r] = rewards(Count(), rollout_of([[0, 0, 0]]), rollout_of([[0, 1, 0]]))
    np.testing.assert_allclose(r, [[0.5, 1.0, 5**-0.5]], rtol=1e-6)
    np.testing.assert_array_equal(state.visits, [5, 1, 0, 0, 0, 0])


def test_large_increments_make_the_bonus_decay_faster():
    _, [r] = rewards(Count(increment=4.0), rollout_of([[2, 2]]))
    np.testing.assert_allclose(r, [[0.5, 8**-0.5]], rtol=1e-6)


def test_small_increments_leave_the_bonus_at_one_until_the_count_exceeds_one():
    _, [r] = rewards(Count(increment=0.25), rollout_of([[2] * 5]))
    np.testing.assert_allclose(r, [[1, 1, 1, 1, 1.25**-0.5]], rtol=1e-6)


@pytest.mark.parametrize(("increment", "first"), [(0.01, 100.0), (1.0, 1.0), (100.0, 0.001)])
def test_dividing_by_the_increment(increment, first):
    _, [r] = rewards(Count(increment=increment, divide_by_increment=True), rollout_of([[2]]))
    np.testing.assert_allclose(r, [[first]], rtol=1e-5)


def test_small_increments_stay_exact_after_millions_of_visits():
    bonus = Count(increment=0.01)
    state, _ = rewards(bonus, rollout_of([[0]]))
    state = type(state)(state.visits.at[0].set(6_000_000))
    for _ in range(10):
        state, r = step(bonus, state, rollout_of([[0] * 10]))
    np.testing.assert_allclose(r[0, -1], 60_001.0**-0.5, rtol=1e-6)


def test_visits_of_one_time_step_are_forgotten_at_the_next():
    rollout = rollout_of([[3, 3, 1, 3], [3, 1, 1, 1]])
    expected = [[1, 2**-0.5, 1, 3**-0.5], [1, 1, 2**-0.5, 3**-0.5]]
    state, r = rewards(Count(memory="step"), rollout, rollout)
    np.testing.assert_allclose(r, [expected, expected], rtol=1e-6)
    assert not state.visits.any()
    # The increment still is what one visit adds.
    _, [r] = rewards(Count(memory="step", increment=4.0), rollout_of([[2, 2, 0]]))
    np.testing.assert_allclose(r, [[0.5, 8**-0.5, 0.5]], rtol=1e-6)


def test_forgotten_visits_are_what_drifting_keys_come_to():
    """The authors' code was seen to have 5,284 keys in 8,000 visits of Hallway's 21 states by four environments that
    act at random, and a bonus of about 0.9."""
    rng, keys, bonuses = np.random.default_rng(0), 0, []
    for _ in range(100):
        walk = np.zeros((20, 4), int)
        for t in range(1, 20):
            walk[t] = np.clip(walk[t - 1] + rng.integers(-1, 2, 4), 0, 20)
        keys += sum(len(set(row)) for row in walk)
        bonuses.append(rewards(Count(memory="step"), rollout_of(walk), size=21)[1][0].mean())
    assert keys == pytest.approx(5284, rel=0.05)
    assert np.mean(bonuses) == pytest.approx(0.9, abs=0.01)


def test_which_state_is_counted():
    rollout = rollout_of([[0], [1]], next_obs=[[5], [2]], last_obs=[2], terminated=[[True], [False]])
    for looks, expected in {
        "state": [1, 1, 0, 0, 0, 0],
        "successor": [0, 0, 1, 0, 0, 1],
        "successor_after_reset": [0, 1, 1, 0, 0, 0],
    }.items():
        state, _ = rewards(Count(looks=looks), rollout)
        np.testing.assert_array_equal(state.visits, expected)


def test_vectors_cannot_be_counted():
    with pytest.raises(DerlError, match="hash-count"):
        Count().init(KEY, Spec(Box((3,)), 2), 4)


@settings(max_examples=30, deadline=None)
@given(data=st.data(), shape=st.sampled_from([(1, 4), (3, 2), (4, 1)]), increment=st.floats(0.1, 10))
def test_agrees_with_a_dictionary(data, shape, increment):
    steps, envs = shape
    states = st.lists(st.lists(st.integers(0, 5), min_size=envs, max_size=envs), min_size=steps, max_size=steps)
    rollouts = [np.array(data.draw(states)) for _ in range(3)]
    _, out = rewards(Count(increment=increment), *[rollout_of(x) for x in rollouts])
    table: Counter[int] = Counter()
    for rollout, r in zip(rollouts, out, strict=True):
        for t in range(steps):
            for e in range(envs):
                table[rollout[t, e]] += increment
                assert r[t, e] == pytest.approx(1 / max(1, table[rollout[t, e]] ** 0.5), rel=1e-5)


def test_a_population_with_different_increments_equals_separate_runs():
    increments = [0.1, 1.0, 7.0]
    rollouts = [random_rollout(seed, size=5, steps=4, envs=3) for seed in range(3)]
    together = jax.tree.map(lambda *x: jnp.stack(x), *rollouts)
    state = jax.vmap(lambda k: Count().init(k, Spec(Discrete(5), 2), 3))(jax.random.split(KEY, 3))
    step = quick_jit(jax.vmap(lambda i, s, x: Count(increment=i).step(s, x)))
    state, _ = step(jnp.asarray(increments), state, together)
    _, r = step(jnp.asarray(increments), state, together)
    for i, increment in enumerate(increments):
        _, [_, alone] = rewards(Count(increment=increment), rollouts[i], rollouts[i])
        np.testing.assert_allclose(r[i], alone, rtol=1e-6)
