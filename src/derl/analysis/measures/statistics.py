"""Scores of returns as the paper defines them, and bootstrap intervals that tell how far to trust them.

Everything here takes arrays whose first axis is the independent runs. A NaN is a number a failed run could not give: it
is left out of every mean, never replaced.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations, combinations_with_replacement
from math import comb, factorial, prod
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike

from derl.core.errors import require

SAMPLES = 5000
"""How many resamples an interval is made of, as in the paper."""
LEVEL = 0.95


class Interval(NamedTuple):
    """Lower and upper ends, with the shape of one run's values."""

    low: np.ndarray
    high: np.ndarray


class Score(NamedTuple):
    """A number and its standard deviation (that of a population: divided by n, not n - 1)."""

    value: float
    std: float


def mean_without_nan(values: Float[np.ndarray, "..."], axis: int = 0) -> Float[np.ndarray, "..."]:
    """The mean of the numbers along an axis; NaN where there are none (NumPy's own `nanmean` would warn)."""
    finite = np.isfinite(values)
    count = finite.sum(axis)
    total = np.where(finite, values, 0.0).sum(axis)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def std_without_nan(values: Float[np.ndarray, "..."], axis: int = 0) -> Float[np.ndarray, "..."]:
    """The standard deviation of the numbers along an axis; NaN where there are none."""
    deviation = values - np.expand_dims(mean_without_nan(values, axis), axis)
    return np.sqrt(mean_without_nan(deviation**2, axis))


def average_return(returns: ArrayLike) -> Score:
    """The average evaluation return: the mean over all evaluations of the mean over runs.

    `returns` is runs x evaluations. The deviation is that over evaluations, so it tells how much the mean moved during
    training, not how much runs differ.
    """
    curve = mean_without_nan(_runs_by_evaluations(returns))
    return Score(float(mean_without_nan(curve)), float(std_without_nan(curve)))


def maximum_return(returns: ArrayLike) -> Score:
    """The maximum evaluation return: the best evaluation's mean over runs, with the deviation over runs there.

    The mean comes before the maximum: runs that are good at different times do not add up to a good evaluation.
    """
    values = _runs_by_evaluations(returns)
    curve = mean_without_nan(values)
    if not np.isfinite(curve).any():
        return Score(np.nan, np.nan)
    best = int(np.nanargmax(curve))
    return Score(float(curve[best]), float(std_without_nan(values[:, best])))


def bootstrap_means(
    values: ArrayLike, *, samples: int = SAMPLES, seed: int = 0, strata: Sequence | np.ndarray | None = None
) -> Float[np.ndarray, "samples ..."]:
    """Means over runs drawn anew, with replacement, `samples` times.

    All values of a run are drawn together, so a curve's points stay correlated as they are. With `strata` (one label
    per run, for instance its task) runs are drawn within their stratum, and the mean is that of the strata's means:
    every task counts the same, however many runs it has. Runs without any number are left out before drawing.
    """
    values = np.asarray(values, np.float64)
    require(values.ndim >= 1 and len(values) > 0, "an interval needs at least one run")
    require(samples >= 1, f"an interval needs at least one sample, not {samples}")
    labels = np.zeros(len(values), int) if strata is None else np.asarray(strata)
    require(len(labels) == len(values), f"there are {len(values)} runs but {len(labels)} labels of strata")
    rng = np.random.default_rng(seed)
    flat = values.reshape(len(values), -1)
    means = [_resample(rng, flat[labels == label], samples) for label in np.unique(labels)]
    return np.mean(means, axis=0).reshape(samples, *values.shape[1:])


def sound_runs(values: Float[np.ndarray, "runs n"]) -> Float[np.ndarray, "sound n"]:
    """Without the runs that failed at once: they have no number at all, and say nothing."""
    return values[np.isfinite(values).any(1)]


def deals(ours: int, total: int, *, samples: int = SAMPLES, seed: int = 0) -> Bool[np.ndarray, "deals total"]:
    """For a permutation test: which runs are ours, as it is and when all are dealt anew to the two sides so many times.

    If the sides do not differ every deal is as good as the one we have. Where there are few deals each comes up equally
    often, so that whether ours is rare is no matter of the seed.
    """
    rng, as_it_is = np.random.default_rng(seed), np.arange(total)[None] < ours
    if comb(total, ours) > samples:
        return np.concatenate([as_it_is, rng.random((samples, total)).argsort(1) < ours])
    chosen = np.array(list(combinations(range(total), ours)), np.int64).reshape(-1, ours)
    every = (chosen[:, :, None] == np.arange(total)).any(1)
    return np.concatenate([as_it_is, every[rng.permutation(np.resize(np.arange(len(every)), samples))]])


def _resample(rng: np.random.Generator, values: Float[np.ndarray, "runs n"], samples: int) -> np.ndarray:
    """Means of `samples` draws of as many runs as there are. A draw holds NaN where none of its runs has a number."""
    values = sound_runs(values)
    runs = len(values)
    if runs == 0:
        return np.full((samples, values.shape[1]), np.nan)
    # How often each run is drawn, instead of which: means become one matrix product, without copies of the values.
    return means_of(rng.multinomial(runs, np.full(runs, 1 / runs), samples).astype(np.float64), values)


def means_of(drawn: Float[np.ndarray, "ways runs"], values: Float[np.ndarray, "runs n"]) -> np.ndarray:
    """The mean of each draw, given how often it has each run; NaN where none of its runs has a number."""
    finite = np.isfinite(values)
    if finite.all():
        return drawn @ values / drawn[0].sum()
    count = drawn @ finite
    return np.where(count > 0, drawn @ np.where(finite, values, 0.0) / np.maximum(count, 1), np.nan)


def interval_of(means: Float[np.ndarray, "samples ..."], level: float = LEVEL) -> Interval:
    """The percentiles between which the middle `level` of the samples lies."""
    require(0 < level < 1, f"the level of an interval lies between 0 and 1, not {level}")
    ends = np.full((2, *means.shape[1:]), np.nan)
    known = np.isfinite(means).any(0)
    tails = [(1 - level) / 2, (1 + level) / 2]
    # `nanquantile` goes column by column in Python: only for columns that need it.
    whole = np.isfinite(means).all(0)
    ends[:, whole] = np.quantile(means[:, whole], tails, axis=0)
    if (known & ~whole).any():
        ends[:, known & ~whole] = np.nanquantile(means[:, known & ~whole], tails, axis=0)
    return Interval(ends[0], ends[1])


def bootstrap_interval(
    values: ArrayLike,
    samples: int = SAMPLES,
    level: float = LEVEL,
    seed: int = 0,
    strata: Sequence | np.ndarray | None = None,
) -> Interval:
    """The percentile bootstrap interval of the mean over runs, for each of a run's values.

    The same `seed` gives the same interval. See `bootstrap_means` for `strata`.
    """
    array = np.asarray(values, np.float64)
    if strata is None and array.ndim >= 1 and len(array) >= 1 and samples >= 1:
        flat = array.reshape(len(array), -1)
        if can_be_listed(flat):
            low, high = repeated_interval(*means_of_ways(flat, samples, seed), level)
            return Interval(low.reshape(array.shape[1:]), high.reshape(array.shape[1:]))
    return interval_of(bootstrap_means(values, samples=samples, seed=seed, strata=strata), level)


FEW = 6
"""Up to so many runs can be drawn in far fewer ways than there are samples (462 ways of drawing 6 of 6)."""


def can_be_listed(values: Float[np.ndarray, "runs n"]) -> bool:
    """Whether runs are so few that every way of drawing as many again can be looked at."""
    return len(sound_runs(values)) >= 1 and len(values) <= FEW


def means_of_ways(
    values: Float[np.ndarray, "runs n"], samples: int = SAMPLES, seed: int = 0
) -> tuple[Float[np.ndarray, "ways n"], Int[np.ndarray, " ways"]]:
    """`bootstrap_means` of few runs: the means of each way of drawing, and how many samples it is."""
    sound = sound_runs(values)
    ways, times = ways_of_drawing(len(sound), len(sound), samples, seed)
    return means_of(ways, sound), times


@lru_cache(maxsize=64)
def ways_of_drawing(
    runs: int, drawn: int, samples: int = SAMPLES, seed: int = 0
) -> tuple[Float[np.ndarray, "ways runs"], Int[np.ndarray, " ways"]]:
    """The distinct ways in which `samples` draws fall out, as how often each run is drawn, and how many draws each is.

    What depends on the draw alone need only be worked out once for each way. Where there are no more ways than samples
    nothing is drawn: these are all of them, as often as their orders, times what makes as many draws as asked for.
    """
    if comb(runs + drawn - 1, drawn) <= samples:
        which = np.array(list(combinations_with_replacement(range(runs), drawn)))
        counts = (which[:, :, None] == np.arange(runs)).sum(1)
        times = np.array([factorial(drawn) // prod(map(factorial, way)) for way in counts.tolist()])
        return counts.astype(np.float64), times * -(-samples // runs**drawn)
    counts = np.random.default_rng(seed).multinomial(drawn, np.full(runs, 1 / runs), samples)
    ways, times = np.unique(counts, axis=0, return_counts=True)
    return ways.astype(np.float64), times


def repeated_interval(
    values: Float[np.ndarray, "ways ..."], times: Int[np.ndarray, " ways"], level: float = LEVEL
) -> Interval:
    """`interval_of` samples in which each value occurs so many times, without writing them out."""
    require(0 < level < 1, f"the level of an interval lies between 0 and 1, not {level}")
    flat = values.reshape(len(values), -1)
    order = np.argsort(flat, axis=0, kind="stable")
    ordered, columns, found = np.take_along_axis(flat, order, 0), np.arange(flat.shape[1]), []
    # NaN comes last, and counts for nothing.
    ends = np.cumsum(np.where(np.isfinite(ordered), times[order], 0), axis=0)
    last = np.maximum(ends[-1] - 1, 0)
    for tail in ((1 - level) / 2, (1 + level) / 2):
        place = last * tail
        below, above = (ordered[(ends > np.minimum(np.floor(place) + i, last)).argmax(0), columns] for i in (0, 1))
        found.append((below + (place % 1) * (above - below)).reshape(values.shape[1:]))
    return Interval(*found)


def average_interval(returns: ArrayLike, samples: int = SAMPLES, level: float = LEVEL, seed: int = 0) -> Interval:
    """The interval of `average_return`: of the mean over evaluations, under other draws of the runs."""
    values = _runs_by_evaluations(returns)
    if can_be_listed(values) and samples >= 1:
        curves, times = means_of_ways(values, samples, seed)
        return repeated_interval(mean_without_nan(curves, axis=1), times, level)
    return interval_of(mean_without_nan(bootstrap_means(values, samples=samples, seed=seed), axis=1), level)


def maximum_without_nan(values: Float[np.ndarray, "..."], axis: int = 0) -> Float[np.ndarray, "..."]:
    """The largest number along an axis; NaN where there are none (NumPy's own `nanmax` would warn)."""
    finite = np.isfinite(values)
    return np.where(finite.any(axis), np.where(finite, values, -np.inf).max(axis), np.nan)


def episodes_to_hold(
    curves: Float[np.ndarray, "... evaluations"], episodes: ArrayLike, threshold: ArrayLike, share: float = 0.9
) -> Float[np.ndarray, "..."]:
    """The training episodes after which each curve first holds a threshold (or its own); infinite if it never does.

    It does from where it reaches it three times in a row and, of all that follows, `share` or more does as well. A
    single good evaluation, which an untrained policy may have by luck, holds nothing.
    """
    reached = np.where(np.isfinite(curves), curves, -np.inf) >= np.asarray(threshold)[..., None]
    left = np.arange(reached.shape[-1], 0, -1)
    # What comes after the end is taken for reached.
    padded = np.concatenate([reached, np.ones((*reached.shape[:-1], 2), bool)], -1)
    row = padded[..., :-2] & padded[..., 1:-1] & padded[..., 2:]
    held = row & (np.cumsum(reached[..., ::-1], -1)[..., ::-1] >= share * left - 1e-9)
    first = np.asarray(episodes, np.float64)[held.argmax(-1)]
    return np.where(held.any(-1), first, np.inf)


def _runs_by_evaluations(returns: ArrayLike) -> Float[np.ndarray, "runs evaluations"]:
    values = np.asarray(returns, np.float64)
    require(values.ndim == 2 and values.size > 0, f"returns are runs x evaluations, not of shape {values.shape}")
    return values
