"""The measurements behind the paper's claims about sensitivity, returns and sample efficiency (see `claims`)."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from derl.analysis.aggregates import optimal_return
from derl.analysis.effects import average_effect, drawn_curves, mean_effect, saving_of
from derl.analysis.findings import (
    BASELINES,
    DECOUPLED,
    ENOUGH_VALUES,
    LEARNT,
    SAVING,
    SENSITIVE,
    SIMILAR,
    TOO_FEW_CASES,
    Finding,
    baseline_of,
    with_whole,
)
from derl.analysis.frames import Results
from derl.analysis.sensitivity import KINDS, Sweep, published_averages, published_spread, published_values, sweep
from derl.envs.registry import PAPER_TASKS
from derl.experiments.cases import Case
from derl.experiments.paper import SENSITIVITY_TASKS, row_name


def sensitivity(results: Results, evaluations: int) -> list[Finding]:
    """Spreads of the baselines, for lambda and for decay."""
    recipes = [recipe for recipe in BASELINES if "-" in recipe]
    found: list[Finding] = []
    for kind in KINDS:
        swept = [
            sweep(results, recipe, task, kind, evaluations=evaluations)
            for task in SENSITIVITY_TASKS
            for recipe in recipes
        ]
        found += with_whole([_spread(s) for s in swept], "all baselines")
    return found


def _spread(swept: Sweep) -> Finding:
    values = list(swept.effects)
    enough = len(values) >= ENOUGH_VALUES
    return Finding(
        f"spread over values of {swept.kind}",
        swept.name,
        swept.spread(values) if enough else None,
        SENSITIVE,
        "above",
        spread_in_paper(swept, values if enough else None),
        lacks=_lacking(swept),
        note=_lacking(swept) if swept.missing else "",
    )


def _lacking(swept: Sweep) -> str:
    total = len(swept.effects) + len(swept.missing)
    return f"{len(swept.missing)} of {total} values not run"


def spread_in_paper(swept: Sweep, values: Sequence[float] | None) -> float | None:
    """The spread of the paper's own numbers at these values, or at all."""
    numbers = published_values(swept)
    return published_spread(numbers, optimal_return(swept.task), list(numbers) if values is None else values)


def robustness(results: Results, evaluations: int) -> list[Finding]:
    """Spread and level of decoupled recipes, minus those of their baselines."""
    found: list[Finding] = []
    for kind in KINDS:
        pairs = [
            (
                sweep(results, recipe, task, kind, evaluations=evaluations),
                sweep(results, base, task, kind, evaluations=evaluations),
            )
            for task in SENSITIVITY_TASKS
            for recipe, base in ((recipe, baseline_of(recipe)) for recipe in DECOUPLED)
        ]
        found += with_whole([narrower(*pair) for pair in pairs], "all DeRL")
        found += with_whole([_higher(*pair) for pair in pairs], "all DeRL")
    return found


def _common(ours: Sweep, theirs: Sweep) -> list[float]:
    return [value for value in ours.effects if value in theirs.effects]


def narrower(ours: Sweep, theirs: Sweep) -> Finding:
    """The spread of one sweep minus that of another."""
    values = _common(ours, theirs)
    effect = None
    if len(values) >= ENOUGH_VALUES:
        effect = ours.spread(values) - theirs.spread(values)
    known = [spread_in_paper(s, None if effect is None else values) for s in (ours, theirs)]
    return Finding(
        f"spread over values of {ours.kind}, minus that of the baseline",
        f"{ours.name} (against {row_name(theirs.recipe)})",
        effect,
        0.0,
        "below",
        None if known[0] is None or known[1] is None else known[0] - known[1],
        lacks=f"{len(values)} values in common",
    )


def _higher(ours: Sweep, theirs: Sweep) -> Finding:
    values = _common(ours, theirs)
    effect = None
    if len(values) >= ENOUGH_VALUES:
        effect = mean_effect([ours.effects[v] for v in values]) - mean_effect([theirs.effects[v] for v in values])
    known = [published_values(s) for s in (ours, theirs)]
    shared = [v for v in (known[0] if effect is None else values) if v in known[0] and v in known[1]]
    gaps = [(known[0][v] - known[1][v]) / optimal_return(ours.task) for v in shared]
    return Finding(
        f"average return over values of {ours.kind}, minus that of the baseline",
        f"{ours.name} (against {row_name(theirs.recipe)})",
        effect,
        0.0,
        "above",
        float(np.mean(gaps)) if gaps else None,
        lacks=f"{len(values)} values in common",
    )


def returns(results: Results, evaluations: int) -> list[Finding]:
    """Average returns of decoupled recipes minus those of their baselines: over all, by recipe, by recipe and task."""
    by_recipe = [
        with_whole([_better(results, recipe, task, evaluations) for task in PAPER_TASKS], row_name(recipe))
        for recipe in DECOUPLED
    ]
    wholes = [dataclasses.replace(findings[0], overall=False) for findings in by_recipe]
    parts = [finding for findings in by_recipe for finding in findings[1:]]
    return [*with_whole(wholes, "all DeRL"), *parts]


def _better(results: Results, recipe: str, task: str, evaluations: int) -> Finding:
    cases = Case.of(recipe, task), Case.of(baseline_of(recipe), task)
    ours, theirs = (average_effect(results, case, evaluations) for case in cases)
    known = published_averages()
    return Finding(
        "average return minus that of the baseline",
        f"{row_name(recipe)} on {task} (against {row_name(cases[1].recipe)})",
        None if ours is None or theirs is None else ours - theirs,
        SIMILAR,
        "above",
        (known[cases[0]] - known[cases[1]]) / optimal_return(task),
        lacks=" and ".join(row_name(c.recipe) for c, e in zip(cases, (ours, theirs), strict=True) if e is None)
        + " not run",
    )


def efficiency(results: Results, evaluations: int) -> list[Finding]:
    """Episodes saved by the best decoupled recipe against the best baseline of each task, and the largest saving."""
    found = [_saving(results, task, evaluations) for task in PAPER_TASKS]
    there = [f for f in found if f.effect is not None]
    largest = max(there, key=lambda f: f.effect.value if f.effect else 0.0, default=found[0])
    whole = dataclasses.replace(
        largest,
        overall=True,
        subject=f"largest of {len(there)} tasks" + (f", {largest.subject}" if there else ""),
        reach=SAVING,
        # One task is enough to show that it happens, but not to show that it never does.
        too_few="" if _reaches(largest) or 2 * len(there) >= len(found) else TOO_FEW_CASES,
        lacks="" if there else "no task in which both learnt something has been run",
        note="The largest of several is larger than a typical one.",
    )
    return [whole, *found]


def _reaches(finding: Finding) -> bool:
    return finding.effect is not None and finding.effect.value >= SAVING


def _saving(results: Results, task: str, evaluations: int) -> Finding:
    best = [_best(results, recipes, task, evaluations) for recipes in (DECOUPLED, BASELINES)]
    measure = "share of episodes saved"
    if best[0] is None or best[1] is None:
        return Finding(measure, task, None, 0.0, "above", lacks="DeRL or baselines not run")
    ours, theirs = (drawn_curves(results, case, "return", evaluations) for case in best if case is not None)
    assert ours is not None
    assert theirs is not None
    both_reach = min(float(np.nanmax(curve)) for curve, _ in (ours, theirs))
    names = f"{task}, {row_name(best[0].recipe)} against {row_name(best[1].recipe)}"
    if both_reach < LEARNT * optimal_return(task):
        return Finding(measure, names, None, 0.0, "above", lacks="one of them never learnt anything")
    episodes = results.episodes(best[0])[:evaluations]
    return Finding(measure, names, saving_of(ours, theirs, episodes, 0.9 * both_reach), 0.0, "above")


def _best(results: Results, recipes: Sequence[str], task: str, evaluations: int) -> Case | None:
    """The case of the recipe with the highest average return."""
    cases = [Case.of(recipe, task) for recipe in recipes]
    effects = {case: average_effect(results, case, evaluations) for case in cases}
    there = {case: effect.value for case, effect in effects.items() if effect is not None}
    return max(there, key=lambda case: there[case]) if there else None
