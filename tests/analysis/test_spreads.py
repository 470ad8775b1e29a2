"""Spreads and deviations: worked by hand, and simulated with and without an effect."""

from collections.abc import Callable

import numpy as np
import pytest

from derl.analysis.spreads import spread_of
from derl.experiments.cases import Case

EXPERIMENTS = 60
"""How many are simulated for each share that is checked."""
Sample = Callable[[np.random.Generator], np.ndarray]


def spread(runs):
    """Of values x runs."""
    cases = [Case.of("a2c", "DeepSea-10", {"bonus.scale": float(i)}) for i in range(len(runs))]
    return spread_of(dict(zip(cases, map(np.array, runs), strict=True)), samples=400)


def share(rng: np.random.Generator, holds: Callable[[np.random.Generator], bool], count: int = EXPERIMENTS) -> float:
    return float(np.mean([holds(rng) for _ in range(count)]))


def coins(chance: float, values: int = 9, runs: int = 5) -> Sample:
    """Runs that end at 0 or 1, whatever the value."""
    return lambda rng: (rng.random((values, runs)) < chance) * 1.0


def normal(deviation: float, spread: float = 0.0, values: int = 9, runs: int = 5) -> Sample:
    """Runs whose true means have a spread."""
    means = np.linspace(-1, 1, values) / np.linspace(-1, 1, values).std() * spread
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
