"""How many runs a published number can be of: against every set of returns there is, and the paper's own numbers."""

from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from derl.analysis.published.runs_behind import (
    can_be_of,
    impossible_pair,
    largest_deviation,
    maxima_below_averages,
    not_of_five_runs,
)
from derl.experiments.paper import Cell, cells, published

LOW, HIGH = -0.01, 0.99


@pytest.mark.parametrize("runs", [1, 2, 3, 5])
def test_no_set_of_returns_deviates_more(runs):
    """All sets of returns on a grid: the largest deviation of those that have a mean is what the formula says."""
    grid = np.linspace(LOW, HIGH, 13)
    largest: dict[float, float] = {}
    for returns in combinations_with_replacement(grid, runs):
        mean = round(float(np.mean(returns)), 9)
        largest[mean] = max(largest.get(mean, 0.0), float(np.std(returns)))
    assert len(largest) > 10
    for mean, deviation in largest.items():
        assert largest_deviation(mean, runs, LOW, HIGH) == pytest.approx(deviation, abs=1e-6)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(LOW, HIGH), min_size=1, max_size=9))
def test_what_so_many_runs_have_can_be_of_so_many(returns):
    mean, std = round(float(np.mean(returns)), 2), round(float(np.std(returns)), 2)
    assert can_be_of(mean, std, len(returns), LOW, HIGH)


def test_by_hand():
    # Three at 0.99, one at 0.54 and one at -0.01.
    assert largest_deviation(0.70, 5, LOW, HIGH) == pytest.approx(np.std([0.99, 0.99, 0.99, 0.54, -0.01]))
    assert not can_be_of(0.70, 0.45, 5, LOW, HIGH)
    # Five of seven learn, or twelve of seventeen.
    assert can_be_of(0.70, 0.45, 7, LOW, HIGH)
    assert can_be_of(0.70, 0.45, 17, LOW, HIGH)
    # One of five learns.
    assert can_be_of(0.19, 0.40, 5, LOW, HIGH)
    # One of sixteen.
    assert [n for n in range(2, 18) if can_be_of(0.06, 0.24, n, LOW, HIGH)] == [11, 12, 13, 14, 15, 16, 17]


def test_the_papers_search_task_is_not_of_five_runs():
    """The paper searched for hyper-parameters in DeepSea-20: there, more than anywhere, deviations are too large."""
    found = {(c.row, c.column) for c in cells() if c.table == "tab:deepsea_max_returns" and not_of_five_runs(c)}
    assert ("A2C ICM", "DeepSea 20") in found
    assert ("A2C Count", "DeepSea 24") not in found
    assert sum(column == "DeepSea 20" for _, column in found) == 11
    assert len(found) == 19


def test_an_average_is_judged_by_the_maximum_of_the_same_runs():
    average = published("tab:mean_returns", "a2c-icm", "DeepSea-20")
    assert average is not None
    found = not_of_five_runs(average)
    assert found is not None
    assert "0.70 ± 0.45" in found.text
    assert "0.40 at most" in found.text
    assert "7, 10, 14, 17 or more" in found.text


def test_deviations_of_other_tables_say_nothing():
    """Those of sensitivity are half an interval: 0.20 ± 0.30 is one of five."""
    elsewhere: list[Cell] = [c for c in cells() if "intrinsic_coef" in c.table or "decay" in c.table]
    assert len(elsewhere) > 1000
    assert not any(map(not_of_five_runs, elsewhere))


def test_maxima_below_their_own_average():
    """Three pairs of one row, read in the paper's tables by eye."""
    found = [(p.average.column, p.average.mean, p.maximum.mean) for p in maxima_below_averages()]
    assert found == [("5.0", 0.67, 0.57), ("10.0", 0.33, 0.0), ("100.0", 0.17, 0.0)]
    assert {p.average.row for p in maxima_below_averages()} == {"DeA2C Count (standard)"}
    first = maxima_below_averages()[0]
    assert impossible_pair(first.average) == impossible_pair(first.maximum) == first
    assert impossible_pair(cells()[0]) is None
    assert "an average of 0.67 and a maximum of 0.57" in first.text
