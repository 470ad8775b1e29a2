"""Checks of what a user passes to an environment's constructor."""

import math
from numbers import Integral, Real

from derl.core.errors import DerlError

MAX_SIZE = 1000
"""The longest side of a task. Beyond it a name is more likely mistyped than meant, and pictures no longer fit."""


def whole_number(what: str, value: object, low: int, high: int | None = None) -> int:
    """`value` as an `int`, or a `DerlError` that names it `what` if it is no whole number within the bounds."""
    # NumPy's integers count as well: sizes often come out of an array.
    if isinstance(value, Integral) and low <= int(value) and (high is None or int(value) <= high):
        return int(value)
    bounds = f"of at least {low}" if high is None else f"from {low} to {high}"
    raise DerlError(f"{what} must be a whole number {bounds}, not {value!r}")


def number(what: str, value: object) -> float:
    """`value` as a `float`, or a `DerlError` that names it `what` if it is no finite number."""
    if isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    raise DerlError(f"{what} must be a number, not {value!r}")


def truth(what: str, value: object) -> bool:
    """`value` as a `bool`, or a `DerlError` that names it `what` if it is neither true nor false."""
    if value in (True, False):
        return bool(value)
    raise DerlError(f"{what} must be true or false, not {value!r}")
