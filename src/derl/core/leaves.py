"""The numbers of a run's parts as arrays: what runs of one program can differ in."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.tree_util import DictKey, GetAttrKey, SequenceKey

from derl.core.errors import DerlError


class Place(NamedTuple):
    """Where in a part a leaf is."""

    name: str
    """The class and the field: KeyDoor.step_cost."""
    declared: str
    """The type of the field, as text."""


def as_leaves(tree: Any) -> Any:
    """Python numbers as arrays, so that they are traced rather than compiled in.

    A whole number where a float is declared becomes one: scale=1 is scale=1.0, and both fit into one population.
    """
    return jax.tree_util.tree_map_with_path(lambda path, x: _leaf(place_of(tree, path), x), tree)


def _leaf(place: Place, x: Any) -> Any:
    if not isinstance(x, bool | int | float):
        if hasattr(x, "dtype"):
            return x
        raise DerlError(f"{place.name} is no number and no array: declare it as eqx.field(static=True)")
    # As text, because whoever postpones the evaluation of annotations has them as text anyway.
    if isinstance(x, float) or "float" in place.declared.lower():
        return jnp.asarray(x, jnp.float32)
    try:
        return jnp.asarray(x, bool if isinstance(x, bool) else jnp.int32)
    except OverflowError:
        raise DerlError(f"{place.name} has more than 32 bits: declare it as eqx.field(static=True)") from None


def place_of(tree: Any, path: Sequence[Any]) -> Place:
    """The field that a leaf is in, or is a part of."""
    place = Place(type(tree).__name__, "")
    for key in path:
        if isinstance(key, GetAttrKey):
            field = getattr(type(tree), "__dataclass_fields__", {}).get(key.name)
            if field is not None:
                place = Place(f"{type(tree).__name__}.{key.name}", str(field.type))
            tree = getattr(tree, key.name)
        elif isinstance(key, SequenceKey | DictKey):
            tree = tree[key.idx if isinstance(key, SequenceKey) else key.key]
        else:
            break
    return place


def explain_tracing(error: Exception, parts: Any) -> None:
    """Raise a `DerlError` if JAX failed because a whole number or truth value of a part would have to be structure."""
    places = ((place_of(parts, path), x) for path, x in jax.tree_util.tree_leaves_with_path(parts))
    found = [place.name for place, x in places if isinstance(x, bool | int) and "float" not in place.declared.lower()]
    reason = str(error).splitlines()[0] if str(error) else ""
    if found and ("traced" in reason.lower() or "Tracer" in reason):
        raise DerlError(
            f"a number that is traced cannot decide a branch or a shape ({reason.rstrip('.')}): if it is one of "
            f"{', '.join(found)}, declare it as eqx.field(static=True)"
        ) from error
