"""A frame of results from many runs, grouped once, so that every table and figure can ask for a case by name."""

from collections.abc import Mapping

import numpy as np
import polars as pl
from jaxtyping import Float

from derl.analysis.measures.curves import without_failures
from derl.core.errors import DerlError, UnknownNameError, require
from derl.experiments.cases import Case, case_of
from derl.experiments.pruning import keys_now
from derl.training.recipes import RECIPES
from derl.training.version import ENGINE

NAMES = ["recipe", "task", "setting"]
"""The columns that say which case a run belongs to."""
NEEDED = [*NAMES, "run", "seed", "evaluation", "episodes", "return"]
EVALUATIONS = 100
"""How many evaluations a run of the paper has."""


def check_columns(frame: pl.DataFrame) -> None:
    """Raise a `DerlError` if a frame is not one of results."""
    missing = [column for column in NEEDED if column not in frame.columns]
    require(not missing, f"the frame has no column {', '.join(missing)}: it is not a frame of results")


def newest(frame: pl.DataFrame) -> pl.DataFrame:
    """Of every case the runs of the newest engine and of this version's configuration, if the frame knows: others are
    something else."""
    if "engine" in frame.columns:
        # Of a case of which nobody knows the engine, all.
        frame = frame.filter(pl.col("engine").eq_missing(pl.col("engine").max().over(NAMES)))
    return _one_configuration(_as_recipes_are(frame)) if "key" in frame.columns else frame


def _as_recipes_are(frame: pl.DataFrame) -> pl.DataFrame:
    """Without the runs of this engine whose recipe has changed since: by its name they would pass for the new one."""
    if "engine" not in frame.columns:
        return frame
    runs = frame.filter(pl.col("engine") == ENGINE).select("key", *NAMES, "seed").drop_nulls("key").unique()
    # A name that there is no more tells nothing.
    changed = runs.filter(keys_now(runs) != runs["key"])
    return frame.join(changed, on=["key", *NAMES], how="anti")


def _one_configuration(frame: pl.DataFrame) -> pl.DataFrame:
    """Of a case that has two content addresses for one seed the runs whose address is that of this version.

    A recipe may have changed between them, and the mean of both would be that of neither.
    """
    runs = frame.select(*NAMES, "seed", "key").drop_nulls("key").unique()
    several = (pl.col("key").n_unique().over(*NAMES, "seed") > 1).any().over(NAMES)
    doubtful = runs.filter(several)
    if doubtful.is_empty():
        return frame
    current = doubtful.filter(keys_now(doubtful).eq_missing(doubtful["key"]))
    lost = doubtful.join(current, on=NAMES, how="anti").sort(NAMES)
    if len(lost):
        recipe, task, setting = lost.row(0)[:3]
        if recipe not in RECIPES:
            raise UnknownNameError("recipe in these files", recipe, RECIPES)
        name = f"{recipe} on {task}" + (f" ({setting})" if setting else "")
        raise DerlError(f"{name} was run with several configurations, none of them this version's: give one file of it")
    return frame.join(doubtful.join(current, on="key", how="anti"), on=[*NAMES, "key"], how="anti")


class Results:
    """A frame of results (one row per run and evaluation) by case, runs in the order of their seeds.

    Whatever is missing is None, never an error.
    """

    def __init__(self, frame: pl.DataFrame):
        check_columns(frame)
        self.frame = without_failures(frame).sort(*NAMES, "seed", "run", "evaluation")
        self._columns: dict[str, np.ndarray] = {}
        # How many evaluations each run has had, in the frame's order, and how many runs each case.
        runs = self.frame.group_by([*NAMES, "run"], maintain_order=True).len()
        cases = runs.group_by(NAMES, maintain_order=True).agg(pl.len().alias("runs"), pl.col("len").sum())
        self._lengths = runs["len"].to_numpy().astype(np.int64)
        self.rows: Mapping[Case, slice] = _slices(cases, "len")
        """Where the rows of each case are."""
        self._runs = _slices(cases, "runs")
        self._check_evaluations()

    def _check_evaluations(self) -> None:
        evaluations = self._column("evaluation")
        first = np.zeros(len(evaluations), bool)
        first[np.cumsum(self._lengths)[:-1]] = True
        repeated = (np.diff(evaluations) == 0) & ~first[1:]
        require(
            not repeated.any(), "some runs have an evaluation twice: every run of a frame needs a number of its own"
        )

    @property
    def cases(self) -> list[Case]:
        """All that were run, at least in part."""
        return list(self.rows)

    def __contains__(self, case: Case) -> bool:
        return case in self.rows

    def values(self, case: Case, column: str = "return") -> Float[np.ndarray, "runs evaluations"] | None:
        """A column of a case, NaN where a run lacks an evaluation; None if there is nothing of it."""
        if case not in self.rows or column not in self.frame.columns:
            return None
        where, lengths = self.rows[case], self.lengths(case)
        evaluations = self._column("evaluation")[where].astype(np.int64)
        values = np.full((len(lengths), evaluations.max()), np.nan)
        values[np.repeat(np.arange(len(lengths)), lengths), evaluations - 1] = self._column(column)[where]
        return values if column == "return" or np.isfinite(values).any() else None

    def finished(
        self, case: Case, column: str = "return", evaluations: int = EVALUATIONS
    ) -> Float[np.ndarray, "runs evaluations"] | None:
        """The same of the runs that have had so many evaluations, and of these alone; None if there is no such run.

        The average over half of a run is not the average the paper means.
        """
        values = self.values(case, column)
        if values is None or values.shape[1] < evaluations:
            return None
        done = self.lengths(case) >= evaluations
        return values[done, :evaluations] if done.any() else None

    def lengths(self, case: Case) -> np.ndarray:
        """How many evaluations each run of a case has had, failed or not."""
        return self._lengths[self._runs[case]]

    def seeds(self, case: Case) -> np.ndarray:
        """The seed of each run of a case."""
        return self.facts(case, "seed").astype(np.int64)

    def facts(self, case: Case, column: str) -> Float[np.ndarray, " runs"]:
        """What a column says of each run of a case as a whole, such as its seed."""
        return self._column(column)[self.rows[case]][np.cumsum(self.lengths(case)) - 1]

    def episodes(self, case: Case) -> Float[np.ndarray, " evaluations"]:
        """The training episodes at each evaluation."""
        where = self.rows[case]
        evaluations = self._column("evaluation")[where].astype(np.int64) - 1
        total = np.bincount(evaluations, self._column("episodes")[where])
        count = np.bincount(evaluations)
        return np.where(count > 0, total / np.maximum(count, 1), np.nan)

    def _column(self, name: str) -> np.ndarray:
        if name not in self._columns:
            self._columns[name] = self.frame[name].cast(pl.Float64).fill_null(np.nan).to_numpy()
        return self._columns[name]


def _slices(cases: pl.DataFrame, column: str) -> dict[Case, slice]:
    """Cases that follow each other, each as long as a column says."""
    ends = np.cumsum(cases[column].to_numpy().astype(np.int64))
    names = list(cases.select(NAMES).iter_rows())
    found = {case_of(*name): slice(end - size, end) for name, size, end in zip(names, cases[column], ends, strict=True)}
    if len(found) < len(names):
        odd = next(name[2] for name in names if name[2] != case_of(*name).setting)
        raise DerlError(f"a setting is spelt in two ways, one of them {odd!r}")
    return found


def as_results(frame: pl.DataFrame | Results) -> Results:
    """Grouped, if it is not yet."""
    return frame if isinstance(frame, Results) else Results(frame)
