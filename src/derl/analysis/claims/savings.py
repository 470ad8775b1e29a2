"""How many episodes decoupling saves: the measurement behind "with up to 40 % fewer episodes" (see `claims.paper`).

In each task the best of six decoupled recipes is compared with the best of twelve baselines, and the whole is the task
with the largest saving. Who is best is chosen by every other run, and the saving is measured with the remaining ones: a
maximum over the numbers it was chosen by would be larger than the truth.

A saving is that of the episodes until a mean curve *holds* 90 % of what the baseline ends with. Who ends with less than
the baseline never does. It is not judged

- below three evaluations: who needs 1,000 episodes and who needs 2,000 is a matter of one evaluation's luck,
- unless the recipe that is the paper's best of its side in the task was run on both sides: with the strongest baseline
  left out, any saving could be had.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from derl.analysis.claims.findings import BASELINES, DECOUPLED, LEARNT, SAVING, SIMILAR, TOO_FEW_CASES, Finding
from derl.analysis.claims.sensitivity import published_averages
from derl.analysis.measures.aggregates import optimal_return
from derl.analysis.measures.effects import Effect, seed_of
from derl.analysis.measures.frames import Results
from derl.analysis.measures.statistics import bootstrap_means, episodes_to_hold, mean_without_nan
from derl.envs.registry import PAPER_TASKS
from derl.experiments.cases import Case
from derl.experiments.paper import row_name

Curves = tuple[np.ndarray, np.ndarray]
"""The mean of some runs, and what it would have been under other draws of them."""
CHOOSING, MEASURED = slice(1, None, 2), slice(0, None, 2)
"""The runs by which the best are chosen, and those by which they are measured: two and three of five."""
HELD = 0.9
"""Of the return the baseline ends with."""
APART = 3
"""A saving of fewer evaluations than these cannot be told from the luck of one."""
TOO_CLOSE = f"of less than {APART} evaluations, too little to measure"


def efficiency(results: Results, evaluations: int) -> list[Finding]:
    """Episodes saved by the best decoupled recipe against the best baseline of each task, and the largest saving."""
    found = [_saving(results, task, evaluations) for task in PAPER_TASKS]
    there = [(finding, before) for finding, before in found if finding.effect is not None]
    judged = [(finding, before) for finding, before in there if not finding.too_few]
    # The task, too, is chosen by other runs than those it is measured with.
    largest, _ = max(judged or there, key=lambda pair: pair[1], default=found[0])
    whole = dataclasses.replace(
        largest,
        overall=True,
        subject=f"largest of {len(judged or there)} tasks" + (f", {largest.subject}" if there else ""),
        bound=SAVING,
        # One task is enough to show that it happens, but not to show that it never does.
        too_few=largest.too_few
        or ("" if _is_above(largest, SAVING) or 2 * len(judged) >= len(found) else TOO_FEW_CASES),
        lacks="" if there else "no task in which both learnt something has been run",
        note="Task and recipes were chosen by other runs.",
    )
    return [whole, *(finding for finding, _ in found)]


def _is_above(finding: Finding, bound: float) -> bool:
    return finding.effect is not None and finding.effect.estimate().low > bound


def _saving(results: Results, task: str, evaluations: int) -> tuple[Finding, float]:
    """The saving of the best of a task, and what it was in the runs by which they were chosen."""
    ours, theirs = (_best(results, recipes, task, evaluations) for recipes in (DECOUPLED, BASELINES))
    none = Finding("share of episodes saved", task, None, 0.0, "above", lacks="DeRL or baselines not run three times")
    if ours is None or theirs is None:
        return none, 0.0
    named = dataclasses.replace(none, subject=f"{task}, {row_name(ours.recipe)} against {row_name(theirs.recipe)}")
    episodes, best = results.episodes(ours)[:evaluations], optimal_return(task)
    pairs = [[_curves(results, case, evaluations, runs) for case in (ours, theirs)] for runs in (MEASURED, CHOOSING)]
    if min(float(final(curve)) for curve, _ in pairs[0]) < LEARNT * best:
        return dataclasses.replace(named, lacks="one of them never learnt anything"), 0.0
    saved, before = (saving_of(pair[0], pair[1], episodes, best) for pair in pairs)
    too_few = _not_run(results, task, evaluations) or ("" if saved.value else TOO_CLOSE)
    return dataclasses.replace(named, effect=saved, lacks="", too_few=too_few), before.value


def saving_of(ours: Curves, theirs: Curves, episodes: np.ndarray, best: float = 1.0) -> Effect:
    """The share of episodes that ours needs less than theirs. Never is as late as the end."""
    (value,) = _saved(ours[0][None], theirs[0][None], episodes, best)
    return Effect(float(value), _saved(ours[1], theirs[1], episodes, best))


def _saved(ours: np.ndarray, theirs: np.ndarray, episodes: np.ndarray, best: float) -> np.ndarray:
    """The same for each pair of curves."""
    end = float(episodes[-1])
    goals = HELD * final(theirs)
    needed = [np.minimum(episodes_to_hold(curves, episodes, goals), end) for curves in (ours, theirs)]
    # To be sooner at a return that is lost again is no saving.
    needed[0] = np.where(final(ours) < final(theirs) + SIMILAR * best, end, needed[0])
    apart = np.abs(needed[0] - needed[1]) > (APART - 0.5) * end / len(episodes)
    return np.where(apart, 1 - needed[0] / needed[1], 0.0)


def final(curves: np.ndarray) -> np.ndarray:
    """The mean of the last tenth of the evaluations."""
    return mean_without_nan(curves[..., -max(1, curves.shape[-1] // 10) :], -1)


def _curves(results: Results, case: Case, evaluations: int, runs: slice) -> Curves:
    values = _runs(results, case, evaluations)[runs]
    return mean_without_nan(values), bootstrap_means(values, seed=seed_of(case))


def _best(results: Results, recipes: Sequence[str], task: str, evaluations: int) -> Case | None:
    """The case of the recipe with the highest average return in the runs that choose; three runs are needed in all."""
    found = {case: _runs(results, case, evaluations) for case in (Case.of(recipe, task) for recipe in recipes)}
    there = {case: float(np.nanmean(runs[CHOOSING])) for case, runs in found.items() if len(runs) > 2}
    return max(there, key=lambda case: there[case]) if there else None


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
    return np.zeros((0, evaluations)) if values is None else values[np.isfinite(values).any(1)]
