"""How weights move: Adam with one joint gradient clip, as every learner of the paper uses it, and running averages."""

from typing import TypeVar

import equinox as eqx
import jax
import optax
from jaxtyping import Array, Float

Params = TypeVar("Params")


def clipped_adam(
    learning_rate: float | Array, epsilon: float | Array, max_grad_norm: float | Array, beta2: float = 0.999
) -> optax.GradientTransformation:
    """Adam on gradients whose joint norm is clipped. All but `beta2` may be traced: a population can vary them."""
    # optax's factory is annotated for Python numbers; traced ones work and are what populations rely on.
    return optax.chain(
        optax.clip_by_global_norm(max_grad_norm),  # pyright: ignore[reportArgumentType]
        optax.adam(learning_rate, b2=beta2, eps=epsilon),  # pyright: ignore[reportArgumentType]
    )


def apply_gradient(
    optimiser: optax.GradientTransformation, params: Params, opt_state: optax.OptState, gradient: Params
) -> tuple[Params, optax.OptState, Float[Array, ""]]:
    """One step of `optimiser`; also gives the gradient's norm before clipping."""
    updates, opt_state = optimiser.update(gradient, opt_state)  # pyright: ignore[reportArgumentType]
    return eqx.apply_updates(params, updates), opt_state, optax.tree.norm(gradient)


def move_towards(old: Params, new: Params, rate: float | Float[Array, ""]) -> Params:
    """old + rate (new - old), in every array: a target network after its network, an average after what it averages."""
    return jax.tree.map(lambda a, b: a + rate * (b - a), old, new)
