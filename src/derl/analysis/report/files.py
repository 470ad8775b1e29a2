"""The facts that lie beside results: in a file, and in a store."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from derl.analysis.report.model import Facts, Failure
from derl.core.errors import DerlError, require

FACTS = "facts.json"


def read_facts(paths: Sequence[Path]) -> Facts:
    """What `facts.json` in the first of the folders that has one says; without it, what is known anyway."""
    files = [(path if path.is_dir() else path.parent) / FACTS for path in paths]
    for file in files:
        if file.exists():
            return _facts(file)
    return Facts()


def failures_of(noted: pl.DataFrame) -> tuple[Failure, ...]:
    """Failures as a store has noted them, for the facts."""
    return tuple(Failure(*row) for row in noted.select(Failure._fields).iter_rows())


def _facts(file: Path) -> Facts:
    try:
        given: dict[str, Any] = json.loads(file.read_text("utf-8"))
        known = {name: given.pop(name) for name in ("version", "finished", "seconds", "machine") if name in given}
        seconds = known.get("seconds", 0)
        require(type(seconds) in (int, float), f"seconds is a number, not {seconds!r}")
        return Facts(**known, more={str(name): str(value) for name, value in given.items()})
    except (OSError, ValueError, AttributeError, DerlError) as error:
        raise DerlError(f"{file} cannot be read: {error}") from None
