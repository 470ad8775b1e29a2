"""Networks: integers against one-hot vectors, and the initial weights: orthogonal, times a gain."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from core.building import KEY, random_mlp
from derl.core.errors import UnknownNameError
from derl.core.networks import MLP, lookup, orthogonal, small_batch_product
from derl.core.types import Box, Discrete

SIZE = 5


def pair(activation: str = "relu") -> tuple[MLP, MLP]:
    """The same numbers, once for integers and once for vectors."""
    arguments = {"hidden": (4,), "outputs": 3, "activation": activation}
    return random_mlp(Discrete(SIZE), **arguments), random_mlp(Box((SIZE,)), **arguments)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_an_integer_is_read_as_its_one_hot_vector(activation):
    of_integers, of_vectors = pair(activation)
    obs = jnp.asarray([[0, 3, 4], [2, 2, 1]])
    np.testing.assert_allclose(of_integers(obs), of_vectors(jax.nn.one_hot(obs, SIZE)), rtol=1e-6)
    assert of_integers(obs).shape == (2, 3, 3)
    assert of_integers(jnp.asarray(4)).shape == (3,)


def test_the_integer_past_the_end_is_the_zero_vector():
    of_integers, of_vectors = pair()
    np.testing.assert_allclose(of_integers(jnp.asarray(SIZE)), of_vectors(jnp.zeros(SIZE)), rtol=1e-6)
    assert not np.allclose(of_integers(jnp.asarray(SIZE)), of_integers(jnp.asarray(SIZE - 1)))


def test_the_whole_network_by_hand():
    network = random_mlp(Box((2,)), (2,), 1)
    weights = (jnp.asarray([[1.0, -1.0], [2.0, 1.0]]), jnp.asarray([[3.0], [5.0]]))
    biases = (jnp.asarray([0.5, -0.5]), jnp.asarray([0.25]))
    network = eqx.tree_at(lambda n: (n.weights, n.biases), network, (weights, biases))
    # [1, 1] -> [3.5, -0.5] -> relu [3.5, 0] -> 10.5 + 0.25
    np.testing.assert_allclose(network(jnp.asarray([1.0, 1.0])), [10.75])
    # [-1, 0] -> [-0.5, 0.5] -> relu [0, 0.5] -> 2.75
    np.testing.assert_allclose(network(jnp.asarray([[-1.0, 0.0]])), [[2.75]])
    negative = eqx.tree_at(lambda n: n.biases[1], network, jnp.asarray([-100.0]))
    assert negative(jnp.asarray([1.0, 1.0])) < 0
    clipped = random_mlp(Box((2,)), (2,), 1, activate_output=True)
    clipped = eqx.tree_at(lambda n: (n.weights, n.biases), clipped, (negative.weights, negative.biases))
    assert clipped(jnp.asarray([1.0, 1.0])) == 0


def test_pictures_are_flattened_and_leading_dimensions_kept():
    network, flat = random_mlp(Box((2, 3)), (4,), 2), random_mlp(Box((6,)), (4,), 2)
    pictures = jnp.asarray(np.random.default_rng(0).normal(size=(5, 7, 2, 3)), jnp.float32)
    assert network(pictures).shape == (5, 7, 2)
    np.testing.assert_allclose(network(pictures), flat(pictures.reshape(5, 7, 6)), rtol=1e-6)


def test_the_gradient_of_a_lookup_is_that_of_the_product():
    of_integers, of_vectors = pair("tanh")
    obs = jnp.asarray([0, 3, 3, 1, SIZE])

    def loss(network, x):
        return jnp.square(network(x)).sum()

    by_lookup = eqx.filter_grad(loss)(of_integers, obs)
    by_product = eqx.filter_grad(loss)(of_vectors, jax.nn.one_hot(obs, SIZE))
    for a, b in zip(jax.tree.leaves(by_lookup), jax.tree.leaves(by_product), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    first = by_lookup.weights[0]
    assert not first[2].any()
    assert not first[4].any(), "state 4 was not in the batch, nor is it what the terminal observation means"
    assert first[3].any()


def test_lookup_takes_rows():
    weights = jnp.arange(6.0).reshape(3, 2)
    np.testing.assert_array_equal(lookup(weights, jnp.asarray([2, 0, 3])), [[4, 5], [0, 1], [0, 0]])


@pytest.mark.parametrize("shape", [(6, 3), (3, 6), (4, 4), (1, 5), (5, 1), (1, 1)])
def test_orthogonal_matrices_are_orthonormal(shape):
    make = jax.jit(lambda key, gain: orthogonal(key, shape, gain))
    for seed, gain in [(0, 1.0), (1, 2**0.5), (2, 0.01)]:
        matrix = np.asarray(make(jax.random.key(seed), gain), np.float64)
        assert matrix.shape == shape
        narrow = matrix if shape[0] >= shape[1] else matrix.T
        np.testing.assert_allclose(narrow.T @ narrow, gain**2 * np.eye(min(shape)), atol=1e-5 * gain**2)


def test_orthogonal_matrices_are_uniformly_random():
    make = jax.jit(jax.vmap(lambda key: orthogonal(key, (3, 3), 1.0)))
    draws = np.asarray(make(jax.random.split(KEY, 2000)), np.float64)
    # A uniformly random orthogonal 3 x 3 matrix: mean 0, variance 1/3, fourth moment 1/5; half are rotations.
    np.testing.assert_allclose(draws.mean(0), 0, atol=0.06)
    np.testing.assert_allclose((draws**2).mean(0), 1 / 3, atol=0.04)
    np.testing.assert_allclose((draws**4).mean(0), 1 / 5, atol=0.04)
    np.testing.assert_allclose((np.linalg.det(draws) > 0).mean(), 0.5, atol=0.05)


def test_each_layer_has_its_gain_and_its_own_randomness():
    network = jax.jit(lambda key: MLP(key, Discrete(8), (8, 8), 8, output_gain=0.01))(KEY)
    for weights, gain in zip(network.weights, [2**0.5, 2**0.5, 0.01], strict=True):
        np.testing.assert_allclose(np.linalg.svd(weights, compute_uv=False), gain, rtol=1e-4)
    assert not np.allclose(network.weights[0], network.weights[1])
    assert all(not bias.any() for bias in network.biases)


def test_an_unknown_activation_is_refused():
    with pytest.raises(UnknownNameError, match="activation 'rely'; known: relu, tanh"):
        MLP(KEY, Discrete(3), (4,), 2, activation="rely")


def test_a_tabulated_network_gives_the_same_numbers_and_gradients():
    plain = MLP(jax.random.key(0), Discrete(5), (8, 8), 3)
    tabulated = MLP(jax.random.key(0), Discrete(5), (8, 8), 3, tabulated=True)
    # Index 5, and whatever is beyond, is past the end: the zero vector.
    obs = jnp.asarray([[0, 1, 4, 5], [2, 2, 2, 7], [3, 0, 1, 5]])
    target = jax.random.normal(jax.random.key(1), (3, 4, 3))

    def loss(network):
        return ((network(obs) - target) ** 2).mean()

    np.testing.assert_allclose(tabulated(obs), plain(obs), rtol=1e-6, atol=1e-6)
    for ours, theirs in zip(
        jax.tree.leaves(eqx.filter_grad(loss)(tabulated)), jax.tree.leaves(eqx.filter_grad(loss)(plain)), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
    # Few observations are computed as they are.
    np.testing.assert_array_equal(tabulated(obs[:1]), plain(obs[:1]))


@pytest.mark.parametrize("samples", [1, 10, 40])
def test_the_product_for_small_batches_and_its_gradients(samples):
    x, weight, direction = (jax.random.normal(jax.random.key(i), s) for i, s in enumerate([(samples, 4), (4, 3), (3,)]))

    def loss(product):
        return jax.value_and_grad(lambda x, w: jnp.sum(jnp.square(product(x, w)) @ direction), argnums=(0, 1))(
            x, weight
        )

    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4), loss(small_batch_product), loss(jnp.matmul))
