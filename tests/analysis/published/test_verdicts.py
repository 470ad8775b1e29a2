"""Verdicts: the rule, worked by hand, and what further seeds tell about differences."""

import dataclasses
import math

import numpy as np
import polars as pl
import pytest

from analysis.made_up import frame_of, like_the_paper
from analysis.published.judging import A2C, cell, runs
from derl.analysis.measures.statistics import bootstrap_interval, bootstrap_means, interval_of
from derl.analysis.published.explanations import why
from derl.analysis.published.ours import chance_of_reaching, interval_of_draws, widest_interval
from derl.analysis.published.verdicts import count_outcomes, verdict_frame, verdicts
from derl.experiments.cases import Case
from derl.experiments.paper import cells


def test_with_five_runs_the_interval_is_the_plain_bootstrap():
    returns = np.random.default_rng(0).normal(size=(5, 20))
    np.testing.assert_allclose(interval_of_draws(returns, "average"), bootstrap_interval(returns.mean(1)), atol=0.06)
    maxima = bootstrap_means(returns).max(1)
    np.testing.assert_allclose(interval_of_draws(returns, "maximum"), interval_of(maxima), atol=0.06)


def test_two_kinds_of_runs():
    # Of five runs drawn from 0 and 1 none is a 1 in one of 32 cases, which is more than 2.5 %; all are as often.
    np.testing.assert_array_equal(interval_of_draws(np.array([[0.0], [1.0]]), "average"), [0, 1])
    # Of 0 and three 1s: five 0s never; one 1 in 1.5 %, so that the lower end is at two.
    np.testing.assert_allclose(interval_of_draws(np.array([[0.0], [1.0], [1.0], [1.0]]), "average"), [0.4, 1])
    # It is always five that are drawn: with fifty runs the interval does not shrink.
    many = np.repeat([[0.0], [1.0]], 25, axis=0)
    np.testing.assert_array_equal(interval_of_draws(many, "average"), [0, 1])


@pytest.mark.parametrize(
    ("published", "outcome"), [(0.5, "consistent"), (0.52, "consistent"), (0.48, "consistent"), (0.53, "differs")]
)
def test_the_interval_is_widened_by_two_hundredths(published, outcome):
    (verdict,) = verdicts(runs(0.5, 0.5, 0.5), [cell(published)])
    assert (verdict.outcome, verdict.seeds, verdict.ours) == (outcome, 3, (0.5, 0.0))
    assert (verdict.low, verdict.high) == (0.5, 0.5)


def test_averages_and_maxima_are_told_apart():
    frame = frame_of({A2C: [[0.0] * 50 + [1.0] * 50] * 2})
    average, maximum = verdicts(frame, [cell(0.5), cell(1.0, statistic="maximum")])
    assert (average.outcome, maximum.outcome) == ("consistent", "consistent")
    assert average.ours == (0.5, 0.5)
    assert maximum.ours == (1.0, 0.0)


def test_what_is_missing_is_said():
    other = Case.of("ppo", "DeepSea-10")
    frame = pl.concat([runs(1.0, 1.0, evaluations=40), runs(2.0, case=other).with_columns(pl.col("run") + 2)])
    short, absent = verdicts(frame, [cell(1.0), cell(1.0, Case.of("a2c", "DeepSea-10"))])
    assert (short.outcome, short.ours) == ("not run", None)
    assert short.note == "2 of 2 runs unfinished (at evaluation 40)"
    assert (absent.outcome, absent.note) == ("not run", "")
    # Of a case some of whose runs are finished these alone count.
    mixed = frame_of({A2C: [[1.0] * 100, [0.0] * 99]})
    (verdict,) = verdicts(mixed, [cell(1.0)])
    assert (verdict.outcome, verdict.seeds) == ("consistent", 1)
    assert verdict.note == "1 of 2 runs unfinished (at evaluation 99); from 1 run only"
    assert count_outcomes([short, absent, verdict]) == {"consistent": 1, "differs": 0, "not run": 2}


def test_failed_runs_are_said():
    failed = pl.when((pl.col("run") == 0) & (pl.col("evaluation") > 50)).then(7).alias("failed_at_step")
    (verdict,) = verdicts(runs(1.0, 1.0).with_columns(failed), [cell(1.0)])
    assert (verdict.outcome, verdict.note) == ("consistent", "1 of 2 runs failed; from 2 runs only")
    assert verdicts(runs(1.0, 1.0, 1.0), [cell(1.0)])[0].note == ""


def test_further_seeds_tell_about_luck_but_not_about_the_verdict():
    """All numbers are judged by as many runs as all of them have; what one has beyond that tests a reason."""
    other = Case.of("a2c", "DeepSea-10")

    def judged(*levels):
        frame = frame_of({A2C: [[x] * 100 for x in levels], other: [[0.9] * 100] * 5})
        return verdicts(frame, [cell(0.9), cell(0.9, other)])

    def luck(*levels):
        first, _ = judged(*levels)
        assert (first.outcome, first.seeds, first.ours.value) == ("differs", 5, pytest.approx(0.1))
        return next(e for e in first.explanations if "luck" in e.name).standing

    assert luck(*[0.1] * 5) == "possible"
    # Three further ones are too few, ten enough.
    assert luck(*[0.1] * 5, *[0.9] * 3) == "possible"
    assert luck(*[0.1] * 15) == "refuted"
    assert luck(*[0.1] * 5, *[0.1, 0.9, 0.9] * 4) == "explained"
    # What they made is told: the mean of the twelve, and what five of them make.
    further = judged(*[0.1] * 5, *[0.1, 0.9, 0.9] * 4)[0].explanations[0].evidence
    assert (further.runs, further.value) == (12, pytest.approx(0.1 / 3 + 1.8 / 3))
    assert (further.low, further.high) == (pytest.approx(0.26), pytest.approx(0.9))
    assert str(further).startswith("12 runs: 0.63, five such 0.26 to 0.90")
    # Those that failed at once say nothing, and are not counted.
    assert luck(*[0.1] * 5, *[np.nan] * 10) == "possible"
    assert luck(*[0.1] * 5, *[np.nan] * 10, *[0.9] * 3) == "possible"
    # What agrees stays as it is.
    assert [v.outcome for v in judged(*[0.9] * 5, *[0.1] * 10)] == ["consistent"] * 2
    # Nor does it matter what others have.
    alone = frame_of({A2C: [[x] * 100 for x in [0.1] * 5 + [0.9] * 10]})
    assert [(v.outcome, v.seeds, v.standing) for v in verdicts(alone, [cell(0.9)])] == [("differs", 5, "explained")]


def test_luck_has_to_make_both_numbers_of_the_same_runs():
    """An average that five further runs may have, and a maximum that they cannot."""

    def standing(maximum):
        frame = runs(*[0.1] * 5, *[0.1, 0.9] * 5)
        numbers = [cell(0.6), cell(maximum, statistic="maximum", table="tab:deepsea_max_returns")]
        return [next(e for e in v.explanations if "luck" in e.name).standing for v in verdicts(frame, numbers)]

    assert standing(0.6) == ["explained"] * 2
    # No run of these is above 0.9, so that hardly five are.
    assert standing(0.96) == ["refuted"] * 2


def test_how_often_five_runs_are_as_far_off():
    """Of five flips of a coin three or more are heads in half of the cases, all in one of 32."""
    further = np.repeat([[0.0], [1.0]], [5, 5], axis=0)
    assert chance_of_reaching(further, "average", 0.6) == pytest.approx(0.5)
    assert chance_of_reaching(further, "average", 1.0) == pytest.approx(1 / 32)
    assert chance_of_reaching(further, "average", 0.0) == pytest.approx(1 / 32)
    # Rounded: 0.604 is printed as 0.60.
    assert chance_of_reaching(further, "maximum", 0.604) == pytest.approx(0.5)
    assert chance_of_reaching(further, "average", 1.2) == 0


def test_runs_that_are_all_alike_do_not_refute_luck():
    """None of ten and one of 5 differ with p = 1/3. None of ten and three of 5 differ with p = 0.02."""
    other = Case.of("a2c", "DeepSea-10")

    def luck(published, further):
        frame = frame_of({A2C: [[0.0] * 100] * (5 + further), other: [[0.9] * 100] * 5})
        first, _ = verdicts(frame, [cell(published), cell(0.9, other)])
        assert first.outcome == "differs"
        found = next(e for e in first.explanations if "luck" in e.name)
        name, _, standing = why([found]).rpartition(": ")
        assert name.startswith("the luck of a few runs")
        return standing

    assert luck(0.2, 0) == luck(0.2, 3) == "possible, not tested"
    assert luck(0.2, 10) == "tested, the published number does not appear, but more runs might make it"
    assert luck(0.6, 10) == "tested, not the reason"


def test_the_widest_interval_is_that_of_the_urn():
    """Of n runs that all fail, k of five further ones succeed with the probabilities of Polya's urn."""
    failed, succeed = np.zeros((3, 4)), {}
    for k in range(6):
        # One ball of success among n + 2; every ball drawn goes back twice.
        ways = math.comb(5, k) * math.prod(1 + i for i in range(k)) * math.prod(4 + i for i in range(5 - k))
        succeed[k] = ways / math.prod(5 + i for i in range(5))
    assert sum(succeed.values()) == pytest.approx(1)
    # More than 2.5 % have four successes or more, fewer have five.
    assert succeed[5] < 0.025 < succeed[4] + succeed[5]
    low, high = widest_interval(failed, "average", 0.0, 1.0)
    assert (float(low), float(high)) == (0.0, pytest.approx(0.8))
    # Of two further ones both succeed in one of 15 cases.
    assert float(widest_interval(failed, "average", 0.0, 1.0, drawn=2).high) == 1


def test_a_number_that_cannot_be_of_five_runs_is_said_to_be_so():
    case = Case.of("a2c-icm", "DeepSea-20")
    frame = frame_of({case: [[0.0] * 100] * 5})
    (verdict,) = verdicts(frame, [c for c in cells() if c.case == case and c.table == "tab:mean_returns"])
    assert verdict.standing == "possible"
    assert "0.70 ± 0.45, cannot be that of five" in why(verdict.explanations)


def test_all_numbers_of_the_paper():
    judged = verdicts(like_the_paper())
    assert len(judged) == len(cells()) == 1684
    averages = [v for v in judged if v.cell.table == "tab:mean_returns"]
    assert count_outcomes(averages)["consistent"] > 190
    for verdict in judged:
        assert verdict.outcome != "consistent" or not verdict.explanations
    table = verdict_frame(judged)
    assert (
        table.filter(pl.col("verdict") == "consistent")["reason"].null_count() == count_outcomes(judged)["consistent"]
    )
    assert table["seeds"].min() == 5


def test_the_engines_behind_a_number_are_told():
    """Of the runs that count alone: of seven the first five."""
    frame = runs(*[0.4] * 7)
    engines = pl.when(pl.col("seed") < 5).then(2 - pl.col("seed") % 2).otherwise(9)
    told = [
        verdict_frame(verdicts(f, [cell(0.4), cell(0.4, Case.of("ppo", "DeepSea-10"))]))["engine"].to_list()
        for f in (frame, frame.with_columns(engine=pl.lit(3)), frame.with_columns(engine=engines))
    ]
    assert told == [[None, None], ["3", None], ["1, 2", None]]


def test_how_strict_the_rule_is():
    """What the module says about experiments that differ in nothing but their seeds."""
    rng = np.random.default_rng(0)
    for count, low, high in ((5, 0.66, 0.76), (20, 0.85, 0.94)):
        hits = []
        for _ in range(800):
            ours, theirs = rng.normal(0, 1, (count, 1)), rng.normal(0, 1, 5).mean()
            interval = interval_of_draws(ours, "average")
            hits.append(interval.low <= theirs <= interval.high)
        assert low < np.mean(hits) < high


def test_verdicts_are_repeatable():
    frame = like_the_paper([c.case for c in cells()[:20]])
    assert [dataclasses.asdict(v) for v in verdicts(frame, cells()[:20])] == [
        dataclasses.asdict(v) for v in verdicts(frame.sample(fraction=1, shuffle=True, seed=1), cells()[:20])
    ]
