"""Aggregates over tasks with stratified bootstrap intervals, as recommended by Agarwal et al. (2021).

A *score* is a run's normalised return: its return divided by the best possible one of its task. 0 is what doing nothing
earns in the paper's tasks, 1 the optimum. The paper says "normalised to be within [0, 1]" and not how; here a return
below 0 stays below 0, because cutting it off would hide the algorithms that learn to lose.

`Scores` are those of one algorithm: for every task an array with one score per run. Runs are drawn anew within their
task (the stratum), and every task weighs the same, however many of its runs there are.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from derl.analysis.measures.statistics import LEVEL, SAMPLES, interval_of
from derl.core.errors import DerlError, require
from derl.envs.registry import make

Scores = Mapping[str, ArrayLike]
Statistic = Callable[[Float[np.ndarray, "samples scores"], Float[np.ndarray, " scores"]], Float[np.ndarray, " samples"]]
"""From rows of scores and the scores' weights (which sum to 1) to a number per row."""


class Estimate(NamedTuple):
    """A number with its 95 % interval."""

    value: float
    low: float
    high: float


class Profile(NamedTuple):
    """A performance profile: for each threshold the share of runs with a higher score, with its interval."""

    thresholds: np.ndarray
    share: np.ndarray
    low: np.ndarray
    high: np.ndarray


@cache
def optimal_return(task: str) -> float:
    """The best possible return of a task."""
    best = make(task).optimal_return
    if best is None:
        raise DerlError(f"returns of {task} cannot be normalised: nobody knows its best possible return")
    return float(best)


@cache
def optimal_return_or_none(task: str) -> float | None:
    """The same, for who can do without it: None for a task that nobody knows here, or whose best return is unknown."""
    try:
        return optimal_return(task)
    except DerlError:
        return None


def normalised(returns: ArrayLike, task: str) -> Float[np.ndarray, "..."]:
    """Returns divided by the best possible one of their task."""
    return np.asarray(returns, np.float64) / optimal_return(task)


def mean(scores: Scores, **options) -> Estimate:
    """The mean over tasks of the mean over runs."""
    return aggregate(scores, lambda rows, weights: rows @ weights, **options)


def iqm(scores: Scores, **options) -> Estimate:
    """The interquartile mean: without the best and the worst quarter of all runs.

    Of n runs each quarter has n / 4, rounded down, as in the authors' own library.
    """
    return aggregate(scores, _middle_half, **options)


def optimality_gap(scores: Scores, target: float = 1.0, **options) -> Estimate:
    """How far runs stay below the target on average; runs above it count as on it."""
    return aggregate(scores, lambda rows, weights: target - np.minimum(rows, target) @ weights, **options)


def _middle_half(rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    cut = (len(weights) // 4) / len(weights)
    order = np.argsort(rows, axis=1, kind="stable")
    ends = np.cumsum(weights[order], axis=1)
    begins = ends - weights[order]
    # How much of each score lies between the quarters: all, nothing, or of the ones at the edges a part.
    kept = np.clip(np.minimum(ends, 1 - cut) - np.maximum(begins, cut), 0, None)
    return (np.take_along_axis(rows, order, 1) * kept).sum(1) / kept.sum(1)


def aggregate(
    scores: Scores, statistic: Statistic, *, samples: int = SAMPLES, level: float = LEVEL, seed: int = 0
) -> Estimate:
    """Any statistic of all runs' scores, with its stratified bootstrap interval."""
    strata = _strata(scores)
    weights = np.concatenate([np.full(len(s), 1 / (len(s) * len(strata))) for s in strata])
    rng = np.random.default_rng(seed)
    drawn = np.concatenate([s[rng.integers(len(s), size=(samples, len(s)))] for s in strata], axis=1)
    value = statistic(np.concatenate(strata)[None], weights)[0]
    return _estimate(value, statistic(drawn, weights), level)


def probability_of_improvement(
    ours: Scores, theirs: Scores, *, samples: int = SAMPLES, level: float = LEVEL, seed: int = 0
) -> Estimate:
    """How probable it is that a run of ours beats one of theirs, on a random one of the tasks both have.

    Equal scores count half.
    """
    pairs = [(_finite(ours[task]), _finite(theirs[task])) for task in ours if task in theirs]
    pairs = [(x, y) for x, y in pairs if len(x) and len(y)]
    require(len(pairs) > 0, "the two have no task in common")
    rng = np.random.default_rng(seed)
    value, drawn = 0.0, np.zeros(samples)
    for x, y in pairs:
        wins = (x[:, None] > y[None]) + 0.5 * (x[:, None] == y[None])
        value += wins.mean() / len(pairs)
        shares = [rng.multinomial(len(s), np.full(len(s), 1 / len(s)), samples) / len(s) for s in (x, y)]
        drawn += ((shares[0] @ wins) * shares[1]).sum(1) / len(pairs)
    return _estimate(value, drawn, level)


def performance_profile(
    scores: Scores, thresholds: ArrayLike, *, samples: int = SAMPLES, level: float = LEVEL, seed: int = 0
) -> Profile:
    """For each threshold the share of runs above it: how good the good runs are, and how many are bad."""
    strata, thresholds = _strata(scores), np.asarray(thresholds, np.float64)
    rng = np.random.default_rng(seed)
    share, drawn = np.zeros(len(thresholds)), np.zeros((samples, len(thresholds)))
    for stratum in strata:
        above = (stratum[:, None] > thresholds).astype(np.float64)
        share += above.mean(0) / len(strata)
        drawn += (
            rng.multinomial(len(stratum), np.full(len(stratum), 1 / len(stratum)), samples)
            @ above
            / (len(stratum) * len(strata))
        )
    return Profile(thresholds, share, *interval_of(drawn, level))


def _strata(scores: Scores) -> list[Float[np.ndarray, " runs"]]:
    """The scores of each task, without failed runs and tasks that have no others."""
    arrays = [s for s in map(_finite, scores.values()) if len(s)]
    require(len(arrays) > 0, "an aggregate needs the score of at least one run")
    return arrays


def _finite(scores: ArrayLike) -> Float[np.ndarray, " runs"]:
    values = np.asarray(scores, np.float64).ravel()
    return values[np.isfinite(values)]


def _estimate(value: float, drawn: np.ndarray, level: float) -> Estimate:
    low, high = interval_of(drawn, level)
    return Estimate(float(value), float(low), float(high))
