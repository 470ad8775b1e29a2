"""Normalised returns over the tasks of an environment, of recipes that have the same tasks."""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from derl.analysis.figures import style
from derl.analysis.figures.curves import DASHED, best_recipes, looks_of, panels_of
from derl.analysis.figures.run import draw_line
from derl.analysis.measures.aggregates import normalised
from derl.analysis.measures.frames import Results
from derl.analysis.measures.statistics import bootstrap_interval, mean_without_nan
from derl.experiments.cases import Case
from derl.experiments.paper import row_name


def normalised_figure(results: Results, environments: Mapping[str, Sequence[str]]) -> Figure:
    """Normalised returns over the tasks of an environment that all recipes drawn have, each task weighing the same."""
    with style.styled():
        # A panel alone needs two lines for the title above it, and a high one keeps its legend off its label.
        figure = style.new_figure(4.6 * len(environments), 3.6 if len(environments) > 1 else 4.3)
        panels = panels_of(figure, len(environments), len(environments))
        for axes, (environment, tasks) in zip(panels, environments.items(), strict=True):
            fullest = best_recipes(results, tasks, fullest=True)
            recipes, common = comparable(results, fullest, tasks)
            for recipe, (colour, index) in looks_of(recipes).items():
                curve = normalised_curve(results, recipe, common)
                draw_line(axes, curve, "", row_name(recipe), colour, index)
            partly = "" if len(common) == len(tasks) else f" ({len(common)} of {len(tasks)} tasks)"
            style.style_curves(axes, environment + partly)
            axes.axhline(1.0, color=style.INK, linewidth=1.1, linestyle=DASHED, zorder=1)
            better = dict.fromkeys([*best_recipes(results, tasks), *fullest])
            left_out = [row_name(recipe) for recipe in better if recipe not in recipes]
            title = f"too few tasks: {', '.join(left_out)}" if left_out else None
            options = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.2), "ncols": 2}
            axes.legend(fontsize=8.5, title=title, title_fontsize=8, **options)
        panels[0].set_ylabel("Share of the best possible return")
        style.add_title(figure, "Normalised evaluation returns, best bonus of each algorithm")
        if len(environments) == 1:
            style.settle(figure)
    return figure


def comparable(results: Results, recipes: Sequence[str], tasks: Sequence[str]) -> tuple[list[str], list[str]]:
    """The recipes that can be drawn together, and the tasks that all of them have been run in.

    Means over different tasks do not compare. A recipe with half as many tasks as another, or fewer, is left out rather
    than the tasks it lacks.
    """
    run = {recipe: {task for task in tasks if Case.of(recipe, task) in results} for recipe in recipes}
    most = max(map(len, run.values()), default=0)
    kept = [recipe for recipe in recipes if 2 * len(run[recipe]) > most]
    common = [task for task in tasks if all(task in run[recipe] for recipe in kept)]
    if not common:
        kept = [recipe for recipe in kept if len(run[recipe]) == most][:1]
        common = [task for task in tasks if any(task in run[recipe] for recipe in kept)]
    return kept, common


def normalised_curve(results: Results, recipe: str, tasks: Sequence[str]) -> pl.DataFrame:
    """The mean over those tasks that were run, with its stratified interval."""
    cases = [case for case in (Case.of(recipe, task) for task in tasks) if case in results]
    values = [results.values(case) for case in cases]
    shortest = min(int(results.lengths(case).min()) for case in cases)
    scores = [normalised(v[:, :shortest], c.task) for v, c in zip(values, cases, strict=True) if v is not None]
    strata = np.repeat(np.arange(len(scores)), [len(s) for s in scores])
    low, high = bootstrap_interval(np.concatenate(scores), strata=strata)
    middle = np.mean([mean_without_nan(s) for s in scores], axis=0)
    episodes = results.episodes(cases[0])[:shortest]
    return pl.DataFrame({"episodes": episodes, "mean": middle, "low": low, "high": high})
