"""A published number by recipe and task; the paper's names and numbers themselves are in `derl.experiments.paper`."""

from typing import NamedTuple

import polars as pl

from derl.experiments.paper import column_name, published_numbers, row_name

__all__ = ["Published", "column_name", "published", "published_numbers", "row_name"]


class Published(NamedTuple):
    """A number of the paper: a mean and a standard deviation, as printed."""

    mean: float
    std: float


def published(table: str, recipe: str, task: str) -> Published | None:
    """The published number for a recipe and task, if any. `table` is the paper's label, such as tab:mean_returns."""
    rows = published_numbers().filter(
        (pl.col("table") == table) & (pl.col("algorithm") == row_name(recipe)) & (pl.col("column") == column_name(task))
    )
    return Published(*rows.select("mean", "std").row(0)) if len(rows) else None
