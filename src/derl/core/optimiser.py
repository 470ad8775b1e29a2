"""How weights move: Adam with one joint gradient clip, as every learner of the paper uses it, and running averages."""

from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int

Params = TypeVar("Params")

BETA1 = 0.9
"""How much of its past Adam's mean of gradients keeps at every step."""


def clipped_adam(
    learning_rate: float | Array, epsilon: float | Array, max_grad_norm: float | Array, beta2: float = 0.999
) -> optax.GradientTransformation:
    """Adam on gradients whose joint norm is clipped. All but `beta2` may be traced: a population can vary them."""
    # optax's factory is annotated for Python numbers; traced ones work and are what populations rely on.
    return optax.chain(
        optax.clip_by_global_norm(max_grad_norm),  # pyright: ignore[reportArgumentType]
        optax.adam(learning_rate, b1=BETA1, b2=beta2, eps=epsilon),  # pyright: ignore[reportArgumentType]
    )


def apply_gradient(
    optimiser: optax.GradientTransformation, params: Params, opt_state: optax.OptState, gradient: Params
) -> tuple[Params, optax.OptState, Float[Array, ""]]:
    """One step of `optimiser`; also gives the gradient's norm before clipping."""
    updates, opt_state = optimiser.update(gradient, opt_state)  # pyright: ignore[reportArgumentType]
    return eqx.apply_updates(params, updates), opt_state, optax.tree.norm(gradient)


def idle_adam(
    weight: Float[Array, "*n"],
    mean: Float[Array, "*n"],
    square: Float[Array, "*n"],
    count: Int[Array, ""],
    *,
    steps: int,
    learning_rate: float | Array,
    epsilon: float | Array,
    beta2: float,
) -> tuple[Float[Array, "*n"], Float[Array, "*n"], Float[Array, "*n"]]:
    """`steps` steps of Adam in which a weight has no gradient, after `count` others, in one pass over it.

    With m and v its two means:  w - sum_j lr b1^j m / (1 - b1^(count+j)) / (sqrt(b2^j v / (1 - b2^(count+j))) + eps).
    """
    j = jnp.arange(1, steps + 1)
    size = BETA1**j / (1 - BETA1 ** (count + j))
    shrink = jnp.sqrt(beta2**j / (1 - beta2 ** (count + j)))
    root, total = jnp.sqrt(square), jnp.zeros_like(weight)
    # While v has hardly faded, all fractions of the sum are nearly the same, and one polynomial adds them up.
    together = max(1, int(0.7 / max(1 - beta2, 1e-9)))
    for start in range(0, steps, together):
        some = slice(start, start + together)
        total = total + sum_of_fractions(size[some], shrink[some], root, epsilon)
    return weight - learning_rate * mean * total, mean * BETA1**steps, square * beta2**steps


def sum_of_fractions(
    over: Float[Array, " k"], scale: Float[Array, " k"], x: Float[Array, "*n"], epsilon: float | Array
) -> Float[Array, "*n"]:
    """sum_k over_k / (scale_k x + eps) for x >= 0, where all scales are within a factor of two or so.

    With their mean c and D = c x + eps this is g(u) / D, of which u = c x / D lies between 0 and 1 and
    g(u) = sum_k over_k / (1 + (scale_k / c - 1) u) is almost a straight line. A polynomial of degree 7 through it at
    Chebyshev's points is exact to rounding, and costs an element one division instead of one for every k.
    """
    middle = (over * scale).sum() / over.sum()
    angles = np.pi * (np.arange(8) + 0.5) / 8
    u = (np.cos(angles) + 1) / 2
    apart = jnp.where(middle > 0, scale / middle - 1, 0.0)
    values = (over / (1 + apart * u[:, None])).sum(1)
    coefficients = (np.cos(np.arange(8)[:, None] * angles) / 4) @ values
    inverse = 1 / (middle * x + epsilon)
    # Clenshaw's recursion, at 2 u - 1 with u = 1 - eps / D.
    twice = 2 - 4 * epsilon * inverse
    later = last = jnp.zeros_like(x)
    for k in range(7, 0, -1):
        last, later = coefficients[k] + twice * last - later, last
    return inverse * (coefficients[0] / 2 + twice / 2 * last - later)


def move_towards(old: Params, new: Params, rate: float | Float[Array, ""]) -> Params:
    """old + rate (new - old), in every array: a target network after its network, an average after what it averages."""
    return jax.tree.map(lambda a, b: a + rate * (b - a), old, new)
