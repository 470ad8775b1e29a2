"""How soon a policy is optimal, and whether it stays so: one line per case."""

import dataclasses

import numpy as np
import polars as pl
from jaxtyping import Bool, Float

from derl.analysis.measures.curves import matrix, without_failures
from derl.analysis.measures.statistics import mean_without_nan
from derl.experiments.cases import Case, case_of

SHARE = 0.95
"""A policy holds the optimum from an episode on if so many of the later evaluations are optimal."""
LAST = 0.25
"""And it does so over this share of the training at least: a few good evaluations at the end hold nothing."""
TOLERANCE, NOISY_TOLERANCE = 1e-3, 0.1
"""How far from the best possible return still counts, and where chance decides what an evaluation returns."""

CHANCE = ("env_options.stochastic", "env_options.random_start")
"""The settings by which chance decides, where they are switched on."""


@dataclasses.dataclass(frozen=True)
class Holding:
    """How the runs of a case reach and hold the optimum. Episodes are None for a run that does not."""

    case: Case
    optimum: float
    episodes: int
    """Of training."""
    first: tuple[int | None, ...]
    """The first optimal evaluation of each run."""
    stable: tuple[int | None, ...]
    """The evaluation from which on each run holds the optimum."""
    average: float
    """Mean return of all evaluations, as the paper's tables have it."""
    final: float
    """Mean return of the last tenth of the evaluations."""
    seconds: float | None
    """Core time per run, where it is known."""

    @property
    def runs(self) -> int:
        """How many there are."""
        return len(self.stable)

    @property
    def held(self) -> list[int]:
        """The stable episodes of the runs that have one."""
        return [episode for episode in self.stable if episode is not None]

    @property
    def median(self) -> float | None:
        """The median stable episode over all runs; None if half of them or more do not hold the optimum."""
        values = [np.inf if episode is None else float(episode) for episode in self.stable]
        middle = float(np.median(values))
        return middle if np.isfinite(middle) else None


def longest(frame: pl.DataFrame) -> pl.DataFrame:
    """Of every case the runs that were trained for longest: runs of different lengths have no common curve."""
    case = ["recipe", "task", "setting"]
    lengths = pl.col("evaluation").max().over("run")
    return frame.filter(lengths == lengths.max().over(case))


def is_optimal(returns: Float[np.ndarray, "..."], case: Case, optimum: float) -> Bool[np.ndarray, "..."]:
    """Which evaluations are optimal."""
    noisy = any(value for name, value in case.changes if name in CHANCE)
    return returns >= optimum - (NOISY_TOLERANCE if noisy else TOLERANCE)


def stable_from(optimal: Bool[np.ndarray, " evaluations"], last: float = LAST) -> int | None:
    """The first evaluation that is optimal and from which on at least `SHARE` are, over the `last` part or more.

    None for a run that does not end so: its last evaluation has to be optimal, too.
    """
    if not optimal[-1]:
        return None
    left = np.arange(len(optimal), 0, -1)
    later = np.cumsum(optimal[::-1])[::-1] / left
    first = np.flatnonzero(optimal & (later >= SHARE) & (left >= last * len(optimal)))
    return int(first[0]) if len(first) else None


def holdings(frame: pl.DataFrame) -> list[Holding]:
    """Every case of a results frame whose best return is known."""
    found = []
    groups = without_failures(frame).group_by(["recipe", "task", "setting"], maintain_order=True)
    for (recipe, task, setting), group in groups:
        case = case_of(str(recipe), str(task), str(setting))
        optimum = case.config().make_env().memoryless_return
        if optimum is not None:
            found.append(_holding(case, optimum, group))
    return found


def _holding(case: Case, optimum: float, group: pl.DataFrame) -> Holding:
    returns = matrix(group, "return")
    optimal = is_optimal(np.nan_to_num(returns, nan=-np.inf), case, optimum)
    episodes = group.group_by("evaluation").agg(pl.col("episodes").mean()).sort("evaluation")["episodes"].to_numpy()

    def episode(index: int | None) -> int | None:
        return None if index is None else round(float(episodes[index]))

    first = [episode(int(np.argmax(run)) if run.any() else None) for run in optimal]
    stable = [episode(stable_from(run)) for run in optimal]
    tail = returns[:, -max(1, returns.shape[1] // 10) :]
    # Of runs that were taken in without their time it is 0.
    timed = group.filter(pl.col("seconds") > 0)["seconds"].to_numpy() if "seconds" in group.columns else np.zeros(0)
    seconds = float(timed.mean()) if len(timed) else None
    return Holding(
        case,
        optimum,
        round(float(episodes[-1])),
        tuple(first),
        tuple(stable),
        float(mean_without_nan(returns.reshape(-1))),
        float(mean_without_nan(tail.reshape(-1))),
        seconds,
    )
