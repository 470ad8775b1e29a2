"""What published numbers say against themselves: how many runs one can be of, and maxima below their own average.

The paper says that all its results are of five runs. But its maxima come with the standard deviation over runs, and a
few returns cannot deviate by any amount: of five between -0.01 and 0.99 whose mean is 0.70 three are at the top and one
at the bottom at most, which makes 0.40, and the paper has 0.45. So that number is of other runs than the paper says,
and the average of the same runs in Table 1 with it. And the maximum of a curve is never below its average: where it is,
one of the two numbers is not of these runs.
"""

import dataclasses
from functools import cache
from math import floor, sqrt
from typing import NamedTuple

from derl.analysis.measures.numbers import signed
from derl.analysis.published.ours import DRAWN, ROUNDING
from derl.analysis.published.tables import table_of
from derl.envs.registry import make
from derl.experiments.cases import Case
from derl.experiments.paper import Cell, cells

MAXIMA = ("tab:deepsea_max_returns", "tab:hallway_max_returns")
"""Where a deviation is that over runs. (Elsewhere it is that over evaluations, or half an interval.)"""
MOST = 30
"""Numbers of runs are tried up to here."""
SMALLEST = 4
"""So many of the numbers of runs that are possible are told."""


def largest_deviation(mean: float, runs: int, low: float, high: float) -> float:
    """The largest standard deviation of so many returns between two bounds, given their mean.

    Moving two returns apart that are not at a bound keeps the mean and raises the deviation. So it is largest with k
    returns at the top, one at the rest f, and all others at the bottom; on a scale on which the bounds are 0 and 1,

        n mean = k + f,   variance = (k + f^2) / n - mean^2.
    """
    share = (mean - low) / (high - low)
    at_top = floor(runs * share + 1e-9)
    rest = runs * share - at_top
    return (high - low) * sqrt(max((at_top + rest**2) / runs - share**2, 0.0))


def largest_of_rounded(mean: float, runs: int, low: float, high: float) -> float:
    """`largest_deviation`, given a mean that is rounded.

    Between two means that k and k + 1 returns at the top make, the largest deviation has no maximum of its own: so it
    is at one of these, or at an end of what is rounded to the mean.
    """
    least, most = max(mean - ROUNDING, low), min(mean + ROUNDING, high)
    made = (low + k / runs * (high - low) for k in range(runs + 1))
    means = [least, most, *(m for m in made if least < m < most)]
    return max(largest_deviation(m, runs, low, high) for m in means)


def can_be_of(mean: float, std: float, runs: int, low: float, high: float) -> bool:
    """Whether so many returns between two bounds can have this mean and deviation, both of them rounded."""
    return largest_of_rounded(mean, runs, low, high) >= std - ROUNDING - 1e-9


@dataclasses.dataclass(frozen=True)
class Contradiction:
    """A published maximum whose deviation five runs cannot have."""

    maximum: Cell
    low: float
    high: float
    """Between these are all returns of the task."""
    most: float
    """By so much five returns with this mean deviate at most."""
    possible: tuple[int, ...]
    """Numbers of runs, up to `MOST`, that can deviate by so much."""

    @property
    def text(self) -> str:
        """What is wrong, in words."""
        return (
            f"The published maximum of these runs, {self.maximum.mean:.2f} ± {self.maximum.std:.2f}, cannot be that of "
            f"five: with returns between {signed(self.low)} and {self.high:.2f} and this mean five deviate by "
            f"{self.most:.2f} at most. It can be that of {', '.join(map(str, self.possible[:SMALLEST]))} or more."
        )


def not_of_five_runs(cell: Cell) -> Contradiction | None:
    """Why a published number cannot be of five runs; None if it can, or nobody knows.

    An average is judged by the maximum of the same runs.
    """
    return contradictions().get(cell.case) if cell.table in ("tab:mean_returns", *MAXIMA) else None


def fewest_runs(cell: Cell) -> int:
    """The runs a published number is taken to be of: five, as the paper says, or the fewest it can be of if it cannot.

    Nobody knows how many those are. Means of more runs vary less, so what the fewest cannot make more hardly can; but
    what the fewest can make more may not. The paper's search for hyper-parameters had three runs of everything.
    """
    contradiction = not_of_five_runs(cell)
    return DRAWN if contradiction is None else contradiction.possible[0]


@cache
def contradictions() -> dict[Case, Contradiction]:
    """All maxima of the paper that cannot be of five runs, by their case."""
    found = (_contradiction(cell) for cell in cells() if cell.table in MAXIMA)
    return {c.maximum.case: c for c in found if c is not None}


class Pair(NamedTuple):
    """The two published numbers of the same runs."""

    average: Cell
    maximum: Cell

    @property
    def text(self) -> str:
        """What is wrong with a maximum below its average."""
        return (
            f"The paper has an average of {signed(self.average.mean)} and a maximum of {signed(self.maximum.mean)} for "
            "these runs; no curve has a maximum below its average, so that one of the two is not theirs."
        )


@cache
def maxima_below_averages() -> tuple[Pair, ...]:
    """Every pair that no runs can have, beyond what rounding does."""
    averages = {(c.case, c.row, _experiment(c)): c for c in cells() if c.statistic == "average"}
    maxima = [c for c in cells() if c.statistic == "maximum"]
    pairs = [Pair(averages[key], c) for c in maxima if (key := (c.case, c.row, _experiment(c))) in averages]
    return tuple(pair for pair in pairs if pair.maximum.mean < pair.average.mean - 2 * ROUNDING - 1e-9)


def impossible_pair(cell: Cell) -> Pair | None:
    """The pair a published number belongs to, if no runs can have both."""
    return next((pair for pair in maxima_below_averages() if cell in pair), None)


def _experiment(cell: Cell) -> str:
    return table_of(cell.table).experiment


def _contradiction(maximum: Cell) -> Contradiction | None:
    env, (mean, std) = make(maximum.case.task), (maximum.mean, maximum.std)
    low, high = env.lowest_return, env.optimal_return
    assert low is not None
    assert high is not None
    if can_be_of(mean, std, DRAWN, low, high):
        return None
    possible = tuple(n for n in range(2, MOST + 1) if can_be_of(mean, std, n, low, high))
    assert possible, f"{maximum} is of no number of runs up to {MOST}"
    return Contradiction(maximum, low, high, largest_of_rounded(mean, DRAWN, low, high), possible)
