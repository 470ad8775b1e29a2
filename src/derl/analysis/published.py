"""The numbers the paper published, and the names its tables use."""

from functools import cache
from importlib import resources
from typing import NamedTuple

import polars as pl

BONUS_NAMES = {"count": "Count", "hash-count": "Hash-Count", "icm": "ICM", "rnd": "RND", "ride": "RIDE"}
ALGORITHM_NAMES = {"a2c": "A2C", "ppo": "PPO", "dea2c": "DeA2C", "deppo": "DePPO", "dedqn": "DeDQN"}


class Published(NamedTuple):
    """A number of the paper: a mean and a standard deviation, as printed."""

    mean: float
    std: float


@cache
def published_numbers() -> pl.DataFrame:
    """All result numbers of the paper: table, algorithm, column, mean, std, bold."""
    with resources.files("derl.data").joinpath("published_numbers.csv").open("rb") as file:
        return pl.read_csv(file.read())


def row_name(recipe: str) -> str:
    """A recipe as the paper's tables call it: dea2c-count is "DeA2C Count"."""
    algorithm, _, bonus = recipe.partition("-")
    name = ALGORITHM_NAMES.get(algorithm, algorithm)
    return f"{name} {BONUS_NAMES.get(bonus, bonus)}" if bonus else name


def column_name(task: str) -> str:
    """A task as the paper's tables call it: DeepSea-10 is "DeepSea 10"."""
    return task.replace("-", " ", 1)


def published(table: str, recipe: str, task: str) -> Published | None:
    """The published number for a recipe and task, if any. `table` is the paper's label, such as tab:mean_returns."""
    rows = published_numbers().filter(
        (pl.col("table") == table) & (pl.col("algorithm") == row_name(recipe)) & (pl.col("column") == column_name(task))
    )
    return Published(*rows.select("mean", "std").row(0)) if len(rows) else None
