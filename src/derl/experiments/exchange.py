"""Results in and out of a store as Parquet files, small enough to be kept with a project."""

import dataclasses
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from derl.core.errors import DerlError, UnknownNameError, require
from derl.core.files import file_to_write, write_atomically, writing
from derl.experiments.cases import Case, Setting, case_of, normal_form
from derl.experiments.identity import run_key
from derl.experiments.intake import IDENTITY, OF_A_RUN, ORIGIN, check_intake
from derl.experiments.packing import Entry
from derl.experiments.planner import Member, results_of
from derl.experiments.store import Store, is_store
from derl.training.config import Config
from derl.training.folder import CONFIG, RESULTS, RunFolder
from derl.training.members import expand
from derl.training.recipes import RECIPES
from derl.training.schedule import schedule_of
from derl.training.version import ENGINE

NEEDED = ("run", "recipe", "task", "setting", "seed", "evaluation", "episodes", "return")


def export(
    store: Store, path: Path, members: Sequence[Member] | None = None, columns: Sequence[str] | None = None
) -> int:
    """Write the results of an experiment's runs, under its own names, or of all runs, to a Parquet file.

    `columns` are the metrics to keep beside what names a run and its returns; all, if there are none. The value is the
    number of runs.
    """
    file_to_write(path)
    frame = store.frame() if members is None else results_of(store, members)
    require(len(frame) > 0, f"{store.path} holds none of these runs yet")
    origins = [(entry.key, entry.finished, entry.version) for entry in store.entries()]
    schema = dict.fromkeys(("key", *ORIGIN), pl.String)
    frame = frame.join(pl.DataFrame(origins, schema=schema, orient="row"), on="key", how="left", maintain_order="left")
    if columns:
        for name in columns:
            if name not in frame.columns:
                raise UnknownNameError("column", name, frame.columns)
        kept = {*NEEDED, *IDENTITY, *ORIGIN, "steps", "failed_at_step", *columns}
        frame = frame.select(name for name in frame.columns if name in kept)
    # Single precision is what the numbers were computed in; it halves the file.
    frame = frame.with_columns(pl.selectors.float().cast(pl.Float32))
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd", compression_level=15)
    with writing(path):
        write_atomically(path, buffer.getvalue())
    return frame["key"].n_unique()


def read_results(paths: Sequence[Path | str], store: Store | None = None) -> pl.DataFrame:
    """A results frame from Parquet files (folders stand for all such files in them), and from a store.

    Runs are numbered anew: files count from 0 each. A run that is in several places is taken once, and equal cases have
    one name.
    """
    parts = [] if store is None else [store.frame()]
    parts += [_read(file) for file in _found(list(map(Path, paths)))] if paths or store is None else []
    frames, runs = [], 0
    for frame in parts:
        frame = frame.with_columns(pl.col("run").rank("dense").cast(pl.Int64) - 1 + runs)
        runs += frame["run"].n_unique()
        frames.append(frame.with_columns(pl.selectors.float().cast(pl.Float64)))
    try:
        whole = pl.concat(frames, how="diagonal_relaxed")
    except pl.exceptions.PolarsError as error:
        raise DerlError(f"these files do not fit each other ({str(error).splitlines()[0]}); read them apart") from None
    return in_normal_form(whole)


def in_normal_form(frame: pl.DataFrame) -> pl.DataFrame:
    """A results frame in which equal cases have one name, and every run is once.

    Whoever made a file may have named a value that is the recipe's own, as a sweep over lambda does.
    """
    changed = frame.filter(pl.col("setting") != "").select("recipe", "task", "setting").unique()
    names = {names: normal_name(*names) for names in changed.iter_rows()}
    other = [(*names, name) for names, name in names.items() if name != names[2]]
    if other:
        renamed = pl.DataFrame(other, ["recipe", "task", "setting", "normal"], orient="row")
        frame = frame.join(renamed, on=["recipe", "task", "setting"], how="left", maintain_order="left")
        frame = frame.with_columns(pl.coalesce("normal", "setting").alias("setting")).drop("normal")
    return _without_copies(frame)


def normal_name(recipe: str, task: str, setting: str) -> str:
    """The setting of a case without what changes nothing; as it is if its parts are not known here."""
    try:
        return normal_form(recipe, task, dict(case_of(recipe, task, setting).changes)).setting
    except DerlError:
        return setting


def _without_copies(frame: pl.DataFrame) -> pl.DataFrame:
    """Runs of the same case, seed and length are the same run, read from two files: the one with most columns stays."""
    labels = ["recipe", "task", "setting", "seed"]
    versions = [name for name in ("engine", "key") if name in frame.columns]
    known = pl.sum_horizontal(pl.all().is_not_null()).sum().alias("known")
    runs = frame.group_by("run", *labels, *versions, maintain_order=True).agg(pl.col("evaluation").max(), known)
    fullest = runs.sort("known", descending=True, maintain_order=True)
    kept = fullest.unique([*labels, *versions, "evaluation"], keep="first", maintain_order=True)
    return frame if len(kept) == len(runs) else frame.join(kept.select("run"), on="run", how="semi")


def _found(paths: Sequence[Path]) -> list[Path]:
    """The files that are meant, each once. Raises, with what to do, if there are none, or those of a run's folder."""
    files = list(dict.fromkeys(file for path in paths for file in _files(path)))
    trained = next((f.parent for f in files if f.name == RESULTS and (f.parent / CONFIG).exists()), None)
    way = f"put it into a store, derl store import {trained}, and the store into a report, derl report --store FOLDER"
    require(trained is None, f"{trained} is a run folder: {way}")
    stores = [path for path in paths if path.is_dir() and is_store(path)]
    hint = f"; {stores[0]} is a store: derl store export FILE.parquet --store {stores[0]}" if stores else ""
    parents = [path for path in paths if next(path.glob(f"*/{CONFIG}"), None)]
    hint = hint or (f"; the folders in {parents[0]} are runs: derl store import {parents[0]}/*" if parents else "")
    require(len(files) > 0, f"there are no results (*.parquet) in {', '.join(map(str, paths))}{hint}")
    return files


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(path.glob("*.parquet"))
    require(path.exists(), f"there is no {path}; give a folder of results or a Parquet file")
    return [path]


def _read(file: Path) -> pl.DataFrame:
    try:
        frame = pl.read_parquet(file)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DerlError(f"{file} cannot be read as Parquet ({str(error).splitlines()[0]})") from None
    missing = [name for name in NEEDED if name not in frame.columns]
    require(not missing, f"{file} has no column {', '.join(missing)}: it does not hold exported results")
    for name in NEEDED:
        kind, given = OF_A_RUN[name], frame.schema[name]
        good = given in (kind, pl.Null()) or (kind.is_numeric() and given.is_numeric())
        require(good, f"{file} is damaged: {name} should be a column of {kind}, and is {given}")
    return frame


class Runs(NamedTuple):
    """Runs that were read and can be put into a store."""

    entries: list[Entry]
    frames: list[pl.DataFrame]

    def enter(self, store: Store) -> int:
        """Put them in; the value is how many were new."""
        before = len(store.keys())
        store.add(self.entries, self.frames)
        return len(store.keys()) - before


def exported_runs(paths: Sequence[Path | str]) -> Runs:
    """The runs of exported files."""
    frame = read_results(paths)
    check_intake(frame)
    runs = Runs([], [])
    for _, part in frame.group_by(["key"], maintain_order=True):
        # Under several names it is still one run.
        part = part.filter(pl.col("run") == part["run"][0])
        # Older files do not say when and by which derl a run was made.
        row: dict[str, Any] = dict.fromkeys(ORIGIN) | part.row(0, named=True)
        runs.entries.append(Entry(*(row[name] for name in Entry._fields)))
        numbers = part.drop(*IDENTITY, *ORIGIN, strict=False)
        used = [c.name for c in numbers if c.null_count() < len(part) or c.name == "failed_at_step"]
        runs.frames.append(part.select(used).sort("evaluation"))
    return runs


def trained_runs(path: Path | str) -> Runs:
    """The finished runs of a `derl train` folder. Only those of a named recipe (with varied numbers, if any) have a
    place in tables.
    """
    folder = RunFolder(path)
    config, seeds, vary = folder.open()
    folder.check_versions(config)
    require(config.recipe in RECIPES, f"{path} does not hold a named recipe")
    frame, facts = folder.read_results(), expand(config, seeds, vary)
    # What they took together; a folder without its checkpoint does not say.
    seconds = folder.core_seconds() / len(facts)
    version = json.loads((folder.path / CONFIG).read_text()).get("derl")
    runs = Runs([], [])
    for number, run in enumerate(facts):
        part = frame.filter(run=number)
        case = Case.of(config.recipe, config.task, {**run.values, **protocol_changes(run.config)})
        require(case.config() == run.config, f"{path} changes settings of its recipe other than by --vary")
        algorithm = run.config.algorithm()
        steps = schedule_of(run.config, algorithm).iterations * algorithm.steps_per_iteration
        done = len(part) > 0 and part["steps"].to_numpy().max() >= steps
        require(done, f"{path} is not finished; continue it with: derl resume {path}")
        setting = normal_form(config.recipe, config.task, dict(case.changes)).setting
        labels = (run_key(run), config.recipe, config.task, setting, run.seed, ENGINE, seconds)
        runs.entries.append(Entry(*labels, version=version))
        runs.frames.append(part.drop(*run.values))
    return runs


def protocol_changes(config: Config) -> dict[str, Setting]:
    """In what a run's protocol differs from its recipe's."""
    default = Case.of(config.recipe, config.task).config().protocol
    values = {f.name: getattr(config.protocol, f.name) for f in dataclasses.fields(default)}
    return {f"protocol.{name}": value for name, value in values.items() if value != getattr(default, name)}
