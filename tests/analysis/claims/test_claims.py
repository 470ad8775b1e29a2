"""Claims: frames made so that each claim holds, fails, or stays open."""

import dataclasses

import numpy as np
import polars as pl
import pytest

from analysis.claims.finding import find
from analysis.made_up import frame_of, like_the_paper, together, variants_of
from derl.analysis.claims.constraints import closeness, constrained_robustness, exploration
from derl.analysis.claims.divergence import Variant, main_groups
from derl.analysis.claims.findings import outcome_of
from derl.analysis.claims.improvement import improvements
from derl.analysis.claims.paper import STATEMENTS, claim_frame, claims, overall
from derl.analysis.claims.sensitivity import published_values, sweep, swept_case
from derl.analysis.measures.effects import Effect
from derl.analysis.measures.frames import Results
from derl.analysis.pages.claims import improvement_table
from derl.experiments.builtin import QUICK_EPISODES, experiment, quick
from derl.experiments.cases import Case
from derl.experiments.experiment import shortened
from derl.experiments.paper import LAMBDAS, cells, constraint, published


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
    # As shares of the best possible return, which is 1.8 in Hallway-10-10.
    recipes, where = ("dea2c-count", "a2c-count"), "DeA2C Count on Hallway-10-10"
    ours, theirs = (published("tab:mean_returns", recipe, "Hallway-10-10").mean for recipe in recipes)
    assert find(tests, 3, "average return", where).published == pytest.approx((ours - theirs) / 1.8)
    ours, theirs = (
        np.mean(
            [c.mean for c in cells() if (c.table, c.case.recipe) == ("tab:hallway10_10_intrinsic_coef_mean", recipe)]
        )
        for recipe in recipes
    )
    level = find(tests, 2, "average return over values of lambda", where)
    assert level.published == pytest.approx((ours - theirs) / 1.8)
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
