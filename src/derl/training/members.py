"""The members of a population: a configuration with every seed and every combination of the varied numbers."""

import dataclasses
import hashlib
import itertools
from collections.abc import Mapping, Sequence

import jax
import numpy as np

from derl.core.errors import UnknownNameError, require
from derl.envs.base import AnyEnvironment
from derl.training.added import first_written
from derl.training.config import Config
from derl.training.idle import check_idle
from derl.training.objects import described
from derl.training.seeds import check_seeds
from derl.training.settings import setting_paths, value_at


@dataclasses.dataclass(frozen=True)
class Run:
    """One member of a population: its seed and what is varied in it."""

    seed: int
    values: Mapping[str, float]
    config: Config


def fingerprint(runs: Sequence[Run]) -> str:
    """What tells these runs from others: their configurations, with the fields of a task of your own, and seeds."""
    digest = hashlib.sha256()
    for run in runs:
        digest.update(f"{run.seed} {first_written(run.config)} {fields_of(run.config.env)}\n".encode())
    return digest.hexdigest()[:32]


def fields_of(env: AnyEnvironment | None) -> str:
    """An environment object as text; of one that cannot be written down whole, its numbers."""
    if env is None:
        return ""
    # The module may be another one when it is loaded again: a script's own is __main__.
    written = described(env)
    return str([np.asarray(x).tolist() for x in jax.tree.leaves(env)] if written is None else written["fields"])


def is_input(config: Config, path: str) -> bool:
    """Whether a setting is a number that programs take as an input. Of an unknown one, raise with those that are."""
    try:
        value, traced = value_at(config, path)
    except UnknownNameError:
        known = [name for name in setting_paths(config) if is_input(config, name)]
        raise UnknownNameError("number to vary", path, known) from None
    return isinstance(value, float) and traced


def can_vary(config: Config, path: str, value: float) -> bool:
    """Whether runs of one program can differ in a setting: a number that programs take as an input."""
    head, _, option = path.replace("-", "_").partition(".")
    if head != "env_options" or config.env is not None:
        return is_input(config, path)
    # An option that does not exist, or cannot be this, is told by the task itself.
    env = config.with_value(path, value).make_env()
    if not hasattr(env, option):
        return False
    made, traced = value_at(env, option)
    # A task of your own may take a whole number as it is.
    return isinstance(made, float | int) and not isinstance(made, bool) and traced


def expand(config: Config, seeds: Sequence[int], vary: Mapping[str, Sequence[float]] | None = None) -> list[Run]:
    """Every combination of the varied numbers, with every seed."""
    vary = vary or {}
    check_seeds(seeds)
    for path, values in vary.items():
        require(len(values) > 0, f"vary: no values for {path}")
        require(len(set(values)) == len(values), f"vary: {path} has a value twice, which would count its runs twice")
        require(
            can_vary(config, path, values[0]),
            f"vary: {path} is not a number that runs of one population can differ in (it shapes the program); "
            "vary it in a sweep (derl sweep), or start a separate run for each value",
        )
    runs = []
    for combination in itertools.product(*vary.values()):
        varied = config
        for path, value in zip(vary, combination, strict=True):
            varied = varied.with_value(path, float(value))
        varied.check(idle=False)
        values = dict(zip(vary, map(float, combination), strict=True))
        runs += [Run(seed, values, varied) for seed in seeds]
    check_idle([run.config for run in runs[:: len(seeds)]])
    return runs


def check_neighbours(runs: Sequence[Run]) -> None:
    """Raise if a run would not be itself beside the others: who mixes draws random numbers that the others do not."""
    require(
        len({run.config.decoupling.mixture != 0 for run in runs}) == 1,
        "vary: runs with decoupling.mixture=0 and with others are not of one program; "
        "vary it in a sweep (derl sweep), or start a separate run for 0",
    )
