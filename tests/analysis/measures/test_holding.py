"""Reaching and holding the optimum, on curves whose answer can be read off."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.made_up import frame_of
from derl.analysis.measures.holding import holdings, longest, stable_from
from derl.analysis.pages.beyond import holding_table
from derl.experiments.cases import Case


@pytest.mark.parametrize(
    ("optimal", "answer"),
    [
        ("0000", None),
        ("0011", 2),
        ("1111", 0),
        ("1101", 3),
        ("1" * 30 + "0", None),
        ("0" + "1" * 19, 1),
        ("1" + "0" + "1" * 19, 0),
        ("10" + "1" * 18, 0),
    ],
)
def test_stable_from(optimal, answer):
    assert stable_from(np.array([c == "1" for c in optimal]), last=0) == answer


def test_the_last_evaluations_alone_prove_nothing():
    assert stable_from(np.array([False] * 8 + [True] * 2)) is None
    assert stable_from(np.array([False] * 6 + [True] * 2)) == 6


@given(st.lists(st.booleans(), min_size=1, max_size=60))
def test_what_is_stable_is_optimal_and_mostly_stays_so(optimal):
    values = np.array(optimal)
    index = stable_from(values, last=0)
    if index is None:
        assert not values[-1]
    else:
        assert values[index]
        assert values[-1]
        assert values[index:].mean() >= 0.95
        assert all(not values[i] or values[i:].mean() < 0.95 for i in range(index))


def results(case: Case, curves: list[list[float]]) -> pl.DataFrame:
    return frame_of({case: curves}, every=10).with_columns(seconds=pl.lit(2.0))


def test_a_case_is_summed_up():
    (h,) = holdings(results(Case.of("derl", "DeepSea-10"), [[0] + [0.99] * 6, [0.99] + [0] * 6, [0, 0] + [0.99] * 5]))
    assert h.first == (20, 10, 30)
    assert h.stable == (20, None, 30)
    assert h.median == 30
    assert (h.episodes, h.final, h.seconds) == (70, pytest.approx(0.66), 2.0)
    line = holding_table([("DeepSea 10", h)], {"published": ["0.98"]}).splitlines()[-1]
    assert line == "| DeepSea 10 | 0.98 | 0.99 | 0.66 | 70 | 3 | 3 | 2 | 30 | 1 does not |"


def test_a_failed_run_holds_nothing():
    frame = results(Case.of("derl", "DeepSea-10"), [[0.99] * 6]).with_columns(failed_at_step=pl.lit(5))
    (h,) = holdings(frame)
    assert h.stable == (None,)
    assert h.median is None


def test_chance_widens_what_counts():
    noisy = Case.of("derl", "DeepSea-10", {"env_options.stochastic": True})
    # 0.9^9 of the ways down slip nowhere: 0.381 is the best possible there.
    assert holdings(results(noisy, [[0.30] * 5, [0.27] * 5]))[0].stable == (10, None)
    plain = Case.of("derl", "DeepSea-10", {"env_options.stochastic": False})
    for case in (Case.of("derl", "DeepSea-10"), plain):
        assert holdings(results(case, [[0.93] * 5]))[0].stable == (None,)


def test_the_optimum_is_that_of_a_policy_without_memory():
    (h,) = holdings(results(Case.of("derl", "Hallway-5-30"), [[0.93] * 5]))
    assert (h.optimum, h.stable) == (pytest.approx(0.93), (10,))


def test_only_the_longest_runs_of_a_case_are_compared():
    short = results(Case.of("derl", "DeepSea-10"), [[0.99] * 3])
    long = results(Case.of("derl", "DeepSea-10"), [[0.99] * 6]).with_columns(pl.col("run") + 7)
    assert longest(pl.concat([short, long]))["run"].unique().to_list() == [7]
