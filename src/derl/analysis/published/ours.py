"""Our number for every published one: of which runs it is, and the interval that decides whether the two agree."""

import dataclasses
from collections.abc import Iterable

import numpy as np
from jaxtyping import Float

from derl.analysis.measures.frames import EVALUATIONS, Results
from derl.analysis.measures.spreads import can_tell
from derl.analysis.measures.statistics import (
    LEVEL,
    SAMPLES,
    Interval,
    Score,
    average_return,
    deals,
    interval_of,
    maximum_return,
    maximum_without_nan,
    mean_without_nan,
    means_of,
    repeated_interval,
    sound_runs,
    ways_of_drawing,
)
from derl.experiments.cases import Case
from derl.experiments.paper import Statistic

DRAWN = 5
"""The runs behind a published number."""
ROUNDING = 0.005
"""Published numbers have two digits."""
TOLERANCE = 0.02
"""What is added at both ends of the interval: published numbers are rounded, and some of ours hardly vary."""


@dataclasses.dataclass(frozen=True)
class Ours:
    """Our number for a case and statistic."""

    score: Score
    interval: Interval
    seeds: int

    def agrees_with(self, published: float) -> bool:
        """Whether the two are consistent."""
        return contains(self.interval, published)


OurNumbers = dict[tuple[Case, Statistic], Ours]
"""Ours by case and statistic."""


def contains(interval: Interval, published: float) -> bool:
    """The rule."""
    return bool(interval.low - TOLERANCE <= published <= interval.high + TOLERANCE)


def our_numbers(
    results: Results,
    wanted: Iterable[tuple[Case, Statistic]],
    evaluations: int = EVALUATIONS,
    runs: int | None = None,
) -> OurNumbers:
    """Ours for every case and statistic that has finished runs, with the interval of the mean of five.

    Of so many `runs`, those with the first seeds; by default of all.
    """
    found, seen = {}, {}
    for case, statistic in wanted:
        if case not in seen:
            seen[case] = results.finished(case, evaluations=evaluations)
        returns = None if seen[case] is None else seen[case][:runs]
        if returns is None or not np.isfinite(returns).any():
            continue
        found[case, statistic] = number_from(returns, statistic)
    return found


def number_from(returns: Float[np.ndarray, "runs evaluations"], statistic: Statistic, drawn: int = DRAWN) -> Ours:
    """The number that some runs make, with the interval of so many of them."""
    score = average_return(returns) if statistic == "average" else maximum_return(returns)
    return Ours(score, interval_of_draws(returns, statistic, drawn), len(returns))


def interval_of_draws(
    returns: Float[np.ndarray, "runs evaluations"], statistic: Statistic, drawn: int = DRAWN
) -> Interval:
    """The 95 % bootstrap interval of the statistic of five runs drawn from ours, or of another number of them.

    Five runs can be drawn from five in only 126 ways that matter. Each is worked out once and counts as often as it was
    drawn, which makes hundreds of intervals a matter of a second.
    """
    returns = sound_runs(returns)
    ways, times = ways_of_drawing(len(returns), drawn)
    curves = means_of(ways, returns)
    return repeated_interval(_statistic_of(curves, statistic), times)


def chance_of_reaching(
    returns: Float[np.ndarray, "runs evaluations"], statistic: Statistic, published: float, drawn: int = DRAWN
) -> float:
    """How probably so many runs drawn from these have a number that is as far off as the published one, or further, on
    the same side of what they have in the mean; published numbers have two digits."""
    ways, times = ways_of_drawing(len(returns), drawn)
    made = _statistic_of(means_of(ways, returns), statistic)
    above = published >= number_from(returns, statistic).score.value
    beyond = made >= published - ROUNDING if above else made <= published + ROUNDING
    return float(times @ beyond / times.sum())


def widest_interval(
    returns: Float[np.ndarray, "runs evaluations"], statistic: Statistic, low: float, high: float, drawn: int = DRAWN
) -> Interval:
    """The 95 % interval of the statistic of so many further runs by Laplace's rule of succession.

    Runs drawn from ours are never like none of them, and where all of ours are alike the bootstrap's interval has no
    width at all. Here one run at the lowest return and one at the best are added to ours, and a run that was drawn goes
    back twice (Polya's urn, which is a draw from the posterior with a flat prior). Of ten runs that all fail the next
    five then have one success or more in a third of cases, as it should be: one of 5 and none of 10 differ with
    p = 1/3 by Fisher's exact test. So ten runs can refute that two or three of five are unlike all of them, but not
    that one is; some two hundred could.
    """
    returns = sound_runs(returns)
    ends = np.repeat([[low], [high]], returns.shape[1], axis=1)
    urn = np.concatenate([returns, ends])
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.ones(len(urn)), SAMPLES)
    ways = rng.multinomial(drawn, shares).astype(np.float64)
    return interval_of(_statistic_of(means_of(ways, urn), statistic))


def _statistic_of(curves: Float[np.ndarray, "ways evaluations"], statistic: Statistic) -> Float[np.ndarray, " ways"]:
    return mean_without_nan(curves, 1) if statistic == "average" else maximum_without_nan(curves, 1)


def changes(
    ours: Float[np.ndarray, "runs evaluations"],
    option: Float[np.ndarray, "others evaluations"],
    statistic: Statistic,
    options: int = 1,
) -> bool | None:
    """Whether an option's runs differ from ours by more than seeds make them; None if there are too few runs to tell.

    A permutation test (see `deals`) at 5 %, divided by how many options were tried on the same number: each is a chance
    of its own to differ by luck (Bonferroni).
    """
    ours, option = sound_runs(ours), sound_runs(option)
    if not can_tell(len(ours), len(option), options):
        return None
    together = np.concatenate([ours, option])
    sides = deals(len(ours), len(together))
    one, other = (_statistic_of(means_of(side.astype(np.float64), together), statistic) for side in (sides, ~sides))
    gaps = np.abs(one - other)
    return bool((gaps[1:] >= gaps[0] - 1e-9).mean() < (1 - LEVEL) / options)
