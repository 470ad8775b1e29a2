"""Errors a user can cause, each with one line that says what to do."""

import dataclasses
import difflib
from collections.abc import Iterable
from typing import Any, Literal, get_args, get_origin


class DerlError(Exception):
    """Something the user asked for cannot be done; the message says why and what to do instead."""


class UnknownNameError(DerlError):
    """A task, recipe, bonus or agent that does not exist."""

    def __init__(self, kind: str, name: str, known: Iterable[str]):
        self.known = sorted(known)
        near = difflib.get_close_matches(name.lower(), self.known, n=3, cutoff=0.5)
        hint = f"did you mean {', '.join(near)}?" if near else f"known: {', '.join(self.known)}"
        super().__init__(f"unknown {kind} {name!r}; {hint}")


def require(condition: bool, message: str) -> None:
    """Raise a `DerlError` with `message` unless `condition` holds."""
    if not condition:
        raise DerlError(message)


def check_choices(obj: Any) -> None:
    """Raise unless every field of a dataclass that is typed as one of a few literals is one of them."""
    for field in dataclasses.fields(obj):
        choices, value = get_args(field.type), getattr(obj, field.name)
        if get_origin(field.type) is Literal and value not in choices:
            raise UnknownNameError(field.name, str(value), map(str, choices))
