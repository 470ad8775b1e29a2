"""Training from Python in a few lines."""

import operator
import shlex
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from derl.agents.base import AnyAgent
from derl.analysis.runs.result import Result
from derl.bonuses.base import AnyBonus
from derl.core.errors import DerlError, require
from derl.envs.base import AnyEnvironment, Environment
from derl.envs.trial import check_env
from derl.experiments.builtin import find_experiment
from derl.experiments.experiment import Experiment, from_data
from derl.experiments.jobs import entry_of
from derl.experiments.own_code import other_code
from derl.experiments.packing import run_name
from derl.experiments.planner import Member, results_of
from derl.experiments.progress import SweepProgress
from derl.experiments.remaining import finished
from derl.experiments.store import Store
from derl.experiments.sweep import Sweep
from derl.training.cache import use_compilation_cache
from derl.training.checkpoint import load_checkpoint, read_metadata
from derl.training.config import Config
from derl.training.folder import RunFolder
from derl.training.members import check_neighbours, expand
from derl.training.recipes import recipe as make_recipe
from derl.training.recipes import with_parts
from derl.training.seeds import count_seeds, seeds_named
from derl.training.trainer import Progress, Trainer, check_runs

DEFAULT_RECIPE = "derl"
CHECKED_STEPS = 200
"""Of an environment object before it is trained on: with them a check takes less than a second for small tasks."""


def configure(
    task: str | AnyEnvironment | Config,
    recipe: str | None = None,
    *,
    explorer: AnyAgent | str | None = None,
    bonus: AnyBonus | str | None = None,
    exploiter: AnyAgent | str | None = None,
    env_options: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Config:
    """A recipe (by default `derl`), or another configuration, with parts and settings of your own.

    Parts are objects, or names of kinds as on the command line (`exploiter="dqn"`); `exploiter="none"` leaves the
    exploiter out. `settings` are named as on the command line, with `__` for the dot: `bonus__scale=0.1`,
    `protocol__episodes=5_000`.
    """
    if isinstance(task, Config):
        require(recipe is None, "a configuration is whole: leave the recipe out, or give a task instead")
        require(not env_options, "a configuration has its task's options: change one as env_options__NAME=value")
        config = task
    else:
        known = isinstance(task, str | Environment)
        require(known, f"a task is a name such as 'DeepSea-10', an Environment or a Config, not {task!r}")
        named = env_options is None or isinstance(env_options, Mapping)
        require(named, f'env_options is a dictionary such as {{"mapping_seed": 7}}, not {env_options!r}')
        config = make_recipe(recipe or DEFAULT_RECIPE, task, **(env_options or {}))
    config = with_parts(config, explorer, exploiter, bonus)
    for name, value in settings.items():
        config = config.with_value(name.replace("__", "."), value)
    return config.in_proportion()


def plain_seeds(seeds: int | str | Sequence[int]) -> list[int]:
    """Seeds as plain numbers: they may come out of an array, and are written down as text."""
    if isinstance(seeds, str):
        return seeds_named(seeds)
    if isinstance(seeds, int | np.integer):
        return list(count_seeds(int(seeds)))
    try:
        return [operator.index(seed) for seed in seeds]
    except TypeError:
        raise DerlError(f"seeds is a number of seeds or a list of them; got {seeds!r}") from None


def plain_values(vary: Mapping[str, Sequence[float]]) -> dict[str, list[float]]:
    """The values of varied settings, as plain numbers for the same reason."""
    require(isinstance(vary, Mapping), f'vary is a dictionary such as {{"bonus.scale": [0.1, 1]}}, not {vary!r}')
    values = {}
    for path, some in vary.items():
        wrong = f"vary: {path} needs a list of numbers, not {some!r}"
        # Of text and bytes every letter would be a value.
        require(not isinstance(some, str | bytes), wrong)
        try:
            given = list(some)
            require(not any(isinstance(value, str | bytes) for value in given), wrong)
            values[path] = [float(value) for value in given]
        except (TypeError, ValueError):
            raise DerlError(wrong) from None
    return values


def train(
    task: str | AnyEnvironment | Config,
    recipe: str | None = None,
    *,
    seeds: int | str | Sequence[int] = 5,
    vary: Mapping[str, Sequence[float]] | None = None,
    out: str | Path | None = None,
    show: Callable[[Progress], None] | None = None,
    cores: int | None = None,
    population_size: int | None = None,
    tensorboard: bool = False,
    checkpoint_seconds: float = 30.0,
    **settings: Any,
) -> Result:
    """Train a recipe on a task, with every seed and every combination of the varied numbers, at once.

    `task` is a name such as "DeepSea-10", an `Environment`, or a whole `Config`. `seeds` is how many (0, 1, ...) or
    which, as a list or as text ("3,7,10-19"). `vary` maps settings to values: `{"bonus.scale": [0.1, 1, 10]}`. With
    `out`, results and a checkpoint are kept in that folder and `derl.resume` can continue after an interruption; with
    `tensorboard` also TensorBoard files. Everything else is passed to `configure`. An `Environment` is tried out first
    (see `check_env`).
    """
    config = configure(task, recipe, **settings)
    chosen, values = plain_seeds(seeds), plain_values(vary or {})
    runs = expand(config, chosen, values)
    check_neighbours(runs)
    if config.env is not None:
        check_env(config.env, CHECKED_STEPS)
    folder = None if out is None else RunFolder(out)
    trainer = Trainer(
        runs,
        folder,
        cores=cores,
        population_size=population_size,
        checkpoint_seconds=checkpoint_seconds,
        tensorboard=tensorboard,
    )
    if folder is None:
        return finish(trainer, config, show)
    # Not before: parts that do not fit each other must not leave a folder in the way of those that do.
    folder.create(config, chosen, values, trainer.group_size)
    with folder.held():
        return finish(trainer, config, show)


def resume(
    out: str | Path,
    *,
    config: Config | None = None,
    env: AnyEnvironment | None = None,
    show: Callable[[Progress], None] | None = None,
    cores: int | None = None,
) -> Result:
    """Continue an interrupted run.

    `env` is its environment, if that was an object, and `config` its whole configuration, if it has parts of your own.
    Both are found if their classes are loaded.
    """
    # What reads a folder has nothing to write there, and may be on a machine that could not.
    tensorboard = (Path(out) / "tensorboard").exists()
    folder, config, trainer = open_run(out, config, env, cores=cores, tensorboard=tensorboard)
    folder.check_versions(config)
    with folder.held():
        trainer.resume()
        return finish(trainer, config, show)


def finish(trainer: Trainer, config: Config, show: Callable[[Progress], None] | None) -> Result:
    """Train to the end and give the result."""
    use_compilation_cache()
    frame = trainer.train(show)
    return Result(config, trainer.runs, frame, trainer.merged(), trainer.clock, trainer.folder)


def open_run(
    out: str | Path, config: Config | None = None, env: AnyEnvironment | None = None, **options: Any
) -> tuple[RunFolder, Config, Trainer]:
    """A run folder and a trainer for what it describes, with some `options`."""
    require(config is None or env is None, "a configuration has its environment: leave env out")
    folder = RunFolder(out)
    if config is None:
        config, seeds, vary = folder.open(env)
    else:
        seeds, vary = folder.members()
    runs = expand(config, seeds, vary)
    if folder.checkpoint.exists():
        # Before anything is made of a description that somebody has changed.
        check_runs(folder.checkpoint, read_metadata(folder.checkpoint), runs)
    return folder, config, Trainer(runs, folder, group_size=folder.group_size(), **options)


def load(out: str | Path, *, config: Config | None = None, env: AnyEnvironment | None = None) -> Result:
    """The results and policies of a run folder, finished or not. `config` and `env` are as for `resume`."""
    folder, config, trainer = open_run(out, config, env)
    require(folder.checkpoint.exists(), f"{folder.path} has no checkpoint; train it with 'derl resume {folder.path}'")
    state, metadata = load_checkpoint(folder.checkpoint, trainer.template())
    frame = folder.results_of_checkpoint(metadata["rows"]) if metadata["rows"] else trainer.frame()
    require(len(frame) > 0, f"{folder.path} has no evaluations yet; continue it with 'derl resume {folder.path}'")
    return Result(config, trainer.runs, frame, state, metadata["clock"], folder)


def plain_names(what: str, given: str | Sequence[str]) -> tuple[str, ...]:
    """A list of names; one may come alone."""
    names = (given,) if isinstance(given, str) else given
    good = isinstance(names, Sequence) and all(isinstance(name, str) and name for name in names)
    require(good, f"{what} is a list of names, not {given!r}")
    return tuple(names)


def _check_sweep(store: Any, episodes: Any, workers: Any, show: Any) -> None:
    """Raise if an argument of `sweep` is none."""
    folder = isinstance(store, str | Path) and str(store) != ""
    require(folder, f"store is the folder of results, such as 'derl-store', not {store!r}")
    for name, value, what in (("episodes", episodes, "training episodes"), ("workers", workers, "processes")):
        number = isinstance(value, int | np.integer) and not isinstance(value, bool) and int(value) >= 1
        require(value is None or number, f"{name} is a number of {what}, not {value!r}")
    require(show is None or callable(show), f"show is a function that is called with the progress, not {show!r}")


def _failures_told(failed: Mapping[str, str], members: Sequence[Member], store: Path, modules: Sequence[str]) -> str:
    """How many runs could not be finished, the first with its error, and what shows all."""
    runs = {member.key for member in members}
    first = next(member for member in members if member.key in failed)
    imports = [word for name in modules for word in ("--import", name)]
    command = shlex.join(["derl", *imports, "status", "--store", str(store)])
    return (
        f"{len(failed)} of {len(runs)} runs failed and are not in the results; the first, "
        f"{run_name(entry_of(first)._asdict())}: {failed[first.key]}; to see all: {command}"
    )


def sweep(
    experiment: Experiment | Mapping[str, Any] | str | Path,
    store: str | Path = "derl-store",
    *,
    only: str | Sequence[str] = (),
    seeds: int | str | Sequence[int] | None = None,
    episodes: int | None = None,
    workers: int | None = None,
    modules: str | Sequence[str] = (),
    show: Callable[[SweepProgress], None] | None = None,
) -> pl.DataFrame:
    """Run what is left of an experiment on all cores; the value is its results frame.

    `experiment` is the name of one of the paper's ("table-1"), a TOML file, what such a file holds as a dictionary, or
    an `Experiment`. `only` narrows it to some tasks, recipes or settings, `seeds` runs others than its own, and
    `episodes` trains for at most so many, as the flags of `derl reproduce` do. `modules` are loaded by the worker
    processes first: those that register parts of your own. A run that could not be finished is not in the frame: a
    warning says how many there are, and why the first one failed.
    """
    _check_sweep(store, episodes, workers, show)
    modules = plain_names("modules", modules)
    if isinstance(experiment, Mapping):
        experiment = from_data(experiment, "sweep")
    elif not isinstance(experiment, Experiment):
        named = isinstance(experiment, str | Path) and str(experiment) != ""
        kinds = "a name such as 'table-1', a TOML file, a dictionary or an Experiment"
        require(named, f"an experiment is {kinds}, not {experiment!r}")
        experiment = find_experiment(str(experiment))
    experiment = experiment.narrowed(
        only=plain_names("only", only),
        seeds=None if seeds is None else plain_seeds(seeds),
        episodes=None if episodes is None else int(episodes),
    )
    require(len(experiment.cases) > 0, f"{experiment.name}: nothing is left of it with these names together")
    plan = finished(experiment.check(), Path(store))
    if plan is None:
        task = Sweep(experiment, store, workers=workers, modules=modules, show=show)
        failed = task.run()
        plan = task.plan
        if failed:
            warnings.warn(_failures_told(failed, plan.members, Path(store), modules), stacklevel=2)
    for sentence in other_code(plan, Path(store)):
        warnings.warn(sentence, stacklevel=2)
    return results_of(Store(store, read_only=True), plan.members)
