"""`derl store`: results in and out of the store, as Parquet files."""

import dataclasses
from pathlib import Path
from typing import Literal

import tyro

from derl.cli.display import console
from derl.cli.sweep import STORE
from derl.core.errors import require
from derl.experiments.builtin import find_experiment
from derl.experiments.exchange import export, exported_runs, trained_runs
from derl.experiments.planner import members_of
from derl.experiments.store import Store
from derl.training.folder import CONFIG


@dataclasses.dataclass(frozen=True)
class StoreCommand:
    """Write results to a Parquet file, or take them in from Parquet files and run folders."""

    action: tyro.conf.Positional[Literal["export", "import"]]
    """What to do."""
    paths: tyro.conf.Positional[tuple[Path, ...]]
    """The file to write; or the files, folders of files, and run folders of derl train to take in."""
    store: Path = STORE
    """The folder of results."""
    experiment: str | None = None
    """Export only the runs of this experiment: a name, or a file."""


def main(args: list[str]) -> None:
    """Export or import."""
    command = tyro.cli(StoreCommand, args=args, prog="derl store")
    if command.action == "export":
        require(len(command.paths) == 1, "derl store export takes one file to write")
        store = Store(command.store, read_only=True)
        chosen = None if command.experiment is None else find_experiment(command.experiment)
        count = export(store, command.paths[0], None if chosen is None else members_of(chosen.members()))
        console.print(f"{count} runs written to {command.paths[0]}", soft_wrap=True)
        return
    require(len(command.paths) > 0, "derl store import takes files or run folders")
    for path in command.paths:
        require(path.exists(), f"there is no {path}")
    # All of it is read before a store is made: a mistake is to leave nothing.
    read = [trained_runs(path) if (path / CONFIG).exists() else exported_runs([path]) for path in command.paths]
    store = Store(command.store)
    for path, runs in zip(command.paths, read, strict=True):
        console.print(f"{path}: {runs.enter(store)} runs taken in", soft_wrap=True)
