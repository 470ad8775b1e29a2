"""One-line refusals of settings that make no sense. Each names the part that has the setting, and the value it has."""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, get_args, get_origin

from derl.core.errors import DerlError, UnknownNameError, require


@contextlib.contextmanager
def naming(place: str, part: Any) -> Iterator[None]:
    """For a block that checks a part: what it refuses has the name that users give it, explorer.gamma, not A2C: gamma.

    A part does not know where it stands, and the same class may stand in two places.
    """
    try:
        yield
    except DerlError as error:
        kind, _, wrong = str(error).partition(": ")
        if kind != type(part).__name__:
            raise
        is_field = wrong.split()[0].rstrip(",") in {field.name for field in dataclasses.fields(part)}
        between = "" if not place else "." if is_field else ": "
        raise DerlError(f"{place}{between}{wrong}") from None


def _require_each(settings: Any, fields: Sequence[str], holds: Callable[[Any], bool], wish: str) -> None:
    for field in fields:
        value = getattr(settings, field)
        require(holds(value), f"{type(settings).__name__}: {field} must be {wish}, not {value}")


def require_at_least(settings: Any, least: float, *fields: str) -> None:
    """Each of the named fields of `settings` is at least so much (NaN is refused too)."""
    _require_each(settings, fields, lambda value: value >= least, f"at least {least}")


def require_below(settings: Any, bound: float, *fields: str) -> None:
    """Each of the named fields of `settings` is less than so much (NaN is refused too)."""
    _require_each(settings, fields, lambda value: value < bound, f"less than {bound}")


def require_positive(settings: Any, *fields: str) -> None:
    """Each of the named fields of `settings` is above 0 (NaN is refused too)."""
    _require_each(settings, fields, lambda value: value > 0, "greater than 0")


def require_share(settings: Any, *fields: str) -> None:
    """Each of the named fields of `settings` is between 0 and 1, both included (NaN is refused too)."""
    _require_each(settings, fields, lambda value: 0 <= value <= 1, "between 0 and 1")


def require_widths(settings: Any, *fields: str) -> None:
    """Each of the named fields of `settings` lists layer widths: every one at least 1, possibly none."""
    _require_each(settings, fields, lambda value: all(width >= 1 for width in value), "layer widths of at least 1")


def require_shape(part: Any, method: str, what: str, given: Any, wanted: tuple[int, ...], reason: str) -> None:
    """What a method of a part gives has the wanted shape. Asked while a program is traced."""
    shape = tuple(getattr(given, "shape", ()))
    require(shape == wanted, f"{type(part).__name__}.{method} gives {what} of shape {shape}, not {wanted}: {reason}")


def check_choices(settings: Any) -> None:
    """Every field of a dataclass that is typed as one of a few literals is one of them."""
    for field in dataclasses.fields(settings):
        choices, value = get_args(field.type), getattr(settings, field.name)
        if get_origin(field.type) is Literal and value not in choices:
            raise UnknownNameError(field.name, str(value), map(str, choices))
