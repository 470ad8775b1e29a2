"""Gradient steps on those rows of a first layer that a batch reads.

A first layer that reads integers has a row for every state. A batch touches few of them, but Adam moves all at every
step, for its means outlive the gradients. So several steps on one batch are taken on the rows it reads, and what they
do to the idle ones is added up afterwards in one pass (`idle_adam`): the same numbers up to rounding.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int

from derl.core.networks import lookup
from derl.core.optimiser import idle_adam

Model = TypeVar("Model")
Rows = Float[Array, "n m"]
Idle = Callable[..., tuple[Rows, Rows, Rows]]
"""`idle_adam` of some optimiser: what its steps do to rows without a gradient."""

MOST_STEPS = 64
"""What more steps do to an idle row is too long an expression to compile."""

MOST_SAMPLES = 1024
"""In a larger batch, comparing every pair of samples would cost more than it saves."""


def worth_leaving_idle(obs: Array, size: int, steps: int) -> bool:
    """Whether a batch reads so few of `size` rows that taking `steps` steps on these alone is less work."""
    few = obs.size < size and obs.size <= MOST_SAMPLES
    return jnp.issubdtype(obs.dtype, jnp.integer) and few and 1 < steps <= MOST_STEPS


def visited(obs: Int[Array, " b"], size: int) -> tuple[Int[Array, " b"], Int[Array, " b"]]:
    """The rows that a batch reads, each where it is first read (`size`, which is none, where it is read again), and for
    every sample the place of its row among them."""
    # Every pair is compared: for a batch worth doing this for, that is less work than to sort it.
    first = jnp.argmax(obs[:, None] == obs, axis=1)
    rows = jnp.where(first == jnp.arange(obs.shape[0]), obs, size)
    return rows, jnp.where(obs < size, first, obs.shape[0])


def put_back(
    rows: Int[Array, " b"],
    moved: Sequence[Float[Array, "b m"]],
    before: Sequence[Rows],
    count: Int[Array, ""],
    idle: Idle,
) -> list[Rows]:
    """A whole layer and Adam's two means of it, from its visited rows as they are now and from all as they were
    `before`, when Adam had taken `count` steps."""
    rest = idle(*before, count)
    return [whole.at[rows].set(part, mode="drop") for whole, part in zip(rest, moved, strict=True)]


def idle_steps(steps: int, learning_rate: Any, epsilon: Any, beta2: float = 0.999) -> Idle:
    """`idle_adam` of `steps` steps."""
    return partial(idle_adam, steps=steps, learning_rate=learning_rate, epsilon=epsilon, beta2=beta2)


def scan_visited(
    step: Callable[[tuple[Model, optax.OptState], Any], tuple[tuple[Model, optax.OptState], Any]],
    layer: Callable[[Model], Rows],
    carry: tuple[Model, optax.OptState],
    obs: Array,
    *rest: Any,
    idle: Callable[[int], Idle],
) -> tuple[tuple[Model, optax.OptState], Any]:
    """`lax.scan` of gradient steps over (obs, *rest), where `layer` says which of a model's arrays observations read.

    `idle(n)` is what n of these steps do to a row that none of them reads.
    """
    model, opt_state = carry
    size, steps = layer(model).shape[0], obs.shape[0]
    if not worth_leaving_idle(obs, size, steps):
        return jax.lax.scan(step, carry, (obs, *rest))
    rows, position = visited(obs.reshape(-1), size)

    def parts(model: Model, opt_state: optax.OptState) -> tuple[Model, Any, Any]:
        return model, optax.tree.get(opt_state, "mu"), optax.tree.get(opt_state, "nu")

    def replaced(trees: Sequence[Any], layers: Sequence[Rows]) -> list[Any]:
        return [eqx.tree_at(layer, tree, new) for tree, new in zip(trees, layers, strict=True)]

    whole = parts(model, opt_state)
    few, mu, nu = replaced(whole, [lookup(layer(tree), rows) for tree in whole])
    carry = (few, optax.tree.set(opt_state, mu=mu, nu=nu))
    (few, moved_state), outputs = jax.lax.scan(step, carry, (position.reshape(obs.shape), *rest))
    moved = parts(few, moved_state)
    before, count = [layer(tree) for tree in whole], optax.tree.get(opt_state, "count")
    layers = put_back(rows, [layer(tree) for tree in moved], before, count, idle(steps))
    model, mu, nu = replaced(moved, layers)
    return (model, optax.tree.set(moved_state, mu=mu, nu=nu)), outputs
