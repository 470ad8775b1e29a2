"""Running statistics against NumPy and plain loops."""

import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from derl.core.running import Moments, RewardScale, discounted_sums


def test_moments_are_those_of_everything_seen():
    rng = np.random.default_rng(0)
    moments, seen = Moments.init((3,)), []
    for size in [1, 7, 2, 2, 50, 1, 30]:
        batch = rng.normal([5, -2, 100], [1, 0.1, 30], (size, 3))
        seen.append(batch)
        moments = moments.update(jnp.asarray(batch, jnp.float32))
    everything = np.concatenate(seen)
    # The pseudo-observation weighs 1e-4: a millionth of the 93 real ones.
    np.testing.assert_allclose(moments.mean, everything.mean(0), rtol=1e-4)
    np.testing.assert_allclose(moments.variance, everything.var(0), rtol=1e-3)
    np.testing.assert_allclose(moments.count, 93 + 1e-4, rtol=1e-6)


def test_of_a_batch_what_is_counted_counts():
    rng = np.random.default_rng(0)
    moments, seen = Moments.init((2,)), []
    for size in (1, 4, 2):
        batch, counted = rng.normal(2, 3, (5, 2)), rng.permutation(5) < size
        seen.append(batch[counted])
        moments = moments.update(jnp.asarray(batch, jnp.float32), jnp.asarray(counted))
    everything = np.concatenate(seen)
    np.testing.assert_allclose(moments.count, 7, rtol=1e-4)
    np.testing.assert_allclose(moments.mean, everything.mean(0), rtol=1e-3)
    np.testing.assert_allclose(moments.variance, everything.var(0), rtol=1e-3)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from([1, 2, 5]), min_size=1, max_size=6), st.integers(0, 2**32 - 1))
def test_how_the_data_are_cut_into_batches_does_not_matter(sizes, seed):
    data = np.random.default_rng(seed).normal(3, 2, sum(sizes)).astype(np.float32)
    pieces = Moments.init()
    for batch in np.split(data, np.cumsum(sizes)[:-1]):
        pieces = pieces.update(jnp.asarray(batch))
    mean, variance, count = 0.0, 1.0, 1e-4  # one observation at a time, in float64
    for x in data.astype(np.float64):
        delta = x - mean
        variance = (variance * count + delta**2 * count / (count + 1)) / (count + 1)
        mean, count = mean + delta / (count + 1), count + 1
    np.testing.assert_allclose(pieces.mean, mean, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(pieces.variance, variance, rtol=1e-3, atol=1e-4)


def test_standardised_data_have_mean_0_and_variance_1_and_are_clipped():
    data = jnp.asarray(np.random.default_rng(1).normal(7, 3, (200, 2)), jnp.float32)
    moments = Moments.init((2,)).update(data)
    standard = np.asarray(moments.standardise(data))
    np.testing.assert_allclose(standard.mean(0), 0, atol=1e-3)
    np.testing.assert_allclose(standard.std(0), 1, atol=1e-3)
    np.testing.assert_array_equal(moments.standardise(jnp.asarray([1e6, -1e6])), [10, -10])
    np.testing.assert_array_equal(moments.standardise(jnp.asarray([1e6, -1e6]), clip=2.0), [2, -2])


def test_before_any_data_nothing_is_changed():
    np.testing.assert_allclose(Moments.init((2,)).standardise(jnp.asarray([1.5, -3.0])), [1.5, -3.0], rtol=1e-6)


def test_discounted_sums_by_hand():
    reward = jnp.asarray([[1.0, 0.0], [2.0, 4.0], [3.0, 0.0]])
    done = jnp.asarray([[False, True], [True, False], [False, False]])
    carried, sums = discounted_sums(jnp.asarray([10.0, 20.0]), reward, done, 0.5)
    # First column: 5 + 1, 3 + 2, then a new episode: 3. Second: 10 + 0, then a new episode: 4, 2 + 0.
    np.testing.assert_allclose(sums, [[6, 10], [5, 4], [3, 2]])
    np.testing.assert_allclose(carried, [3, 2])


def test_reward_scale_against_a_plain_loop():
    rng = np.random.default_rng(2)
    gamma, envs = 0.9, 3
    scale, g, history = RewardScale.init(envs), np.zeros(envs), []
    for _ in range(6):
        reward = rng.exponential(2.0, (4, envs)).astype(np.float32)
        done = rng.random((4, envs)) < 0.3
        scale = scale.update(jnp.asarray(reward), jnp.asarray(done), gamma)
        for r, d in zip(reward, done, strict=True):
            g = gamma * g + r
            history.extend(g)  # the sum that ends with the episode still counts
            g = np.where(d, 0.0, g)
        expected = np.clip(reward / np.sqrt(np.var(history) + 1e-8), -10, 10)
        np.testing.assert_allclose(scale.scale(jnp.asarray(reward)), expected, rtol=2e-3)
    np.testing.assert_allclose(scale.carried, g, rtol=1e-5)
    np.testing.assert_array_equal(scale.scale(jnp.asarray([[1e9, -1e9]])), [[10, -10]])
