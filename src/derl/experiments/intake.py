"""What is taken into a store is looked at first: whoever reads it later takes it for what it says it is."""

from typing import NamedTuple

import polars as pl

from derl.core.errors import DerlError, UnknownNameError, require
from derl.experiments.cases import case_of
from derl.experiments.identity import config_key, seed_key
from derl.experiments.packing import INTEGERS, run_name
from derl.training.recipes import RECIPES
from derl.training.schedule import schedule_of
from derl.training.seeds import MOST_SEED
from derl.training.version import ENGINE, versions_of

IDENTITY, ORIGIN = ("key", "engine", "seconds"), ("finished", "version")
NAMES = ("recipe", "task", "setting")
OF_A_RUN: dict[str, pl.DataType] = {
    **dict.fromkeys(("key", *NAMES), pl.String()),
    **dict.fromkeys(("run", "seed", "engine", "evaluation", "steps", "failed_at_step"), pl.Int64()),
    **dict.fromkeys(("seconds", "episodes", "return"), pl.Float64()),
}
"""What a run has to say of itself to be taken into a store."""
UNCLEAR, DAMAGED = "these files do not say which runs they hold", "these files are damaged"
LARGEST = 2**53
"""Whole numbers are kept as floats, which count no further."""


def check_intake(frame: pl.DataFrame) -> None:
    """Raise unless every row says which run it is of, and every run is whole and what its names say."""
    _check_types(frame)
    _check_numbers(frame)
    # Under other names of its recipe and settings it may still be the same run, but not with another seed.
    seeds = frame.group_by("key").agg(pl.struct("task", "seed").n_unique().alias("runs"))
    require(bool((seeds["runs"] == 1).all()), f"{DAMAGED}: two runs have the same key")
    facts = ("seed", "engine", "key")
    runs = frame.group_by("run", *NAMES, *facts, maintain_order=True).agg(
        pl.len(), pl.col("evaluation").min(), pl.max("evaluation").alias("last"), pl.max("steps")
    )
    again = frame.select("run", "evaluation").is_duplicated()
    if again.any():
        raise DerlError(f"{DAMAGED}: {run_name(frame.filter(again).row(0, named=True))} has an evaluation twice")
    known: dict[tuple[str, ...], Known | None] = {}
    for run in runs.iter_rows(named=True):
        engine = run["engine"]
        require(engine >= 1, f"{DAMAGED}: there was no engine {engine}")
        require(engine <= ENGINE, f"these files have runs of engine {engine}, this derl has {ENGINE}: update it")
        # What runs of an older engine were is not known any more.
        if engine == ENGINE:
            case = tuple(run[name] for name in NAMES)
            if case not in known:
                known[case] = _known(*case)
            if (one := known[case]) is not None:
                _check_run(run, one)


def _check_types(frame: pl.DataFrame) -> None:
    for name, kind in OF_A_RUN.items():
        given = frame.schema.get(name, pl.Null())
        empty = name == "failed_at_step" and name in frame.columns and given == pl.Null()
        good = empty or given == kind or (kind.is_numeric() and given.is_numeric())
        require(good, f"{UNCLEAR} ({name} should be a column of {kind}, and is {given})")
        require(name == "failed_at_step" or frame[name].null_count() == 0, f"{UNCLEAR} ({name} is empty in some rows)")
    for name in sorted(set(frame.columns) - set(OF_A_RUN)):
        given, text = frame.schema[name], name in ORIGIN
        good = given == pl.Null() or (given == pl.String if text else given.is_numeric() or given == pl.Boolean)
        require(good, f"{DAMAGED}: {name} should be a column of {'text' if text else 'numbers'}, and is {given}")


def _check_numbers(frame: pl.DataFrame) -> None:
    for name in ("seed", "engine", "evaluation", "steps"):
        require(bool((frame[name] % 1 == 0).all()), f"{DAMAGED}: {name} is not a whole number")
    for name in ("engine", *INTEGERS):
        if name in frame.columns:
            numbers = frame[name].drop_nulls().cast(pl.Float64)
            # Who failed has some that are none.
            good = bool(((numbers.abs() < LARGEST) | numbers.is_nan()).all())
            require(good, f"{DAMAGED}: {name} is too large a number in some rows")
    seeds = f"{DAMAGED}: a seed is a whole number from 0 to {MOST_SEED}"
    require(bool(frame["seed"].is_between(0, MOST_SEED).all()), seeds)
    seconds = frame["seconds"].cast(pl.Float64)
    require(bool((seconds.is_finite() & (seconds >= 0)).all()), f"{DAMAGED}: seconds are not finite, or negative")


class Known(NamedTuple):
    """What this derl makes of the names of a case."""

    key: str
    evaluations: int
    steps: int


def _known(recipe: str, task: str, setting: str) -> Known | None:
    """What a run of these names is; None if its parts are somebody's own, which may not be loaded or have changed."""
    if recipe not in RECIPES:
        raise UnknownNameError("recipe in these files", recipe, RECIPES)
    try:
        config = case_of(recipe, task, setting).config()
        algorithm = config.algorithm()
        _, iterations, evaluations = schedule_of(config, algorithm)
        if len(versions_of(config)) > 1:
            return None
        return Known(config_key(config), len(evaluations), iterations * algorithm.steps_per_iteration)
    except UnknownNameError:
        return None
    except DerlError as error:
        raise DerlError(f"{DAMAGED}: {recipe} on {task} ({setting}) is no case ({error})") from None


def _check_run(run: dict, known: Known) -> None:
    seed, name = int(run["seed"]), run_name(run)
    other = "these files are damaged, or from a derl whose recipe was another; leave it out"
    require(seed_key(known.key, seed) == run["key"], f"{name} has the address of another run: {other}")
    done = f"{run['len']} of {known.evaluations} evaluations, {run['steps']:.0f} of {known.steps} steps"
    whole = (run["len"], run["evaluation"], run["last"]) == (known.evaluations, 1, known.evaluations)
    require(whole and run["steps"] == known.steps, f"{name} is not finished in these files: {done}; leave it out")
