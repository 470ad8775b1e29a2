"""The bootstrap bands of many curves at once: the same numbers as `bootstrap_interval`, tens of times faster.

Five runs can be drawn with replacement in only 126 ways, so most of 5,000 resamples repeat each other. Here each way is
computed once and counted as often as it was drawn.
"""

from functools import cache

import numpy as np
from jaxtyping import Float

from derl.analysis.statistics import LEVEL, SAMPLES, Interval, bootstrap_interval

FEW = 6
"""Up to this many runs the ways to draw them are fewer than the resamples by far."""


def band(values: Float[np.ndarray, "runs n"]) -> Interval:
    """The 95 % bootstrap interval of the mean over runs, for each of a run's values; NaN where there is none."""
    values = values[np.isfinite(values).any(1)]
    if not len(values):
        return Interval(np.full(values.shape[1], np.nan), np.full(values.shape[1], np.nan))
    if len(values) > FEW:
        return bootstrap_interval(values)
    ways, times = _draws(len(values))
    finite = np.isfinite(values)
    if finite.all():
        return _interval(ways @ values / len(values), times)
    count = ways @ finite
    means = ways @ np.where(finite, values, 0.0) / np.maximum(count, 1)
    return _interval(np.where(count > 0, means, np.nan), times)


@cache
def _draws(runs: int) -> tuple[np.ndarray, np.ndarray]:
    """The distinct ways among the resamples `bootstrap_means` would draw, and how often each was drawn."""
    drawn = np.random.default_rng(0).multinomial(runs, np.full(runs, 1 / runs), SAMPLES)
    ways, times = np.unique(drawn, axis=0, return_counts=True)
    return ways.astype(np.float64), times


def _interval(means: Float[np.ndarray, "ways n"], times: np.ndarray) -> Interval:
    """The percentiles of all resamples, as NumPy interpolates them, from the distinct means and their numbers."""
    order = np.argsort(means, axis=0)  # NaN comes last, and counts for nothing.
    ranked = np.take_along_axis(means, order, 0)
    reached = np.cumsum(np.where(np.isfinite(ranked), times[order], 0), axis=0)
    total = reached[-1]
    ends = []
    for tail in ((1 - LEVEL) / 2, (1 + LEVEL) / 2):
        place = tail * np.maximum(total - 1, 0)
        below = np.floor(place)
        first, second = ((reached > rank).argmax(0)[None] for rank in (below, np.minimum(below + 1, total - 1)))
        low, high = (np.take_along_axis(ranked, index, 0)[0] for index in (first, second))
        ends.append(low + (high - low) * (place - below))
    return Interval(ends[0], ends[1])
