"""The version of the numbers: it changes when the same configuration and seed would give other results."""

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from derl._version import __version__

ENGINE = 1
"""Raise it when a change alters what existing configurations compute. Results of other versions are not mixed.

tests/training/test_version.py holds numbers that fail when this was forgotten. A part of your own can carry a class
attribute `version`, to be raised in the same way.
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
    return f"{__version__}+{digest.hexdigest()[:10]}"
