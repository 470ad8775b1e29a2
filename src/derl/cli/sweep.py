"""`derl sweep`: run an experiment described in a file, on all cores; what is in the store already is not run again."""

import dataclasses
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import polars as pl
from rich.console import Group
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from derl.analysis.measures.curves import summarise
from derl.analysis.published.verdicts import ENOUGH_RUNS
from derl.analysis.report.own import shared_changes
from derl.cli.display import (
    GAP,
    Field,
    ProgressLine,
    compact,
    console,
    counted,
    duration,
    say,
    show_table,
    spread,
    value,
)
from derl.cli.flags import STORE, ExperimentFile, parsed
from derl.cli.modules import command_line, imported_modules
from derl.cli.selection import Selection
from derl.core.errors import UnknownNameError, require
from derl.experiments.builtin import EXPERIMENTS
from derl.experiments.cases import Case, parse_setting, setting_text
from derl.experiments.experiment import Experiment, read_experiment
from derl.experiments.own_code import other_code
from derl.experiments.planner import Member, results_of
from derl.experiments.progress import SweepProgress
from derl.experiments.remaining import Plan, finished, make_plan
from derl.experiments.store import Store
from derl.experiments.sweep import Sweep
from derl.training.loop import ignores_lambda


@dataclasses.dataclass(frozen=True)
class Running(Selection):
    """How to run an experiment, and which part of it."""

    store: Path = STORE
    """The folder of results; the environment variable DERL_STORE changes the default."""
    workers: int | None = None
    """Worker processes; by default one per core."""
    checkpoint_seconds: float = 60.0
    """How often each worker saves what it is at."""
    dry_run: bool = False
    """Only show what would run, and how long it should take."""


@dataclasses.dataclass(frozen=True)
class SweepCommand(Running):
    """Run an experiment of your own, described in a TOML file."""

    spec: ExperimentFile = Path()
    """The file: tasks, recipes, seeds and values to vary; see docs/experiments."""


def show_plan(experiment: Experiment, plan: Plan) -> None:
    """What a sweep would do, recipe by recipe."""
    table = Table(
        box=None, header_style="bold", title=escape(experiment.title or experiment.name), title_justify="left"
    )
    for name, justify in (("recipe", "left"), ("task", "left"), ("runs left", "right"), ("core time", "right")):
        table.add_column(name, justify=justify)  # pyright: ignore
    rows: dict[tuple[str, str], list[float]] = {}
    for job in plan.jobs:
        new = plan.new(job)
        for member in new:
            row = rows.setdefault((member.case.recipe, member.case.task), [0, 0.0])
            row[0] += 1
            row[1] += plan.left(job) / len(new)
    for (recipe, task), (runs, seconds) in sorted(rows.items()):
        table.add_row(recipe, task, f"{runs:.0f}", duration(seconds))
    if rows:
        show_table(table)
    left = f"{plan.runs - plan.found} left in {counted(len(plan.jobs), 'job')}"
    first = f", {duration(plan.compilation)} of it compilation the first time" if plan.jobs else ""
    say(
        f"{counted(plan.runs, 'run')}, {plan.found} in the store, {left}; about {duration(plan.seconds)} with "
        f"{counted(plan.workers, 'worker')}{first}"
    )


def progress_fields(p: SweepProgress) -> list[Field]:
    """What to tell of a sweep, by name."""
    fields = [
        Field("runs", f"{p.done}/{p.runs}", 1),
        Field("steps/s", compact(p.steps_per_second) if p.steps_per_second else "– (compiling)", 3),
        Field("left", duration(p.seconds_left), 2),
    ]
    return fields + ([Field("failed", str(p.failed), 0)] if p.failed else [])


def progress_view(title: str, p: SweepProgress) -> Group:
    """The live display of a sweep: how far it is, and what the workers are at."""
    head = ProgressLine(title, p.steps, p.total_steps, progress_fields(p))
    # A job's recipe and task come first in its title: what is cut off is the end of its settings.
    jobs = [Text(f"  {text}", "dim", no_wrap=True, overflow="ellipsis") for text in p.running]
    return Group(head, *jobs)


@contextmanager
def showing_sweep(title: str) -> Iterator:
    """Shows a sweep's progress: live on a terminal, else a line now and then."""
    if console.is_terminal:
        with Live(Text(f"{title}{GAP}starting…"), console=console, refresh_per_second=4) as live:
            yield lambda p: live.update(progress_view(title, p))
        return
    shown, done = -60.0, -1

    def line(p: SweepProgress) -> None:
        nonlocal shown, done
        if time.monotonic() - shown > 10 and (p.done != done or time.monotonic() - shown > 60):
            shown, done = time.monotonic(), p.done
            # A terminal has a line for each job below.
            running = Field("running", str(p.running_runs), 4)
            console.print(GAP.join((title, *map(str, (*progress_fields(p), running)))), markup=False, soft_wrap=True)

    yield line


def run_experiment(experiment: Experiment, running: Running, modules: tuple[str, ...] = ()) -> tuple[Plan, int] | None:
    """Run what is left of an experiment, and tell how many runs failed; None if it was only to be shown."""
    every = running.checkpoint_seconds
    require(every >= 0, f"--checkpoint-seconds must not be negative, it is {every}")
    for recipe in recipes_without_lambda(experiment):
        note = f"bonus.scale changes nothing for {recipe}: its bonus is divided by its own recent size"
        say(f"{note}; all values of it are one run")
    if running.dry_run:
        show_plan(experiment, plan := make_plan(experiment, running.store, running.workers))
        tell_other_code(plan, running.store)
        return None
    require(running.workers is None or running.workers >= 1, f"--workers must be at least 1, not {running.workers}")
    if (plan := finished(experiment, running.store)) is not None:
        # To look at results again takes no right to write, and need not wait for another sweep.
        text = f"{counted(plan.runs, 'run')}: {plan.found} were in {running.store}, none made now"
        say(text, markup=False)
        tell_other_code(plan, running.store)
        return plan, 0
    with showing_sweep(experiment.name) as show:
        sweep = Sweep(
            experiment,
            running.store,
            workers=running.workers,
            modules=modules,
            checkpoint_seconds=running.checkpoint_seconds,
            show=show,
            tell=lambda text: say(text, markup=False),
        )
        begun = time.monotonic()
        failed = sweep.run()
    made = sweep.plan.runs - sweep.plan.found - len(failed)
    say(
        f"{counted(sweep.plan.runs, 'run')}: {sweep.plan.found} were in {running.store}, {made} made now in "
        f"{duration(time.monotonic() - begun)}",
        markup=False,
    )
    tell_other_code(sweep.plan, running.store)
    for error in sorted(set(failed.values())):
        say(f"[red]{escape(failed_with(error, sweep.plan.members, failed))}[/]; the same command tries again")
    return sweep.plan, len(failed)


def tell_other_code(plan: Plan, store: Path) -> None:
    """Say of which results the user's code has changed since."""
    for sentence in other_code(plan, store):
        say(f"[yellow]{escape(sentence)}[/]")


FEW = 3
"""So many cases of a failure are named."""


def failed_with(error: str, members: Sequence[Member], failed: Mapping[str, str]) -> str:
    """How many runs failed with an error, and of which cases the first are; `failed` has the error of each run."""
    count = sum(reason == error for reason in failed.values())
    shared = shared_changes(member.case for member in members)
    cases = dict.fromkeys(member.case for member in members if failed.get(member.key) == error)
    own = [Case.of(case.recipe, case.task, {n: v for n, v in case.changes if n not in shared}) for case in cases]
    named = [case.title for case in own[:FEW]] + ([f"{len(own) - FEW} more"] if len(own) > FEW else [])
    return f"{counted(count, 'run')} failed ({'; '.join(named)}): {error}"


def recipes_without_lambda(experiment: Experiment) -> list[str]:
    """The recipes of which an experiment changes lambda where it has no effect."""
    scaled = (case for case in experiment.cases if "bonus.scale" in dict(case.changes))
    configs = ((case.recipe, case.config()) for case in scaled)
    return list(dict.fromkeys(name for name, made in configs if ignores_lambda(made.explorer_reward, made.bonus)))


def complain(failed: int, store: Path) -> None:
    """End with an error if runs failed, after everything that could be done was done."""
    why = command_line("status", "--store", str(store))
    require(failed == 0, f"{counted(failed, 'run')} failed; to see why: {why}")


def main(args: list[str]) -> None:
    """Run the experiment of a file and print a table of its returns."""
    command = parsed(SweepCommand, args, "derl sweep")
    require(command.spec != Path(), "derl sweep needs a file that describes the experiment; see docs/experiments")
    name = str(command.spec)
    own = "; for a file of that name give its full path" if command.spec.is_file() else ""
    require(name not in EXPERIMENTS, f"{name} is one of the built-in experiments: derl reproduce {name}{own}")
    if command.spec.suffix != ".toml" and not command.spec.exists():
        files = [str(path) for path in (command.spec.parent).glob("*.toml")]
        raise UnknownNameError("file or experiment", name, (*EXPERIMENTS, *files), few=0)
    experiment = command.narrow(read_experiment(command.spec)).check()
    done = run_experiment(experiment, command, imported_modules())
    if done is None:
        return
    plan, failed = done
    store = Store(command.store, read_only=True)
    frame = results_of(store, plan.members, ["return", "steps"])
    show_returns(experiment, frame)
    complain(failed, command.store)
    require(len(frame) == 0 or frame["return"].is_not_nan().any(), "every run failed: no numbers are left")


def show_returns(experiment: Experiment, frame: pl.DataFrame) -> None:
    """A line for every case, in the experiment's order. What all cases share is said once, above."""
    if len(frame) == 0:
        return
    shared = shared_changes(experiment.cases)
    names = ["recipe", "task", "setting"]
    place = {(case.recipe, case.task, case.setting): i for i, case in enumerate(experiment.cases)}
    summary = summarise(frame, names).iter_rows(named=True)
    rows, failed = [], 0
    for row in sorted(summary, key=lambda row: place.get(tuple(row[name] for name in names), len(place))):
        failed += row["failed"]
        own = {name: value for name, value in parse_setting(row["setting"]).items() if name not in shared}
        runs = f"{row['runs']}" + (f", {row['failed']} failed" if row["failed"] else "")
        labels = (row["recipe"], row["task"], setting_text(own), runs)
        average = spread(row["average"], row["average_std"])
        # The ends of an interval of two runs are these runs.
        enough = row["runs"] - row["failed"] >= ENOUGH_RUNS
        interval = f"{value(row['low'])} to {value(row['high'])}" if enough else "–"
        rows.append((*labels, average, interval, value(row["maximum"]), value(row["final"])))
    table = Table(
        box=None,
        header_style="bold",
        title=escape(setting_text(shared)) or None,
        title_justify="left",
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    # The setting is what a sweep is about: on a narrow terminal all else is wrapped or left out before it.
    longest = max((len(word) for row in rows for word in row[2].split()), default=0)
    for name in ("recipe", "task"):
        table.add_column(name, no_wrap=True)
    table.add_column("setting", min_width=longest)
    for name in ("runs", "average return", "95 % interval", "maximum", "final"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    show_table(table, spare=("95 % interval", "maximum", "final", "runs"))
    if any(row[5] != "–" for row in rows):
        say("± is the deviation over evaluations, the interval that of the mean over runs")
    if failed:
        say(f"[red]{counted(failed, 'run')} failed: their numbers were no longer finite[/]")
