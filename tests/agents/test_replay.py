"""The ring against a deque, and draws against the weights they should follow."""

from collections import deque

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from derl.agents.replay import Priorities, Ring

KEY = jax.random.key(0)

# One program for each shape of ring.
write = jax.jit(lambda ring, clock, rows: ring.write(clock, rows))
uniform = jax.jit(lambda ring, key, clock, skip: ring.uniform(key, clock, (200,), skip=skip))
draw = jax.jit(Priorities.draw, static_argnums=2)


def row_of(number):
    """Rows that carry their number in a stream, in a tree of different types and shapes."""
    number = jnp.asarray(number)
    return {"id": number, "pair": jnp.stack([number, -number], -1).astype(jnp.float32)}


@settings(max_examples=30, deadline=None)
@given(
    size=st.sampled_from([(1, 1), (4, 1), (3, 2), (8, 2), (7, 3), (2, 3)]),
    writes=st.integers(1, 12),
    skip=st.integers(0, 4),
)
@example(size=(8, 2), writes=5, skip=4)  # full, and only half of what must be skipped overwritten yet
@example(size=(8, 2), writes=4, skip=4)
def test_a_ring_is_a_deque(size, writes, skip):
    capacity, stride = size
    ring = Ring.init(row_of(0), capacity, stride)
    assert ring.rows == max(stride, capacity - capacity % stride)
    remembered = deque(maxlen=ring.rows)
    for clock in range(writes):
        numbers = np.arange(clock * stride, (clock + 1) * stride)
        ring = write(ring, jnp.asarray(clock), row_of(numbers))
        remembered.extend(numbers)
    clock = jnp.asarray(writes - 1)
    filled = int(ring.filled(clock))
    assert filled == len(remembered)
    assert sorted(np.asarray(ring.data["id"][:filled])) == list(remembered)
    np.testing.assert_array_equal(ring.data["pair"][:, 0], ring.data["id"])
    np.testing.assert_array_equal(ring.data["pair"][:, 1], -ring.data["id"])
    drawable = {number for number in remembered if number >= skip}
    if drawable:
        rows = np.asarray(uniform(ring, KEY, clock, skip))
        assert ((rows >= 0) & (rows < filled)).all(), "only rows that have been written"
        assert {int(ring.data["id"][row]) for row in rows} == drawable, "all of them, and none that is to be skipped"


def test_uniform_draws_are_uniform():
    ring = Ring.init(row_of(0), 10, 2)
    rows = np.asarray(jax.vmap(lambda key: uniform(ring, key, jnp.asarray(7), 0))(jax.random.split(KEY, 50)))
    frequencies = np.bincount(rows.reshape(-1), minlength=10) / rows.size
    np.testing.assert_allclose(frequencies, 0.1, atol=0.012)  # four standard deviations


def priorities_of(weights) -> Priorities:
    empty = Priorities.init(len(weights))
    flat = np.zeros(empty.weight.size, np.float32)
    flat[: len(weights)] = weights
    return Priorities(jnp.asarray(flat.reshape(empty.weight.shape)), empty.highest)


def test_draws_are_in_proportion_to_the_weights():
    weights = np.random.default_rng(0).exponential(size=23) * (np.arange(23) % 5 != 2)
    expected = weights / weights.sum()
    counts = np.zeros(23)
    for key in jax.random.split(KEY, 5):
        index, probability = draw(priorities_of(weights), key, 1000)
        np.testing.assert_allclose(probability, expected[index], rtol=1e-4)
        count = np.bincount(index, minlength=23)
        # Stratified: an entry's interval covers whole strata except for the two at its borders.
        assert (np.abs(count - 1000 * expected) < 2.01).all()
        counts += count
    np.testing.assert_allclose(counts / 5000, expected, atol=1e-3)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.sampled_from([0.0, 1e-4, 0.3, 1.0, 7.7]), min_size=13, max_size=13).filter(any),
    st.integers(0, 2**32 - 1),
)
def test_entries_without_weight_are_never_drawn(weights, seed):
    index, probability = draw(priorities_of(weights), jax.random.key(seed), 64)
    assert (np.asarray(weights)[index] > 0).all()
    np.testing.assert_allclose(probability, np.asarray(weights)[index] / np.sum(weights), rtol=1e-4)


@pytest.mark.parametrize("luck", [0.0, float(np.nextafter(np.float32(1), np.float32(0)))])
@pytest.mark.parametrize("filled", [(0, 3), (0, 10), (5, 60), (17, 83), (80, 100)])
def test_not_even_by_rounding(monkeypatch, luck, filled):
    """The extremes of the random numbers: without care, the last draw falls on an entry that was never written."""
    monkeypatch.setattr(jax.random, "uniform", lambda key, shape: jnp.full(shape, luck, jnp.float32))
    weights = np.zeros(100, np.float32)
    weights[slice(*filled)] = np.random.default_rng(0).exponential(size=filled[1] - filled[0])
    index, probability = priorities_of(weights).draw(KEY, 256)
    assert (weights[index] > 0).all()
    assert (np.asarray(probability) > 0).all()


def test_new_entries_get_the_highest_priority_and_updates_replace_it():
    priorities = Priorities.init(10)
    assert not priorities.weight.any(), "nothing can be drawn at first"
    priorities = priorities.add(jnp.asarray(0), 4)
    np.testing.assert_array_equal(priorities.weight.reshape(-1)[:10], [1, 1, 1, 1, 0, 0, 0, 0, 0, 0])
    priorities = priorities.update(jnp.asarray([1, 3]), jnp.asarray([5.0, 0.25]))
    np.testing.assert_array_equal(priorities.weight.reshape(-1)[:5], [1, 5, 1, 0.25, 0])
    index, probability = draw(priorities, KEY, 29)  # 29 strata of 0.25: entry 1 gets about 20 of them
    assert abs((np.asarray(index) == 1).sum() - 20) <= 1
    np.testing.assert_allclose(probability, np.asarray([1, 5, 1, 0.25])[index] / 7.25, rtol=1e-5)
    priorities = priorities.add(jnp.asarray(4), 2)
    np.testing.assert_array_equal(priorities.weight.reshape(-1)[:7], [1, 5, 1, 0.25, 5, 5, 0])
    lower = priorities.update(jnp.asarray([1, 4, 5]), jnp.asarray([0.5, 0.5, 0.5])).add(jnp.asarray(8), 2)
    np.testing.assert_array_equal(lower.weight.reshape(-1)[8:10], 5, "the highest ever seen, not the highest now")
