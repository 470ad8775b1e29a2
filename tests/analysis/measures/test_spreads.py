"""Spreads and deviations: worked by hand, and simulated with and without an effect."""

from collections.abc import Callable

import numpy as np
import pytest

from derl.analysis.measures.effects import mean_effect
from derl.analysis.measures.spreads import can_tell, gap_of_deviations, spread_of
from derl.experiments.cases import Case

EXPERIMENTS = 60
"""How many are simulated for each share that is checked."""
Sample = Callable[[np.random.Generator], np.ndarray]


def spread(runs, seed=0):
    """Of values x runs."""
    cases = [Case.of("a2c", "DeepSea-10", {"bonus.scale": float(i + 100 * seed)}) for i in range(len(runs))]
    return spread_of(dict(zip(cases, map(np.array, runs), strict=True)), samples=400)


def share(rng: np.random.Generator, holds: Callable[[np.random.Generator], bool], count: int = EXPERIMENTS) -> float:
    return float(np.mean([holds(rng) for _ in range(count)]))


def coins(chance: float, values: int = 9, runs: int = 5) -> Sample:
    """Runs that end at 0 or 1, whatever the value."""
    return lambda rng: (rng.random((values, runs)) < chance) * 1.0


def normal(deviation: float, spread: float = 0.0, values: int = 9, runs: int = 5) -> Sample:
    """Runs whose true means have a spread."""
    means = np.linspace(-1, 1, values) * (spread / np.linspace(-1, 1, 9).std())
    return lambda rng: means[:, None] + rng.normal(0, deviation, (values, runs))


def test_without_noise_a_spread_is_a_deviation():
    assert spread([[0.0, 0.0], [1.0, 1.0]]).estimate() == (0.5, 0.5, 0.5)


def test_the_variance_of_means_without_that_of_noise():
    # Means 1 and 3 have the variance 1. Runs have 2 in each case, a mean of two 1, and half of that is in the variance.
    assert spread([[0.0, 2.0], [2.0, 4.0]]).value == pytest.approx(np.sqrt(1 - 0.5 * 1))
    # The means are the same, although noise alone would have made them differ: less than nothing.
    assert spread([[0.0, 2.0], [0.0, 2.0]]).value == pytest.approx(-np.sqrt(0.5))


def test_the_variance_is_estimated_without_bias():
    rng = np.random.default_rng(0)
    found = [spread(normal(0.3, 0.2, runs=3)(rng)).value for _ in range(200)]
    assert np.mean(np.sign(found) * np.square(found)) == pytest.approx(0.04, abs=0.005)


@pytest.mark.parametrize("null", [coins(0.5), coins(0.8), normal(0.3), coins(0.5, runs=3)])
def test_seeds_alone_do_not_make_a_method_sensitive(null):
    """Claim 1, "above 0.1", of methods that do not care: the share of false ones is small."""
    assert share(np.random.default_rng(1), lambda rng: spread(null(rng)).estimate().low > 0.1) <= 0.1


def test_a_method_that_cares_is_found():
    assert share(np.random.default_rng(2), lambda rng: spread(normal(0.1, 0.3)(rng)).estimate().low > 0.1) == 1
    # And one that does not, where runs agree well enough to tell.
    assert share(np.random.default_rng(2), lambda rng: spread(normal(0.05)(rng)).estimate().high < 0.1) == 1


@pytest.mark.parametrize("pair", [(normal(0.05), normal(0.3)), (normal(0.3), normal(0.05)), (coins(0.9), coins(0.5))])
def test_noise_alone_does_not_make_a_method_more_robust(pair):
    """Claim 2, "below 0", of two methods that do not care, one of which is noisier."""
    found = share(
        np.random.default_rng(3), lambda rng: (spread(pair[0](rng)) - spread(pair[1](rng))).estimate().high < 0
    )
    assert found <= 0.1


def test_a_method_that_cares_less_is_found():
    pair = normal(0.1, 0.05), normal(0.1, 0.3)
    assert (
        share(np.random.default_rng(4), lambda rng: (spread(pair[0](rng)) - spread(pair[1](rng))).estimate().high < 0)
        == 1
    )


@pytest.mark.parametrize(("true", "noise"), [(0.15, 0.3), (0.1, 0.2), (0.15, 0.05)])
def test_a_whole_is_as_large_as_its_cases_and_as_sure_as_it_says(true, noise):
    """Roots of noisy variances are too small on average, so that it is variances that are averaged."""
    rng = np.random.default_rng(9)

    def whole():
        return mean_effect([spread(normal(noise, true)(rng), seed=i) for i in range(17)])

    found = [whole().estimate() for _ in range(EXPERIMENTS)]
    assert np.mean([estimate.value for estimate in found]) == pytest.approx(true, abs=0.01)
    assert np.mean([estimate.low <= true <= estimate.high for estimate in found]) >= 0.85


def test_noise_does_not_make_many_methods_more_robust():
    """Claim 2 as a whole, of methods that care as much as the others but are noisier."""

    def less(rng: np.random.Generator) -> bool:
        pairs = (spread(normal(0.3, 0.15)(rng), i) - spread(normal(0.1, 0.15)(rng), 50 + i) for i in range(12))
        return mean_effect(list(pairs)).estimate().high < 0

    assert share(np.random.default_rng(10), less) <= 0.1


def test_several_spreads_are_the_root_of_their_mean_variance():
    ours, theirs = spread([[0.0, 0.0], [1.0, 1.0]]), spread([[0.0, 0.0], [0.2, 0.2]])
    assert mean_effect([ours, theirs]).value == pytest.approx(np.sqrt((0.25 + 0.01) / 2))
    # Means of means and of differences are no others.
    assert mean_effect([mean_effect([ours, theirs])] * 2).value == pytest.approx(np.sqrt(0.13))
    assert mean_effect([ours - theirs, ours - ours]).value == pytest.approx(0.5 - np.sqrt(0.13))


def test_deviations_over_runs():
    effect = gap_of_deviations(np.array([[0.0, 1.0], [1.0, 1.0]]), np.array([[1.0, 1.0], [1.0, 1.0]]))
    assert effect.value == pytest.approx((0.5 + 0) / 2)
    # The run that differs is on either side: the deviation is 0.25 there and 0 on the other.
    assert set(effect.draws) == {0.0, 0.5}


def test_how_many_runs_it_takes():
    # Of the 20 ways to deal three and three the most extreme is one: more than 2.5 %.
    assert [can_tell(n, n) for n in (2, 3, 4, 5)] == [False, False, True, True]


def curves(values: np.ndarray) -> np.ndarray:
    """Runs that rise to these values."""
    return values[:, None] * np.linspace(0.2, 1, 10)


def less(rng: np.random.Generator, ours: Sample, theirs: Sample, cases: int = 4) -> bool:
    """Whether constraints are said to reduce the deviation, of all cases together."""
    pairs = [(curves(ours(rng)[0]), curves(theirs(rng)[0])) for _ in range(cases)]
    seeds = rng.integers(1000, size=cases)
    gaps = [gap_of_deviations(*pair, seed=int(s), samples=2000) for pair, s in zip(pairs, seeds, strict=True)]
    return mean_effect(gaps).estimate().high < 0


@pytest.mark.parametrize("null", [normal(0.1, values=1, runs=3), coins(0.5, 1, 3), coins(0.8, 1, 3), coins(0.8, 1, 5)])
def test_no_difference_is_not_called_less(null):
    assert share(np.random.default_rng(5), lambda rng: less(rng, null, null)) <= 0.1


def test_a_mean_that_moves_is_not_less_deviation():
    moved, plain = (lambda rng, m=m: m + normal(0.1, values=1, runs=3)(rng) for m in (0.9, 0.5))
    assert share(np.random.default_rng(6), lambda rng: less(rng, moved, plain)) <= 0.1


def test_three_runs_show_less_deviation_in_four_cases_but_never_in_one():
    ours, theirs = normal(0.01, values=1, runs=3), normal(0.3, values=1, runs=3)
    assert share(np.random.default_rng(7), lambda rng: less(rng, ours, theirs)) > 0.9
    assert share(np.random.default_rng(8), lambda rng: less(rng, ours, theirs, cases=1)) == 0
