"""Gradient steps on the visited rows of a first layer: the same numbers as steps on all of it."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from derl.core.networks import MLP
from derl.core.optimiser import apply_gradient, clipped_adam
from derl.core.rows import idle_steps, scan_visited, visited, worth_leaving_idle
from derl.core.types import Box, Discrete

LEARNING_RATE, EPSILON = 0.01, 1e-8
OPTIMISER = clipped_adam(LEARNING_RATE, EPSILON, 0.1)


def test_the_rows_of_a_batch():
    rows, position = visited(jnp.asarray([7, 2, 7, 9, 2, 10]), 10)
    # 10 stands for the zero vector, which has no row: it is looked up past the end.
    assert rows.tolist() == [7, 2, 10, 9, 10, 10]
    assert position.tolist() == [0, 1, 0, 3, 1, 6]


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(0, 20), min_size=1, max_size=30))
def test_every_sample_finds_its_row_and_no_row_is_there_twice(obs):
    rows, position = (np.asarray(x) for x in visited(jnp.asarray(obs), 20))
    assert all((rows[p] == o) if o < 20 else p == len(obs) for o, p in zip(obs, position, strict=True))
    kept = rows[rows < 20].tolist()
    assert sorted(kept) == sorted(set(obs) - {20})


def start(space) -> tuple[MLP, object]:
    network = MLP(jax.random.key(0), space, (8,), 3)
    return network, OPTIMISER.init(eqx.filter(network, eqx.is_array))


def train(carry, batch):
    """A gradient step towards random targets."""
    (network, opt_state), (obs, target) = carry, batch
    loss, gradient = jax.value_and_grad(lambda n: jnp.mean((n(obs) - target) ** 2))(network)
    network, opt_state, _ = apply_gradient(OPTIMISER, network, opt_state, gradient)
    return (network, opt_state), loss


def scan(carry, obs, target):
    return scan_visited(
        train,
        lambda network: network.weights[0],
        carry,
        obs,
        target,
        idle=lambda steps: idle_steps(steps, LEARNING_RATE, EPSILON),
    )


def batches(space, seed: int):
    keys = jax.random.split(jax.random.key(seed))
    shape = (5, 4)
    # Past the end, too: the zero vector.
    obs = jax.random.randint(keys[0], shape, 0, space.size + 1) if isinstance(space, Discrete) else None
    obs = jax.random.normal(keys[0], (*shape, *space.shape)) if obs is None else obs
    return obs, jax.random.normal(keys[1], (*shape, 3))


@pytest.mark.parametrize("space", [Discrete(50), Discrete(6), Box((50,))], ids=["many", "few", "vectors"])
def test_steps_on_visited_rows_are_the_plain_steps(space):
    ours = plain = start(space)
    # Rows visited in one rollout are idle in the next, with means that are not 0.
    for seed in range(4):
        data = batches(space, seed)
        ours, losses = scan(ours, *data)
        plain, expected = jax.lax.scan(train, plain, data)
        np.testing.assert_allclose(losses, expected, rtol=1e-4)
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(plain), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5)


def test_rows_that_no_batch_reads_move_by_what_adam_remembers():
    space = Discrete(50)
    first, second = batches(space, 0), batches(space, 1)
    once, _ = scan(start(space), *first)
    twice, _ = scan(once, *second)
    moved = np.abs(np.asarray(twice[0].weights[0] - once[0].weights[0])).max(1)
    seen, now = set(np.asarray(first[0]).ravel().tolist()), set(np.asarray(second[0]).ravel().tolist())
    idle = (seen - now) & set(range(50))
    assert idle
    assert all(moved[row] > 0 for row in idle)
    assert all(moved[row] == 0 for row in set(range(50)) - seen - now)


@pytest.mark.parametrize(
    ("obs", "size", "steps", "worth"),
    [
        (jnp.zeros((5, 4), jnp.int32), 21, 5, True),
        (jnp.zeros((5, 4), jnp.int32), 20, 5, False),
        (jnp.zeros((1, 4), jnp.int32), 99, 1, False),
        (jnp.zeros((80, 1), jnp.int32), 99, 80, False),
        (jnp.zeros((5, 4)), 99, 5, False),
        (jnp.zeros((5, 300), jnp.int32), 9999, 5, False),
    ],
)
def test_when_rows_are_left_idle(obs, size, steps, worth):
    assert worth_leaving_idle(obs, size, steps) is worth
