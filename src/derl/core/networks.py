"""A multilayer perceptron whose first layer reads integers as rows."""

import itertools
from collections.abc import Callable, Sequence
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, Shaped

from derl.core.errors import UnknownNameError
from derl.core.types import Box, Discrete

Activation = Literal["relu", "tanh"]
ACTIVATIONS: dict[Activation, Callable[[Array], Array]] = {"relu": jax.nn.relu, "tanh": jnp.tanh}


def orthogonal(key: PRNGKeyArray, shape: tuple[int, int], gain: float) -> Float[Array, "n m"]:
    """A uniformly random matrix with orthonormal rows or columns, times `gain`.

    The orthogonal factor U of a Gaussian matrix G = U P, by the Newton-Schulz iteration X <- 3/2 X - 1/2 X X^T X.
    Matrix products only: the usual QR decomposition is slow to compile, and batches of it can deadlock on CPU.
    """
    gaussian = jax.random.normal(key, (max(shape), min(shape)))

    def iterate(_, x):
        return 1.5 * x - 0.5 * x @ (x.T @ x)

    # 40 steps: singular values grow by 3/2 a step while small, so even one of 1e-6 ends at 1.
    q = jax.lax.fori_loop(0, 40, iterate, gaussian / jnp.linalg.norm(gaussian))
    return gain * (q if shape[0] >= shape[1] else q.T)


def lookup(weights: Float[Array, "n m"], index: Array) -> Float[Array, "*batch m"]:
    """Rows of `weights`: what multiplying by one-hot vectors gives. An index past the end is the zero vector."""
    return jnp.take(weights, index, axis=0, mode="fill", fill_value=0.0)


@jax.custom_vjp
def _outer_product(x: Float[Array, "b n"], weight: Float[Array, "n m"]) -> Float[Array, "b m"]:
    return x @ weight


def _outer_backward(saved, gradient):
    # The barrier keeps XLA from computing what the factors are made of again for every element of the product.
    x, weight, gradient = jax.lax.optimization_barrier((*saved, gradient))
    return gradient @ weight.T, sum(x[b, :, None] * gradient[b, None, :] for b in range(x.shape[0]))


_outer_product.defvjp(lambda x, weight: (x @ weight, (x, weight)), _outer_backward)


def small_batch_product(x: Float[Array, "b n"], weight: Float[Array, "n m"]) -> Float[Array, "b m"]:
    """x W. The gradient of W is summed sample by sample instead of as a product of matrices.

    For a handful of samples that is less work on a CPU: the outer products are added up in the loop that uses them.
    """
    return _outer_product(x, weight) if x.shape[0] <= 16 else x @ weight


class MLP(eqx.Module):
    """Fully connected layers on a batch of observations.

    Observations are integers (see `Discrete`) or vectors (see `Box`); leading dimensions are batch.
    """

    weights: tuple[Float[Array, "n m"], ...]
    biases: tuple[Float[Array, " m"], ...]
    observation: Discrete | Box = eqx.field(static=True)
    activation: Activation = eqx.field(static=True)
    activate_output: bool = eqx.field(static=True)
    tabulated: bool = eqx.field(static=True)
    """Whether a batch with more observations than there are states is looked up in the outputs of all states: the
    same numbers up to rounding, with less to multiply."""

    def __init__(
        self,
        key: PRNGKeyArray,
        observation: Discrete | Box,
        hidden: Sequence[int],
        outputs: int,
        *,
        activation: Activation = "relu",
        output_gain: float = 2**0.5,
        activate_output: bool = False,
        tabulated: bool = False,
    ):
        if activation not in ACTIVATIONS:
            raise UnknownNameError("activation", activation, ACTIVATIONS)
        sizes = [observation.size, *hidden, outputs]
        gains = [2**0.5] * len(hidden) + [output_gain]
        keys = jax.random.split(key, len(gains))
        shapes = itertools.pairwise(sizes)
        self.weights = tuple(orthogonal(k, s, g) for k, s, g in zip(keys, shapes, gains, strict=True))
        self.biases = tuple(jnp.zeros(size) for size in sizes[1:])
        self.observation = observation
        self.activation = activation
        self.activate_output = activate_output
        self.tabulated = tabulated

    def __call__(self, obs: Shaped[Array, "*batch_obs"]) -> Float[Array, "*batch outputs"]:
        if isinstance(self.observation, Discrete):
            if self.tabulated and obs.size > self.observation.size + 1:
                # One row more: an index past the end stands for the zero vector.
                every = self._above(jnp.pad(self.weights[0], ((0, 1), (0, 0))))
                return jnp.take(every, obs, axis=0, mode="clip")
            batch, h = obs.shape, lookup(self.weights[0], obs.reshape(-1))
        else:
            batch = obs.shape[: obs.ndim - len(self.observation.shape)]
            h = small_batch_product(obs.reshape(-1, self.observation.size), self.weights[0])
        outputs = self._above(h)
        return outputs.reshape(*batch, outputs.shape[-1])

    def _above(self, h: Float[Array, "b n"]) -> Float[Array, "b outputs"]:
        """The rest of the network, given the first layer's products."""
        activate = ACTIVATIONS[self.activation]
        h = h + self.biases[0]
        for weight, bias in zip(self.weights[1:], self.biases[1:], strict=True):
            h = small_batch_product(activate(h), weight) + bias
        return activate(h) if self.activate_output else h
