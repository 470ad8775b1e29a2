"""From a run's frame of evaluations (one row per run and evaluation) to learning curves and one line per setting."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl
from jaxtyping import Float

from derl.analysis.measures.statistics import (
    average_interval,
    average_return,
    bootstrap_interval,
    maximum_return,
    mean_without_nan,
)
from derl.core.errors import UnknownNameError, require

PREFIXES = {"return": "", "explorer_return": "explorer_"}
"""The returns that have curves, and how the names of their columns begin."""


def learning_curves(frame: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Mean and 95 % bootstrap interval over runs at every evaluation, for each combination of the columns `by`.

    `mean`, `low` and `high` belong to the evaluated policy, those with `explorer_` before them to the episodes the
    explorer trained in. `runs` tells how many runs are in the mean: those that have not failed.
    """
    tables = []
    for values, group in groups(frame, by):
        table = (
            group.group_by("evaluation", maintain_order=True)
            .agg(pl.col("steps").first(), pl.col("episodes").mean(), pl.col("return").is_finite().sum().alias("runs"))
            .sort("evaluation")
        )
        columns = {}
        for name, prefix in PREFIXES.items():
            if name in group.columns:
                returns = matrix(group, name)
                low, high = bootstrap_interval(returns)
                columns |= {f"{prefix}mean": mean_without_nan(returns), f"{prefix}low": low, f"{prefix}high": high}
        labels = [pl.lit(value).alias(name) for name, value in values.items()]
        tables.append(table.select(*labels, pl.all()).with_columns(**{k: pl.Series(v) for k, v in columns.items()}))
    return pl.concat(tables)


def summarise(frame: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """One row per combination of the columns `by`.

    `average` and `maximum` are the paper's; `low` and `high` are the 95 % bootstrap interval of `average` over runs;
    `final` is the mean of the last evaluation. `failed` counts the runs whose numbers ceased to be finite: what they
    did before is in the scores, what they did after is not.
    """
    rows = []
    for values, group in groups(frame, by):
        returns = matrix(group, "return")
        average, maximum, interval = average_return(returns), maximum_return(returns), average_interval(returns)
        rows.append(
            {
                **values,
                "runs": len(returns),
                "average": average.value,
                "average_std": average.std,
                "low": float(interval.low),
                "high": float(interval.high),
                "maximum": maximum.value,
                "maximum_std": maximum.std,
                "final": float(mean_without_nan(returns)[-1]),
                "failed": len(np.unique(group["run"].to_numpy()[np.isnan(group["return"].to_numpy())])),
            }
        )
    return pl.DataFrame(rows, infer_schema_length=None)


def groups(frame: pl.DataFrame, by: Sequence[str]) -> Iterator[tuple[dict[str, Any], pl.DataFrame]]:
    """The rows of each combination of the columns `by`, in order of appearance, without returns after a failure."""
    for name in by:
        if name not in frame.columns:
            raise UnknownNameError("column", name, frame.columns)
    require(len(frame) > 0, "there are no evaluations yet")
    frame = without_failures(frame)
    if not by:
        yield {}, frame
        return
    for key, group in frame.group_by(list(by), maintain_order=True):
        yield dict(zip(by, key, strict=True)), group


def without_failures(frame: pl.DataFrame) -> pl.DataFrame:
    """Returns as floats, with NaN from a run's failure on.

    The explorer of a failed run still acts, though on meaningless numbers, so its returns look sound and have to go.
    """
    present = [name for name in PREFIXES if name in frame.columns]
    returns = pl.col(present).cast(pl.Float64).fill_null(np.nan)
    if "failed_at_step" in frame.columns:
        returns = pl.when(pl.col("failed_at_step").is_null()).then(returns).otherwise(pl.lit(np.nan))
    return frame.with_columns(returns)


def matrix(group: pl.DataFrame, column: str) -> Float[np.ndarray, "runs evaluations"]:
    """A column as runs x evaluations, in their order; NaN where a run lacks an evaluation."""
    runs, rows = np.unique(group["run"].to_numpy(), return_inverse=True)
    evaluations, columns = np.unique(group["evaluation"].to_numpy(), return_inverse=True)
    require(
        not group.select("run", "evaluation").is_duplicated().any(),
        "runs of different settings share their numbers: name the columns that tell them apart in `by`",
    )
    values = np.full((len(runs), len(evaluations)), np.nan)
    values[rows, columns] = group[column].to_numpy()
    return values
