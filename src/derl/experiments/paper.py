"""The paper as data: its experiments, and which case and statistic stands behind each of its published numbers."""

import dataclasses
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Literal

import polars as pl

from derl.envs.registry import PAPER_TASKS
from derl.experiments.cases import Case, Setting, normal_form
from derl.training.recipes import RECIPES, recipe

Statistic = Literal["average", "maximum"]

BONUS_NAMES = {"count": "Count", "hash-count": "Hash-Count", "icm": "ICM", "rnd": "RND", "ride": "RIDE"}
ALGORITHM_NAMES = {"a2c": "A2C", "ppo": "PPO", "dea2c": "DeA2C", "deppo": "DePPO", "dedqn": "DeDQN"}

LAMBDAS = (0.01, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 10.0, 100.0)
INCREMENTS = (0.01, 0.1, 0.2, 1.0, 5.0, 10.0, 100.0)
LEARNING_RATES = (1e-9, 1e-8, 2e-8, 1e-7, 5e-7, 1e-6, 1e-5, 1e-4, 1e-3)
ALPHAS = (0.0, 1e-4, 1e-3, 1e-2, 1e-1)
SENSITIVITY_TASKS = ("DeepSea-10", "Hallway-10-10")
GRID_TASKS = ("DeepSea-20", "Hallway-10-10")
KL_TASKS = ("DeepSea-10", "Hallway-20-20")
REWARDS = ("both", "intrinsic")


@dataclasses.dataclass(frozen=True)
class Cell:
    """A published number: where it stands in the paper, what it is, and the case behind it."""

    table: str
    row: str
    column: str
    statistic: Statistic
    mean: float
    std: float
    bold: bool
    case: Case


def row_name(recipe: str) -> str:
    """A recipe as the paper's tables call it: dea2c-count is "DeA2C Count", and dea2c-count-kl "DeA2C Count KL"."""
    algorithm, _, bonus = recipe.removesuffix("-kl").partition("-")
    words = [ALGORITHM_NAMES.get(algorithm, algorithm)]
    words += [BONUS_NAMES.get(bonus, bonus)] if bonus else []
    return " ".join(words + (["KL"] if recipe.endswith("-kl") else []))


def column_name(task: str) -> str:
    """A task as the paper's tables call it: DeepSea-10 is "DeepSea 10"."""
    return task.replace("-", " ", 1)


RECIPE_OF = {row_name(name): name for name in RECIPES}
TASK_OF = {column_name(task): task for task in PAPER_TASKS}


def decay_setting(recipe: str) -> str:
    """The setting by which a recipe's bonus decays: the increment of counts, the learning rate of predictors."""
    return "bonus.increment" if recipe.endswith("count") else "bonus.learning_rate"


@cache
def published_numbers() -> pl.DataFrame:
    """All result numbers of the paper: table, algorithm, column, mean, std, bold."""
    with resources.files("derl.data").joinpath("published_numbers.csv").open("rb") as file:
        return pl.read_csv(file.read())


@cache
def cells() -> tuple[Cell, ...]:
    """Every published number with its case."""
    rows = published_numbers().iter_rows(named=True)
    return tuple(
        Cell(
            r["table"],
            r["algorithm"],
            r["column"],
            "maximum" if "max" in r["table"] else "average",
            r["mean"],
            r["std"],
            bool(r["bold"]),
            _case(r["table"], r["algorithm"], r["column"]),
        )
        for r in rows
    )


def published(table: str, recipe: str, task: str, changes: Mapping[str, Setting] | None = None) -> Cell | None:
    """The number of a recipe as it is, or changed so, if the paper has one. `table` is the paper's label, such as
    tab:mean_returns."""
    case = Case.of(recipe, task, changes)
    return next((cell for cell in cells() if cell.table == table and cell.case == case), None)


def _case(table: str, row: str, column: str) -> Case:
    if column in TASK_OF:
        return Case.of(RECIPE_OF[row], TASK_OF[column])
    task = "Hallway-10-10" if "hallway" in table else "DeepSea-10"
    name, _, variant = row.partition(" (")
    recipe = RECIPE_OF[name]
    swept = "bonus.scale" if "intrinsic_coef" in table else decay_setting(recipe)
    changes: dict[str, Setting] = {swept: float(column)}
    if variant and variant != "standard)":
        recipe = f"{recipe}-kl"
        changes["explorer_reward"] = "both" if "r^e" in variant else "intrinsic"
    return normal_form(recipe, task, changes)


def constraint(task: str) -> tuple[float, float]:
    """The divergence constraints the paper chose for a task: the coefficients of explorer and exploiter."""
    decoupling = recipe("dea2c-count-kl", task).decoupling
    return float(decoupling.alpha_explorer), float(decoupling.alpha_exploiter)
