"""The paper's tables with our numbers: as text for a terminal and as Markdown, every number with its verdict.

As in the paper, the highest return is bold together with all that lie within its standard deviation: in each task of
the tables of all tasks, and in each row of the tables about sensitivity. Where only one was run there is no best.
"""

import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Literal

from derl.analysis.measures.numbers import signed
from derl.analysis.pages.markdown import markdown_table
from derl.analysis.published.ours import DRAWN
from derl.analysis.published.tables import PaperTable, table_of
from derl.analysis.published.verdicts import Outcome, Verdict, count_outcomes

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
    "✓ consistent with the published number, ≠ differs from it, · not run. A small number beside a mark is the number "
    "of runs, if it is not the paper's five; fewer than three say little."
)
SMALL = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


@dataclasses.dataclass(frozen=True)
class Grid:
    """The verdicts of one table by row and column."""

    table: PaperTable
    rows: Sequence[str]
    columns: Sequence[str]
    verdicts: dict[tuple[str, str], Verdict]
    bold: frozenset[tuple[str, str]]
    """Where ours are best."""

    @property
    def starred(self) -> frozenset[tuple[str, str]]:
        """Where a terminal marks the best: nowhere if training was shortened, as two runs that have barely begun to
        learn vary so much that nearly all would be marked."""
        return self.bold if all(verdict.asked for verdict in self.verdicts.values()) else frozenset()


def grid_of(judged: Iterable[Verdict], label: str) -> Grid:
    """The verdicts on one table's numbers, arranged as in the paper."""
    found = {(v.cell.row, v.cell.column): v for v in judged if v.cell.table == label}
    rows, columns = (list(dict.fromkeys(key[i] for key in found)) for i in (0, 1))
    table = table_of(label)
    return Grid(table, rows, columns, found, frozenset(best_of(found, table.best)))


def best_of(found: dict[tuple[str, str], Verdict], within: Literal["column", "row"]) -> Iterable[tuple[str, str]]:
    """Where our highest returns are, with all that lie within a standard deviation of theirs.

    Nowhere in a line in which only one number was run: it would be the best of itself.
    """
    lines = defaultdict(dict)
    for (row, column), verdict in found.items():
        if verdict.ours is not None:
            lines[column if within == "column" else row][row, column] = verdict.ours
    for line in lines.values():
        if len(line) < 2:
            continue
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
    rows = [[plain_row(row), *(_markdown_cell(grid, row, column) for column in grid.columns)] for row in grid.rows]
    return markdown_table("l" + "r" * len(grid.columns), ("ours, *published*", *grid.columns), rows)


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
    found = count_outcomes(grid.verdicts.values())
    counts = f"{found['consistent']} consistent, {found['differs']} different, {found['not run']} not run"
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
    best = "*" if (verdict.cell.row, verdict.cell.column) in grid.starred else ""
    return f"{best}{number(*verdict.ours)} {mark_of(verdict.outcome, verdict.seeds)}"
