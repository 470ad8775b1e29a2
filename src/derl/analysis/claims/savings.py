"""How many episodes decoupling saves: the measurement behind "with up to 40 % fewer episodes" (see `claims.paper`).

In each task the best of six decoupled recipes is compared with all twelve baselines. Which recipe that is, is chosen by
every other run and measured with the remaining ones, and the other way round: a maximum over the numbers it was chosen
by would be larger than the truth. Baselines need no choosing: whichever is the quickest in a draw of the runs is the
one to beat, which can only make a saving smaller. The whole is the saving of the task that is surest to save most,
the one with the highest lower end. Its interval is from there to the highest upper end of all tasks, which are wider
the more tasks there are (Bonferroni).

A saving is that of the episodes until a mean curve *holds* 90 % of what the baseline that ends highest ends with. Who
ends lower than that baseline, by more than 0.05 of the best possible return, never does. It is not judged

- below three evaluations: who needs 1,000 episodes and who needs 2,000 is a matter of one evaluation's luck,
- of fewer than five runs on either side,
- unless the recipe that is the paper's best of its side in the task was run on both sides: with the strongest baseline
  left out, any saving could be had.
"""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float

from derl.analysis.claims.findings import BASELINES, DECOUPLED, LEARNT, SAVING, SIMILAR, TOO_FEW_CASES, Finding
from derl.analysis.claims.sensitivity import published_averages
from derl.analysis.measures.aggregates import Estimate, optimal_return
from derl.analysis.measures.effects import Effect, drawn_means, seed_of
from derl.analysis.measures.frames import Results
from derl.analysis.measures.statistics import LEVEL, episodes_to_hold, maximum_without_nan, mean_without_nan, sound_runs
from derl.envs.registry import PAPER_TASKS
from derl.experiments.cases import Case
from derl.experiments.paper import row_name

Curves = tuple[Float[np.ndarray, "recipes evaluations"], Float[np.ndarray, "recipes draws evaluations"]]
"""The mean of some recipes' runs, and what it would have been under other draws of them."""
HALVES = (slice(1, None, 2), slice(0, None, 2))
"""Either half of the runs chooses what is measured with the other."""
ENOUGH = 5
FEW_RUNS = f"of fewer than {ENOUGH} runs, too few to judge"
HELD = 0.9
"""Of the return the baseline ends with."""
APART = 3
"""A saving of fewer evaluations than these cannot be told from the luck of one."""
TOO_CLOSE = f"of less than {APART} evaluations, too little to measure"


def efficiency(results: Results, evaluations: int) -> list[Finding]:
    """Episodes saved by the best decoupled recipe of each task against all baselines, and the largest saving."""
    found = [_saving(results, task, evaluations) for task in PAPER_TASKS]
    return [largest_of(found), *found]


def largest_of(found: Sequence[Finding]) -> Finding:
    """The finding about the whole."""
    there = [finding for finding in found if isinstance(finding.effect, Effect)]
    judged = [finding for finding in there if not finding.too_few] or there
    whole = dataclasses.replace(found[0], overall=True, subject="largest of 0 tasks", bound=SAVING)
    if not judged:
        return dataclasses.replace(whole, lacks="no task in which both learnt something has been run")
    level = 1 - (1 - LEVEL) / len(judged)
    ends = {f.subject: f.effect.estimate(level) for f in judged if isinstance(f.effect, Effect)}
    largest = max(judged, key=lambda f: ends[f.subject].low)
    low, high = (max(getattr(estimate, end) for estimate in ends.values()) for end in ("low", "high"))
    effect = Estimate(ends[largest.subject].value, low, high)
    # One task is enough to show that it happens, but not to show that it never does.
    few = "" if effect.low > SAVING or 2 * len(judged) >= len(found) else TOO_FEW_CASES
    subject = f"largest of {len(judged)} {'task' if len(judged) == 1 else 'tasks'}, {largest.subject}"
    return dataclasses.replace(whole, subject=subject, effect=effect, too_few=largest.too_few or few, lacks="")


def _saving(results: Results, task: str, evaluations: int) -> Finding:
    """The saving of the best of a task."""
    ours, theirs = (_cases(results, recipes, task, evaluations) for recipes in (DECOUPLED, BASELINES))
    none = Finding("share of episodes saved", task, None, 0.0, "above", lacks="DeRL or baselines not run three times")
    if not ours or not theirs:
        return none
    chosen, rows = _best(results, ours, evaluations)
    names = " or ".join(dict.fromkeys(row_name(case.recipe) for case in chosen))
    against = row_name(theirs[0].recipe) if len(theirs) == 1 else f"the quickest of {len(theirs)} baselines"
    named = dataclasses.replace(none, subject=f"{task}, {names} against {against}")
    baselines = {case: _runs(results, case, evaluations) for case in theirs}
    sides = _curves({chosen[0]: rows}), _curves(baselines)
    if min(float(maximum_without_nan(final(curves))) for curves, _ in sides) < LEARNT * optimal_return(task):
        return dataclasses.replace(named, lacks="one of them never learnt anything")
    saved = saving_of(*sides, results.episodes(chosen[0])[:evaluations], optimal_return(task))
    few = FEW_RUNS if min(map(len, (rows, *baselines.values()))) < ENOUGH else ""
    too_few = _not_run(results, task, evaluations) or ("" if saved.value else TOO_CLOSE) or few
    return dataclasses.replace(named, effect=saved, lacks="", too_few=too_few)


def saving_of(ours: Curves, theirs: Curves, episodes: np.ndarray, best: float = 1.0) -> Effect:
    """The share of episodes that ours needs less than the quickest of theirs. Never is as late as the end."""
    (value,) = _saved(ours[0][:, None], theirs[0][:, None], episodes, best)
    return Effect(float(value), _saved(ours[1], theirs[1], episodes, best))


def _saved(
    ours: Float[np.ndarray, "1 draws evaluations"],
    theirs: Float[np.ndarray, "baselines draws evaluations"],
    episodes: np.ndarray,
    best: float,
) -> Float[np.ndarray, " draws"]:
    """The same for each draw."""
    end, highest = float(episodes[-1]), maximum_without_nan(final(theirs))
    needed, quickest = (
        np.minimum(episodes_to_hold(curves, episodes, HELD * highest), end).min(0) for curves in (ours, theirs)
    )
    # To be sooner at a return that is lost again is no saving.
    needed = np.where(final(ours)[0] < highest + SIMILAR * best, end, needed)
    apart = np.abs(needed - quickest) > (APART - 0.5) * end / len(episodes)
    return np.where(apart, 1 - needed / quickest, 0.0)


def final(curves: np.ndarray) -> np.ndarray:
    """The mean of the last tenth of the evaluations."""
    return mean_without_nan(curves[..., -max(1, curves.shape[-1] // 10) :], -1)


def _curves(runs: Mapping[Case, np.ndarray]) -> Curves:
    drawn = [drawn_means(rows, seed_of(case)) for case, rows in runs.items()]
    return np.stack([mean_without_nan(rows) for rows in runs.values()]), np.stack(drawn)


def _cases(results: Results, recipes: Sequence[str], task: str, evaluations: int) -> list[Case]:
    """The recipes that were run three times or more in a task."""
    cases = [Case.of(recipe, task) for recipe in recipes]
    return [case for case in cases if len(_runs(results, case, evaluations)) > 2]


def _best(results: Results, cases: Sequence[Case], evaluations: int) -> tuple[list[Case], np.ndarray]:
    """What has the highest average return in either half of the runs, and its runs in the other half."""
    runs = {case: _runs(results, case, evaluations) for case in cases}
    chosen = [max(cases, key=lambda case: np.nanmean(runs[case][half])) for half in HALVES]
    return chosen, np.concatenate([runs[case][half] for case, half in zip(chosen, reversed(HALVES), strict=True)])


def _not_run(results: Results, task: str, evaluations: int) -> str:
    """Which recipes that the paper finds best in a task were not run there; either of several equals will do."""
    missing = []
    for recipes in (DECOUPLED, BASELINES):
        known = {recipe: published_averages()[Case.of(recipe, task)] for recipe in recipes}
        best = [recipe for recipe, value in known.items() if value == max(known.values())]
        if not any(len(_runs(results, Case.of(recipe, task), evaluations)) > 2 for recipe in best):
            missing.append(row_name(best[0]))
    return f"but {' and '.join(missing)}, the paper's best there, not run three times" if missing else ""


def _runs(results: Results, case: Case, evaluations: int) -> np.ndarray:
    """The returns of the finished runs that did not fail from the start; none if there are none."""
    values = results.finished(case, evaluations=evaluations)
    return np.zeros((0, evaluations)) if values is None else sound_runs(values)
