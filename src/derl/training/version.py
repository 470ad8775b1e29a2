"""The version of the numbers: it changes when the same configuration and seed would give other results."""

import hashlib
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import equinox as eqx

from derl._version import __version__

ENGINE = 1
"""Raise it when a change alters what existing configurations compute. Results of other versions are not mixed.

tests/training/test_version.py holds numbers that fail when this was forgotten. A part of your own can carry a class
attribute `version`, to be raised in the same way (docs/extending.md).
"""


def versions_of(config: Any) -> dict[str, int]:
    """The versions behind a configuration's numbers."""
    return versions(config.make_env(), config.explorer, config.bonus, config.exploiter)


def versions(*parts: Any) -> dict[str, int]:
    """The engine's version, and those of the parts that declare their own."""
    own = {type(part).__name__: part.version for part in parts if getattr(type(part), "version", None) is not None}
    return {"engine": ENGINE, **own}


ROOMS = ("core", "envs", "bonuses", "agents", "training")
"""Where the code is that makes a run's numbers."""


@cache
def code_version() -> str:
    """This version and a digest of the code that makes numbers: 0.1.0+3f2a90c1d4. Kept with every result."""
    root, digest = Path(__file__).parents[1], hashlib.sha256()
    for path in sorted(path for room in ROOMS for path in (root / room).rglob("*.py")):
        digest.update(f"{path.relative_to(root).as_posix()}\n".encode() + path.read_bytes())
    return f"{__version__}+{digest.hexdigest()[:DIGITS]}"


DIGITS, BETWEEN = 10, ", "
NOT_THEIRS = ("derl", "equinox")
"""The packages whose classes are not a user's."""
_kept: dict[Path, str] = {}
"""Digests of files as they were when this process loaded them; see `keep_own_code`."""


def code_behind(config: Any) -> str:
    """The code that makes a configuration's numbers: 0.1.0+3f2a90c1d4, keydoor+5b1c0f9d22. Kept with every result."""
    return BETWEEN.join([code_version(), *(f"{name}+{digest}" for name, digest in own_code(config).items())])


def own_code(config: Any) -> dict[str, str]:
    """The modules with a user's own parts of a configuration, and with what these are derived from: a digest of each.

    A result's address does not depend on them: the text of a module changes more often than what it computes.
    """
    parts = (config.make_env(), config.explorer, config.bonus, config.exploiter)
    files = _own_files(kind for part in parts for kind in type(part).__mro__)
    return {module: _kept.get(file) or _digest(file) for module, file in sorted(files.items())}


def own_code_in(version: str) -> dict[str, str]:
    """What `own_code` was, from what `code_behind` has made of it."""
    named = (part.rpartition("+") for part in version.split(BETWEEN)[1:])
    return {module: digest for module, _, digest in named}


def keep_own_code() -> None:
    """Take the digests of all that is loaded now: whoever edits a module while a worker runs does not edit what
    runs."""
    _kept.update({file: _digest(file) for file in _own_files(_derived(eqx.Module)).values()})


def _own_files(kinds: Iterable[type]) -> dict[str, Path]:
    """The modules of those of these classes that are a user's own, and their files."""
    modules = {kind.__module__ for kind in kinds if issubclass(kind, eqx.Module)}
    own = [name for name in modules if name.partition(".")[0] not in NOT_THEIRS]
    files = {name: getattr(sys.modules.get(name), "__file__", None) for name in own}
    return {name: Path(file) for name, file in files.items() if file and Path(file).is_file()}


def _derived(kind: type) -> Iterator[type]:
    for one in kind.__subclasses__():
        yield one
        yield from _derived(one)


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()[:DIGITS]
