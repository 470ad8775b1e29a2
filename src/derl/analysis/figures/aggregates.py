"""Aggregates over the tasks of an environment with their intervals, and performance profiles."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from derl.analysis.figures import style
from derl.analysis.figures.curves import COLOURS, best_recipes, looks_of
from derl.analysis.measures.aggregates import (
    Estimate,
    Scores,
    iqm,
    mean,
    normalised,
    optimality_gap,
    performance_profile,
)
from derl.analysis.measures.frames import EVALUATIONS, Results
from derl.analysis.measures.statistics import mean_without_nan
from derl.experiments.cases import Case
from derl.experiments.paper import row_name
from derl.training.recipes import TABLE_1

MEASURES = {"Mean": mean, "Interquartile mean": iqm, "Optimality gap": optimality_gap}


def scores_of(results: Results, recipe: str, tasks: Sequence[str], evaluations: int) -> Scores | None:
    """Every finished run's average return, normalised, by task; None if a task has none."""
    scores = {}
    for task in tasks:
        values = results.finished(Case.of(recipe, task), evaluations=evaluations)
        if values is None:
            return None
        scores[task] = normalised(mean_without_nan(values, 1), task)
    return scores


def all_scores(results: Results, tasks: Sequence[str], evaluations: int = EVALUATIONS) -> dict[str, Scores]:
    """The recipes that were run in all of the tasks: others cannot be compared with them."""
    found = {recipe: scores_of(results, recipe, tasks, evaluations) for recipe in TABLE_1}
    return {recipe: scores for recipe, scores in found.items() if scores is not None}


def aggregates_figure(
    results: Results, environment: str, tasks: Sequence[str], evaluations: int = EVALUATIONS
) -> Figure | None:
    """Mean, interquartile mean and optimality gap of all recipes, and profiles of the best; None if there are few."""
    scores = all_scores(results, tasks, evaluations)
    if len(scores) < 2:
        return None
    with style.styled():
        figure = style.new_figure(11.0, max(2.8, 0.21 * len(scores) + 1.3))
        panels = figure.subplots(1, 4, width_ratios=[1, 1, 1, 1.6])
        for axes, (name, measure) in zip(panels, MEASURES.items(), strict=False):
            draw_estimates(axes, {recipe: measure(s) for recipe, s in scores.items()})
            axes.set_title(name, loc="left", fontsize=10)
            if axes is not panels[0]:
                axes.set_yticklabels([])
        best = best_recipes(results, tasks, fullest=True)
        draw_profiles(panels[3], {recipe: scores[recipe] for recipe in best if recipe in scores})
        title = f"{environment}: normalised average returns over {len(tasks)} tasks, 95 % intervals"
        left_out = len(TABLE_1) - len(scores)
        if left_out:
            were = "was" if left_out == 1 else "were"
            title += f" ({left_out} of {len(TABLE_1)} recipes {were} not run in all of them)"
        style.add_title(figure, title)
    return figure


def draw_estimates(axes: Axes, estimates: Mapping[str, Estimate]) -> None:
    """A point and its interval per recipe, the first at the top."""
    for i, (recipe, estimate) in enumerate(estimates.items()):
        colour = COLOURS[recipe]
        axes.plot([estimate.low, estimate.high], [i, i], color=colour, linewidth=5, alpha=0.4, solid_capstyle="butt")
        axes.plot(estimate.value, i, "|", color=colour, markersize=9, markeredgewidth=2.2)
    axes.set_yticks(range(len(estimates)), [row_name(recipe) for recipe in estimates], fontsize=8.5)
    axes.set_ylim(len(estimates) - 0.4, -0.6)
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(axis="y", length=0)


def draw_profiles(axes: Axes, scores: Mapping[str, Scores]) -> None:
    """The share of runs above each return."""
    thresholds = np.linspace(0, 1, 101)
    for recipe, (colour, index) in looks_of(list(scores)).items():
        profile = performance_profile(scores[recipe], thresholds)
        axes.fill_between(thresholds, profile.low, profile.high, color=colour, alpha=0.18, linewidth=0)
        marker = style.MARKERS[index % len(style.MARKERS)]
        places = slice(4 * index, None, 20)
        axes.plot(
            thresholds,
            profile.share,
            color=colour,
            linewidth=1.8,
            label=row_name(recipe),
            marker=marker,
            markersize=4.5,
            markevery=places,
        )
    axes.set_title("Performance profile (best bonuses)", loc="left", fontsize=10)
    axes.set_xlabel("Normalised return τ")
    axes.set_ylabel("Share of runs above τ")
    axes.set(xlim=(0, 1), ylim=(0, 1.02))
    if scores:
        axes.legend(fontsize=8)
