"""Which of the runs there are each experiment of the paper has made, and how long they took."""

from collections import Counter
from typing import NamedTuple

import polars as pl

from derl.analysis.measures.frames import NAMES
from derl.analysis.published.reasons import reasons_for
from derl.experiments.builtin import DESCRIPTIONS, experiment
from derl.experiments.cases import Case
from derl.experiments.paper import cells


class Taken(NamedTuple):
    """How much time some runs took."""

    runs: int
    seconds: float
    """On one core."""
    untimed: int
    """How many of them were not timed."""


def time_taken(frame: pl.DataFrame) -> Taken | None:
    """How many runs these are and how long they took; None if the frame does not know."""
    if "seconds" not in frame.columns:
        return None
    seconds = each_once(frame).group_by("run").agg(pl.col("seconds").first())["seconds"].fill_null(0)
    return Taken(len(seconds), float(seconds.sum()), int((seconds <= 0).sum()))


def each_once(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with every run once: one that several experiments name has a number for each of its names."""
    if "key" not in frame.columns:
        return frame
    first = frame.group_by("key").agg(pl.col("run").min())
    return frame.filter(pl.col("key").is_null() | pl.col("run").is_in(first["run"].implode()))


def planned_seeds(*parts: str) -> dict[Case, int]:
    """How many seeds each case of these experiments has."""
    counts: Counter[Case] = Counter()
    for part in parts:
        counts |= Counter(case for case, _ in experiment(part).members())
    return dict(counts)


def runs_of(frame: pl.DataFrame, *parts: str) -> pl.DataFrame:
    """The runs that these experiments have: of each case as many as they plan, those with the first seeds there are.

    These are the runs that the tables count. With `--seeds` an experiment has others than its own.
    """
    planned = [(c.recipe, c.task, c.setting, count) for c, count in planned_seeds(*parts).items()]
    wanted = pl.DataFrame(planned, {**dict.fromkeys(NAMES, pl.String), "planned": pl.Int64}, orient="row")
    known = frame.join(wanted, on=NAMES, how="inner", maintain_order="left")
    return known.filter(pl.col("seed").rank("dense").over(NAMES) <= pl.col("planned")).drop("planned")


def other_runs(frame: pl.DataFrame) -> pl.DataFrame:
    """The runs that none of the paper's experiments has, under any name."""
    own = runs_of(frame, *DESCRIPTIONS)
    others = frame.join(own, on="run", how="anti")
    return others.join(own.drop_nulls("key"), on="key", how="anti") if "key" in frame.columns else others


def explaining_runs(frame: pl.DataFrame) -> pl.DataFrame:
    """Of the runs that no experiment has those that `--explain` can make: of an experiment's cases, and of reasons'."""
    cases = set(planned_seeds(*DESCRIPTIONS))
    cases |= {test for cell in cells() for reason in reasons_for(cell) if (test := reason.test(cell.case)) is not None}
    wanted = pl.DataFrame([(c.recipe, c.task, c.setting) for c in cases], dict.fromkeys(NAMES, pl.String), orient="row")
    return other_runs(frame).join(wanted, on=NAMES, how="semi")
