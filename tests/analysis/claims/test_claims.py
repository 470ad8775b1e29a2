"""Claims: decisions worked by hand, and frames made so that each claim holds, fails, or stays open."""

import dataclasses

import numpy as np
import polars as pl
import pytest

from analysis.claims.finding import find
from analysis.made_up import frame_of, like_the_paper, together, variants_of
from derl.analysis.claims.constraints import closeness, constrained_robustness, exploration
from derl.analysis.claims.divergence import Variant, main_groups
from derl.analysis.claims.findings import Finding, decide, outcome_of, with_whole
from derl.analysis.claims.improvement import improvements
from derl.analysis.claims.paper import STATEMENTS, claim_frame, claims, in_words, overall
from derl.analysis.claims.sensitivity import published_values, sweep, swept_case
from derl.analysis.measures.aggregates import Estimate
from derl.analysis.measures.effects import Effect, average_effect, drawn_means, exact, maximum_effect, mean_effect
from derl.analysis.measures.frames import Results
from derl.analysis.pages.claims import improvement_table
from derl.experiments.builtin import QUICK_EPISODES, experiment, quick
from derl.experiments.cases import Case
from derl.experiments.experiment import shortened
from derl.experiments.paper import LAMBDAS, constraint


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


def sensitive_frame(recipe: str, low: float, high: float, noise: float = 0.01) -> pl.DataFrame:
    """A recipe on both tasks at all values of lambda: `high` at the middle ones, `low` at the others (normalised)."""
    rng = np.random.default_rng(1)
    returns = {}
    for task, best in (("DeepSea-10", 0.99), ("Hallway-10-10", 1.8)):
        for value in LAMBDAS:
            level = high if 0.1 < value < 10 else low
            rows = best * (level + rng.normal(0, noise, (5, 1)))
            returns[swept_case(recipe, task, "lambda", value)] = np.repeat(rows, 100, 1)
    return frame_of(returns)


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


def test_sensitivity_and_robustness():
    frame = together(sensitive_frame("a2c-count", 0, 1), sensitive_frame("dea2c-count", 0.9, 1))
    tests = claims(frame)
    spread = find(tests, 1, "lambda", "A2C Count on DeepSea-10")
    # Five of nine values at 1, four at 0.
    assert spread.effect.value == pytest.approx(np.sqrt(20) / 9, abs=0.01)
    assert spread.outcome == "holds"
    assert "as claimed" in spread.words
    assert spread.published == pytest.approx(0.28, abs=0.02)
    assert find(tests, 1, "lambda", "PPO Count on DeepSea-10").outcome == "not enough data"
    assert find(tests, 1, "decay", "A2C Count on DeepSea-10").words.endswith("values not run.")
    narrower = find(tests, 2, "spread over values of lambda", "DeA2C Count on Hallway-10-10")
    assert narrower.outcome == "holds"
    assert narrower.effect.value == pytest.approx(-0.9 * np.sqrt(20) / 9, abs=0.01)
    assert find(tests, 2, "average return over values of lambda", "DeA2C Count on DeepSea-10").outcome == "holds"
    backwards = together(sensitive_frame("a2c-count", 0.9, 1), sensitive_frame("dea2c-count", 0, 1))
    tests = claims(backwards)
    assert find(tests, 1, "lambda", "A2C Count on DeepSea-10").outcome == "does not hold"
    assert find(tests, 2, "spread over values of lambda", "DeA2C Count on DeepSea-10").outcome == "does not hold"


def test_a_recipe_is_compared_at_the_values_that_both_have():
    """The baseline was run at two further values, where it learns nothing."""
    ours = sensitive_frame("dea2c-count", 0.5, 0.5)
    ours = ours.filter(~pl.col("setting").is_in(["bonus.scale=0.01", "bonus.scale=0.1"]))
    tests = claims(together(sensitive_frame("a2c-count", 0.0, 0.5), ours))
    level = find(tests, 2, "average return over values of lambda", "DeA2C Count on DeepSea-10")
    assert level.effect.value == pytest.approx(0.5 * 2 / 7, abs=0.01)


def test_a_few_cases_do_not_make_a_whole():
    some = together(sensitive_frame("a2c-count", 0, 1), sensitive_frame("dea2c-count", 0.9, 1))
    whole = find(claims(some), 2, "spread over values of lambda", "all DeRL")
    assert (whole.outcome, "too few cases" in whole.words) == ("not enough data", True)
    assert whole.words.endswith("Mean of 2 of 12 cases.")
    names = [f"{algorithm}-{bonus}" for algorithm in ("a2c", "dea2c", "dedqn") for bonus in ("count", "icm")]
    most = together(*(sensitive_frame(name, 0.9 if name.startswith("de") else 0, 1) for name in names))
    assert find(claims(most), 2, "spread over values of lambda", "all DeRL").outcome == "holds"


def test_a_single_run_is_not_called_none():
    frame = together(sensitive_frame("a2c-count", 0, 1), sensitive_frame("dea2c-count", 0, 1)).filter(
        pl.col("seed") == 0
    )
    tests = claims(frame)
    assert find(tests, 1, "lambda", "A2C Count on DeepSea-10").words.endswith("9 of 9 values one run only.")
    assert find(tests, 1, "lambda", "all baselines").words.endswith("no case has been run more than once.")
    assert find(tests, 1, "decay", "PPO Count on DeepSea-10").words.endswith("7 of 7 values not run.")
    assert find(tests, 3, "average return", "DeA2C Count on DeepSea-10").words.endswith(
        "DeA2C Count one run only and A2C Count one run only."
    )


def test_noisy_runs_leave_it_open():
    frame = together(sensitive_frame("a2c-count", 0.5, 0.7, 0.5), sensitive_frame("dea2c-count", 0.5, 0.7, 0.5))
    finding = find(claims(frame), 2, "spread over values of lambda", "DeA2C Count on DeepSea-10")
    assert finding.outcome == "undecided"
    assert "too uncertain" in finding.words


def test_returns_and_efficiency():
    fast = np.tile(np.where(np.arange(100) < 20, 0.0, 0.99), (10, 1))
    slow = np.tile(np.where(np.arange(100) < 59, 0.0, 0.99), (10, 1))
    task = "DeepSea-10"
    frame = frame_of(
        {Case.of("dea2c-count", task): fast, Case.of("a2c-count", task): slow, Case.of("ppo", task): slow * 0}
    )
    tests = claims(frame)
    better = find(tests, 3, "average return", "DeA2C Count on DeepSea-10")
    assert better.effect == pytest.approx((0.39, 0.39, 0.39))
    assert better.outcome == "holds"
    assert find(tests, 3, "average return", "all DeRL").outcome == "not enough data"
    assert find(tests, 3, "average return", "DeDQN Count on DeepSea-10").words.endswith("DeDQN Count not run.")
    saving = find(tests, 3, "episodes", "DeepSea-10, DeA2C Count against the quickest of 2 baselines")
    assert saving.effect.value == pytest.approx(1 - 21 / 60)
    whole = find(tests, 3, "episodes", "largest of 1 task,")
    assert (whole.outcome, whole.bound, whole.overall) == ("holds", 0.4, True)
    swapped = frame_of({Case.of("dea2c-count", task): slow, Case.of("a2c-count", task): fast})
    # One task without a saving says little about the others.
    assert find(claims(swapped), 3, "episodes", "DeepSea-10").outcome == "does not hold"
    assert find(claims(swapped), 3, "episodes", "largest of 1 task,").outcome == "not enough data"


def test_constraints_and_exploration():
    frame = together(variants_of("DeepSea-10", 5), variants_of("Hallway-20-20", 5))
    tests = claims(frame)
    assert find(tests, 4, "KL", "all").outcome == "holds"
    assert find(tests, 4, "KL", "DeA2C Count on DeepSea-10, intrinsic").effect.value == pytest.approx(-1.617, abs=0.1)
    assert find(tests, 4, "deviation", "all").outcome == "holds"
    # Five runs are enough to tell in a single case.
    assert "holds" in {c.outcome for c in tests if "deviation" in c.measure and not c.overall}
    assert find(tests, 5, "best mean return", "DeA2C Count on DeepSea-10, constraints").outcome == "holds"
    assert find(tests, 5, "minus that of its explorer", "all").outcome == "holds"
    hopeless = frame.with_columns(pl.col("return") * 0.1, pl.col("explorer_return") * 2)
    tests = claims(hopeless)
    assert find(tests, 5, "best mean return", "all").outcome == "does not hold"
    assert find(tests, 5, "minus that of its explorer", "all").outcome == "does not hold"


def test_only_so_many_evaluations_count_as_are_asked_for():
    """In the second half of the training all that the first half shows is undone."""
    early = pl.col("evaluation") <= 10
    frame = variants_of("DeepSea-10", 5).with_columns(
        pl.when(early).then(0.1).otherwise(pl.col("return")).alias("return"),
        pl.when(early).then(pl.col("kl")).otherwise(1.0).alias("kl"),
        explorer_return=pl.when(early).then(0.2).otherwise(0.0),
    )
    half, whole = claims(frame, evaluations=10), claims(frame)
    where = "DeA2C Count on DeepSea-10, both"
    kl = [find(tests, 4, "KL", where).effect.value for tests in (half, whole)]
    assert kl[1] == pytest.approx(kl[0] / 2)
    assert find(half, 4, "deviation", where).effect.value == 0.0
    assert find(whole, 4, "deviation", where).effect.value < 0.0
    where = "DeA2C Count on DeepSea-10, constraints"
    assert find(half, 5, "best mean return", where).effect.value == pytest.approx(0.1 / 0.99)
    assert find(whole, 5, "best mean return", where).effect.value > 0.8
    assert find(half, 5, "minus that of its explorer", where).effect.value == pytest.approx(-0.1 / 0.99)
    assert find(whole, 5, "minus that of its explorer", where).effect.value > 0.2
    # More than the experiment had planned are not asked of it.
    assert claims(frame, evaluations=1000)[-1] == whole[-1]


def test_three_runs_tell_about_deviations_only_together():
    """The paper's constraints were run with three seeds."""
    tests = claims(together(variants_of("DeepSea-10", 3), variants_of("Hallway-20-20", 3, seed=1)))
    assert find(tests, 4, "deviation", "all").outcome == "holds"
    alone = [c for c in tests if c.number == 4 and "deviation" in c.measure and not c.overall]
    assert len(alone) == 4
    assert {(c.outcome, "too few runs to judge alone" in c.words) for c in alone} == {("not enough data", True)}


@pytest.mark.parametrize(("runs", "outcome"), [(3, "holds"), (5, "mixed")])
def test_what_cannot_be_judged_alone_contradicts_nothing(monkeypatch, runs, outcome):
    """Three runs against three can be dealt in 20 ways, too few to judge one case: it does not make the whole mixed."""
    gaps = iter([-0.4, -0.4, -0.4, 0.06])

    def gap(*_):
        value = next(gaps)
        return Effect(value, np.linspace(value - 0.05, value + 0.05, 1000))

    monkeypatch.setattr("derl.analysis.claims.constraints.deviation_gap", gap)
    frame = together(variants_of("DeepSea-10", runs), variants_of("Hallway-20-20", runs, seed=1))
    (whole,) = [f for f in closeness(Results(frame), 100) if f.measure.startswith("deviation") and f.overall]
    assert outcome_of(whole) == outcome


def test_constraints_are_judged_where_the_paper_tested_them():
    """One column of the tables about sensitivity has no setting of the bonus, in a task of its own."""
    frame = together(variants_of("DeepSea-10", 3), variants_of("Hallway-10-10", 5, seed=1))
    for found in (closeness(Results(frame), 100), exploration(Results(frame), 100)):
        assert {f.task for f in found} == {"", "DeepSea-10", "Hallway-20-20"}
        assert {f.task for f in found if f.effect is not None} == {"", "DeepSea-10"}
        # And one of the paper's two tasks tells nothing about both.
        assert {outcome_of(f) for f in found if f.overall} == {"not enough data"}


def test_further_seeds_do_not_count():
    """Only what differed from the paper was run with more, so that these would move it towards the paper."""
    cases = [Case.of(name, "DeepSea-10") for name in ("dea2c-count", "a2c-count")]
    few = frame_of({case: [[level] * 100] * 5 for case, level in zip(cases, (0.4, 0.2), strict=True)})
    more = frame_of({cases[0]: [[0.4] * 100] * 5 + [[0.9] * 100] * 10, cases[1]: [[0.2] * 100] * 5})
    assert list(map(dataclasses.asdict, claims(few))) == list(map(dataclasses.asdict, claims(more)))
    assert improvements(Results(few)) == improvements(Results(more))


def test_what_is_missing_is_named():
    """Results without a column are not results of one run."""
    frame = variants_of("DeepSea-10", 3)
    (kl, *_) = [f for f in closeness(Results(frame.drop("kl")), 100) if not f.overall]
    assert (kl.effect, kl.lacks) == (None, "no kl in these results")


def test_the_quick_version_has_what_the_claims_about_constraints_compare():
    whole = experiment("kl")
    small = set(quick(whole).cases)
    kept = [case for case in whole.cases if shortened(case, QUICK_EPISODES) in small]
    rng = np.random.default_rng(0)
    frame = frame_of({case: rng.random((2, 100)) for case in kept})
    results = Results(frame.with_columns(kl=pl.col("return"), explorer_return=pl.col("return")))
    for test in (closeness, constrained_robustness, exploration):
        found = test(results, 100)
        assert all(finding.effect is not None for finding in found if finding.overall)
    assert all(finding.effect is not None for finding in constrained_robustness(results, 100))


def test_variants_are_found_however_they_are_written():
    plain = Case.of("dea2c-count", "DeepSea-10", {"protocol.episodes": 20000})
    tied = Case.of("dea2c-count-kl", "DeepSea-10", {"protocol.episodes": 20000, "explorer_reward": "intrinsic"})
    other = Case.of("dea2c-count", "DeepSea-10", {"bonus.scale": 4.0, "protocol.episodes": 20000})
    frame = frame_of({case: [[0.0] * 20] * 2 for case in (plain, tied, other)})
    (group,) = main_groups(Results(frame))
    assert group.cases == {Variant(0.0, 0.0, "both"): plain, Variant(0.1, 0.1, "intrinsic"): tied}
    assert (group.evaluations, group.episodes) == (20, 20000)
    assert constraint("Hallway-20-20") == (0.01, 1e-4)
    assert group.selected() == list(group.cases)


def test_the_papers_own_numbers():
    swept = sweep(Results(like_the_paper([Case.of("a2c-count", "DeepSea-10")])), "a2c-count", "DeepSea-10", "lambda")
    assert list(swept.effects) == [1.0]
    assert len(swept.missing) == 8
    numbers = published_values(swept)
    assert list(numbers) == list(LAMBDAS)
    assert numbers[1.0] == 0.99  # That of the table about lambda; Table 1 has 0.98.
    # The table about constraints repeats this row with another number.
    decay = sweep(Results(like_the_paper([Case.of("a2c", "DeepSea-10")])), "dea2c-count", "DeepSea-10", "decay")
    assert published_values(decay)[0.01] == 0.44


def test_with_next_to_nothing_every_claim_is_open():
    tests = claims(frame_of({Case.of("a2c", "DeepSea-10"): [[0.0] * 100]}))
    assert {c.outcome for c in tests} == {"not enough data"}
    assert {c.number for c in overall(tests)} == {1, 2, 3, 4, 5}
    # The paper's own effects do not depend on what was run.
    assert find(tests, 1, "lambda", "all baselines").published == pytest.approx(0.184, abs=0.001)
    assert find(tests, 2, "spread over values of lambda", "all DeRL").published == pytest.approx(-0.076, abs=0.001)
    table = claim_frame(tests)
    assert table["effect"].null_count() == len(table)
    assert set(STATEMENTS) == {1, 2, 3, 4, 5}


def test_how_probable_an_improvement_is():
    returns = {Case.of("dea2c-count", "DeepSea-10"): [[0.5] * 100, [0.7] * 100]}
    returns |= {Case.of("a2c-count", "DeepSea-10"): [[0.4] * 100, [0.6] * 100]}
    # In the other task all runs of DeA2C are better; the third was run with DeA2C alone.
    returns |= {
        Case.of(name, "Hallway-10-10"): [[level] * 100] * 2 for name, level in (("dea2c-count", 1), ("a2c-count", 0))
    }
    returns |= {Case.of("dea2c-count", "Hallway-20-0"): [[1.0] * 100] * 2}
    (found,) = improvements(Results(frame_of(returns)))
    assert (found.recipe, found.baseline, found.tasks) == ("dea2c-count", "a2c-count", 2)
    assert found.probability.value == pytest.approx((3 / 4 + 1) / 2)
    assert "| DeA2C Count | A2C Count | 2 | 0.88 (" in improvement_table(improvements(Results(frame_of(returns))))


def test_claims_are_repeatable():
    frame = together(variants_of("DeepSea-10"), sensitive_frame("a2c-count", 0, 1))
    first, again = (claims(f) for f in (frame, frame.sample(fraction=1, shuffle=True, seed=3)))
    assert list(map(dataclasses.asdict, first)) == list(map(dataclasses.asdict, again))
