"""Checks of what a user passes to an environment's constructor."""

from numbers import Integral

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
