"""What the commands share: the live progress line, tables, and one-line errors."""

import math
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import polars as pl
from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.measure import Measurement
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from derl.analysis.measures.numbers import signed
from derl.analysis.runs.result import Result
from derl.training.trainer import Progress

console = Console(highlight=False)

WIDEST = 10_000
"""Columns of what is not a terminal."""
GAP = "  "
LONG_BAR, SHORT_BAR = 24, 8
"""Columns of a progress bar: what it has, and below what it is left out."""


def say(text: str, **options: Any) -> None:
    """Print a sentence: a terminal breaks it between words, a pipe or a file gets it whole."""
    console.print(text, soft_wrap=not console.is_terminal, **options)


def show_table(table: Table, spare: Sequence[str] = ()) -> None:
    """Print a table, its title in a line above. A terminal wraps what is too long; a pipe or a file gets lines whole.

    A terminal too narrow for that has the columns in `spare` left out, the first one first.
    """
    if table.title:
        # Rich would break it where the table ends.
        say(f"[italic]{table.title}[/]")
        table.title = None
    for column in table.columns:
        # What does not fit goes on in the next line: an ellipsis would hide what tells one line from another.
        column.overflow = "fold"
    whole = console.options.update(max_width=WIDEST)
    if not console.is_terminal:
        # A console prints nothing wider than it is itself.
        width = Measurement.get(console, whole, table).maximum
        Console(file=console.file, width=width, highlight=False).print(table)
        return
    gone = []
    while len(gone) < len(spare) and least_width(table) > console.width:
        gone.append(spare[len(gone)])
        leave_out(table, gone[-1])
    if least_width(table) > console.width:
        for column in table.columns:
            # Broken anywhere, but not cut off: half a number reads as another one.
            column.no_wrap, column.min_width = False, None
    console.print(table)
    if gone:
        console.print(f"[dim]no room for: {', '.join(gone)}[/]", soft_wrap=True)


def least_width(table: Table) -> int:
    """Columns a table needs if all is wrapped that may be. (Rich's own measure breaks also what may not.)"""
    _, right, _, left = table.padding
    width = len(table.columns) * (left + right) - (0 if table.pad_edge else left + right)
    whole = console.options.update(max_width=WIDEST)
    for column in table.columns:
        sizes = [Measurement.get(console, whole, cell) for cell in (column.header, *column.cells)]
        width += max(size.maximum if column.no_wrap else size.minimum for size in sizes)
    return width


def leave_out(table: Table, name: str) -> None:
    """Take a column out of a table."""
    table.columns = [column for column in table.columns if column.header != name]
    for place, column in enumerate(table.columns):
        # By which a table knows its last column, which has no padding.
        column._index = place


def compact(number: float) -> str:
    """12345 as 12.3k."""
    if math.isnan(number):
        return "?"
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= limit:
            return f"{number / limit:.3g}{unit}"
    return f"{number:.3g}"


def duration(seconds: float) -> str:
    """Seconds as 1:02:03."""
    if not math.isfinite(seconds):
        return "?"
    hours, rest = divmod(int(seconds + 0.5), 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}" if hours else f"{rest // 60}:{rest % 60:02d}"


def tell_failures(result: Result, runs: Iterable[int] | None = None) -> None:
    """Say which runs, of these or of all, failed, and when. What their policies do afterwards means nothing."""
    for run in result.failed if runs is None else sorted(set(runs) & set(result.failed)):
        step = result.frame.filter(run=run)["failed_at_step"].drop_nulls()[0]
        seed = result.runs[run].seed
        text = f"run {run} (seed {seed}) failed: its numbers were no longer finite at step {step:,}"
        names = first_to_break(result.frame.filter(run=run))
        if 0 < len(names) <= FEW:
            text += f", which began with {', '.join(names)}"
        console.print(f"[red]{text}[/]", soft_wrap=True)


FEW = 3
"""So many metrics say where a failure began; of more, everything had broken by the next evaluation."""


def first_to_break(rows: pl.DataFrame) -> list[str]:
    """The metrics of a failed run that are not finite in the first evaluation after its failure."""
    row = rows.filter(pl.col("failed_at_step").is_not_null()).row(0, named=True)
    others = ("return", "return_std", "explorer_return")
    return [k for k, v in row.items() if isinstance(v, float) and not math.isfinite(v) and k not in others]


def value(x: float) -> str:
    """A return for display."""
    return "–" if math.isnan(x) else signed(x)


def counted(number: float, thing: str) -> str:
    """How many there are of something: 1 run, 2 runs."""
    return f"{number:.0f} {thing}" + ("" if number == 1 else "s")


def spread(mean: float, deviation: float) -> str:
    """A mean with its standard deviation, for display."""
    return "–" if math.isnan(mean) else f"{value(mean)} ± {value(deviation)}"


class Field(NamedTuple):
    """A number of a progress line, with its name."""

    name: str
    text: str
    rank: int
    """Where there is no room, the highest goes first."""

    def __str__(self) -> str:
        return f"{self.name} {self.text}"


def percent(done: float, total: float) -> str:
    """How much is done, rounded down: 100 % is all of it."""
    return f"{int(100 * min(1.0, done / max(total, 1)))}%".rjust(4)


def fitting(fields: Sequence[Field], width: int) -> list[Field]:
    """As many fields as fit into a line, in their order, the most important in any case."""
    left = list(fields)
    while len(left) > 1 and len(GAP.join(map(str, left))) > width:
        left.remove(max(left, key=lambda field: field.rank))
    return left


class ProgressLine:
    """Title, bar and fields in one line if the terminal is wide enough, else the fields in a second one.

    It is laid out when it is drawn, so that it follows a terminal that is made narrower.
    """

    def __init__(self, title: str, done: float, total: float, fields: Sequence[Field]):
        self.title, self.done, self.total, self.fields = title, done, total, fields

    def head(self, width: int) -> Table:
        """The title, as much of a bar as there is room for, and the percentage. A title that is too long is cut."""
        share = percent(self.done, self.total)
        room = width - len(share) - len(GAP)
        title = Text(self.title, no_wrap=True, overflow="ellipsis")
        title.truncate(max(room, 1), overflow="ellipsis")
        bar = min(LONG_BAR, room - title.cell_len - len(GAP))
        grid = Table.grid(padding=(0, len(GAP)))
        cells = [ProgressBar(total=max(self.total, 1), completed=self.done, width=bar)] if bar >= SHORT_BAR else []
        grid.add_row(title, *cells, share)
        return grid

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = options.max_width
        tail = Text(GAP).join(
            Text.assemble((field.name, "dim"), " ", (field.text, "bold")) for field in fitting(self.fields, width)
        )
        tail.no_wrap, tail.overflow = True, "ellipsis"
        least = sum(map(len, (self.title, GAP, percent(self.done, self.total), GAP))) + SHORT_BAR + len(GAP)
        if least + tail.cell_len > width:
            yield self.head(width)
            yield tail
            return
        grid = Table.grid(padding=(0, len(GAP)))
        grid.add_row(self.head(width - tail.cell_len - len(GAP)), tail)
        yield grid


class Shower:
    """Shows progress: live on a terminal, else a plain line now and then."""

    def __init__(self, title: str, decoupled: bool, live: Live | None, every: float = 10.0):
        self.title, self.decoupled, self.live, self.every = title, decoupled, live, every
        self.shown = 0.0

    def fields(self, p: Progress) -> list[Field]:
        """What to show, by name."""
        fields = [
            Field("steps/s", compact(p.steps_per_second), 3),
            Field("episodes", compact(p.episodes), 5),
            Field("explorer", value(p.explorer_return), 4),
            Field("exploiter" if self.decoupled else "policy", value(p.exploiter_return), 2),
            Field("left", duration(p.seconds_left), 1),
        ]
        return fields + ([Field("failed", str(p.failed), 0)] if p.failed else [])

    def __call__(self, p: Progress) -> None:
        fields = self.fields(p)
        if self.live is not None:
            self.live.update(ProgressLine(self.title, p.steps, p.total_steps, fields))
        elif time.monotonic() - self.shown > self.every and not math.isnan(p.steps_per_second):
            self.shown = time.monotonic()
            parts = (self.title, percent(p.steps, p.total_steps), *map(str, fields))
            console.print(GAP.join(parts), markup=False, soft_wrap=True)


@contextmanager
def showing(title: str, decoupled: bool) -> Iterator[Shower]:
    """A `Shower` for the length of a training run."""
    if not console.is_terminal:
        yield Shower(title, decoupled, None)
        return
    with Live(Text(f"{title}{GAP}compiling…"), console=console, refresh_per_second=8) as live:
        yield Shower(title, decoupled, live)


def fail(message: str) -> None:
    """Print a one-line error."""
    print(f"derl: error: {message}", file=sys.stderr)
