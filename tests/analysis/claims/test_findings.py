"""Effects, what is decided about one, and what several come to as a whole: worked by hand, and simulated."""

import dataclasses

import numpy as np
import pytest

from analysis.made_up import frame_of
from derl.analysis.claims.findings import Finding, decide, outcome_of, with_whole
from derl.analysis.claims.paper import in_words
from derl.analysis.measures.aggregates import Estimate
from derl.analysis.measures.effects import Effect, average_effect, drawn_means, exact, maximum_effect, mean_effect
from derl.analysis.measures.frames import Results
from derl.experiments.cases import Case


def test_the_interval_decides():
    assert decide(Estimate(0.3, 0.2, 0.4), 0.1, "above") == "holds"
    assert decide(Estimate(0.3, 0.2, 0.4), 0.1, "below") == "does not hold"
    assert decide(Estimate(0.3, 0.2, 0.4), 0.5, "above") == "does not hold"
    assert decide(Estimate(0.3, 0.2, 0.4), 0.5, "below") == "holds"
    assert decide(Estimate(0.3, 0.2, 0.4), 0.3, "above") == "undecided"
    assert decide(None, 0.3, "above") == "not enough data"
    # What is wanted is wanted of the whole interval: a value above the bound does not do.
    assert decide(Estimate(0.5, 0.1, 0.6), 0.4, "above") == "undecided"
    # No difference at all is not a difference.
    assert decide(Estimate(0, 0, 0), 0, "above") == decide(Estimate(0, 0, 0), 0, "below") == "does not hold"


def test_no_number_is_not_enough():
    assert decide(Estimate(np.nan, np.nan, np.nan), 0.3, "above") == "not enough data"


def test_what_was_run_is_undecided_and_what_was_not_lacks_data():
    """An interval around the bound is a result; too few cases or runs are none."""
    around = Effect(0.5, np.linspace(0.3, 0.7, 10))
    wide = dataclasses.replace(finding("DeepSea-10", 0.5), effect=around)
    assert outcome_of(wide) == "undecided"
    assert outcome_of(dataclasses.replace(wide, too_few="of too few runs")) == "not enough data"
    assert outcome_of(dataclasses.replace(wide, effect=None)) == "not enough data"
    # Parts that are undecided contradict nothing, and a whole that is undecided is not mixed.
    solved = [finding(f"DeepSea-{size}", 1.0) for size in (14, 20)]
    assert outcome_of(with_whole([wide, *solved])[0]) == "holds"
    split = [finding("DeepSea-14", 0.2), finding("DeepSea-20", 0.8)]
    assert outcome_of(with_whole([wide, *split])[0]) == "undecided"
    missing = finding("DeepSea-14", 0.0, known=False)
    assert outcome_of(with_whole([wide, missing, missing])[0]) == "not enough data"


def test_effects_subtract_and_average_draw_by_draw():
    a, b = Effect(1.0, np.array([0.0, 2.0])), Effect(0.5, np.array([0.0, 1.0]))
    assert (a - b).value == 0.5
    np.testing.assert_array_equal((a - b).draws, [0, 1])
    np.testing.assert_array_equal(mean_effect([a, b]).draws, [0, 1.5])


def test_averages_with_and_without_gaps_agree():
    case = Case.of("a2c", "DeepSea-10")
    rows = np.random.default_rng(0).normal(size=(4, 6))
    whole = average_effect(Results(frame_of({case: rows})), case, 6)
    assert whole.value == pytest.approx(rows.mean() / 0.99)
    gap = rows.copy()
    gap[0, 5] = np.nan
    holed = average_effect(Results(frame_of({case: gap})), case, 6)
    assert holed.value == pytest.approx(np.nanmean(gap, 0).mean() / 0.99)
    assert holed.estimate().low < holed.value < holed.estimate().high
    assert average_effect(Results(frame_of({case: rows[:1]})), case, 6) is None


def finding(task: str, value: float, published: float | None = None, *, known: bool = True) -> Finding:
    effect = Effect(value, np.full(10, value)) if known else None
    paper = None if published is None else exact(published)
    return Finding("score", f"{task} {value}", effect, 0.5, "above", paper, task=task)


@pytest.mark.parametrize("runs", [3, 5])
def test_few_runs_vary_as_much_as_others_would(runs):
    """The variance of a mean of n runs is s^2 / n, with n - 1 in s^2: a plain bootstrap has n, and is too sure."""
    case, levels = Case.of("a2c", "DeepSea-10"), np.linspace(0, 0.99, runs)
    effect = average_effect(Results(frame_of({case: [[x] * 4 for x in levels]})), case, 4)
    assert effect.draws.std() == pytest.approx(np.std(levels / 0.99, ddof=1) / np.sqrt(runs), rel=0.03)
    assert effect.draws.mean() == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("runs", [3, 5])
def test_how_sure_an_interval_of_few_runs_is(runs):
    """The page about claims says so: of one case it is too narrow, of many together it is not."""
    rng = np.random.default_rng(0)

    def cover(cases: int) -> float:
        hits = []
        for _ in range(300):
            samples = [rng.normal(0.5, 0.2, (runs, 1)) for _ in range(cases)]
            effects = [Effect(x.mean(), drawn_means(x, int(rng.integers(10**6)))[:, 0]) for x in samples]
            found = mean_effect(effects).estimate()
            hits.append(found.low <= 0.5 <= found.high)
        return float(np.mean(hits))

    assert 0.77 <= cover(1) <= 0.92
    assert cover(12) >= 0.91


def test_a_maximum_lies_within_its_interval():
    """The best of many drawn means is above the mean of any: the interval had left its own estimate out."""
    rng, case = np.random.default_rng(0), Case.of("a2c", "DeepSea-10")
    for _ in range(10):
        rows = np.clip(0.4 + 0.3 * rng.normal(size=(10, 100)), 0, 1)
        found = maximum_effect(Results(frame_of({case: rows})), case, 100).estimate()
        assert found.low < found.value < found.high


def test_every_task_counts_the_same_and_contradictions_are_told():
    """DeepSea was run twice and is solved, Hallway once and is not: the mean over cases would be 0.74."""
    whole, *_ = with_whole([finding("DeepSea-10", 1.0), finding("DeepSea-10", 1.0), finding("Hallway-20-20", 0.23)])
    assert whole.effect.value == pytest.approx(0.615)
    assert outcome_of(whole) == "mixed"
    words = in_words(whole, whole.effect.estimate(), "mixed")
    assert "beyond chance it holds in 2 and does not in 1 of 3 cases" in words
    # A mean of means whose parts are mixed is not less so.
    parts = [dataclasses.replace(whole, overall=False, subject=name) for name in ("a", "b")]
    assert outcome_of(with_whole(parts)[0]) == "mixed"
    agreed, *_ = with_whole([finding("DeepSea-10", 1.0), finding("Hallway-20-20", 0.6)])
    assert outcome_of(agreed) == "holds"
    # Of many cases some differ by chance.
    assert (
        outcome_of(few := with_whole([finding(f"DeepSea-{i}", 0.1 if i == 10 else 1.0) for i in range(10, 30)])[0])
        == "holds"
    )
    assert few.note == "Mean of 20 of 20 cases. Beyond chance it holds in 19 and does not in 1 of 20 cases."
    assert (
        outcome_of(with_whole([finding(f"DeepSea-{i}", 0.6 if i == 10 else 0.1) for i in range(10, 15)])[0]) == "mixed"
    )


def test_of_several_cases_one_contradicts_only_beyond_what_chance_does_to_one_of_so_many():
    """Of four cases one is asked for 98.75 %: 1.5 % of its draws are on the side of the whole."""
    draws = np.repeat([0.4, 0.6], [985, 15])
    against = dataclasses.replace(finding("DeepSea-10", 0.4), effect=Effect(0.4, draws))
    assert outcome_of(against) == "does not hold"
    agreeing = [
        dataclasses.replace(finding(f"DeepSea-{size}", 1.0), effect=Effect(1.0, np.ones(1000))) for size in (14, 20, 24)
    ]
    whole, *_ = with_whole([against, *agreeing])
    assert (outcome_of(whole), whole.note) == ("holds", "Mean of 4 of 4 cases.")


def test_a_case_of_too_few_runs_is_no_part_of_the_whole():
    few = dataclasses.replace(finding("DeepSea-24", 0.0), too_few="of too few runs")
    whole, *_ = with_whole([finding("DeepSea-10", 1.0), finding("DeepSea-14", 1.0), few])
    assert (whole.effect.value, whole.note) == (1.0, "Mean of 2 of 3 cases.")


@pytest.mark.parametrize(("shift", "least", "most"), [(0.0, 0.0, 0.05), (0.5, 0.9, 1.0)])
def test_chance_does_not_make_a_whole_mixed(shift, least, most):
    """In half of twelve cases the effect is clear, in the others there is none, or the opposite of it."""
    rng, level = np.random.default_rng(0), np.repeat([2.0, 0.5 - shift], 6)

    def mixed() -> bool:
        values = level + rng.normal(0, 0.1, 12)
        cases = [
            dataclasses.replace(finding(f"DeepSea-{i}", 0.0), effect=Effect(value, value + rng.normal(0, 0.1, 2000)))
            for i, value in enumerate(values)
        ]
        return outcome_of(with_whole(cases)[0]) == "mixed"

    assert least <= np.mean([mixed() for _ in range(60)]) <= most


def test_the_papers_mean_is_over_what_we_have_run():
    run = [finding("DeepSea-10", 1.0, 0.8), finding("DeepSea-14", 1.0, 0.6)]
    missing = finding("DeepSea-20", 0.0, -2.0, known=False)
    assert with_whole([*run, missing])[0].published.value == pytest.approx(0.7)
    assert with_whole([missing, missing])[0].published.value == -2.0
    # By tasks, as ours; and not at all if one of the cases has none.
    assert with_whole([*run, finding("DeepSea-14", 1.0, 0.2), missing])[0].published.value == pytest.approx(0.6)
    assert with_whole([*run, finding("DeepSea-20", 1.0)])[0].published is None
