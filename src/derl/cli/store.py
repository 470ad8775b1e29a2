"""`derl store`: results in and out of the store, as Parquet files; and what older versions left in it."""

import dataclasses
import os
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.markup import escape

from derl.analysis.published.explaining import tests_made
from derl.analysis.published.verdicts import verdicts
from derl.cli.display import console, counted, duration, say
from derl.cli.flags import STORE, parsed
from derl.cli.selection import StoredSelection
from derl.core.errors import UnknownNameError, require
from derl.experiments.exchange import export, exported_runs, trained_runs
from derl.experiments.packing import run_name
from derl.experiments.planner import members_of, results_of
from derl.experiments.pruning import leftovers, prune
from derl.experiments.store import Store
from derl.experiments.sweep import claim
from derl.training.folder import CONFIG

FileToWrite = Annotated[
    tyro.conf.Positional[Path], tyro.conf.arg(metavar="FILE.parquet", help_behavior_hint="(required)")
]


@dataclasses.dataclass(frozen=True)
class Export(StoredSelection):
    """Write results to a Parquet file."""

    path: FileToWrite = Path()
    """The file to write."""
    store: Path = STORE
    """The folder of results."""
    experiment: str | None = None
    """Only the runs of this experiment (a name, or a file), with those that `--explain` made for it; with --quick,
    --episodes, --only and --seeds, of the part that was run with these."""
    columns: tuple[str, ...] = ()
    """Only these metrics beside what names a run and its returns, for a smaller file: coverage kl ..."""


@dataclasses.dataclass(frozen=True)
class Import:
    """Take in results from Parquet files and run folders."""

    paths: tyro.conf.Positional[tuple[Path, ...]]
    """Parquet files, folders of them, and run folders of derl train."""
    store: Path = STORE
    """The folder of results. It is made if there is none."""


@dataclasses.dataclass(frozen=True)
class Prune:
    """Remove what older versions of the engine left, their runs and failures, and runs that are damaged."""

    store: Path = STORE
    """The folder of results."""
    dry_run: bool = False
    """Only show what would be removed."""


def usage() -> str:
    """What `derl store --help` prints."""
    lines = [f"  {name:<8}{(action.__doc__ or '').strip()}" for name, (action, _) in ACTIONS.items()]
    return "\n".join(["usage: derl store ACTION ...", "", *lines, "", "'derl store ACTION --help' shows its options."])


def main(args: list[str]) -> None:
    """Export, import or prune."""
    require(len(args) > 0, "derl store needs one of: export FILE, import PATH ..., prune")
    if args[0] in ("-h", "--help"):
        print(usage())
        return
    require(not args[0].startswith("-"), f"say first what to do, then {args[0]}: derl store {' or '.join(ACTIONS)}")
    if args[0] not in ACTIONS:
        raise UnknownNameError("action", args[0], ACTIONS)
    kind, act = ACTIONS[args[0]]
    act(parsed(kind, args[1:], f"derl store {args[0]}"))


def export_runs(command: Export) -> None:
    """Write a file."""
    path = command.path
    require(path != Path(), "derl store export needs a file to write: FILE.parquet")
    require(path.suffix == ".parquet", f"derl store export writes Parquet: give {path} a name that ends in .parquet")
    store = Store(command.store, read_only=True)
    chosen = command.found(command.experiment)
    members = None
    if chosen is not None:
        members = members_of(chosen.members())
        members += tests_made(store, verdicts(results_of(store, members)), chosen.parts)
    count = export(store, path, members, command.columns)
    console.print(f"{counted(count, 'run')} written to {path}", soft_wrap=True, markup=False)


def import_runs(command: Import) -> None:
    """Take files and folders in."""
    require(len(command.paths) > 0, "derl store import takes files or run folders")
    for path in command.paths:
        require(path.exists(), f"there is no {path}")
    # All of it is read before a store is made: a mistake is to leave nothing.
    read = []
    for path in command.paths:
        say(f"reading {path}", markup=False)
        read.append(trained_runs(path) if (path / CONFIG).exists() else exported_runs([path]))
    store = Store(command.store)
    for path, runs in zip(command.paths, read, strict=True):
        console.print(f"{path}: {counted(runs.enter(store), 'new run')} imported", soft_wrap=True, markup=False)


def prune_runs(command: Prune) -> None:
    """Remove what older versions left, or show it."""
    # A look does not need the right to write.
    store = Store(command.store, read_only=True)
    found = leftovers(store)
    for (engine, recipe, task), runs in sorted(Counter((r.engine, r.recipe, r.task) for r in found.runs).items()):
        console.print(f"engine {engine}: {counted(runs, 'run')} of {recipe} on {task}", soft_wrap=True)
    for row in found.failures.iter_rows(named=True):
        console.print(f"failed: {escape(run_name(row))}: {escape(row['error'])}", soft_wrap=True)
    for run in found.damaged:
        console.print(f"damaged: {run_name(run._asdict())}", soft_wrap=True, markup=False)
    for folder in found.jobs:
        console.print(f"begun by another version: {folder}", soft_wrap=True, markup=False)
    if not command.dry_run and (found.runs or len(found.failures) or found.jobs or found.damaged):
        # A sweep of another version may be at work on what seems a leftover here.
        lock = claim(command.store, patience=0.0)
        prune(Store(command.store), found)
        os.close(lock)
    seconds = duration(sum(run.seconds for run in found.runs))
    word = "would be removed" if command.dry_run else "removed"
    damaged = f"{counted(len(found.damaged), 'damaged run')}, " if found.damaged else ""
    console.print(
        f"{damaged}{counted(len(found.runs), 'run')} of older engines ({seconds} of core time), "
        f"{counted(len(found.failures), 'failure')} and {counted(len(found.jobs), 'checkpoint')} of other "
        f"versions {word}",
        soft_wrap=True,
    )


ACTIONS: dict[str, tuple[Any, Any]] = {
    "export": (Export, export_runs),
    "import": (Import, import_runs),
    "prune": (Prune, prune_runs),
}
