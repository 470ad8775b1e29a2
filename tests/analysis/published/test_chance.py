"""How often luck alone makes a difference: worked by hand for coins, and for runs that are all alike."""

import numpy as np
import polars as pl
import pytest

from analysis.made_up import frame_of
from derl.analysis.pages.reproduction import luck_alone
from derl.analysis.published.chance import chance_of_difference
from derl.analysis.published.ours import interval_of_five
from derl.analysis.published.verdicts import verdict_frame, verdicts
from derl.experiments.cases import Case
from derl.experiments.paper import cells


def returns_of(*levels: float) -> np.ndarray:
    return np.repeat(np.array(levels)[:, None], 3, axis=1)


def test_runs_that_are_all_alike_differ_only_if_others_may_not_be():
    alike = chance_of_difference(returns_of(*[0.5] * 5), 0.0, 1.0)
    assert alike.like_ours == 0
    # Of seven balls two are others; two experiments of five runs then mostly have some of them.
    assert 0.2 < alike.unlike < 0.6
    # The more runs are alike, the rarer others are.
    assert chance_of_difference(returns_of(*[0.5] * 50), 0.0, 1.0).unlike < 0.6 * alike.unlike


def test_coins():
    """Two of five runs at 1: with k of ours and m of theirs the rule decides, and both are binomial."""
    exact, binomial = 0.0, np.bincount(np.random.default_rng(1).binomial(5, 0.4, 200_000), minlength=6) / 200_000
    for k in range(6):
        low, high = interval_of_five(returns_of(*[1.0] * k, *[0.0] * (5 - k)), "average")
        outside = [m for m in range(6) if not low - 0.02 <= m / 5 <= high + 0.02]
        exact += binomial[k] * binomial[outside].sum()
    found = chance_of_difference(returns_of(1, 1, 0, 0, 0), 0.0, 1.0).like_ours
    assert 0.02 < exact < 0.3
    assert found == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 300))


def test_failed_runs_do_not_count():
    failed = np.full((1, 3), np.nan)
    whole = returns_of(1, 1, 0, 0, 0)
    assert chance_of_difference(np.concatenate([whole, failed]), 0.0, 1.0) == chance_of_difference(whole, 0.0, 1.0)


def test_what_the_pages_say():
    case = Case.of("a2c-count", "DeepSea-10")
    there = [c for c in cells() if c.case == case and c.table in ("tab:mean_returns", "tab:deepsea_max_returns")]
    judged = verdicts(frame_of({case: [[x] * 100 for x in (0.1, 0.1, 0.1, 0.99, 0.99)]}), there)
    assert [v.chance is None for v in judged] == [c.statistic == "maximum" for c in there]
    assert luck_alone(judged).startswith("Of the 1 averages of five runs or more 1 differ; ")
    assert luck_alone(verdicts(frame_of({case: [[0.1] * 100] * 4}), there)) == ""
    assert verdict_frame(judged).filter(pl.col("statistic") == "average")["chance"].null_count() == 0
