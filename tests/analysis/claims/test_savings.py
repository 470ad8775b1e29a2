"""Episodes saved: worked by hand, and frames made so that a saving is certain, small, lucky, or not to be judged."""

import dataclasses

import numpy as np
import pytest

from analysis.claims.finding import find
from analysis.made_up import frame_of
from derl.analysis.claims.findings import BASELINES, DECOUPLED, Finding
from derl.analysis.claims.paper import claims
from derl.analysis.claims.savings import efficiency, largest_of, saving_of
from derl.analysis.measures.effects import Effect
from derl.analysis.measures.frames import Results
from derl.experiments.cases import Case


def runs_from(*starts: int) -> np.ndarray:
    """Runs that are perfect after so many evaluations."""
    return np.stack([np.where(np.arange(100) < start, 0.0, 0.99) for start in starts])


def test_savings():
    episodes = 10.0 * np.arange(1, 21)
    ours, theirs = (np.where(np.arange(20) < start, 0, 1.0) for start in (4, 9))
    never, lower = 0 * theirs, 0.92 * ours
    effect = saving_of((ours[None], np.stack([[ours] * 2])), (theirs[None], np.stack([[theirs, never]])), episodes)
    assert effect.value == 0.5
    # What the baseline never earns is held by both from the start.
    np.testing.assert_array_equal(effect.draws, [0.5, 0])

    def value(ours: np.ndarray, *theirs: np.ndarray) -> float:
        baselines = np.stack(theirs)
        return saving_of((ours[None], ours[None, None]), (baselines, baselines[:, None]), episodes).value

    # Reached sooner, but at the end it is less than the baseline has.
    assert value(lower, theirs) == 1 - 200 / 100
    # Two evaluations are too few to tell, three are not.
    assert value(np.roll(ours, 3), theirs) == 0
    assert value(np.roll(ours, 2), theirs) == pytest.approx(0.3)
    # One good evaluation at first does not hold anything.
    lucky = theirs.copy()
    lucky[0] = 1
    assert value(lucky, theirs) == 0
    # It is the quickest baseline that counts, also where a slower one ends a little higher, unless it ends far lower.
    slow = np.where(np.arange(20) < 15, 0, 1.0)
    assert value(ours, slow) == pytest.approx(1 - 50 / 160)
    assert value(ours, slow, 0.95 * theirs) == 0.5
    assert value(ours, slow, 0.8 * ours) == pytest.approx(1 - 50 / 160)


def test_how_much_lower_one_may_end_is_a_share_of_the_best_return():
    """A twentieth of it: 0.17 where 3.4 is the best, 0.05 where it is 1."""
    episodes = 10.0 * np.arange(1, 21)
    ours, theirs = (np.where(np.arange(20) < start, 0, end)[None] for start, end in ((4, 3.3), (9, 3.4)))
    sides = (ours, ours[None]), (theirs, theirs[None])
    assert saving_of(*sides, episodes, best=3.4).value == 0.5
    assert saving_of(*sides, episodes, best=1.0).value == 1 - 200 / 100


def test_a_baseline_that_fails_hides_no_saving():
    """Its runs end with numbers that are none; it is neither quick nor good."""
    task, lost = "DeepSea-10", runs_from(100, 100, 100, 100, 100)
    lost[1:, 50:] = np.nan
    whole = {Case.of(recipe, task): runs_from(10, 10, 10, 10, 10) for recipe in DECOUPLED}
    whole |= {Case.of(recipe, task): runs_from(50, 50, 50, 50, 50) for recipe in BASELINES}
    for failed in (lost, np.where(np.arange(100) < 50, lost, np.nan)):
        findings = efficiency(Results(frame_of(whole | {Case.of("a2c", task): failed})), 100)
        (found,) = (finding for finding in findings if task in finding.subject and not finding.overall)
        assert isinstance(found.effect, Effect)
        assert found.effect.value == pytest.approx(1 - 11 / 51)
        assert found.effect.estimate().low == pytest.approx(1 - 11 / 51)


def test_a_saving_that_is_certain_but_small_is_not_forty_percent():
    fast, slow = (np.tile(np.where(np.arange(100) < start, 0.0, 0.99), (10, 1)) for start in (50, 60))
    tasks = ("DeepSea-10", "DeepSea-14", "DeepSea-20", "DeepSea-24", "DeepSea-30", "Hallway-10-0")
    frame = frame_of(
        {Case.of(r, t): rows for t in tasks for names, rows in ((DECOUPLED, fast), (BASELINES, slow)) for r in names}
    )
    tests = claims(frame)
    assert find(tests, 3, "episodes", "DeepSea-10").outcome == "holds"
    assert find(tests, 3, "episodes", "largest of 6 tasks").outcome == "does not hold"


def test_a_recipe_is_not_chosen_by_the_runs_that_measure_it():
    # In every other run DeA2C Count is the quicker one, in the others DeA2C ICM: whoever is chosen, the rest is slow.
    rows = {"dea2c-count": runs_from(60, 10, 60, 10, 60, 10), "dea2c-icm": runs_from(10, 60, 10, 60, 10, 60)}
    frame = frame_of(
        {Case.of(name, "DeepSea-10"): r for name, r in {**rows, "a2c-count": runs_from(*[60] * 6)}.items()}
    )
    saving = find(claims(frame), 3, "episodes", "DeepSea-10, DeA2C Count or DeA2C ICM against A2C Count")
    assert saving.effect == (0, 0, 0)


def test_the_largest_of_many_savings_is_less_certain_than_one():
    """Among twenty tasks without a saving, one seems to have one at the level of 5 %."""
    draws = np.linspace(0, 1, 1001)
    starts = {"a": 0.1, "b": 0.3, "c": 0.2, "d": 0.0}
    found = [Finding("saved", name, Effect(x + 0.5, x + draws), 0.0, "above") for name, x in starts.items()]
    whole = largest_of(found)
    assert (whole.subject, whole.overall, whole.too_few) == ("largest of 4 tasks, b", True, "")
    assert whole.estimate == pytest.approx((0.8, 0.3 + 0.05 / 8, 1.3 - 0.05 / 8))
    assert found[1].estimate == pytest.approx((0.8, 0.3 + 0.025, 1.3 - 0.025))
    # What cannot be judged alone does not count beside what can.
    found[1] = dataclasses.replace(found[1], too_few="of one run")
    assert largest_of(found).subject == "largest of 3 tasks, c"


def test_the_largest_saving_is_that_of_the_task_it_names():
    def saving(task, value, spread):
        draws = value + spread * np.linspace(-1, 1, 1000)
        return Finding("share of episodes saved", task, Effect(value, draws), 0.0, "above")

    whole = largest_of([saving("A", 0.45, 0.01), saving("B", 0.6, 0.5)])
    assert whole.subject == "largest of 2 tasks, A"
    assert whole.effect.value == 0.45
    assert whole.effect.low < 0.45 < 1.0 < whole.effect.high


def test_what_the_page_says_is_the_rule():
    """The interval decides about 40 % as about everything else: 0.5 is not enough if it may be 0.1."""
    ours, theirs = runs_from(30, 30, 20, 30, 55, 30, 55, 30, 30, 30), runs_from(*[60] * 10)
    frame = frame_of({Case.of("dea2c-count", "DeepSea-10"): ours, Case.of("a2c-count", "DeepSea-10"): theirs})
    (whole,) = [c for c in claims(frame) if c.subject.startswith("largest of 1 task,")]
    assert whole.effect.low < 0.4
    assert (whole.outcome, whole.bound) == ("not enough data", 0.4)


def test_a_saving_without_the_papers_best_recipes_is_not_judged():
    """Against weak baselines anything is quick."""
    ours, theirs = runs_from(*[20] * 10), runs_from(*[60] * 10)
    rows = {"dea2c-count": ours, "a2c": theirs}
    whole, first = efficiency(Results(frame_of({Case.of(r, "DeepSea-10"): x for r, x in rows.items()})), 100)[:2]
    assert first.effect.value == pytest.approx(1 - 21 / 61)
    assert (first.too_few, whole.too_few) == ("but A2C Count, the paper's best there, not run three times",) * 2
    # The paper has A2C Count and A2C Hash-Count at the same place: either will do.
    rows["a2c-hash-count"] = theirs
    whole, first = efficiency(Results(frame_of({Case.of(r, "DeepSea-10"): x for r, x in rows.items()})), 100)[:2]
    assert (first.too_few, whole.too_few) == ("", "")


def test_a_saving_of_few_runs_is_not_judged():
    for runs, few in ((4, "fewer than 5 runs"), (5, "")):
        rows = {"dea2c-count": runs_from(*[10] * 5), "a2c-count": runs_from(*[60] * runs)}
        whole, first = efficiency(Results(frame_of({Case.of(r, "DeepSea-10"): x for r, x in rows.items()})), 100)[:2]
        assert first.effect.value > 0.4
        assert few in first.too_few
        assert few in whole.too_few
        assert bool(first.too_few) == bool(few)


def test_a_lucky_first_evaluation_saves_nothing():
    """As DeA2C Count in Hallway-20-20: good at once, then two of five runs fall, and both sides end alike."""
    falls, stays = np.full(100, 0.3), np.full(100, 0.5)
    falls[0] = stays[0] = 0.6
    theirs = np.full(100, 0.42)
    theirs[0] = 0.0
    rows = {"dea2c-count": np.stack([falls, stays, falls, stays, stays]), "a2c-count": np.tile(theirs, (5, 1))}
    tests = claims(frame_of({Case.of(r, "DeepSea-10"): x for r, x in rows.items()}))
    saved = [c for c in tests if "episodes saved" in c.measure]
    assert (len(saved), "holds" in {c.outcome for c in saved}) == (12, False)
