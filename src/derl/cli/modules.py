"""The user's own modules that `derl --import` has loaded: worker processes have to load them too."""

import shlex
from collections.abc import Sequence

_names: list[str] = []


def remember_modules(names: Sequence[str]) -> None:
    """Note the modules of this call of `derl`. A process may call it several times."""
    _names[:] = names


def imported_modules() -> tuple[str, ...]:
    """The modules given with --import."""
    return tuple(_names)


def command_line(*words: str) -> str:
    """A command of derl's as a user types it, with the modules that were given."""
    given = [word for name in _names for word in ("--import", name)]
    return shlex.join(["derl", *given, *words])
