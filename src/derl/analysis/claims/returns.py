"""The measurements behind the paper's claims about sensitivity and returns (see `claims.paper`)."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from derl.analysis.claims.findings import (
    BASELINES,
    DECOUPLED,
    ENOUGH_VALUES,
    ONE_RUN,
    SENSITIVE,
    SIMILAR,
    Finding,
    baseline_of,
    with_whole,
)
from derl.analysis.claims.sensitivity import KINDS, Sweep, published_averages, published_spread, published_values, sweep
from derl.analysis.measures.aggregates import optimal_return
from derl.analysis.measures.effects import Effect, average_effect, exact, mean_effect
from derl.analysis.measures.frames import Results
from derl.analysis.measures.spreads import single_average
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
        task=swept.task,
        lacks=_lacking(swept),
        note=_lacking(swept),
    )


def _lacking(swept: Sweep) -> str:
    total = len(swept.effects) + len(swept.missing) + len(swept.once)
    words = [f"{len(swept.missing)} of {total} values not run"] if swept.missing else []
    words += [f"{len(swept.once)} of {total} values {ONE_RUN}"] if swept.once else []
    return ", ".join(words)


def spread_in_paper(swept: Sweep, values: Sequence[float] | None) -> Effect | None:
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
        task=ours.task,
        lacks=_in_common(ours, theirs),
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
        exact(float(np.mean(gaps))) if gaps else None,
        task=ours.task,
        lacks=_in_common(ours, theirs),
    )


def lack_of(results: Results, case: Case, evaluations: int, column: str = "return") -> str:
    """Why a case has no interval, also of another column that would be needed."""
    if results.finished(case, evaluations=evaluations) is None:
        return "not run"
    if single_average(results, case, evaluations) is not None:
        return ONE_RUN
    return f"no {column} in these results" if results.finished(case, column, evaluations) is None else "runs failed"


def _in_common(ours: Sweep, theirs: Sweep) -> str:
    once = f", {ONE_RUN} elsewhere" if ours.once or theirs.once else ""
    return f"{len(_common(ours, theirs))} values in common{once}"


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
        exact((known[cases[0]] - known[cases[1]]) / optimal_return(task)),
        task=task,
        lacks=" and ".join(
            f"{row_name(c.recipe)} {lack_of(results, c, evaluations)}"
            for c, e in zip(cases, (ours, theirs), strict=True)
            if e is None
        ),
    )
