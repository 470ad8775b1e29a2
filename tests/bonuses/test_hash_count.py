import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bonuses.building import init, quick_jit, random_rollout, rollout_of, step
from derl.bonuses import Count, HashCount
from derl.bonuses.hash_count import LARGEST_TABLE_BITS, SimHash, sign_bits, table_index
from derl.core.types import Box, Discrete, Spec

KEY = jax.random.key(0)


def test_bits_are_the_signs_of_the_projections():
    rng = np.random.default_rng(0)
    directions, obs = rng.normal(size=(3, 7)), rng.normal(size=(2, 5, 3))
    bits = sign_bits(jnp.asarray(directions), jnp.asarray(obs))
    np.testing.assert_array_equal(bits, np.sign(obs @ directions) == 1)


def test_short_codes_are_binary_numbers():
    bits = np.random.default_rng(0).random((50, 20)) < 0.5
    np.testing.assert_array_equal(
        table_index(jnp.asarray(bits)), [sum(b << j for j, b in enumerate(x)) for x in bits.tolist()]
    )


def test_long_codes_are_scrambled_words():
    def scramble(word):
        for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
            word = ((word ^ (word >> shift)) * factor) % 2**32
        return word ^ (word >> 16)

    bits = np.random.default_rng(0).random((50, 40)) < 0.5
    expected = []
    for row in bits:
        number, mixed = sum(int(b) << j for j, b in enumerate(row)), 0
        for word in (number % 2**32, number >> 32):
            mixed = scramble(((mixed ^ word) + 0x9E3779B9) % 2**32)
        expected.append(mixed >> 12)
    np.testing.assert_array_equal(table_index(jnp.asarray(bits)), expected)


@pytest.mark.parametrize("bits", [21, 64, 128])
def test_long_codes_spread_over_the_table(bits):
    codes = np.random.default_rng(0).random((5000, bits)) < 0.5
    codes[:1000] = False
    codes[np.arange(1000), np.arange(1000) % bits] = True  # few bits differ
    distinct = len(np.unique(codes, axis=0))
    index = np.asarray(table_index(jnp.asarray(codes)))
    assert index.min() >= 0
    assert index.max() < 2**LARGEST_TABLE_BITS
    # By chance about distinct^2 / 2 / 2^20 = 12 of 5000 share a place.
    assert distinct - len(np.unique(index)) < 30


@pytest.mark.parametrize("bits", [3, 16, 30])
def test_discrete_states_share_a_number_exactly_if_their_one_hot_vectors_share_a_code(bits):
    size = 40
    numbers = np.asarray(SimHash(KEY, Discrete(size), bits)(jnp.arange(size + 1)))
    one_hot = jnp.concatenate([jnp.eye(size), jnp.zeros((1, size))])
    codes = np.asarray(SimHash(KEY, Box((size,)), bits)(one_hot))
    np.testing.assert_array_equal(numbers[:, None] == numbers, codes[:, None] == codes)
    assert numbers.max() <= size
    assert (len(set(codes)) < size / 2) == (bits == 3)  # short codes collide


def test_equals_count_when_no_codes_collide():
    spec = Spec(Discrete(20), 3)
    count, hash_count = Count(increment=0.5), HashCount(increment=0.5, key_bits=64)
    a, b = init(count, spec, 4), init(hash_count, spec, 4)
    for seed in range(3):
        rollout = random_rollout(seed, 20, steps=5, envs=4)
        a, expected = step(count, a, rollout)
        b, r = step(hash_count, b, rollout)
        np.testing.assert_array_equal(r, expected)


def test_states_with_one_code_share_their_count():
    spec = Spec(Discrete(30), 3)
    bonus = HashCount(key_bits=1)
    state = init(bonus, spec, 1)
    assert state.simhash.numbers is not None
    numbers = np.asarray(state.simhash.numbers)
    same, other = np.flatnonzero(numbers == numbers[0])[:3], np.flatnonzero(numbers != numbers[0])[0]
    _, r = step(bonus, state, rollout_of([[same[0]], [same[1]], [other], [same[2]]]))
    np.testing.assert_allclose(r[:, 0], [1, 2**-0.5, 1, 3**-0.5], rtol=1e-6)


def test_simultaneous_counting_rewards_a_time_step_alike():
    bonus = HashCount(simultaneous=True, key_bits=32)
    state = init(bonus, Spec(Discrete(9), 2), 4)
    state, r = step(bonus, state, rollout_of([[3, 3, 3, 3], [3, 1, 3, 1]]))
    np.testing.assert_allclose(r, [[0.5] * 4, [6**-0.5, 2**-0.5] * 2], rtol=1e-6)
    _, r = step(bonus, state, rollout_of([[1, 2, 1, 3]]))
    np.testing.assert_allclose(r, [[0.5, 1, 0.5, 7**-0.5]], rtol=1e-6)


@pytest.mark.parametrize("bits", [16, 48])
def test_vectors(bits):
    bonus = HashCount(key_bits=bits)
    state = init(bonus, Spec(Box((2, 3)), 2), 2)
    assert state.visits.shape == (2 ** min(bits, 20),)
    x, y = np.random.default_rng(1).normal(size=(2, 2, 3))
    # A code depends on direction only: 3x shares x's, and -x is as far as can be.
    state, r = step(bonus, state, rollout_of(np.array([[x, y], [3 * x, -x], [y, x]])))
    np.testing.assert_allclose(r, [[1, 1], [2**-0.5, 1], [2**-0.5, 3**-0.5]], rtol=1e-6)
    assert int(state.visits.sum()) == 6


def test_directions_are_standard_normal():
    directions = SimHash(KEY, Box((200,)), 50).directions
    assert directions is not None
    assert abs(float(directions.mean())) < 0.05
    assert abs(float(directions.std()) - 1) < 0.05


def test_a_population_draws_its_own_codes():
    spec = Spec(Discrete(50), 2)
    state = quick_jit(jax.vmap(lambda k: HashCount(key_bits=2).init(k, spec, 2)))(jax.random.split(KEY, 2))
    numbers = np.asarray(state.simhash.numbers)
    assert (numbers[0] != numbers[1]).any()


@pytest.mark.parametrize("batch", [(), (6,), (2, 3), (1, 2, 3)])
def test_observations_of_any_shape_are_hashed_in_batches_of_any_shape(batch):
    count = math.prod(batch)
    obs = jnp.asarray(np.random.default_rng(0).normal(size=(count, 4, 2)), jnp.float32)
    simhash = SimHash(KEY, Box((4, 2)), 8)
    codes = simhash(obs.reshape(*batch, 4, 2))
    assert codes.shape == batch
    np.testing.assert_array_equal(codes.reshape(-1), [int(simhash(one)) for one in obs])
