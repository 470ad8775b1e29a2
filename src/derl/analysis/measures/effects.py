"""Effects with their bootstrap draws, so that differences and means of effects have intervals too."""

import dataclasses
from collections.abc import Sequence
from zlib import crc32

import numpy as np
from jaxtyping import Float

from derl.analysis.measures.aggregates import Estimate, normalised
from derl.analysis.measures.frames import Results
from derl.analysis.measures.statistics import (
    LEVEL,
    SAMPLES,
    bootstrap_means,
    interval_of,
    maximum_without_nan,
    mean_without_nan,
    sound_runs,
)
from derl.experiments.cases import Case


@dataclasses.dataclass(frozen=True)
class Effect:
    """A number, and what it would have been under other draws of the runs."""

    value: float
    draws: Float[np.ndarray, " samples"]
    roots_of: tuple["Effect", ...] = ()
    """Of a standard deviation its variance, of the difference of two both (see `spread_effect`)."""

    def estimate(self, level: float = LEVEL) -> Estimate:
        """The number with its 95 % interval, or that of another level."""
        low, high = interval_of(self.draws, level)
        return Estimate(self.value, float(low), float(high))

    def __sub__(self, other: "Effect") -> "Effect":
        roots_of = (*self.roots_of, *other.roots_of)
        return Effect(self.value - other.value, self.draws - other.draws, roots_of)


def exact(value: float) -> Effect:
    """A number without draws, such as one of the paper's."""
    return Effect(value, np.zeros(0))


def spread_effect(variance: Effect) -> Effect:
    """The root of a variance, with the sign that a variance has where its noise was subtracted."""
    value, draws = (np.sign(x) * np.sqrt(np.abs(x)) for x in (variance.value, variance.draws))
    return Effect(float(value), draws, (variance,))


def mean_effect(effects: Sequence[Effect]) -> Effect:
    """The mean of several effects: each counts the same.

    Of standard deviations it is the root of the mean variance. The mean of their roots would be too small, the more so
    the noisier their runs are: of two methods with equal spreads the noisier one would look like the more robust.
    """
    if effects[0].roots_of:
        own, *other = (spread_effect(mean_effect(some)) for some in zip(*(e.roots_of for e in effects), strict=True))
        return own - other[0] if other else own
    return Effect(float(np.mean([e.value for e in effects])), np.mean([e.draws for e in effects], axis=0))


def seed_of(case: Case) -> int:
    """A seed of a case's own: different cases are drawn independently, the same one always alike."""
    return crc32(f"{case.recipe} {case.task} {case.setting}".encode())


def several_runs(results: Results, case: Case, column: str, evaluations: int) -> np.ndarray | None:
    """A column of the finished runs that did not fail from the start; None if there are fewer than two."""
    values = results.finished(case, column, evaluations)
    if values is None:
        return None
    values = sound_runs(values)
    return values if len(values) > 1 else None


def drawn_curves(results: Results, case: Case, column: str, evaluations: int) -> tuple[np.ndarray, np.ndarray] | None:
    """The mean over runs at every evaluation, and the same under other draws; None with fewer than two runs."""
    values = several_runs(results, case, column, evaluations)
    if values is None:
        return None
    return mean_without_nan(values), drawn_means(values, seed_of(case))


def drawn_means(values: Float[np.ndarray, "runs n"], seed: int) -> Float[np.ndarray, "samples n"]:
    """Means over runs drawn anew, moved apart by sqrt(n / (n - 1)): n runs drawn from themselves vary by that much less
    than n others would, which for the paper's three runs is a fifth."""
    middle, runs = mean_without_nan(values), len(values)
    return middle + (bootstrap_means(values, samples=SAMPLES, seed=seed) - middle) * np.sqrt(runs / (runs - 1))


def average_effect(results: Results, case: Case, evaluations: int, column: str = "return") -> Effect | None:
    """The average over evaluations of a column; returns are normalised. None with fewer than two runs."""
    values = several_runs(results, case, column, evaluations)
    if values is None:
        return None
    if column.endswith("return"):
        values = normalised(values, case.task)
    # Where nothing is missing, the average of the mean is the mean of the runs' averages, which is much less to draw.
    averages = values.mean(1, keepdims=True) if np.isfinite(values).all() else values
    drawn = drawn_means(averages, seed_of(case))
    return Effect(float(mean_without_nan(mean_without_nan(values))), mean_without_nan(drawn, 1))


def maximum_effect(results: Results, case: Case, evaluations: int) -> Effect | None:
    """The best evaluation's mean over runs, normalised.

    The best of a hundred drawn means is higher than they are in the mean, so that its draws lie too high as well. They
    are moved to where they would be if that did not matter.
    """
    curves = drawn_curves(results, case, "return", evaluations)
    if curves is None:
        return None
    curve, drawn = (normalised(c, case.task) for c in curves)
    value, draws = float(maximum_without_nan(curve)), maximum_without_nan(drawn, 1)
    return Effect(value, draws - draws.mean() + value)
