"""The paper's tables with our numbers: as text for a terminal and as Markdown, every number with its verdict.

As in the paper, the highest return is bold together with all that lie within its standard deviation: in each task of
the tables of all tasks, and in each row of the tables about sensitivity.
"""

import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Literal

from derl.analysis.measures.numbers import signed
from derl.analysis.published.ours import DRAWN
from derl.analysis.published.verdicts import Outcome, Verdict, count_outcomes
from derl.core.errors import UnknownNameError

MARKS: dict[Outcome, str] = {"consistent": "✓", "differs": "≠", "not run": "·"}
TEX = {
    r"\alpha_\beta": "αᵦ",
    r"\alpha_e": "αₑ",
    r"\lambda": "λ",
    "r^e": "rᵉ",
    "r^i": "rⁱ",
    "$": "",
    "=": " = ",
}
LEGEND = (
    "✓ consistent with the published number, ≠ differs from it, · not run. A small number at a mark: so many runs, "
    "where they are not the paper's five; below three there is little to go by."
)
SMALL = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


@dataclasses.dataclass(frozen=True)
class PaperTable:
    """A table of the paper."""

    label: str
    """Its label in the paper's source."""
    experiment: str
    """The name `derl reproduce` knows it by."""
    title: str
    best: Literal["column", "row"] = "row"
    """Within what the best is bold."""

    @property
    def page(self) -> str:
        """The name of its page, without ending."""
        return self.label.removeprefix("tab:").replace("_", "-")

    @property
    def swept(self) -> str:
        """What its columns vary, where they are values of a setting."""
        if self.experiment == "table-1":
            return ""
        if "intrinsic_coef" in self.label:
            return "λ"
        return "learning rate" if "_deep_" in self.label else "increment"

    @property
    def command(self) -> str:
        """What regenerates its numbers."""
        return f"derl reproduce {self.experiment}"


def _pair(stem: str, experiment: str, title: str, average: str = "mean", suffix: str = "") -> list[PaperTable]:
    """A table of averages and one of maxima."""
    return [
        PaperTable(f"tab:{stem}_{average}{suffix}", experiment, f"Average evaluation returns {title}"),
        PaperTable(f"tab:{stem}_max{suffix}", experiment, f"Maximum evaluation returns {title}"),
    ]


TABLES: tuple[PaperTable, ...] = (
    PaperTable("tab:mean_returns", "table-1", "Average evaluation returns in all tasks (Table 1)", "column"),
    PaperTable("tab:deepsea_max_returns", "table-1", "Maximum evaluation returns in DeepSea", "column"),
    PaperTable("tab:hallway_max_returns", "table-1", "Maximum evaluation returns in Hallway", "column"),
    *_pair("deepsea_10_intrinsic_coef", "lambda", "in DeepSea 10 by λ"),
    *_pair("hallway10_10_intrinsic_coef", "lambda", "in Hallway 10-10 by λ"),
    *_pair("decay_sensitivity_count_deepsea", "decay", "in DeepSea 10 by count increment"),
    *_pair("decay_sensitivity_deep_deepsea", "decay", "in DeepSea 10 by learning rate of the bonus"),
    *_pair("decay_sensitivity_count_hallway10_10", "decay", "in Hallway 10-10 by count increment"),
    *_pair("decay_sensitivity_deep_hallway10_10", "decay", "in Hallway 10-10 by learning rate of the bonus"),
    *_pair("deepsea_10_intrinsic_coef", "kl", "in DeepSea 10 by λ, with KL constraints", suffix="_kl"),
    *_pair("hallway10_10_intrinsic_coef", "kl", "in Hallway 10-10 by λ, with KL constraints", suffix="_kl"),
    *_pair("deepsea_decay_sensitivity", "kl", "in DeepSea 10 by count increment, with KL constraints", suffix="_kl"),
    *_pair(
        "hallway_decay_sensitivity",
        "kl",
        "in Hallway 10-10 by count increment, with KL constraints",
        average="average",
        suffix="_kl",
    ),
)
"""All tables with results, in the paper's order but for the averages, which come first."""


def table_of(label: str) -> PaperTable:
    """The table with a label."""
    for table in TABLES:
        if table.label == label:
            return table
    raise UnknownNameError("table", label, [table.label for table in TABLES])


@dataclasses.dataclass(frozen=True)
class Grid:
    """The verdicts of one table by row and column."""

    table: PaperTable
    rows: Sequence[str]
    columns: Sequence[str]
    verdicts: dict[tuple[str, str], Verdict]
    bold: frozenset[tuple[str, str]]
    """Where ours are best."""


def grid_of(judged: Iterable[Verdict], label: str) -> Grid:
    """The verdicts on one table's numbers, arranged as in the paper."""
    found = {(v.cell.row, v.cell.column): v for v in judged if v.cell.table == label}
    rows, columns = (list(dict.fromkeys(key[i] for key in found)) for i in (0, 1))
    table = table_of(label)
    return Grid(table, rows, columns, found, frozenset(best_of(found, table.best)))


def best_of(found: dict[tuple[str, str], Verdict], within: Literal["column", "row"]) -> Iterable[tuple[str, str]]:
    """Where our highest returns are, with all that lie within a standard deviation of theirs."""
    lines = defaultdict(dict)
    for (row, column), verdict in found.items():
        if verdict.ours is not None:
            lines[column if within == "column" else row][row, column] = verdict.ours
    for line in lines.values():
        best = max(line.values(), key=lambda score: score.value)
        yield from (key for key, score in line.items() if score.value >= best.value - best.std - 1e-9)


def number(value: float, std: float) -> str:
    """0.98 ± 0.07."""
    return f"{signed(value)} ± {signed(std)}"


def mark_of(outcome: Outcome, runs: int) -> str:
    """The mark of a verdict, with the number of runs where it is not the paper's."""
    return MARKS[outcome] + ("" if runs in (0, DRAWN) else str(runs).translate(SMALL))


def plain_row(row: str) -> str:
    """A row's name without the paper's TeX: `$\\alpha_\\beta=0.1$` is αᵦ = 0.1."""
    for tex, symbol in TEX.items():
        row = row.replace(tex, symbol)
    return " ".join(row.replace("(standard)", "").split())


def markdown(grid: Grid) -> str:
    """The table as Markdown: ours with its mark, and below it in small type the published number."""
    lines = [
        "| ours, *published* | " + " | ".join(grid.columns) + " |",
        "|---|" + "---:|" * len(grid.columns),
    ]
    for row in grid.rows:
        texts = [_markdown_cell(grid, row, column) for column in grid.columns]
        lines.append(f"| {plain_row(row)} | " + " | ".join(texts) + " |")
    return "\n".join(lines)


def _markdown_cell(grid: Grid, row: str, column: str) -> str:
    verdict = grid.verdicts.get((row, column))
    if verdict is None:
        return ""
    ours = "" if verdict.ours is None else number(*verdict.ours)
    if (row, column) in grid.bold:
        ours = f"**{ours}**"
    published = f"*{number(verdict.cell.mean, verdict.cell.std)}*"
    return f"{ours} {mark_of(verdict.outcome, verdict.seeds)}<br>{published}".strip()


def text(grid: Grid, width: int | None = None) -> str:
    """The table for a terminal, without its title: ours and its mark, and in the line below the published number.

    Where not all columns fit into `width`, the table goes on below with those that are left.
    """
    table = [["", *grid.columns]]
    for row in grid.rows:
        there = [grid.verdicts.get((row, column)) for column in grid.columns]
        table.append([plain_row(row), *("" if v is None else _text_cell(grid, v) for v in there)])
        table.append(["  published", *("" if v is None else _published(v) for v in there)])
    widths = [max(len(line[i]) for line in table) for i in range(len(grid.columns) + 1)]
    lines: list[str] = []
    for block in _blocks(widths, width):
        lines += [""] if lines else []
        for line in table:
            lines.append("  ".join([line[0].ljust(widths[0]), *(line[i].rjust(widths[i]) for i in block)]))
    counts = ", ".join(f"{count} {outcome}" for outcome, count in count_outcomes(grid.verdicts.values()).items())
    return "\n".join([*(line.rstrip() for line in lines), counts])


def _blocks(widths: Sequence[int], width: int | None) -> list[list[int]]:
    """The numbers of the columns that stand beside each other, after the first one, which every block has."""
    blocks: list[list[int]] = [[]]
    for i in range(1, len(widths)):
        needed = widths[0] + sum(2 + widths[j] for j in (*blocks[-1], i))
        if width is not None and needed > width and blocks[-1]:
            blocks.append([])
        blocks[-1].append(i)
    return blocks


def _published(verdict: Verdict) -> str:
    """With blanks in the place of the mark, so that numbers stand below each other."""
    mark = mark_of(verdict.outcome, verdict.seeds)
    return number(verdict.cell.mean, verdict.cell.std) + " " * (1 + len(mark))


def _text_cell(grid: Grid, verdict: Verdict) -> str:
    if verdict.ours is None:
        return MARKS["not run"]
    best = "*" if (verdict.cell.row, verdict.cell.column) in grid.bold else ""
    return f"{best}{number(*verdict.ours)} {mark_of(verdict.outcome, verdict.seeds)}"
