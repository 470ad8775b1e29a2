"""Returns over the values of a setting, as assets/sensitivity.js draws them: of the paper's tables, of a sweep."""

from collections.abc import Sequence
from typing import Any, TypeGuard

from derl.analysis.measures.aggregates import optimal_return_or_none
from derl.analysis.report.model import Table
from derl.analysis.report.names import SYMBOLS, bonus_label
from derl.analysis.report.own import OwnCase
from derl.experiments.cases import Setting
from derl.experiments.paper import row_name


def of_tables(tables: Sequence[Table]) -> list[dict[str, Any]]:
    """The tables over values of a setting, as lines: averages only, the maxima are in the tables."""
    found = []
    for table in tables:
        if not table.swept or table.statistic != "average":
            continue
        rows = []
        for row in table.rows:
            numbers = [table.numbers.get((row, column)) for column in table.columns]
            recipe = next((n.recipe for n in numbers if n), "")
            rows.append(
                {
                    "label": row or row_name(recipe),
                    "bonus": bonus_label(recipe) + (" with KL constraints" if table.label.endswith("_kl") else ""),
                    "ours": [_rounded(n and n.ours) for n in numbers],
                    "low": [_rounded(n and n.low) for n in numbers],
                    "high": [_rounded(n and n.high) for n in numbers],
                    "published": [_rounded(n and n.published) for n in numbers],
                }
            )
        best = next(iter(table.best.values()), None)
        columns = [float(column) for column in table.columns]
        found.append({"task": table.task, "swept": table.swept, "values": columns, "best": best, "rows": rows})
    return found


def _rounded(value: float | None) -> float | None:
    return None if value is None or value != value else float(f"{value:.5g}")


def of_sweep(cases: Sequence[OwnCase]) -> list[dict[str, Any]]:
    """In each task, of each setting with several numbers, a line for the cases that differ in it alone."""
    names = dict.fromkeys(name for one in cases for name, value in one.shown.items() if _is_number(value))
    tasks = dict.fromkeys(one.case.task for one in cases)
    found = [_plot([one for one in cases if one.case.task == task], task, name) for name in names for task in tasks]
    return [plot for plot in found if plot["rows"]]


def _plot(cases: Sequence[OwnCase], task: str, name: str) -> dict[str, Any]:
    lines: dict[str, dict[float, OwnCase]] = {}
    for one in cases:
        value = one.shown.get(name)
        if _is_number(value):
            label = ", ".join(filter(None, (row_name(one.case.recipe), one.label(without=name))))
            lines.setdefault(label, {})[float(value)] = one
    lines = {label: line for label, line in lines.items() if len(line) > 1}
    values = sorted({value for line in lines.values() for value in line})
    return {
        "task": task,
        "swept": SYMBOLS.get(name, name),
        "values": values,
        "best": optimal_return_or_none(task),
        "rows": [_row(label, [line.get(value) for value in values]) for label, line in lines.items()],
    }


def _row(label: str, line: Sequence[OwnCase | None]) -> dict[str, Any]:
    return {
        "label": label,
        "bonus": "",
        "ours": [_rounded(one and one.average) for one in line],
        "low": [_rounded(one and one.low) for one in line],
        "high": [_rounded(one and one.high) for one in line],
        "published": [None] * len(line),
    }


def _is_number(value: Setting | None) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
