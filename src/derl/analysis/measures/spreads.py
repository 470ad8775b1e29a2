"""How much numbers vary, told apart from the noise of seeds: over values of a setting, and over the runs of a case.

The mean of five runs is never the same twice. A spread over values therefore looks larger than it is, the more so the
noisier the runs are: without a correction a method that does not care about a setting at all, but whose runs end at 0
or 1, would be called sensitive to it.
"""

from collections.abc import Mapping
from math import comb

import numpy as np
from jaxtyping import Float

from derl.analysis.measures.aggregates import normalised
from derl.analysis.measures.effects import Effect, seed_of, spread_effect
from derl.analysis.measures.frames import Results
from derl.analysis.measures.statistics import LEVEL, SAMPLES, deals, mean_without_nan, sound_runs
from derl.experiments.cases import Case

Runs = Float[np.ndarray, " runs"]
DIGITS = 6
"""Deviations are rounded to so many digits: equal ones may differ in their last bits, and equal is not less."""


def run_averages(results: Results, case: Case, evaluations: int) -> Runs | None:
    """Every run's average return, normalised; None with fewer than two runs."""
    averages = _averages(results, case, evaluations)
    return averages if len(averages) >= 2 else None


def single_average(results: Results, case: Case, evaluations: int) -> float | None:
    """The average return of a case's only run, normalised; None if it has none or several."""
    averages = _averages(results, case, evaluations)
    return float(averages[0]) if len(averages) == 1 else None


def _averages(results: Results, case: Case, evaluations: int) -> Runs:
    values = results.finished(case, evaluations=evaluations)
    if values is None:
        return np.zeros(0)
    return normalised(mean_without_nan(sound_runs(values), 1), case.task)


def spread_of(runs: Mapping[Case, Runs], samples: int = SAMPLES) -> Effect:
    """The standard deviation over cases (such as all values of lambda) of what their runs have in the mean.

    Of k cases with n runs each the variance of the means is, in expectation,

        V + (1 - 1/k) mean(s^2 / n),

    where V is the variance of the true means and s^2 that of a case's runs. The second part is subtracted. What is left
    may be negative: the means then differ less than noise alone would make them. The spread is its root, with the
    same sign, so that the mean over methods that do not care is zero.
    """
    share = 1 - 1 / len(runs)
    means = np.array([x.mean() for x in runs.values()])
    noise = share * float(np.mean([x.var(ddof=1) / len(x) for x in runs.values()]))
    drawn = [_draw(x, seed_of(case), samples) for case, x in runs.items()]
    drawn_means, drawn_noise = (np.stack(parts) for parts in zip(*drawn, strict=True))
    # A draw's means have their noise twice: once as they were measured, once as they were drawn.
    variance = drawn_means.var(0) - share * drawn_noise.mean(0) - noise
    return spread_effect(Effect(float(means.var() - noise), variance))


def _draw(runs: Runs, seed: int, samples: int) -> tuple[np.ndarray, np.ndarray]:
    """Means of runs drawn anew, and estimates of the variance of each mean.

    Drawn runs vary less than runs do, by (n - 1) / n; hence they are moved apart first.
    """
    count = len(runs)
    apart = runs.mean() + (runs - runs.mean()) * np.sqrt(count / (count - 1))
    shares = np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), samples) / count
    means = shares @ apart
    return means, np.maximum(shares @ apart**2 - means**2, 0) / (count - 1)


def deviation_gap(results: Results, ours: Case, theirs: Case, evaluations: int) -> Effect | None:
    """The standard deviation of normalised returns over our runs minus that over theirs, averaged over evaluations.

    A bootstrap cannot say how sure a deviation of three runs is: one draw in nine is the same run three times. So this
    is a permutation test: all runs are dealt anew to the two sides. If the sides do not differ every deal is as good as
    the one we have, however runs are distributed; the interval holds 0 unless ours is among the most extreme of them.
    """
    found = [results.finished(case, evaluations=evaluations) for case in (ours, theirs)]
    if any(v is None or len(v) < 2 or not np.isfinite(v).all() for v in found):
        return None
    sides = [normalised(v, case.task) for v, case in zip(found, (ours, theirs), strict=True) if v is not None]
    return gap_of_deviations(sides[0], sides[1], seed_of(ours))


def gap_of_deviations(
    ours: Float[np.ndarray, "runs n"], theirs: Float[np.ndarray, "others n"], seed: int = 0, samples: int = SAMPLES
) -> Effect:
    """`deviation_gap` of two arrays."""
    together = np.concatenate([ours, theirs])
    together = together - together.mean(0)
    sides = deals(len(ours), len(together), samples=samples, seed=seed)
    gaps = np.round(_deviation(together, sides) - _deviation(together, ~sides), DIGITS)
    return Effect(float(gaps[0]), gaps[0] - gaps[1:])


def _deviation(values: Float[np.ndarray, "runs n"], chosen: np.ndarray) -> Float[np.ndarray, " deals"]:
    shares = chosen / chosen.sum(1, keepdims=True)
    variance = shares @ values**2 - (shares @ values) ** 2
    return np.sqrt(np.maximum(variance, 0)).mean(1)


def can_tell(ours: int, theirs: int, looks: int = 1) -> bool:
    """Whether so many runs can be dealt in enough ways for the most extreme one to be rarer than chance allows, if it
    is one of so many tests of the same thing."""
    return 1 / comb(ours + theirs, ours) < (1 - LEVEL) / looks / 2
