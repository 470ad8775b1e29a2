"""The ring against a deque, and draws against the weights they should follow."""

from collections import deque

import jax
import jax.numpy as jnp
import numpy as np
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
    number = np.asarray(number, np.int32)
    return {"id": number, "pair": np.stack([number, -number], -1).astype(np.float32)}


@settings(max_examples=30, deadline=None)
@given(
    size=st.sampled_from([(1, 1), (8, 2), (7, 3), (2, 3)]),
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
    data = jax.tree.map(np.asarray, ring.data)
    assert sorted(data["id"][:filled]) == list(remembered)
    np.testing.assert_array_equal(data["pair"], np.stack([data["id"], -data["id"]], -1))
    drawable = {number for number in remembered if number >= skip}
    if drawable:
        rows = np.asarray(uniform(ring, KEY, clock, skip))
        assert ((rows >= 0) & (rows < filled)).all(), "only rows that have been written"
        assert set(data["id"][rows]) == drawable, "all of them, and none that is to be skipped"


def test_uniform_draws_are_uniform():
    ring = Ring.init(row_of(0), 10, 2)
    rows = np.concatenate([uniform(ring, jax.random.key(seed), 7, 0) for seed in range(50)])
    frequencies = np.bincount(rows, minlength=10) / rows.size
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
    for seed in range(5):
        index, probability = map(np.asarray, draw(priorities_of(weights), jax.random.key(seed), 1000))
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


def test_not_even_by_rounding(monkeypatch):
    """The extremes of the random numbers: without care, the last draw falls on an entry that was never written."""
    monkeypatch.setattr(jax.random, "uniform", lambda key, shape: jnp.full(shape, key, jnp.float32))
    at = jax.jit(lambda priorities, luck: priorities.draw(luck, 256))
    for filled in (slice(0, 3), slice(0, 10), slice(5, 60), slice(17, 83), slice(80, 100)):
        weights = np.zeros(100, np.float32)
        weights[filled] = np.random.default_rng(0).exponential(size=filled.stop - filled.start)
        for luck in (0.0, np.nextafter(np.float32(1), np.float32(0))):
            index, probability = map(np.asarray, at(priorities_of(weights), luck))
            assert (weights[index] > 0).all()
            assert (probability > 0).all()


def weights_of(priorities: Priorities) -> list[float]:
    return np.asarray(priorities.weight).reshape(-1)[:10].tolist()


def test_new_entries_get_the_highest_priority_and_updates_replace_it():
    add, update = jax.jit(Priorities.add, static_argnums=2), jax.jit(Priorities.update)
    priorities = Priorities.init(10)
    assert not any(weights_of(priorities)), "nothing can be drawn at first"
    priorities = add(priorities, 0, 4)
    assert weights_of(priorities) == [1, 1, 1, 1, 0, 0, 0, 0, 0, 0]
    priorities = update(priorities, np.asarray([1, 3]), np.asarray([5.0, 0.25]))
    assert weights_of(priorities) == [1, 5, 1, 0.25, 0, 0, 0, 0, 0, 0]
    index, probability = map(np.asarray, draw(priorities, KEY, 29))  # 29 strata of 0.25: entry 1 gets about 20
    assert abs((index == 1).sum() - 20) <= 1
    np.testing.assert_allclose(probability, np.asarray([1, 5, 1, 0.25])[index] / 7.25, rtol=1e-5)
    priorities = add(priorities, 4, 4)
    assert weights_of(priorities) == [1, 5, 1, 0.25, 5, 5, 5, 5, 0, 0]
    priorities = update(priorities, np.asarray([1, 4]), np.asarray([0.5, 0.5]))
    priorities = add(priorities, 6, 4)
    assert weights_of(priorities) == [1, 0.5, 1, 0.25, 0.5, 5, 5, 5, 5, 5], "the highest ever, not the highest now"
