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
    return Leftovers(runs, failures(store)[1], outdated_jobs(store.path), damaged)


def prune(store: Store, found: Leftovers) -> None:
    """Remove them."""
    store.remove([run.key for run in (*found.runs, *found.damaged)], found.failures["key"].to_list())
    for folder in found.jobs:
        shutil.rmtree(folder, ignore_errors=True)


def failures(store: Store) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Runs that could not be finished: those that the same experiment would try again, and the others."""
    noted = store.failures()
    # To derive an address takes a while: once for each.
    current = [is_current(**row) for row in noted.drop("error").iter_rows(named=True)]
    kept = pl.Series(current, dtype=pl.Boolean)
    return noted.filter(kept), noted.filter(~kept)


def has_changed(key: str, recipe: str, task: str, setting: str, seed: int) -> bool:
    """Whether runs of these names are something else now than when this one was noted. Not if there is no such name."""
    return _address(recipe, task, setting, seed) not in (None, key)


def is_current(key: str, recipe: str, task: str, setting: str, seed: int) -> bool:
    """Whether a run of these names still has the content address it had when it was noted."""
    return _address(recipe, task, setting, seed) == key


def _address(recipe: str, task: str, setting: str, seed: int) -> str | None:
    try:
        return seed_key(config_key(case_of(recipe, task, setting).config()), seed)
    except DerlError:
        # A recipe, task or setting that there is no more.
        return None
