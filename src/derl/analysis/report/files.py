"""Results from Parquet files, and the facts that lie beside them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from derl.analysis.frames import NAMES, check_columns
from derl.analysis.report.model import Facts
from derl.core.errors import DerlError, require

FACTS = "facts.json"


def read_files(paths: Sequence[Path]) -> pl.DataFrame:
    """One frame of results from files and folders of files. Runs are numbered anew: files count from 0 each."""
    found = [file for path in paths for file in _files(path)]
    require(len(found) > 0, f"there are no results (*.parquet) in {', '.join(map(str, paths))}")
    frames, runs = [], 0
    for path in dict.fromkeys(found):
        frame = _read(path)
        frame = frame.with_columns(pl.col("run").rank("dense").cast(pl.Int64) - 1 + runs)
        runs += frame["run"].n_unique()
        frames.append(frame)
    return without_copies(pl.concat(frames, how="diagonal_relaxed"))


def without_copies(frame: pl.DataFrame) -> pl.DataFrame:
    """Runs of the same case, seed and length are the same run, read from two files: the first one stays."""
    runs = frame.group_by("run", *NAMES, "seed", maintain_order=True).agg(pl.col("evaluation").max())
    kept = runs.unique([*NAMES, "seed", "evaluation"], keep="first", maintain_order=True)
    return frame.join(kept.select("run"), on="run", how="semi")


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(path.glob("*.parquet"))
    require(path.exists(), f"there is no {path}; give a folder of results or a Parquet file")
    return [path]


def _read(path: Path) -> pl.DataFrame:
    try:
        frame = pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise DerlError(f"{path} cannot be read: {error}") from None
    if not set(NAMES) & set(frame.columns) and path.stem.count("_") == 1:
        # A file of one case may say which one in its name alone: DeepSea-10_dea2c-count.parquet.
        task, recipe = path.stem.split("_")
        names = {"recipe": recipe, "task": task, "setting": ""}
        frame = frame.with_columns(*(pl.lit(value).alias(name) for name, value in names.items()))
    check_columns(frame, str(path))
    return frame


def read_facts(paths: Sequence[Path]) -> Facts:
    """What `facts.json` in the first of the folders that has one says; without it, what is known anyway."""
    files = [(path if path.is_dir() else path.parent) / FACTS for path in paths]
    for file in files:
        if file.exists():
            return _facts(file)
    return Facts()


def _facts(file: Path) -> Facts:
    try:
        given: dict[str, Any] = json.loads(file.read_text("utf-8"))
        known = {name: given.pop(name) for name in ("version", "finished", "seconds", "machine") if name in given}
        return Facts(**known, more={str(name): str(value) for name, value in given.items()})
    except (OSError, ValueError, AttributeError) as error:
        raise DerlError(f"{file} cannot be read: {error}") from None
