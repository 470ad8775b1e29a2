"""A run as the store keeps it, its numbers as bytes beside the names of their columns; and as rows of a frame."""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import polars as pl


class Entry(NamedTuple):
    """What a run is called, what it cost, and where it comes from."""

    key: str
    recipe: str
    task: str
    setting: str
    seed: int
    engine: int
    seconds: float
    finished: str | None = None
    """When, in UTC; None if nobody knows."""
    version: str | None = None
    """Of the derl that made it; None if nobody knows."""


def run_name(run: Mapping[str, Any]) -> str:
    """What to call a run in a sentence, by its labels."""
    setting = f" ({run['setting']})" if run["setting"] else ""
    return f"{run['recipe']} on {run['task']}{setting} with seed {run['seed']:.0f}"


LABELS = ("recipe", "task", "setting", "seed", "engine", "seconds")
TEXT = {"recipe": pl.String, "task": pl.String, "setting": pl.String}


def empty_frame() -> pl.DataFrame:
    """A results frame without rows."""
    schema: dict[str, Any] = {"run": pl.Int64, "key": pl.String, **TEXT, "seed": pl.Int64, "evaluation": pl.Int64}
    return pl.DataFrame(schema={**schema, "episodes": pl.Int64, "return": pl.Float64, "failed_at_step": pl.Int64})


STORED = ("key", *LABELS, "columns", "evaluations", "data")
"""What is read of the store to make a frame: `is_sound` and `unpacked` take tuples of it."""
INTEGERS = ("evaluation", "steps", "episodes", "coverage", "failed_at_step")


def packed(entry: Entry, frame: pl.DataFrame) -> tuple:
    """A run as the table of runs takes it."""
    numbers = frame.drop("run", *LABELS, strict=False).cast(pl.Float64)
    data = np.ascontiguousarray(numbers.fill_null(np.nan).to_numpy().T)
    failed = frame["failed_at_step"].drop_nulls()
    labels = (entry.key, entry.recipe, entry.task, entry.setting, entry.seed, entry.engine)
    steps = int(numbers["steps"].to_numpy().max())
    failed_at = int(failed[0]) if len(failed) else None
    names = json.dumps(numbers.columns)
    return (*labels, steps, entry.seconds, entry.finished, failed_at, names, len(frame), data.tobytes())


@lru_cache(maxsize=1000)
def names_of(columns: Any) -> list[str]:
    """The names of a run's columns; none if their text is damaged."""
    try:
        names = json.loads(columns)
    except (TypeError, ValueError):
        return []
    return names if isinstance(names, list) and all(isinstance(name, str) for name in names) else []


def is_sound(row: Sequence[Any]) -> bool:
    """Whether a run's entry can be read: a disk may have lost a part of it, or somebody changed it by hand."""
    key, recipe, task, setting, seed, engine, seconds, columns, evaluations, data = row
    labels = all(isinstance(text, str) for text in (key, recipe, task, setting))
    labels = labels and type(seed) is type(engine) is int and isinstance(seconds, float | int | None)
    names = names_of(columns) if isinstance(columns, str) else []
    if not labels or not {"evaluation", "return"} <= set(names) or not isinstance(data, bytes):
        return False
    if type(evaluations) is not int or evaluations < 1 or len(data) != 8 * evaluations * len(names):
        return False
    numbers = np.frombuffer(data).reshape(-1, evaluations)
    whole = numbers[[i for i, name in enumerate(names) if name in INTEGERS]]
    return bool((np.isnan(whole) | (np.abs(whole) < 2**53)).all())


def unpacked(rows: Iterable[Sequence[Any]], columns: Sequence[str] | None) -> pl.DataFrame:
    """The results frame of entries, in their order: all numbers, or only some columns of them."""
    groups: dict[str, tuple[list[tuple], list[np.ndarray]]] = {}
    for number, (key, *labels, names, evaluations, data) in enumerate(rows):
        facts, blobs = groups.setdefault(names, ([], []))
        facts.append((number, key, *labels))
        blobs.append(np.frombuffer(data).reshape(-1, evaluations))
    frames = [_alike(names_of(names), *group, columns) for names, group in groups.items()]
    return _in_order(pl.concat(frames, how="diagonal")) if frames else empty_frame()


def _alike(
    names: Sequence[str], rows: Sequence[tuple], blobs: Sequence[np.ndarray], columns: Sequence[str] | None
) -> pl.DataFrame:
    lengths = [blob.shape[1] for blob in blobs]
    labels = pl.DataFrame(rows, schema=["run", "key", *LABELS], orient="row")
    repeated = labels[np.repeat(np.arange(len(rows)), lengths)]
    kept = [n for n in names if columns is None or n in columns or n in ("evaluation", "episodes", "failed_at_step")]
    data = {name: np.concatenate([blob[names.index(name)] for blob in blobs]) for name in kept}
    frame = repeated.with_columns(**{name: pl.Series(values, nan_to_null=False) for name, values in data.items()})
    whole = [pl.col(name).fill_nan(None).cast(pl.Int64) for name in INTEGERS if name in kept]
    return frame.with_columns(whole)


def relabelled(frame: pl.DataFrame, names: Iterable[tuple[str, str, str, str]]) -> pl.DataFrame:
    """A results frame with runs called by other names: content address, recipe, task and setting.

    A run is stored under the name it was first asked for by; lambda = 1 may be the recipe as it is. A run that is asked
    for by several names appears under each, as a run of its own.
    """
    schema = {"key": pl.String, **TEXT}
    wanted = pl.DataFrame(list(dict.fromkeys(names)), schema=schema, orient="row")
    renamed = frame.drop(list(TEXT)).join(wanted, on="key", how="inner", maintain_order="left").select(frame.columns)
    number = pl.struct("run", *TEXT).rank("dense").cast(pl.Int64) - 1
    return renamed.with_columns(number.alias("run")).sort("run", "evaluation")


def _in_order(frame: pl.DataFrame) -> pl.DataFrame:
    """Sorted by run and evaluation. It mostly is: runs with the same columns were read in order."""
    run, evaluation = (np.diff(frame[name].to_numpy()) for name in ("run", "evaluation"))
    return frame if ((run > 0) | ((run == 0) & (evaluation > 0))).all() else frame.sort("run", "evaluation")
