"""How often the rule would call an average different by luck alone: the published runs being other seeds of ours.

Nobody has the runs behind the paper, but an experiment like it can be made up: five runs for ours, five for the
published number, all drawn from what we have. Ours being only five, that is itself uncertain, so it is done in two
ways. Where runs are drawn from ours alone none is unlike them, which makes for too little luck; where, by Laplace's
rule of succession, a run at the lowest return and one at the best are added to them, runs may be unlike any of ours,
which makes for too much where they really are all alike.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from derl.analysis.measures.statistics import mean_without_nan, repeated_interval, ways_of_drawing
from derl.analysis.published.ours import DRAWN, TOLERANCE

WORLDS = 300
"""How many experiments are made up."""


class Chance(NamedTuple):
    """The probability of a difference by luck alone, if runs are like ours, and if they may be unlike any of them."""

    like_ours: float
    unlike: float


def chance_of_difference(returns: Float[np.ndarray, "runs evaluations"], low: float, high: float) -> Chance:
    """How probable it is that the averages of two experiments with five runs each are called different.

    The lowest and the best return of the task are `low` and `high`.
    """
    averages = mean_without_nan(returns[np.isfinite(returns).any(1)], 1)
    rng, runs = np.random.default_rng(0), len(averages)
    like_ours = np.full((WORLDS, runs), 1 / runs)
    unlike = rng.dirichlet(np.ones(runs + 2), WORLDS)
    return Chance(_chance(rng, averages, like_ours), _chance(rng, np.append(averages, [low, high]), unlike))


def _chance(
    rng: np.random.Generator, values: Float[np.ndarray, " values"], shares: Float[np.ndarray, "worlds values"]
) -> float:
    """The share of worlds that differ, in each of which the values have these shares of all runs."""
    drawn = rng.random((len(shares), 2 * DRAWN, 1)) > np.cumsum(shares, 1)[:, None, :-1]
    ours, theirs = np.split(values[drawn.sum(-1)], 2, axis=1)
    ways, times = ways_of_drawing(DRAWN, DRAWN)
    low, high = repeated_interval(np.einsum("wr,nr->wn", ways, ours) / DRAWN, times)
    published = theirs.mean(1)
    return float(((published < low - TOLERANCE) | (published > high + TOLERANCE)).mean())
