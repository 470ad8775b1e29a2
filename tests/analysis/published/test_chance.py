"""How often luck alone makes a difference: worked by hand for coins, and for runs that are all alike."""

import math

import numpy as np
import polars as pl
import pytest

from analysis.made_up import frame_of
from analysis.published.judging import cell, runs
from derl.analysis.pages.reproduction import expected_by_luck, luck_alone
from derl.analysis.published.chance import chance_of_difference
from derl.analysis.published.ours import interval_of_draws
from derl.analysis.published.verdicts import verdict_frame, verdicts
from derl.experiments.cases import Case
from derl.experiments.paper import cells


def returns_of(*levels: float) -> np.ndarray:
    return np.repeat(np.array(levels)[:, None], 3, axis=1)


def test_runs_that_are_all_alike_never_differ():
    assert chance_of_difference(returns_of(*[0.5] * 5)) == 0


@pytest.mark.parametrize("one", [-0.02, 0.02])
def test_what_lies_within_the_tolerance_does_not_differ(one):
    """One run is off by as much as the rule allows, above or below the others."""
    assert chance_of_difference(returns_of(0.0, 0.0, 0.0, 0.0, one)) == 0
    # Twice and five times as much, for the mean of five: what then differs is all runs against the one.
    assert chance_of_difference(returns_of(0.0, 0.0, 0.0, 0.0, 5.1 * one)) > 0


def test_coins():
    """Two of five runs at 1: with k of ours and m of theirs the rule decides, and both are binomial."""
    exact, binomial = 0.0, np.array([math.comb(5, k) * 0.4**k * 0.6 ** (5 - k) for k in range(6)])
    for k in range(6):
        low, high = interval_of_draws(returns_of(*[1.0] * k, *[0.0] * (5 - k)), "average")
        outside = [m for m in range(6) if not low - 0.02 <= m / 5 <= high + 0.02]
        exact += binomial[k] * binomial[outside].sum()
    assert 0.02 < exact < 0.3
    assert chance_of_difference(returns_of(1, 1, 0, 0, 0)) == pytest.approx(exact, abs=0.02)


def test_failed_runs_do_not_count():
    whole = returns_of(1, 1, 0, 0, 0)
    assert chance_of_difference(np.concatenate([whole, np.full((1, 3), np.nan)])) == chance_of_difference(whole)


def test_it_is_of_the_runs_that_the_verdict_is_of():
    """Further seeds change neither."""
    five = (0.1, 0.1, 0.1, 0.99, 0.99)
    alone, beside = (verdicts(runs(*five, *further), [cell(0.5)])[0] for further in ((), [0.1] * 10))
    assert alone.chance == beside.chance
    assert alone.chance is not None
    assert alone.chance > 0.01


def test_what_the_pages_say():
    case = Case.of("a2c-count", "DeepSea-10")
    there = [c for c in cells() if c.case == case and c.table in ("tab:mean_returns", "tab:deepsea_max_returns")]
    judged = verdicts(frame_of({case: [[x] * 100 for x in (0.1, 0.1, 0.1, 0.99, 0.99)]}), there)
    assert [v.chance is None for v in judged] == [c.statistic == "maximum" for c in there]
    assert luck_alone(judged).startswith("Averages of five runs: 1, of which 1 differs. ")
    few = verdicts(frame_of({case: [[0.1] * 100] * 4}), there)
    assert (luck_alone(few), expected_by_luck(few)) == ("", None)
    # Training of another length differs for that reason: there is no saying what luck would do.
    shorter = frame_of({case: [[x] * 100 for x in (0.1, 0.1, 0.1, 0.99, 0.99)]})
    shorter = shorter.with_columns(episodes=pl.col("episodes") // 10)
    assert luck_alone(verdicts(shorter, there)) == ""
    assert verdict_frame(judged).filter(pl.col("statistic") == "average")["chance"].null_count() == 0
