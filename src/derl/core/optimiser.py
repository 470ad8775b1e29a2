"""How weights move: Adam with one joint gradient clip, as every learner of the paper uses it, and running averages."""

from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int

Params = TypeVar("Params")

BETA1 = 0.9
"""How much of its past Adam's mean of gradients keeps at every step."""

LEAST_EPSILON = 1e-9
"""The smallest epsilon `idle_adam` can do with: products of four occur there, and smaller ones would vanish."""


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
    # Four fractions at a time are added over their common denominator: divisions are what takes time.
    for group in range(0, steps, 4):
        over, under = jnp.zeros_like(weight), jnp.ones_like(weight)
        for i in range(group, min(group + 4, steps)):
            divisor = shrink[i] * root + epsilon
            over, under = over * divisor + size[i] * under, under * divisor
        total = total + over / under
    return weight - learning_rate * mean * total, mean * BETA1**steps, square * beta2**steps


def move_towards(old: Params, new: Params, rate: float | Float[Array, ""]) -> Params:
    """old + rate (new - old), in every array: a target network after its network, an average after what it averages."""
    return jax.tree.map(lambda a, b: a + rate * (b - a), old, new)
