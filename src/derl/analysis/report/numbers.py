"""From a frame of results to the paper's tables, with a verdict for every number."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import polars as pl

from derl.analysis.curves import groups, matrix
from derl.analysis.report.bands import average_band, maximum_band
from derl.analysis.report.model import Number, Table, Verdict
from derl.analysis.report.names import plain_row
from derl.analysis.statistics import average_return, maximum_return
from derl.core.errors import DerlError, require
from derl.envs.registry import make
from derl.experiments.paper import TASK_OF, Cell, Statistic, cells

NEEDED = ("run", "recipe", "task", "setting", "seed", "evaluation", "steps", "episodes", "return", "failed_at_step")
MARGIN = 0.02
"""How far outside the interval a published number may lie and still be consistent."""

Key = tuple[str, str, str]
"""Recipe, task and setting."""


class Returns(NamedTuple):
    """The evaluation returns of a case: runs x evaluations."""

    values: np.ndarray

    def number(self, statistic: Statistic) -> tuple[float, float, float, float]:
        """The paper's score of them: value, deviation, and the ends of its 95 % interval."""
        score = average_return(self.values) if statistic == "average" else maximum_return(self.values)
        ends = average_band(self.values) if statistic == "average" else maximum_band(self.values)
        return (*score, *ends)


def check_frame(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame in a fixed order, so that the order in which files were read cannot be seen on the page."""
    missing = [name for name in NEEDED if name not in frame.columns]
    require(not missing, f"a frame of results needs the columns {', '.join(NEEDED)}; missing: {', '.join(missing)}")
    return frame.sort("recipe", "task", "setting", "seed", "run", "evaluation")


def by_case(frame: pl.DataFrame) -> dict[Key, pl.DataFrame]:
    """The rows of every case."""
    if frame.is_empty():
        return {}
    return {(v["recipe"], v["task"], v["setting"]): g for v, g in groups(frame, ("recipe", "task", "setting"))}


def best_return(task: str) -> float | None:
    """The best possible return of a task; None for one nobody knows here."""
    try:
        best = make(task).optimal_return
    except DerlError:
        return None
    return None if best is None else float(best)


def verdict_of(published: float, low: float, high: float) -> Verdict:
    """The rule: the published mean lies in our interval, widened by `MARGIN`."""
    return "consistent" if low - MARGIN <= published <= high + MARGIN else "differs"


def paper_tables(frame: pl.DataFrame) -> list[Table]:
    """All tables of the paper, with our numbers where there are runs."""
    returns = {key: Returns(matrix(group, "return")) for key, group in by_case(frame).items()}
    return tables_of(lambda cell: _number(cell, returns.get((cell.case.recipe, cell.case.task, cell.case.setting))))


def tables_of(number: Callable[[Cell], Number]) -> list[Table]:
    """The paper's tables in its order, each number made by `number` from the published cell."""
    tables: dict[str, list[Cell]] = {}
    for cell in cells():
        tables.setdefault(cell.table, []).append(cell)
    return [_table(label, members, number) for label, members in tables.items()]


def _number(cell: Cell, returns: Returns | None) -> Number:
    case = cell.case
    fixed = {"recipe": case.recipe, "task": case.task, "setting": case.setting}
    published = {"published": cell.mean, "published_std": cell.std, "bold": cell.bold}
    if returns is None or not np.isfinite(returns.values).any():
        return Number(**published, **fixed)
    ours, std, low, high = returns.number(cell.statistic)
    verdict = verdict_of(cell.mean, low, high)
    return Number(**published, **fixed, ours=ours, std=std, low=low, high=high, seeds=len(returns.values), verdict=verdict)


def _table(label: str, members: list[Cell], number: Callable[[Cell], Number]) -> Table:
    title, part, swept = describe(label)
    best: dict[str, float] = {}
    for cell in members:
        optimum = best_return(cell.case.task)
        if optimum is not None:
            best[cell.column] = optimum
    return Table(
        label=label,
        title=title,
        rows=tuple(dict.fromkeys(plain_row(c.row) for c in members)),
        columns=tuple(dict.fromkeys(c.column for c in members)),
        numbers={(plain_row(c.row), c.column): number(c) for c in members},
        part=part,
        best=best,
        swept=swept,
        task="" if members[0].column in TASK_OF else members[0].case.task,
        statistic=members[0].statistic,
    )


def describe(label: str) -> tuple[str, str, str]:
    """Title of one of the paper's tables, the experiment behind it, and what its columns vary."""
    if label == "tab:mean_returns":
        return "Table 1: average evaluation returns", "table-1", ""
    task = "Hallway 10-10" if "hallway" in label else "DeepSea 10"
    statistic = "maximum" if "max" in label else "average"
    if label.endswith("max_returns"):
        return f"Maximum evaluation returns, {task.split()[0]} (appendix B)", "table-1", ""
    with_kl = label.endswith("_kl")
    where = "with KL constraints, appendix D" if with_kl else "appendix C"
    if "intrinsic_coef" in label:
        return f"Scale λ of the bonus, {task}: {statistic} returns ({where})", "kl" if with_kl else "lambda", "λ"
    swept = "learning rate" if "_deep_" in label else "increment"
    what = "learning rate of the predictor" if swept == "learning rate" else "increment of the count"
    return f"Decay by {what}, {task}: {statistic} returns ({where})", "kl" if with_kl else "decay", swept
