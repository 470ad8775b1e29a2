"""How many runs a published number can be of: against every set of returns there is, and the paper's own numbers."""

from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.made_up import frame_of
from derl.analysis.published.ours import chance_of_reaching
from derl.analysis.published.reasons import reasons_for
from derl.analysis.published.runs_behind import (
    can_be_of,
    fewest_runs,
    impossible_pair,
    largest_deviation,
    largest_of_rounded,
    maxima_below_averages,
    not_of_five_runs,
)
from derl.analysis.published.verdicts import verdicts
from derl.experiments.cases import Case
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
    # Three of five at 1 deviate more than any five whose mean is at an end of what is printed as 0.60.
    assert largest_of_rounded(0.6, 5, 0, 1) == pytest.approx(np.std([1, 1, 1, 0, 0]))
    assert max(largest_deviation(mean, 5, 0, 1) for mean in (0.595, 0.605)) < 0.486
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


def test_runs_explain_a_number_with_as_many_as_it_can_be_of():
    """DePPO ICM in DeepSea-14 is published as 0.37, with a maximum of 0.66 +- 0.47: two of three runs, not of five.

    Of further runs one in five learns to 0.56 in the mean, which makes 0.37 of two in three, and 0.34 of three in five.
    """
    case = Case.of("deppo-icm", "DeepSea-14")
    numbers = [c for c in cells() if c.case == case and c.table in ("tab:mean_returns", "tab:deepsea_max_returns")]
    assert [(c.statistic, c.mean, c.std) for c in numbers] == [("average", 0.37, 0.17), ("maximum", 0.66, 0.47)]
    assert [fewest_runs(c) for c in numbers] == [3, 3]
    learns, fails = [0.0] * 43 + [0.99] * 57, [0.0] * 100
    frame = frame_of({case: [fails] * 5 + [learns, fails, fails, fails, fails] * 2})
    for verdict in verdicts(frame, numbers):
        luck = next(e for e in verdict.explanations if "luck" in e.name)
        assert (verdict.outcome, luck.standing, luck.evidence.drawn) == ("differs", "explained", 3)
        # Two of three or more: 3 * 0.2^2 * 0.8 + 0.2^3.
        assert luck.evidence.chance == pytest.approx(0.104)
        assert "three such 0.00 to" in str(luck.evidence)
        assert "10 % of samples of three are as far off" in str(luck.evidence)
    # The same numbers of five runs are nobody's luck: three learners of five are in fewer than 6 % of samples.
    assert chance_of_reaching(np.array([learns, fails, fails, fails, fails]), "maximum", 0.59) == pytest.approx(0.05792)


def test_an_option_too_is_asked_for_as_many_runs_as_a_number_can_be_of():
    case = Case.of("deppo-icm", "DeepSea-14")
    numbers = [c for c in cells() if c.case == case and c.table in ("tab:mean_returns", "tab:deepsea_max_returns")]
    option = next(r for r in reasons_for(numbers[0]) if "coefficients" in r.name).test(case)
    learns, fails = [0.0] * 43 + [0.99] * 57, [0.0] * 100
    frame = frame_of({case: [fails] * 15, option: [learns] * 9 + [fails]})
    for verdict in verdicts(frame, numbers):
        found = verdict.explanations[0]
        # Two of three learn in a quarter of samples, four of six in one of fifty.
        assert (found.standing, found.evidence.drawn) == ("explained", 3)
        assert "coefficients" in found.name


def test_what_can_be_of_five_runs_is_taken_for_five():
    average = published("tab:mean_returns", "a2c-count", "DeepSea-10")
    assert average is not None
    assert fewest_runs(average) == 5
