"""Errors a user can cause, each with one line that says what to do."""

import difflib
from collections.abc import Iterable


class DerlError(Exception):
    """Something the user asked for cannot be done; the message says why and what to do instead."""


FEW = 8
"""Names that are all told: of so few the one that looks alike may be the opposite of what is meant."""


class UnknownNameError(DerlError):
    """A task, recipe, bonus or agent that does not exist.

    The message tells all names if they are few, else those that look alike, and all if none does. Where any name that
    looks alike is surely meant, `few` is 0. `advice` is for a name that looks like none.
    """

    def __init__(self, kind: str, name: str, known: Iterable[str], *, few: int = FEW, advice: str = ""):
        known = sorted(known)
        near = [] if len(known) <= few else difflib.get_close_matches(name.lower(), known, n=3, cutoff=0.5)
        hint = f"did you mean {', '.join(near)}?" if near else f"known: {', '.join(known)}{advice}"
        super().__init__(f"unknown {kind} {name!r}; {hint}")


def require(condition: bool, message: str) -> None:
    """Raise a `DerlError` with `message` unless `condition` holds."""
    if not condition:
        raise DerlError(message)
