"""`derl bench`: env steps per second of every recipe, against the bare update, with compile time and memory."""

import dataclasses
import itertools
import os
from collections.abc import Iterable
from pathlib import Path

import polars as pl
from rich.table import Table

from derl.cli.display import console, show_table
from derl.cli.flags import parsed
from derl.core.errors import DerlError, require
from derl.core.files import write_atomically, writing
from derl.experiments.machine import check_output
from derl.experiments.reference import REFERENCE, REFERENCE_TASKS
from derl.training.benchmark import Measurement, measure
from derl.training.cache import forget_programs
from derl.training.recipes import RECIPES, TABLE_1, recipe


@dataclasses.dataclass(frozen=True)
class Bench:
    """Measure training speed on one core: env steps per second, and the bare update in the same run."""

    recipes: tuple[str, ...] = TABLE_1
    """Recipes to measure."""
    tasks: tuple[str, ...] = REFERENCE_TASKS
    """Tasks to measure on."""
    populations: tuple[int, ...] = (1, 8, 64)
    """Numbers of runs in one program."""
    seconds: float = 1.0
    """Time for each measurement, beside compilation."""
    out: Path | None = None
    """A CSV file for the numbers. What it has of other recipes, tasks or numbers of runs stays in it."""

    def check(self) -> None:
        """Raise now what would be wrong after the first measurement."""
        require(self.seconds > 0, f"--seconds must be positive, not {self.seconds}")
        require(all(p >= 1 for p in self.populations), "--populations must be at least 1")
        for flag in ("recipes", "tasks", "populations"):
            require(len(getattr(self, flag)) > 0, f"--{flag} needs at least one value")
        if self.out is not None:
            require(not self.out.is_dir(), f"{self.out} is a folder; give the name of a file")
            check_output(self.out.parent)


SCHEMA = pl.Schema(Measurement.__annotations__)
"""The columns of a CSV file."""


def earlier(path: Path | None) -> list[Measurement]:
    """What a file has from before."""
    if path is None or not path.exists():
        return []
    try:
        frame = pl.read_csv(path).select(SCHEMA.names()).cast(SCHEMA)
    except (pl.exceptions.PolarsError, OSError):
        raise DerlError(f"{path} holds no measurements of derl bench; give another file with --out") from None
    return [Measurement(*row) for row in frame.iter_rows()]


def together(*parts: Iterable[Measurement]) -> list[Measurement]:
    """The last measurement of each recipe, task and number of runs, in the order of `derl list`."""
    lines = {(m.recipe, m.task, m.population): m for m in itertools.chain(*parts)}

    def place(known: Iterable[str], name: str) -> tuple[int, str]:
        names = list(known)
        return (names.index(name), "") if name in names else (len(names), name)

    return sorted(
        lines.values(), key=lambda m: (place(RECIPES, m.recipe), place(REFERENCE_TASKS, m.task), m.population)
    )


def write(path: Path, rows: list[Measurement]) -> None:
    """Replace a file by these lines."""
    with writing(path):
        write_atomically(path, pl.DataFrame(rows, SCHEMA, orient="row").write_csv(float_precision=3).encode())


def show(m: Measurement) -> tuple[str, ...]:
    """A measurement as a line of the table."""
    reference = REFERENCE.get(m.recipe)
    times = "–"
    if reference is not None and m.task in REFERENCE_TASKS:
        times = f"{m.steps_per_second / reference[REFERENCE_TASKS.index(m.task)]:.0f}x"
    return (
        m.recipe,
        m.task,
        str(m.population),
        f"{m.steps_per_second:,.0f}",
        f"{m.bare_steps_per_second:,.0f}",
        f"{m.overhead:.2f}",
        f"{m.compile_seconds:.1f}",
        f"{m.state_megabytes:.1f}",
        f"{m.peak_megabytes:.1f}",
        times,
    )


def main(args: list[str]) -> None:
    """Measure, and print the table, as far as it is measured."""
    command = parsed(Bench, args, "derl bench")
    command.check()
    before = earlier(command.out)
    if hasattr(os, "sched_setaffinity"):
        # Numbers are per core. This must come before anything wakes JAX, whose threads stay where they were born.
        os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[0]})
    configs = [recipe(name, task) for name in command.recipes for task in command.tasks]
    columns = ("recipe", "task", "runs", "steps/s", "bare", "overhead", "compile s", "state MB", "peak MB", "reference")
    table = Table(box=None, header_style="bold", padding=(0, 1, 0, 0), pad_edge=False)
    for name in columns:
        table.add_column(name, justify="left" if name in ("recipe", "task") else "right", no_wrap=True)
    rows: list[Measurement] = []
    try:
        for config, population in itertools.product(configs, command.populations):
            with console.status(f"{config.recipe} on {config.task}, {population} runs"):
                rows.append(measure(config, population, command.seconds))
                forget_programs()
            table.add_row(*show(rows[-1]))
            if command.out is not None:
                write(command.out, together(before, rows))
    finally:
        # Interrupted, too: the whole table takes half an hour.
        show_table(table, spare=("peak MB", "state MB", "compile s", "bare", "overhead", "reference"))
    note = "steps/s and bare: environment steps per second of all runs, on one core; see docs/performance.md"
    console.print(note, soft_wrap=True)
