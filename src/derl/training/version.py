"""The version of the numbers: it changes when the same configuration and seed would give other results."""

from typing import Any

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
