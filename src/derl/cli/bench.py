"""`derl bench`: env steps per second of every recipe, against the bare update, with compile time and memory."""

import dataclasses
import itertools
import os
from pathlib import Path

import polars as pl
import tyro
from rich.table import Table

from derl.cli.display import console, show_table
from derl.core.errors import require
from derl.core.files import write_atomically
from derl.experiments.reference import REFERENCE, REFERENCE_TASKS
from derl.training.benchmark import Measurement, measure
from derl.training.cache import forget_programs
from derl.training.recipes import TABLE_1, recipe


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
    """A CSV file to write the numbers to."""


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
    command = tyro.cli(Bench, args=args, prog="derl bench")
    require(command.seconds > 0, f"--seconds must be positive, not {command.seconds}")
    require(all(p >= 1 for p in command.populations), "--populations must be at least 1")
    if hasattr(os, "sched_setaffinity"):
        # Numbers are per core. This must come before anything wakes JAX, whose threads stay where they were born.
        os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[0]})
    configs = [recipe(name, task) for name in command.recipes for task in command.tasks]
    columns = ("recipe", "task", "runs", "steps/s", "bare", "overhead", "compile s", "state MB", "peak MB", "reference")
    table = Table(box=None, header_style="bold")
    for name in columns:
        table.add_column(name, justify="left" if name in ("recipe", "task") else "right")
    rows = []
    try:
        for config, population in itertools.product(configs, command.populations):
            with console.status(f"{config.recipe} on {config.task}, {population} runs"):
                rows.append(measure(config, population, command.seconds))
                forget_programs()
            table.add_row(*show(rows[-1]))
            if command.out is not None:
                write_atomically(command.out, pl.DataFrame(rows, orient="row").write_csv(float_precision=3).encode())
    finally:
        # Interrupted, too: the whole table takes half an hour.
        show_table(table)
    console.print("steps/s and bare: environment steps per second of all runs, on one core; see docs/performance.md")
