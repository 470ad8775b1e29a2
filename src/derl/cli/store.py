"""`derl store`: results in and out of the store, as Parquet files; and what older versions left in it."""

import dataclasses
import os
from collections import Counter
from pathlib import Path
from typing import Literal

import tyro
from rich.markup import escape

from derl.analysis.published.explaining import tests_made
from derl.analysis.published.verdicts import verdicts
from derl.cli.display import console, counted, duration
from derl.cli.flags import STORE, parsed
from derl.cli.selection import StoredSelection
from derl.core.errors import require
from derl.experiments.exchange import export, exported_runs, trained_runs
from derl.experiments.planner import members_of, results_of
from derl.experiments.pruning import leftovers, prune
from derl.experiments.store import Store
from derl.experiments.sweep import claim
from derl.training.folder import CONFIG


@dataclasses.dataclass(frozen=True)
class StoreCommand(StoredSelection):
    """Write results to a Parquet file, take them in from files and run folders, or remove those of older versions."""

    action: tyro.conf.Positional[Literal["export", "import", "prune"]]
    """What to do. To prune is to remove what older versions of the engine left, their runs and failures, and runs that
    are damaged."""
    paths: tyro.conf.Positional[tuple[Path, ...]]
    """The file to write; or the files, folders of files, and run folders of derl train to take in."""
    store: Path = STORE
    """The folder of results."""
    experiment: str | None = None
    """Export only the runs of this experiment (a name, or a file), with those that `--explain` made for it; with
    --quick, --episodes, --only and --seeds, of the part that was run with these."""
    columns: tuple[str, ...] = ()
    """Export only these metrics beside what names a run and its returns, for a smaller file: coverage kl ..."""
    dry_run: bool = False
    """Prune: only show what would be removed."""


def main(args: list[str]) -> None:
    """Export, import or prune."""
    require(len(args) > 0, "derl store needs one of: export FILE, import PATH ..., prune")
    command = parsed(StoreCommand, args, "derl store")
    only = {
        "experiment": ("export", command.experiment is not None),
        "columns": ("export", len(command.columns) > 0),
        **{flag: ("export", bool(getattr(command, flag))) for flag in ("quick", "episodes", "only", "seeds")},
        "dry-run": ("prune", command.dry_run),
    }
    for flag, (action, given) in only.items():
        require(not given or command.action == action, f"--{flag} belongs to derl store {action}")
    {"export": export_runs, "import": import_runs, "prune": prune_runs}[command.action](command)


def export_runs(command: StoreCommand) -> None:
    """Write a file."""
    require(len(command.paths) == 1, "derl store export takes one file to write")
    (path,) = command.paths
    require(path.suffix == ".parquet", f"derl store export writes Parquet: give {path} a name that ends in .parquet")
    store = Store(command.store, read_only=True)
    chosen = command.found(command.experiment)
    members = None
    if chosen is not None:
        members = members_of(chosen.members())
        members += tests_made(store, verdicts(results_of(store, members)), chosen.parts)
    count = export(store, command.paths[0], members, command.columns)
    console.print(f"{counted(count, 'run')} written to {command.paths[0]}", soft_wrap=True, markup=False)


def import_runs(command: StoreCommand) -> None:
    """Take files and folders in."""
    require(len(command.paths) > 0, "derl store import takes files or run folders")
    for path in command.paths:
        require(path.exists(), f"there is no {path}")
    # All of it is read before a store is made: a mistake is to leave nothing.
    read = [trained_runs(path) if (path / CONFIG).exists() else exported_runs([path]) for path in command.paths]
    store = Store(command.store)
    for path, runs in zip(command.paths, read, strict=True):
        console.print(f"{path}: {counted(runs.enter(store), 'new run')} imported", soft_wrap=True, markup=False)


def prune_runs(command: StoreCommand) -> None:
    """Remove what older versions left, or show it."""
    require(not command.paths, "derl store prune takes no files; --store names the folder of results")
    # A look does not need the right to write.
    store = Store(command.store, read_only=True)
    found = leftovers(store)
    for (engine, recipe, task), runs in sorted(Counter((r.engine, r.recipe, r.task) for r in found.runs).items()):
        console.print(f"engine {engine}: {counted(runs, 'run')} of {recipe} on {task}", soft_wrap=True)
    for row in found.failures.iter_rows(named=True):
        name = f"{row['recipe']} on {row['task']} {row['setting']} seed {row['seed']}"
        console.print(f"failed: {escape(name)}: {escape(row['error'])}", soft_wrap=True)
    for run in found.damaged:
        name = f"{run.recipe} on {run.task} {run.setting} seed {run.seed}"
        console.print(f"damaged: {escape(name)}", soft_wrap=True)
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
