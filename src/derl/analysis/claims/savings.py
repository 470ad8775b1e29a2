"""How many episodes decoupling saves: the measurement behind "with up to 40 % fewer episodes" (see `claims.paper`).

In each task the best of six decoupled recipes is compared with all twelve baselines, and the whole is the task with the
largest saving. Which recipe and task these are is chosen by every other run, and the saving is measured with the
remaining ones: a maximum over the numbers it was chosen by would be larger than the truth. Baselines need no choosing:
whichever is the quickest in a draw of the runs is the one to beat, which can only make a saving smaller.

A saving is that of the episodes until a mean curve *holds* 90 % of what the baseline that ends highest ends with. Who
ends with less than that baseline never does. It is not judged

- below three evaluations: who needs 1,000 episodes and who needs 2,000 is a matter of one evaluation's luck,
- by fewer than five runs that measure: of three, none may be one of those that never learn,
- unless the recipe that is the paper's best of its side in the task was run on both sides: with the strongest baseline
  left out, any saving could be had.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from derl.analysis.claims.findings import BASELINES, DECOUPLED, LEARNT, SAVING, SIMILAR, TOO_FEW_CASES, Finding
from derl.analysis.claims.sensitivity import published_averages
from derl.analysis.measures.aggregates import optimal_return
from derl.analysis.measures.effects import Effect, seed_of
from derl.analysis.measures.frames import Results
from derl.analysis.measures.statistics import bootstrap_means, episodes_to_hold, mean_without_nan
from derl.envs.registry import PAPER_TASKS
from derl.experiments.cases import Case
from derl.experiments.paper import row_name

Curves = tuple[Float[np.ndarray, "recipes evaluations"], Float[np.ndarray, "recipes draws evaluations"]]
"""The mean of some recipes' runs, and what it would have been under other draws of them."""
CHOOSING, MEASURED = slice(1, None, 2), slice(0, None, 2)
"""The runs by which the best are chosen, and those by which they are measured: five and five of ten."""
ENOUGH = 5
"""Of fewer runs that measure, an interval is no narrower than luck."""
FEW_RUNS = f"of fewer than {ENOUGH} runs that measure (run {2 * ENOUGH} seeds)"
HELD = 0.9
"""Of the return the baseline ends with."""
APART = 3
"""A saving of fewer evaluations than these cannot be told from the luck of one."""
TOO_CLOSE = f"of less than {APART} evaluations, too little to measure"


def efficiency(results: Results, evaluations: int) -> list[Finding]:
    """Episodes saved by the best decoupled recipe of each task against all baselines, and the largest saving."""
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
    """The saving of the best of a task, and what it was in the runs by which it was chosen."""
    ours, theirs = _best(results, task, evaluations), _cases(results, BASELINES, task, evaluations)
    none = Finding("share of episodes saved", task, None, 0.0, "above", lacks="DeRL or baselines not run three times")
    if ours is None or not theirs:
        return none, 0.0
    against = row_name(theirs[0].recipe) if len(theirs) == 1 else f"the quickest of {len(theirs)} baselines"
    named = dataclasses.replace(none, subject=f"{task}, {row_name(ours.recipe)} against {against}")
    episodes, best = results.episodes(ours)[:evaluations], optimal_return(task)
    pairs = [
        (_curves(results, [ours], evaluations, runs), _curves(results, theirs, evaluations, runs))
        for runs in (MEASURED, CHOOSING)
    ]
    if min(float(final(curves).max()) for curves, _ in pairs[0]) < LEARNT * best:
        return dataclasses.replace(named, lacks="one of them never learnt anything"), 0.0
    saved, before = (saving_of(*pair, episodes, best) for pair in pairs)
    too_few = _not_run(results, task, evaluations) or ("" if saved.value else TOO_CLOSE)
    fewest = min(len(_runs(results, case, evaluations)[MEASURED]) for case in (ours, *theirs))
    too_few = too_few or (FEW_RUNS if fewest < ENOUGH else "")
    return dataclasses.replace(named, effect=saved, lacks="", too_few=too_few), before.value


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
    end, highest = float(episodes[-1]), final(theirs).max(0)
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


def _curves(results: Results, cases: Sequence[Case], evaluations: int, runs: slice) -> Curves:
    values = [_runs(results, case, evaluations)[runs] for case in cases]
    drawn = [bootstrap_means(rows, seed=seed_of(case)) for case, rows in zip(cases, values, strict=True)]
    return np.stack([mean_without_nan(rows) for rows in values]), np.stack(drawn)


def _cases(results: Results, recipes: Sequence[str], task: str, evaluations: int) -> list[Case]:
    """The recipes that were run three times or more in a task."""
    cases = [Case.of(recipe, task) for recipe in recipes]
    return [case for case in cases if len(_runs(results, case, evaluations)) > 2]


def _best(results: Results, task: str, evaluations: int) -> Case | None:
    """The decoupled recipe with the highest average return in the runs that choose."""
    there = _cases(results, DECOUPLED, task, evaluations)
    return max(there, key=lambda case: np.nanmean(_runs(results, case, evaluations)[CHOOSING]), default=None)


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
