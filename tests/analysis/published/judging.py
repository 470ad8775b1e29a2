"""Published numbers and runs to judge them by."""

import polars as pl

from analysis.made_up import frame_of
from derl.experiments.cases import Case
from derl.experiments.paper import Cell

A2C = Case.of("a2c-count", "DeepSea-10")


def cell(mean: float, case: Case = A2C, statistic="average", table="tab:mean_returns") -> Cell:
    return Cell(table, "row", "column", statistic, mean, 0.0, False, case)


def runs(*levels: float, case: Case = A2C, evaluations: int = 100) -> pl.DataFrame:
    """Flat runs of these returns."""
    return frame_of({case: [[level] * evaluations for level in levels]})
