"""Tables as heat maps: every cell has a text and a shade for each view, and what it says when it is pointed at."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from derl.analysis.measures.numbers import plural
from derl.analysis.pages import tables
from derl.analysis.published.verdicts import Outcome
from derl.analysis.report.html import Html, h, number
from derl.analysis.report.model import Number, Table
from derl.analysis.report.names import setting_label
from derl.experiments.cases import Case, case_of
from derl.experiments.paper import column_name, row_name

MARKS: dict[Outcome, str] = {**tables.MARKS, "not run": ""}
"""As on the other pages; what was not run is hatched."""
CLASSES: dict[Outcome, str] = {"consistent": "ok", "differs": "off", "not run": "none"}
LEVELS = 10
WIDEST = 0.5
"""The share of the best return at which a difference has its darkest shade."""


class Cell(NamedTuple):
    """What a cell shows in each view, and its shades: h0 to h10 upwards, n1 to n10 below and p1 to p10 above zero."""

    views: Sequence[tuple[str, str]]
    tip: Sequence[str]
    verdict: Outcome | None = None
    case: int | None = None
    why: str | None = None
    """Where the page tells all reasons for a difference."""
    bold: bool = False
    runs: int = 0


def shade(value: float | None, best: float) -> str:
    """The shade of a return between none and the best possible one."""
    if value is None or not math.isfinite(value) or best <= 0:
        return ""
    return f"h{round(LEVELS * min(1.0, max(0.0, value / best)))}"


def difference_shade(value: float | None, best: float) -> str:
    """The shade of a difference: two hues, none near zero."""
    if value is None or not math.isfinite(value) or best <= 0:
        return ""
    level = round(LEVELS * min(1.0, abs(value) / (WIDEST * best)))
    return f"{'n' if value < 0 else 'p'}{level}" if level else "h0"


def cell_of(value: Number, best: float, row: str, column: str, case: int | None, why: str | None = None) -> Cell:
    """A number of the paper: ours, published, and their difference."""
    gap = None if value.ours is None or value.published is None else value.ours - value.published
    views = (
        (number(value.ours), shade(value.ours, best)),
        (number(value.published), shade(value.published, best)),
        (_signed(gap), difference_shade(gap, best)),
    )
    return Cell(views, tip_of(value, row, column, gap), value.verdict, case, why, value.bold, value.seeds)


def tip_of(value: Number, row: str, column: str, gap: float | None) -> list[str]:
    """What is said about a cell, line by line; the first is its name."""
    where = f"{row_name(value.recipe)} on {column_name(value.task)}" if value.recipe else f"{row}, {column}"
    lines = [where + (f", {setting_label(value.setting)}" if value.setting else "")]
    if value.ours is None:
        lines.append("Ours: not run")
    else:
        interval = "" if value.low is None else f", 95 % interval {number(value.low, 3)} to {number(value.high, 3)}"
        lines.append(f"Ours: {number(value.ours, 3)} ± {number(value.std)}{interval}, {plural(value.seeds, 'seed')}")
    if value.published is not None:
        deviation = "" if value.published_std is None else f" ± {number(value.published_std)}"
        lines.append(f"Published: {number(value.published)}{deviation}{' (bold)' if value.bold else ''}")
    if value.verdict != "not run":
        by = "" if gap is None else f", difference {_signed(gap, 3)}"
        lines.append(f"{MARKS[value.verdict]} {value.verdict}{by}")
    return lines + ([value.best_reason] if value.best_reason else [])


def _signed(value: float | None, digits: int = 2) -> str:
    text = number(value, digits)
    return text if value is None or text[0] == "−" or float(text) == 0 else f"+{text}"


def heat_table(
    identity: str, caption: str, corner: str, columns: Sequence[str], rows: Sequence[tuple[str, Sequence[Cell]]]
) -> Html:
    """A table in a box of its own that scrolls when the page is narrow. Cells show their first view."""
    head = h("tr", h("th", corner, scope="col"), [h("th", column, scope="col") for column in columns])
    body = [h("tr", h("th", name, scope="row"), [_td(cell) for cell in cells]) for name, cells in rows]
    table = h(
        "table",
        h("caption", caption, class_="sr"),
        h("thead", head),
        h("tbody", body),
        class_="heat",
        id=identity,
    )
    return h("div", table, class_="scroll", role="region", aria_label=caption, tabindex="0")


def _td(cell: Cell) -> Html:
    text, level = cell.views[0]
    kind = CLASSES[cell.verdict] if cell.verdict else None
    mark = "" if cell.verdict in (None, "not run") else tables.mark_of(cell.verdict, cell.runs)
    return h(
        "td",
        h("span", text, class_="v"),
        mark and h("span", mark, class_="mark", aria_hidden="true"),
        cell.verdict and h("span", f" {cell.verdict}", class_="sr"),
        class_=" ".join(filter(None, (level, kind, "bold" if cell.bold else None))) or None,
        data_v="|".join(text for text, _ in cell.views),
        data_h="|".join(level for _, level in cell.views),
        data_tip="\n".join(cell.tip),
        data_case=cell.case,
        data_why=cell.why,
    )


def paper_table(table: Table, cases: Mapping[Case, int]) -> Html:
    """One of the paper's tables. `cases` are the places of the curves in the page's data."""
    rows = []
    for row in table.rows:
        cells = []
        for column in table.columns:
            value = table.numbers.get((row, column), Number())
            case = cases.get(case_of(value.recipe, value.task, value.setting))
            why = table.place(row, column) if value.standing else None
            cells.append(cell_of(value, table.best.get(column, 1.0), row, column, case, why))
        rows.append((row, cells))
    return heat_table(f"t-{_slug(table.label)}", table.title, table.swept or "Algorithm", table.columns, rows)


def _slug(label: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in label.removeprefix("tab:"))
