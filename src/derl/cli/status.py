"""`derl status`: what is in the store, what of an experiment is left, and what failed."""

import dataclasses
import re
from collections.abc import Sequence, Set
from pathlib import Path
from typing import Annotated

import polars as pl
import tyro
from rich.markup import escape
from rich.table import Table

from derl.cli.display import compact, console, counted, duration, say, show_table
from derl.cli.flags import STORE, parsed
from derl.cli.modules import command_line
from derl.cli.selection import StoredSelection
from derl.experiments.builtin import EXPERIMENTS
from derl.experiments.experiment import Experiment
from derl.experiments.jobs import begun_jobs, job_folder
from derl.experiments.packing import run_name
from derl.experiments.planner import Member, members_of
from derl.experiments.pruning import failures
from derl.experiments.store import Store
from derl.training.version import ENGINE


@dataclasses.dataclass(frozen=True)
class Status(StoredSelection):
    """Show what is in the store."""

    experiment: Annotated[tyro.conf.Positional[str | None], tyro.conf.arg(metavar="[NAME]")] = None
    """An experiment of the paper, or a file: show what of it is done. Without one: everything in the store."""
    store: Path = STORE
    """The folder of results."""


def total(cases: pl.DataFrame, column: str) -> float:
    """The sum of a column."""
    return float(cases[column].to_numpy().sum())


def show_store(store: Store) -> None:
    """Every recipe and task with its number of runs."""
    cases = store.summary()
    table = Table(box=None, header_style="bold")
    for name in ("recipe", "task", "settings", "runs", "failed", "steps", "core time"):
        table.add_column(name, justify="left" if name in ("recipe", "task") else "right", no_wrap=True)
    for (recipe, task), part in cases.group_by(["recipe", "task"], maintain_order=True):
        numbers = (f"{len(part)}", f"{total(part, 'runs'):.0f}", f"{total(part, 'failed'):.0f}")
        # Not every folder of derl train that was taken in says how long it took.
        seconds = total(part, "seconds")
        spent = duration(seconds) if seconds > 0 else "–"
        table.add_row(str(recipe), str(task), *numbers, compact(total(part, "steps")), spent)
    show_table(table)
    runs, timed = total(cases, "runs"), total(cases, "timed")
    of_some = f" (of {timed:.0f} of them; the others' time was not recorded)" if timed < runs else ""
    spent = duration(total(cases, "seconds"))
    say(f"{counted(runs, 'run')}, {spent} of core time{of_some}, in {store.path}", markup=False)
    old = total(cases, "runs") - total(cases.filter(engine=ENGINE), "runs")
    if old:
        text = f"{counted(old, 'run')} of another version of the engine: experiments run theirs again"
        say(f"{text}; derl store prune removes older ones")


HEADS = re.compile(r"^(Deep|Hall)(Sea|way)-")


def show_experiment(whole: Experiment, members: Sequence[Member], stored: Set[str], go_on: str) -> None:
    """How much of an experiment is done, recipe by recipe and task by task, and the command that does the rest.

    A run with several names counts once.
    """
    tasks = list(dict.fromkeys(member.case.task for member in members))
    title = escape(whole.title or whole.name)
    table = Table(
        box=None, header_style="bold", title=title, title_justify="left", padding=(0, 1, 0, 0), pad_edge=False
    )
    table.add_column("recipe", no_wrap=True)
    for task in tasks:
        # In three lines, so that all of the paper's tasks fit a terminal of 80 columns.
        table.add_column(HEADS.sub(r"\1\n\2\n", task), justify="right", no_wrap=True)
    for recipe in dict.fromkeys(member.case.recipe for member in members):
        cells = []
        for task in tasks:
            group = {m.key for m in members if (m.case.recipe, m.case.task) == (recipe, task)}
            colour = "green" if group <= stored else "yellow" if group & stored else "dim"
            cells.append(f"[{colour}]{len(group & stored)}/{len(group)}[/]" if group else "")
        table.add_row(recipe, *cells)
    show_table(table)
    keys = {member.key for member in members}
    done = len(keys & stored)
    # Rounded down: 100% is all of them.
    say(f"{done} of {len(keys)} runs done ({100 * done // len(keys)}%)")
    if done < len(keys):
        say(f"what is left: {go_on}", markup=False)


def main(args: list[str]) -> None:
    """Show the store, or an experiment's share of it."""
    command = parsed(Status, args, "derl status")
    chosen = command.found(command.experiment)
    store = Store(command.store, read_only=True)
    stored, keys = store.keys(), None
    if chosen is None:
        show_store(store)
    else:
        members = members_of(chosen.members())
        keys = {member.key for member in members}
        action = "reproduce" if command.experiment in EXPERIMENTS else "sweep"
        # A sweep of a file has no small version to turn off.
        show_experiment(chosen, members, stored, command_line(action, *(arg for arg in args if arg != "--no-quick")))
        if diverged := len(keys & store.diverged()):
            say(f"[red]{counted(diverged, 'run')} of them failed: their numbers were no longer finite[/]")
    show_begun(command.store, stored, keys)
    show_failures(store, keys)


def show_begun(path: Path, stored: Set[str], keys: Set[str] | None) -> None:
    """Jobs that were begun and can be resumed: all of them, or those with these runs."""
    missing = [(job, {m.key for m in job.members} - stored) for job in begun_jobs(path)]
    begun = [(job, runs) for job, runs in missing if (runs if keys is None else runs & keys)]
    if begun:
        number = len(set().union(*(runs for _, runs in begun)))
        console.print(f"{counted(number, 'run')} begun and saved on the way:")
        for job, _ in begun:
            spent = job_folder(path, job).core_seconds()
            console.print(f"  {escape(job.title)}, {duration(spent)} of core time so far", soft_wrap=True)


def show_failures(store: Store, keys: Set[str] | None) -> None:
    """What could not be finished. What only an older version tried is counted, not listed: nobody will try it again."""
    if keys is not None:
        # Whatever has the address of a run that is wanted now is of this version.
        list_failures(store.failures().filter(pl.col("key").is_in(list(keys))))
        return
    found = failures(store)
    list_failures(found.open)
    prune = escape(command_line("store", "prune", "--store", str(store.path)))
    if unknown := len(found.unknown):
        text = f"{unknown} of these: no such recipe, task or setting here; load the module that has it with --import"
        say(f"[dim]{text}, or remove what another version left: {prune}[/]")
    if old := len(found.old):
        say(f"[dim]{counted(old, 'failure')} of another version not listed; to see and remove: {prune}[/]")


def list_failures(noted: pl.DataFrame) -> None:
    """A line for each run that could not be finished."""
    for row in noted.iter_rows(named=True):
        say(f"[red]failed: {escape(run_name(row))}: {escape(row['error'])}[/]")
