"""The user's own modules that `derl --import` has loaded: worker processes have to load them too."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from derl.core.errors import require

_names: list[str] = []


def remember_modules(names: Sequence[str]) -> None:
    """Note the modules of this call of `derl`. A process may call it several times."""
    _names[:] = names


def check_module(name: str) -> None:
    """Raise if what --import was given is the path of a file: Python would look for a module of that name."""
    path = Path(name)
    plain = name != "" and path.suffix != ".py" and "/" not in name and not name.startswith(".")
    meant = path.stem.lstrip(".") or "MODULE"
    where = "" if path.parent == Path() else f" in the folder {path.parent}"
    require(plain, f"--import takes the name of a module, not a path: write --import {meant}{where}")


def imported_modules() -> tuple[str, ...]:
    """The modules given with --import."""
    return tuple(_names)


def command_line(*words: str) -> str:
    """A command of derl's as a user types it, with the modules that were given."""
    given = [word for name in _names for word in ("--import", name)]
    return shlex.join(["derl", *given, *words])
