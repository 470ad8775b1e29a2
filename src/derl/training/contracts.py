"""Whether the parts of a run give back what the loop expects.

Asked while a program is traced, so that it costs nothing when it runs. Unasked, an array of another shape would often
be broadcast in silence: one reward for each environment, say, over all steps.
"""

from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Shaped

from derl.agents.base import AnyAgent
from derl.core.checks import require_shape
from derl.core.errors import DerlError, require
from derl.core.types import Box, Discrete, Spec

RESERVED = ("run", "seed", "evaluation", "steps", "episodes", "return", "return_std", "failed_at", "failed_at_step")
RESERVED += ("explorer_return", "coverage")
"""Columns of results that are nobody's metrics."""
EXPLORERS = "explorer_"
"""What the names of the explorer's metrics begin with."""


def check_metrics(names: Iterable[str], taken: Iterable[str], exploits: bool = False) -> None:
    """Raise if an agent or a bonus calls a metric as something else in the results is called."""
    for name in sorted({*names} & {*taken}):
        raise DerlError(f"a metric called {name!r} would hide the results' own column of that name; call it otherwise")
    for name in sorted(names) if exploits else ():
        own = not name.startswith(EXPLORERS)
        require(own, f"an exploiter's metric called {name!r} would be taken for the explorer's; call it otherwise")


def check_jax() -> None:
    """Raise if JAX is set to compute otherwise than everything here expects."""
    wide, kind = (getattr(jax.config, name) for name in ("jax_enable_x64", "jax_default_prng_impl"))
    require(not wide, "derl computes with 32 bits: unset JAX_ENABLE_X64 (jax_enable_x64)")
    require(
        kind == "threefry2x32",
        f"derl draws its random numbers with threefry2x32, not {kind}: unset JAX_DEFAULT_PRNG_IMPL "
        "(jax_default_prng_impl)",
    )


def batch_of(spec: Spec, obs: Shaped[Array, "*b_obs"]) -> tuple[int, ...]:
    """The leading axes of observations."""
    return obs.shape[: obs.ndim - len(shape_of(spec.observation))]


def shape_of(space: Discrete | Box) -> tuple[int, ...]:
    """The shape of one observation."""
    return space.shape if isinstance(space, Box) else ()


def check_policy(agent: AnyAgent, method: str, given: Any, spec: Spec, obs: Shaped[Array, "*b_obs"]) -> None:
    """Raise unless `given` has a number for each observation and action."""
    wanted = (*batch_of(spec, obs), spec.num_actions)
    require_shape(agent, method, "numbers", given, wanted, "one for each observation and action")


def check_greedy(agent: AnyAgent, given: Any, spec: Spec, obs: Shaped[Array, "*b_obs"]) -> None:
    """Raise unless `given` has an action for each observation."""
    require_shape(agent, "greedy", "actions", given, batch_of(spec, obs), "one for each observation")


def check_learnt(agent: AnyAgent, before: Any, after: Any, metrics: Any) -> None:
    """Raise unless `learn` gives a state like the one it was given, and scalars as metrics."""
    check_state(agent, "learn", before, after)
    for name, value in metrics.items():
        require_shape(agent, "learn", f"a metric {name!r}", value, (), "each is one number")


def check_state(part: Any, method: str, before: Any, after: Any) -> None:
    """Raise unless a state is of the same structure, shapes and types as the one before it."""
    name = f"{type(part).__name__}.{method}"
    require(
        jax.tree.structure(before) == jax.tree.structure(after),
        f"{name} gives a state of another structure than the one before it: a loop needs the same one every time",
    )
    for (path, old), new in zip(jax.tree_util.tree_leaves_with_path(before), jax.tree.leaves(after), strict=True):
        place = f"state{jax.tree_util.keystr(path)}"
        require(
            fits(old, new),
            f"{name} gives {described(new)} as {place}, where {described(old)} was: a loop needs the same every time",
        )


def fits(old: Any, new: Any) -> bool:
    """Whether a value can take the place of another one in a loop. Python's numbers take the type of what follows."""
    old, new = jax.typeof(old), jax.typeof(new)
    return old.shape == new.shape and (
        old.dtype == new.dtype or (old.weak_type and jnp.promote_types(old.dtype, new.dtype) == new.dtype)
    )


def described(value: Any) -> str:
    """The type and shape of an array, as text: float32[4,3]."""
    kind = jax.typeof(value)
    return f"{kind.dtype}[{','.join(map(str, kind.shape))}]"
