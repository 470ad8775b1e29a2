"""An environment object as data, so that whoever has its class can have the object again."""

import dataclasses
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from derl.core.errors import DerlError, require
from derl.envs.base import AnyEnvironment, Environment

Class = TypeVar("Class", bound=type)
LARGEST = 1_000_000
"""Arrays of more numbers are not written down as text."""


def described(env: AnyEnvironment) -> dict[str, Any] | None:
    """The class of an environment and the values of its fields; None if one of them cannot be written down."""
    try:
        fields = {field.name: written(getattr(env, field.name)) for field in dataclasses.fields(env)}
    except TypeError:
        return None
    return {"class": type(env).__qualname__, "module": type(env).__module__, "fields": fields}


def made_again(data: Any) -> AnyEnvironment | None:
    """The environment that was `described`, if its class is loaded. Nothing is imported for it: a file names it."""
    try:
        kind = loaded_class(Environment, data["class"], data["module"])
        if kind is None:
            return None
        fields = {name: read_back(value) for name, value in data["fields"].items()}
        known = {field.name for field in dataclasses.fields(kind)}
    except (TypeError, KeyError, AttributeError, ValueError, OverflowError) as error:
        raise DerlError(f"the environment of this run cannot be read ({type(error).__name__}: {error})") from None
    odd = sorted(known ^ set(fields))
    require(not odd, f"{kind.__name__} is not as it was when this run was made (it differs at {', '.join(odd)})")
    env = object.__new__(kind)
    for name, value in fields.items():
        object.__setattr__(env, name, value)
    return env


def loaded_class(base: Class, name: str, module: str | None = None) -> Class | None:
    """The class of this name among those derived from `base`, wherever it was loaded from; None if there is none.

    Of several the one from `module`, where it was when the run was made (which may have been a script's __main__).
    """
    found: list[Class] = []
    waiting = [base]
    while waiting:
        for kind in waiting.pop().__subclasses__():
            # What is derived from the class itself, under its name, is not another one.
            (found if kind.__qualname__ == name else waiting).append(kind)
    at_home = [kind for kind in found if kind.__module__ == module]
    homes = {kind.__module__ for kind in found}
    require(bool(at_home) or len(homes) < 2, f"there are several classes {name}: {', '.join(sorted(homes))}; load one")
    # A notebook's cell that is run twice makes a class twice: the newest is meant.
    return (at_home or found or [None])[-1]


def written(value: Any) -> Any:
    """A field's value as JSON can hold it; raises a `TypeError` if it cannot."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple) and type(value) is tuple:
        return {"tuple": [written(one) for one in value]}
    if isinstance(value, np.ndarray | np.generic | jax.Array) and value.size <= LARGEST and value.dtype.kind in "biuf":
        return {"array": np.asarray(value).tolist(), "dtype": str(value.dtype)}
    raise TypeError(f"{type(value).__name__} cannot be written down")


def read_back(value: Any) -> Any:
    """A field's value, as `written` gave it."""
    if isinstance(value, dict) and "tuple" in value:
        return tuple(read_back(one) for one in value["tuple"])
    if isinstance(value, dict):
        return jnp.asarray(value["array"], value["dtype"])
    return value
