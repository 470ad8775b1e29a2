"""Settings by their dotted paths, as on the command line: `bonus.scale`, `explorer.learning_rate`."""

import dataclasses
import math
import numbers
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import equinox as eqx
import numpy as np

from derl.core.errors import DerlError, UnknownNameError, require

T = TypeVar("T")
NO_SETTING = {"setting": False}
"""Metadata of a field that is not for users to set."""


def settings_of(obj: Any) -> list[dataclasses.Field]:
    """The fields of a configuration or part that can be set."""
    return [field for field in dataclasses.fields(obj) if field.metadata.get("setting", True)]


def replaced(obj: T, path: str, value: Any) -> T:
    """A copy with one setting changed. Raises a `DerlError` for an unknown one, or a value that cannot stand there."""
    try:
        return _replace(obj, path.replace("-", "_").split("."), plain(value), path)
    except UnknownNameError:
        raise UnknownNameError("setting", path, setting_paths(obj)) from None


def plain(value: Any) -> Any:
    """NumPy's numbers, which come out of arrays, as Python's."""
    if isinstance(value, list | tuple) and type(value) in (list, tuple):
        return type(value)(map(plain, value))
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        return int(value) if isinstance(value, numbers.Integral) else float(value)
    return value


def _replace(obj: Any, names: Sequence[str], value: Any, path: str) -> Any:
    if isinstance(obj, Mapping):
        # Options of a task: any name, which the task itself will check. Whole numbers may come as text or floats.
        require(len(names) == 1, f"{path}: an option of a task is a single value, env_options.NAME")
        return {**obj, names[0]: int(value) if isinstance(value, float) and value.is_integer() else value}
    fields = {f.name: f for f in settings_of(obj)} if dataclasses.is_dataclass(obj) else {}
    if names[0] not in fields:
        raise UnknownNameError("setting", path, ())
    old = getattr(obj, names[0])
    if len(names) > 1:
        value = _replace(old, names[1:], value, path)
    elif isinstance(old, float) and not isinstance(value, float):
        value = _number(value, path)
    elif isinstance(old, tuple) and isinstance(value, list):
        value = tuple(value)
    elif (type(old) is int or old is None) and isinstance(value, float) and value.is_integer():
        value = int(value)
    check_type(old, value, path)
    try:
        return dataclasses.replace(obj, **{names[0]: value})  # pyright: ignore[reportArgumentType]
    except TypeError:
        # A class that makes some of its fields itself does not take them from others; a number can be put in its place.
        fixed = fields[names[0]].metadata.get("static", False)
        require(not fixed, f"{path} is decided where {type(obj).__name__} is made: give it there")
        return eqx.tree_at(lambda part: getattr(part, names[0]), obj, value)


def check_type(old: Any, value: Any, path: str) -> None:
    """Raise if a value cannot stand where another stood."""
    if path in ("explorer", "exploiter", "bonus") and value is not None and not dataclasses.is_dataclass(value):
        raise DerlError(f"{path} is a group of settings; name one of them, or another kind of it as {path}_kind")
    if isinstance(old, bool):
        require(isinstance(value, bool), f"{path} takes true or false, not {value!r}")
    elif isinstance(old, float):
        require(isinstance(value, float | int) and not isinstance(value, bool), f"{path} takes a number, not {value!r}")
    elif type(old) is int:
        require(type(value) is int, f"{path} takes a whole number, not {value!r}")
    elif isinstance(old, str):
        require(isinstance(value, str), f"{path} takes text, not {value!r}")
    elif isinstance(old, tuple):
        sizes = isinstance(value, tuple) and all(type(size) is int for size in value)
        require(sizes, f"{path} takes whole numbers in a list, not {value!r}")
    elif isinstance(old, Mapping):
        require(isinstance(value, Mapping), f"{path} is a group of settings; name one of them")
    elif dataclasses.is_dataclass(old):
        require(dataclasses.is_dataclass(value), f"{path} is a group of settings; name one of them")


def check_finite(part: Any) -> None:
    """Raise if a number of a part is none, or has no end: every such run would fail, or learn nothing, in silence."""
    for field in dataclasses.fields(part):
        value = getattr(part, field.name)
        if isinstance(value, float):
            require(math.isfinite(value), f"{type(part).__name__}: {field.name} must be a finite number, not {value}")


def _number(value: Any, path: str) -> float:
    try:
        # True would be 1, and "1e3" may be the name of something.
        require(not isinstance(value, bool | str | bytes), f"{path} takes a number, not {value!r}")
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise DerlError(f"{path} takes a number, not {value!r}") from None


def setting_paths(obj: Any, prefix: str = "") -> list[str]:
    """Every setting below a configuration, as dotted paths."""
    paths: list[str] = []
    for field in settings_of(obj):
        value = getattr(obj, field.name)
        nested = dataclasses.is_dataclass(value) and not isinstance(value, type)
        paths += setting_paths(value, f"{prefix}{field.name}.") if nested else [f"{prefix}{field.name}"]
    return paths


def value_at(obj: Any, path: str) -> tuple[Any, bool]:
    """A setting's value, and whether programs take it as an input (rather than being shaped by it)."""
    value, traced = obj, True
    for name in path.replace("-", "_").split("."):
        if not hasattr(value, name):
            raise UnknownNameError("setting", path, setting_paths(obj))
        fields = getattr(type(value), "__dataclass_fields__", {})
        traced = traced and not (name in fields and fields[name].metadata.get("static", False))
        value = getattr(value, name)
    return value, traced
