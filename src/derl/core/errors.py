"""Errors a user can cause, each with one line that says what to do."""

import difflib
from collections.abc import Iterable


class DerlError(Exception):
    """Something the user asked for cannot be done; the message says why and what to do instead."""


class UnknownNameError(DerlError):
    """A task, recipe, bonus or agent that does not exist."""

    def __init__(self, kind: str, name: str, known: Iterable[str]):
        known = sorted(known)
        near = difflib.get_close_matches(name.lower(), known, n=3, cutoff=0.5)
        hint = f"did you mean {', '.join(near)}?" if near else f"known: {', '.join(known)}"
        super().__init__(f"unknown {kind} {name!r}; {hint}")


def require(condition: bool, message: str) -> None:
    """Raise a `DerlError` with `message` unless `condition` holds."""
    if not condition:
        raise DerlError(message)
