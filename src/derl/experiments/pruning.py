"""What a store holds that no experiment of this version will ask for again: results and failures of older versions."""

import shutil
from pathlib import Path
from typing import NamedTuple

import polars as pl

from derl.core.errors import DerlError
from derl.experiments.cases import case_of
from derl.experiments.identity import config_key, seed_key
from derl.experiments.jobs import outdated_jobs
from derl.experiments.packing import Entry
from derl.experiments.store import Store
from derl.training.config import Config
from derl.training.version import ENGINE


class Leftovers(NamedTuple):
    """What can be removed."""

    runs: list[Entry]
    failures: pl.DataFrame
    jobs: list[Path]
    """The folders of jobs that were begun and cannot be resumed."""
    damaged: list[Entry]
    """Runs that nobody can read."""


def leftovers(store: Store) -> Leftovers:
    """Runs of older engines, failures and checkpoints of runs that would not be made again as they were, and what is
    damaged.

    Runs go by the engine's number alone. Their content address would tell more, but takes a module of the user's for an
    older version if it is not loaded; a failure lost by that is a line of text, a run may be hours.
    """
    damaged = store.damaged()
    gone = {run.key for run in damaged}
    runs = [run for run in store.entries() if run.key not in gone and run.engine < ENGINE]
    noted = failures(store)
    return Leftovers(runs, pl.concat([noted.unknown, noted.old]), outdated_jobs(store.path), damaged)


def prune(store: Store, found: Leftovers) -> None:
    """Remove them."""
    store.remove([run.key for run in (*found.runs, *found.damaged)], found.failures["key"].to_list())
    for folder in found.jobs:
        shutil.rmtree(folder, ignore_errors=True)


class Failures(NamedTuple):
    """Runs that could not be finished."""

    current: pl.DataFrame
    """Those that the same experiment would try again."""
    unknown: pl.DataFrame
    """Those whose recipe, task or settings there are not: a module that was not loaded may have them."""
    old: pl.DataFrame
    """Those that would be other runs now."""

    @property
    def open(self) -> pl.DataFrame:
        """All but those that nobody will try again."""
        return pl.concat([self.current, self.unknown])


def failures(store: Store) -> Failures:
    """Runs that could not be finished."""
    noted = store.failures()
    now = keys_now(noted)
    return Failures(
        noted.filter(now.eq_missing(noted["key"])), noted.filter(now.is_null()), noted.filter(now != noted["key"])
    )


def keys_now(runs: pl.DataFrame) -> pl.Series:
    """The content addresses that runs of these names would have now; null where there are no such names any more."""
    # To build a configuration takes a while: once for all seeds of a case.
    names = ("recipe", "task", "setting")
    recipes: dict[tuple[str, str], Config] = {}
    cases = {
        (recipe, task, setting): _config_key(recipe, task, setting, recipes)
        for recipe, task, setting in runs.select(names).unique().iter_rows()
    }
    found = [
        (cases[recipe, task, setting], seed) for recipe, task, setting, seed in runs.select(*names, "seed").iter_rows()
    ]
    return pl.Series([key and seed_key(key, int(seed)) for key, seed in found], dtype=pl.String)


def _config_key(recipe: str, task: str, setting: str, recipes: dict[tuple[str, str], Config]) -> str | None:
    try:
        return config_key(case_of(recipe, task, setting).config(recipes))
    except DerlError:
        # A recipe, task or setting that there is no more.
        return None
