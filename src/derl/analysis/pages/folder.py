"""Folders of pages: nobody else's files are overwritten there, and derl's own do not outlive what they were made of."""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import polars as pl

from derl.analysis.figures.style import FORMATS
from derl.analysis.measures.frames import NEEDED, Results
from derl.analysis.pages import beyond, reproduction
from derl.analysis.pages.figures import figures
from derl.analysis.published.tables import TABLES
from derl.core.errors import require
from derl.envs.registry import PAPER_TASKS

PAGE, FIGURES = "README.md", "figures"
TITLES = (reproduction.TITLE, beyond.TITLE)
CHOICES, REPORT = "choices.md", "report.html"
NUMBER = r"[0-9][0-9e_+-]*"
OF_PAIRS = re.compile(
    f"kl-({'|'.join(re.escape(task.lower()) for task in PAPER_TASKS)})"
    f"(-coefficients|-explorer-{NUMBER}-exploiter-{NUMBER})?"
)
"""Figures about pairs of coefficients, of which a user can add any."""


def check_folder(folder: Path) -> None:
    """Raise if a folder has files that derl did not write: pages and figures would replace those of the same name.

    Hidden files are never among them.
    """
    if not folder.is_dir() or is_ours(folder):
        return
    names = {path.name for path in folder.iterdir() if not path.name.startswith(".")}
    what = f"has a {PAGE} that derl did not write" if PAGE in names else "has files that derl did not write"
    require(not names, f"{folder} {what}; choose another folder with --out")


def is_ours(folder: Path) -> bool:
    """Whether a folder has a page that derl wrote."""
    page = folder / PAGE
    first = page.read_text(errors="replace").partition("\n")[0] if page.is_file() else ""
    return first.removeprefix("# ") in TITLES


def own_files(folder: Path) -> set[Path]:
    """The files in a folder of derl's that derl writes itself, by their names; none in anybody else's."""
    if not is_ours(folder):
        return set()
    below = folder / FIGURES
    there = [*folder.iterdir(), *(below.iterdir() if below.is_dir() and not below.is_symlink() else ())]
    return {path for path in there if path.is_file() and is_own_name(path.relative_to(folder).as_posix())}


def remove_stale(before: Iterable[Path], written: Iterable[Path]) -> list[Path]:
    """Remove those of derl's own files in a folder that were not written anew: they are of another selection."""
    stale = sorted(set(before) - set(written))
    for path in stale:
        path.unlink(missing_ok=True)
    return stale


def is_own_name(name: str) -> bool:
    """Whether derl may write a file of this name into a folder of pages, or into that of their figures."""
    stem, _, ending = name.rpartition(".")
    below = stem.removeprefix(f"{FIGURES}/")
    drawn = below in _drawn() or OF_PAIRS.fullmatch(below) if below != stem else stem in _drawn_beyond()
    return name in _pages() or (ending in FORMATS and bool(drawn))


@cache
def _pages() -> frozenset[str]:
    tables = (f"{table.page}.md" for table in TABLES)
    return frozenset((PAGE, "claims.md", CHOICES, "verdicts.csv", "claims.csv", REPORT, f"{FIGURES}/{PAGE}", *tables))


@cache
def _drawn() -> frozenset[str]:
    """Without results there is no figure, but each has its name."""
    kinds = {name: pl.String if name in ("recipe", "task", "setting") else pl.Float64 for name in NEEDED}
    return frozenset(name for name, _, _ in figures(Results(pl.DataFrame(schema=kinds))))


@cache
def _drawn_beyond() -> frozenset[str]:
    return frozenset({"curves", *(name for section in beyond.outline() for name in section.figures)})
