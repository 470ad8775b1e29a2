"""Aggregates over tasks: worked by hand, against SciPy, and with the coverage they promise."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from derl.analysis.measures.aggregates import (
    aggregate,
    iqm,
    mean,
    normalised,
    optimality_gap,
    performance_profile,
    probability_of_improvement,
)
from derl.core.errors import DerlError

NAN = np.nan


def test_returns_are_divided_by_the_best_possible():
    np.testing.assert_allclose(normalised([0.99, 0.495, -0.01], "DeepSea-10"), [1, 0.5, -0.01 / 0.99])
    np.testing.assert_allclose(normalised([[1.8], [0.9]], "Hallway-10-10"), [[1], [0.5]])


def test_the_middle_half():
    # Eight runs: the lowest two and the highest two go, whatever their task.
    scores = {"a": [0, 9, 1, 2], "b": [3, 4, 100, -50]}
    assert iqm(scores).value == pytest.approx((1 + 2 + 3 + 4) / 4)
    # Of five runs a quarter is one run, rounded down.
    assert iqm({"a": [5, 1, 2, 3, 1000]}).value == pytest.approx((2 + 3 + 5) / 3)
    assert iqm({"a": [5, 1, 3]}).value == pytest.approx(3)


@pytest.mark.parametrize(("tasks", "runs"), [(1, 5), (2, 4), (5, 5), (11, 5), (3, 7)])
def test_the_middle_half_is_that_of_scipy(tasks, runs):
    stats = pytest.importorskip("scipy.stats")
    values = np.random.default_rng(tasks).normal(size=(tasks, runs))
    scores = {str(i): row for i, row in enumerate(values)}
    assert iqm(scores, samples=10).value == pytest.approx(stats.trim_mean(values, 0.25, axis=None))


def test_tasks_weigh_the_same_however_many_runs_they_have():
    scores = {"a": [0.0] * 9, "b": [1.0]}
    assert mean(scores) == pytest.approx((0.5, 0.5, 0.5))
    # Half of the weight is at 0 and half at 1, also between the quarters.
    assert iqm(scores).value == pytest.approx(0.5)
    assert optimality_gap(scores).value == pytest.approx(0.5)


def test_the_optimality_gap_ignores_what_is_above_the_target():
    assert optimality_gap({"a": [0.5, 1.0, 3.0]}).value == pytest.approx(0.5 / 3)
    assert optimality_gap({"a": [0.5, 1.0, 3.0]}, target=4.0).value == pytest.approx((3.5 + 3 + 1) / 3)


def test_the_probability_of_improvement():
    # a: of four pairs ours wins 3 and draws none; b: a draw.
    ours, theirs = {"a": [1, 3], "b": [5], "c": [9]}, {"a": [0, 2], "b": [5], "d": [0]}
    assert probability_of_improvement(ours, theirs).value == pytest.approx((3 / 4 + 1 / 2) / 2)
    sure = probability_of_improvement({"a": [1, 2, 3]}, {"a": [-1, 0, -3, -2]})
    assert sure == (1.0, 1.0, 1.0)
    with pytest.raises(DerlError, match="no task in common"):
        probability_of_improvement({"a": [1]}, {"b": [1], "a": [NAN]})


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 3), st.integers(1, 6), st.integers(1, 6))
def test_somebody_wins(seed, tasks, ours, theirs):
    rng = np.random.default_rng(seed)
    x = {str(i): rng.integers(0, 4, ours) for i in range(tasks)}
    y = {str(i): rng.integers(0, 4, theirs) for i in range(tasks)}
    first, second = (probability_of_improvement(*pair, samples=50) for pair in ((x, y), (y, x)))
    assert first.value + second.value == pytest.approx(1)
    assert 0 <= first.low <= first.high <= 1


def test_a_performance_profile():
    scores = {"a": [0.2, 0.8], "b": [0.8, NAN, 1.0, 1.0]}
    profile = performance_profile(scores, [0, 0.2, 0.5, 0.8, 1.0])
    np.testing.assert_allclose(profile.share, [1, 3 / 4, 3 / 4, 1 / 3, 0])
    assert (profile.low <= profile.share).all()
    assert (profile.share <= profile.high).all()
    assert profile.low[0] == profile.high[0] == 1
    # At 0.5 only task a is uncertain: none, one or both of its draws are above.
    assert (profile.low[2], profile.high[2]) == (0.5, 1.0)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1000), st.floats(-2, 2), st.floats(0.1, 5))
def test_aggregates_move_and_stretch_with_their_scores(seed, shift, stretch):
    rng = np.random.default_rng(seed)
    scores = {"a": rng.normal(size=5), "b": rng.normal(size=3)}
    moved = {task: shift + stretch * values for task, values in scores.items()}
    for statistic in (mean, iqm):
        plain, other = np.array(statistic(scores, samples=50)), np.array(statistic(moved, samples=50))
        np.testing.assert_allclose(other, shift + stretch * plain, atol=1e-9)
    assert plain[1] <= plain[2]


def test_failed_runs_are_left_out():
    scores = {"a": [1.0, NAN, 3.0], "b": [NAN]}
    assert mean(scores).value == 2.0
    with pytest.raises(DerlError, match="at least one run"):
        mean({"a": [NAN]})


def test_runs_are_drawn_within_their_task():
    # Each task's runs agree: nothing is uncertain, although the tasks differ.
    for statistic in (mean, iqm, optimality_gap):
        estimate = statistic({"a": [0.0] * 4, "b": [1.0] * 4})
        assert estimate == pytest.approx((0.5, 0.5, 0.5))


def test_the_seed_decides():
    scores = {"a": np.random.default_rng(0).normal(size=9)}
    assert mean(scores, seed=1) == mean(scores, seed=1) != mean(scores, seed=2)


def test_coverage_of_the_mean_over_tasks():
    """Tasks of different spread, 20 runs each: the interval holds the true mean as often as it says, or a bit less."""
    rng = np.random.default_rng(0)
    hits = []
    for i in range(600):
        scores = {"a": rng.normal(0.2, 0.1, 20), "b": rng.normal(0.8, 0.5, 20)}
        estimate = mean(scores, samples=400, seed=i)
        hits.append(estimate.low <= 0.5 <= estimate.high)
    assert 0.91 < np.mean(hits) < 0.97


def test_coverage_of_the_middle_half_of_a_symmetric_distribution():
    rng = np.random.default_rng(1)
    hits = []
    for i in range(400):
        estimate = iqm({"a": rng.normal(0.3, 1.0, 24), "b": rng.normal(0.3, 1.0, 24)}, samples=400, seed=i)
        hits.append(estimate.low <= 0.3 <= estimate.high)
    assert 0.91 < np.mean(hits) < 0.98


def test_a_statistic_of_ones_own():
    best = aggregate({"a": [1.0, 2.0], "b": [5.0]}, lambda rows, weights: rows.max(1))
    assert best == (5.0, 5.0, 5.0)
