"""What the commands share: the live progress line, tables, and one-line errors."""

import math
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.measure import Measurement
from rich.progress_bar import ProgressBar
from rich.table import Table

from derl.analysis.runs.result import Result
from derl.training.trainer import Progress

console = Console(highlight=False)

WIDEST = 10_000
"""Columns of what is not a terminal."""


def show_table(table: Table) -> None:
    """Print a table. A terminal wraps what is too long for it; a pipe or a file gets every line whole."""
    for column in table.columns:
        # What does not fit goes on in the next line: an ellipsis would hide what tells one line from another.
        column.overflow = "fold"
    if console.is_terminal:
        console.print(table)
        return
    whole = Measurement.get(console, console.options.update(max_width=WIDEST), table).maximum
    # A console prints nothing wider than it is itself.
    Console(file=console.file, width=whole, highlight=False).print(table)


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
        console.print(f"[red]{text}[/]", soft_wrap=True)


def value(x: float) -> str:
    """A return for display."""
    return "–" if math.isnan(x) else f"{x:.2f}"


class Shower:
    """Shows progress: a live line on a terminal, else a plain line now and then."""

    def __init__(self, title: str, decoupled: bool, live: Live | None, every: float = 10.0):
        self.title, self.decoupled, self.live, self.every = title, decoupled, live, every
        self.shown = 0.0

    def fields(self, p: Progress) -> list[tuple[str, str]]:
        """What to show, by name."""
        fields = [
            ("steps/s", compact(p.steps_per_second)),
            ("episodes", compact(p.episodes)),
            ("explorer", value(p.explorer_return)),
        ]
        fields.append(("exploiter" if self.decoupled else "evaluation", value(p.exploiter_return)))
        fields.append(("left", duration(p.seconds_left)))
        return fields + ([("failed", str(p.failed))] if p.failed else [])

    def __call__(self, p: Progress) -> None:
        if self.live is not None:
            grid = Table.grid(padding=(0, 2))
            bar = ProgressBar(total=p.total_steps, completed=p.steps, width=24)
            cells = [f"[dim]{name}[/] [bold]{text}[/]" for name, text in self.fields(p)]
            grid.add_row(self.title, bar, f"{p.steps / p.total_steps:4.0%}", *cells)
            self.live.update(grid)
        elif time.monotonic() - self.shown > self.every and not math.isnan(p.steps_per_second):
            self.shown = time.monotonic()
            text = "  ".join(f"{name} {text}" for name, text in self.fields(p))
            console.print(f"{self.title}  {p.steps / p.total_steps:4.0%}  {text}", soft_wrap=True)


@contextmanager
def showing(title: str, decoupled: bool) -> Iterator[Shower]:
    """A `Shower` for the length of a training run."""
    if not console.is_terminal:
        yield Shower(title, decoupled, None)
        return
    with Live(f"{title}  compiling…", console=console, refresh_per_second=8) as live:
        yield Shower(title, decoupled, live)


def fail(message: str) -> None:
    """Print a one-line error."""
    print(f"derl: error: {message}", file=sys.stderr)
