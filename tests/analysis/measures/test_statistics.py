"""Scores and bootstrap intervals against answers worked out by hand."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from derl.analysis.measures.statistics import (
    average_interval,
    average_return,
    bootstrap_interval,
    bootstrap_means,
    deals,
    episodes_to_hold,
    interval_of,
    maximum_return,
    mean_without_nan,
    std_without_nan,
)
from derl.analysis.pages.claims import HOW
from derl.analysis.report.html import asset
from derl.core.errors import DerlError

NAN = np.nan


def test_average_is_over_evaluations_of_the_mean_over_runs():
    # Means over runs: 0.5 and 2. Their mean is 1.25 and their deviation 0.75, however much the runs differ.
    assert average_return([[0, 1], [1, 3]]) == (1.25, 0.75)
    assert average_return([[0.5, 2], [0.5, 2]]) == (1.25, 0.75)


def test_maximum_is_of_the_mean_over_runs_with_the_deviation_over_runs():
    # Means over runs: 1, 2 and 1.5. Each run's own best (4 and 3) would give 3.5.
    assert maximum_return([[0, 4, 0], [2, 0, 3]]) == (2.0, 2.0)


def test_numbers_a_failed_run_lacks_are_left_out():
    # Means over runs: 1, 4 (one run left) and 2.
    returns = [[0, 4, 2], [2, NAN, NAN], [NAN, NAN, NAN]]
    average = average_return(returns)
    assert average.value == pytest.approx(7 / 3)
    assert average.std == pytest.approx(np.std([1, 4, 2]))
    assert maximum_return(returns) == (4.0, 0.0)


def test_only_failed_runs_have_no_score_and_no_warning():
    for score in (average_return([[NAN, NAN]]), maximum_return([[NAN, NAN]])):
        assert np.isnan(score.value)
        assert np.isnan(score.std)
    assert np.isnan(bootstrap_interval([NAN, NAN])).all()


def test_means_and_deviations_match_numpy_where_nothing_is_missing():
    values = np.random.default_rng(0).normal(size=(4, 3, 5))
    for axis in range(3):
        np.testing.assert_allclose(mean_without_nan(values, axis), values.mean(axis))
        np.testing.assert_allclose(std_without_nan(values, axis), values.std(axis))


@pytest.mark.parametrize(("level", "low", "high"), [(0.95, 0.0, 1.0), (0.6, 0.0, 1.0), (0.4, 0.5, 0.5)])
def test_two_runs(level, low, high):
    # Of the draws of two runs that returned 0 and 1, a quarter have the mean 0, half 0.5 and a quarter 1.
    interval = bootstrap_interval([0.0, 1.0], samples=20_000, level=level)
    assert (interval.low, interval.high) == (low, high)
    values, counts = np.unique(bootstrap_means([0.0, 1.0], samples=20_000), return_counts=True)
    np.testing.assert_array_equal(values, [0, 0.5, 1])
    np.testing.assert_allclose(counts / 20_000, [0.25, 0.5, 0.25], atol=0.02)


def test_one_run_tells_nothing_about_the_spread():
    interval = bootstrap_interval([[0.3, 0.7]])
    np.testing.assert_array_equal(interval.low, [0.3, 0.7])
    np.testing.assert_array_equal(interval.high, [0.3, 0.7])


def test_the_seed_decides_the_interval():
    values = np.random.default_rng(0).normal(size=(8, 2, 3))
    first, again, other = (bootstrap_interval(values, samples=200, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first.low != other.low).any()
    assert first.low.shape == (2, 3)


@settings(max_examples=25, deadline=None)
@given(st.floats(-5, 5), st.floats(0.1, 10), st.integers(0, 100))
def test_intervals_move_and_stretch_with_their_values(shift, stretch, seed):
    values = np.random.default_rng(seed).normal(size=(6, 4))
    plain = np.stack(bootstrap_interval(values, samples=100))
    moved = np.stack(bootstrap_interval(shift + stretch * values, samples=100))
    np.testing.assert_allclose(moved, shift + stretch * plain, atol=1e-9)
    assert (plain[0] <= plain[1]).all()


def test_coverage_of_normal_means():
    """An interval of 25 runs holds the true mean almost as often as it says (it is known to be a bit short)."""
    values = np.random.default_rng(3).normal(0.7, 2.0, size=(25, 1500))
    interval = bootstrap_interval(values, samples=1000)
    coverage = ((interval.low <= 0.7) & (interval.high >= 0.7)).mean()
    assert 0.91 < coverage < 0.96
    narrow = bootstrap_interval(values, samples=1000, level=0.5)
    assert 0.45 < ((narrow.low <= 0.7) & (narrow.high >= 0.7)).mean() < 0.53


@pytest.mark.parametrize("runs", [1, 2, 5, 6])
def test_few_runs_have_the_interval_of_all_draws(runs):
    """Few runs can be drawn in few ways, so that none need be drawn: all of them are looked at, each as often as it
    comes about; also where numbers are missing."""
    values = np.random.default_rng(3).normal(size=(runs, 40))
    if runs > 1:
        values[0, 20:] = NAN
        values[:, 39] = NAN
    every = np.stack([mean_without_nan(values[list(draw)]) for draw in product(range(runs), repeat=runs)])
    every = np.tile(every, (-(-5000 // len(every)), 1))
    for ours, theirs in zip(bootstrap_interval(values), interval_of(every), strict=True):
        assert ours == pytest.approx(theirs, rel=1e-12, nan_ok=True)
    assert average_interval(values) == pytest.approx(interval_of(mean_without_nan(every, axis=1)), rel=1e-12)


@pytest.mark.parametrize(("ours", "theirs"), [(3, 3), (5, 5), (2, 4), (12, 12)])
def test_few_deals_come_up_equally_often(ours, theirs):
    """So that what three runs against three say does not depend on the seed: ours is one of 20 deals."""
    first, *dealt = deals(ours, ours + theirs, samples=5000, seed=3)
    assert first.tolist() == [True] * ours + [False] * theirs
    found, times = np.unique(dealt, axis=0, return_counts=True)
    assert (found.sum(1) == ours).all()
    assert times.sum() == 5000
    if ours < 12:
        assert len(found) == math.comb(ours + theirs, ours)
        assert np.ptp(times) <= 1


def test_strata_are_drawn_apart_and_count_alike():
    values = [0.0, 0.0, 0.0, 0.0, 1.0]
    # Within each task all runs agree: nothing is uncertain, and each task is half of the mean.
    stratified = bootstrap_interval(values, strata=["a", "a", "a", "a", "b"])
    assert (stratified.low, stratified.high) == (0.5, 0.5)
    plain = bootstrap_interval(values)
    assert plain.low == 0
    assert plain.high > 0.3


def test_runs_without_any_number_do_not_matter():
    values = np.random.default_rng(0).normal(size=(4, 3))
    with_failed = np.insert(values, 2, NAN, axis=0)
    np.testing.assert_array_equal(bootstrap_interval(values), bootstrap_interval(with_failed))
    # A task without any run that worked has no mean, so neither has the mean over tasks.
    strata = [0, 0, 1, 0, 0]
    assert np.isnan(bootstrap_interval(with_failed, strata=strata)).all()


def test_a_run_that_fails_midway_counts_until_then():
    interval = bootstrap_interval([[0.0, 5.0], [1.0, NAN]])
    np.testing.assert_array_equal(interval.low, [0, 5])
    np.testing.assert_array_equal(interval.high, [1, 5])


def test_the_interval_of_the_average():
    # Runs with averages 0 and 1 whose curves cross: only the averages matter.
    interval = average_interval([[-1, 1], [2, 0]])
    assert (interval.low, interval.high) == (0.0, 1.0)
    returns = np.random.default_rng(5).normal(size=(6, 10))
    expected = bootstrap_interval(returns.mean(1))
    np.testing.assert_allclose(average_interval(returns), expected)


def test_episodes_until_a_threshold_is_held():
    episodes = 10 * np.arange(1, 11)
    held = np.array([0, 0, 1, 1, 1, 1, 1, 1, 1, 1.0])
    # Lucky at first; below once in eight; again and again below; never there; there at the very end.
    lucky, once, often = held.copy(), held.copy(), held.copy()
    lucky[0], once[5], often[[4, 6, 8]] = 1, 0, NAN
    last = np.where(np.arange(10) == 9, 1.0, 0)
    curves = np.stack([held, lucky, once, often, 0 * held, last])
    np.testing.assert_array_equal(episodes_to_hold(curves, episodes, 0.5), [30, 30, 70, 100, np.inf, 100])
    np.testing.assert_array_equal(episodes_to_hold(curves[2], episodes, 0.5, share=0.8), 30)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bootstrap_interval([]), "at least one run"),
        (lambda: bootstrap_interval([1.0], samples=0), "at least one sample"),
        (lambda: bootstrap_interval([1.0], level=95), "between 0 and 1"),
        (lambda: bootstrap_interval([1.0, 2.0], strata=[0]), "2 runs but 1 labels"),
        (lambda: average_return([1.0, 2.0]), "runs x evaluations"),
    ],
)
def test_mistakes_are_told(call, message):
    with pytest.raises(DerlError, match=message):
        call()


def test_intervals_of_five_runs_cover_what_the_report_says():
    """Of experiments with five normal runs, as they are and widened as in claims."""
    runs = np.random.default_rng(0).normal(size=(5, 4000))
    low, high = bootstrap_interval(runs)
    wide = runs.mean(0) + np.sqrt(5 / 4) * (np.stack([low, high]) - runs.mean(0))
    covered = [float(((low <= 0) & (high >= 0)).mean()) for low, high in ((low, high), wide)]
    assert 0.8 < covered[0] < covered[1] < 0.9
    said = "covers the truth in 80 to 90 of a hundred experiments"
    assert all(said in " ".join(text.split()) for text in (HOW, asset("reading.html")))
