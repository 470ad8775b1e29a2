"""The figures of the experiment `beyond`: curves over episodes and time, sensitivity, and what each part does."""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from derl.analysis.figures import style
from derl.analysis.figures.curves import DASHED, curve_of
from derl.analysis.figures.run import draw_line
from derl.analysis.measures.frames import Results
from derl.analysis.measures.holding import Holding
from derl.analysis.measures.statistics import mean_without_nan
from derl.envs import make
from derl.envs.registry import PAPER_TASKS
from derl.experiments.cases import Case, Setting
from derl.experiments.paper import INCREMENTS, LAMBDAS, SENSITIVITY_TASKS, Cell, cells, column_name, row_name
from derl.experiments.reference import reference_speed
from derl.training.recipes import TABLE_1

OWN = "derl"
INCREMENT = "bonus.increment"
SWEPT: Mapping[str, Sequence[float]] = {"bonus.scale": LAMBDAS, INCREMENT: INCREMENTS}
Axis = Literal["episodes", "seconds"]
LABELS: Mapping[Axis, str] = {"episodes": "Training episodes", "seconds": "Core seconds of a run"}
TITLES: Mapping[Axis, str] = {
    "episodes": "One set of hyper-parameters on every task of the paper",
    "seconds": "The same over the core time a run takes",
}

AVERAGES = ("tab:mean_returns",)


def best_published(task: str, tables: tuple[str, ...] = AVERAGES) -> Cell:
    """The highest average (or maximum) return the paper has for a task."""
    there = [c for c in cells() if c.table in tables and c.case.task == task]
    return max(there, key=lambda c: c.mean)


def swept(task: str, setting: str, value: float) -> Case:
    """The recipe with one setting changed; its default is the recipe itself."""
    return Case.of(OWN, task, {} if value == 1.0 else {setting: value})


def over(axis: Axis, results: Results | None, case: Case) -> pl.DataFrame | None:
    """The curve of a case over episodes, or over the time a run had taken by then; None if that is not known."""
    curve = None if results is None else curve_of(results, case)
    if curve is None or results is None or axis == "episodes":
        return curve
    seconds = results.values(case, "seconds")
    if seconds is None or not np.nanmin(seconds) > 0:
        return None
    # Evaluations are evenly spaced, and so is the time between them but for compilation.
    return curve.with_columns(pl.col("episodes") / pl.col("episodes").max() * float(np.nanmean(seconds[:, 0])))


def curves_figure(results: Results, paper: Results | None, axis: Axis = "episodes") -> Figure | None:
    """Returns on a logarithmic axis, the paper's best average as a line, runs of its rows and of bootdqn beside."""
    tasks = [task for task in PAPER_TASKS if over(axis, results, Case.of(OWN, task)) is not None]
    if not tasks:
        return None
    with style.styled():
        columns = min(3, len(tasks))
        figure = style.new_figure(max(3.2 * columns, 5.6), 2.3 * -(-len(tasks) // columns) + 0.5)
        panels = figure.subplots(-(-len(tasks) // columns), columns, squeeze=False).reshape(-1)
        for axes, task in zip(panels, tasks, strict=False):
            _task_panel(axes, task, results, paper, axis)
        for axes in panels[len(tasks) :]:
            axes.set_visible(False)
        panels[0].set_ylabel("Return")
        unique = {label: line for axes in panels for line, label in zip(*axes.get_legend_handles_labels(), strict=True)}
        style.legend_below(figure, unique.values(), unique, 4)
        style.add_title(figure, TITLES[axis])
    return figure


def published_points(task: str, axis: Axis) -> list[tuple[float, float]]:
    """The published averages of a task, after all episodes, or after the time these take the paper's own code."""
    points = []
    for cell in cells():
        if cell.table in AVERAGES and cell.case.task == task:
            protocol, env = cell.case.config().protocol, cell.case.config().make_env()
            seconds = protocol.budget(env)[0] / reference_speed(cell.case.recipe, task)
            points.append((float(protocol.episodes) if axis == "episodes" else seconds, cell.mean))
    return points


def _task_panel(axes: Axes, task: str, results: Results, paper: Results | None, axis: Axis) -> None:
    others = [over(axis, paper, Case.of(recipe, task)) for recipe in TABLE_1]
    label: str | None = "the paper's algorithms, rerun"
    for curve in others:
        if curve is not None:
            axes.plot(curve["episodes"], curve["mean"], color=style.FAINT, linewidth=0.8, alpha=0.6, label=label)
            label = None
    own = over(axis, results, Case.of(OWN, task))
    assert own is not None
    draw_line(axes, own, "", "derl", style.VERMILLION, 0)
    ensemble = over(axis, results, Case.of("bootdqn", task))
    if ensemble is not None:
        draw_line(axes, ensemble, "", "bootstrapped DQN", style.GREEN, 1)
    best = best_published(task).mean
    axes.axhline(best, color=style.BLUE, linewidth=1.3, linestyle=":", label="best published average")
    points = published_points(task, axis)
    x, y = [x for x, _ in points], [y for _, y in points]
    axes.plot(x, y, "_", color=style.BLUE, markersize=9, markeredgewidth=1.6, label="published averages")
    optimum = make(task).optimal_return or 0.0
    axes.axhline(optimum, color=style.INK, linewidth=1, linestyle=DASHED, label="optimum")
    axes.set_xscale("log")
    axes.set_title(column_name(task), loc="left")
    axes.set_xlabel(LABELS[axis])


def file_name(ablation: str) -> str:
    """The name of an ablation's picture."""
    words = "".join(letter if letter.isalnum() else " " for letter in ablation.lower().replace("'", ""))
    return "without-" + "-".join(words.split())


def changed(tasks: Sequence[str], changes: Mapping[str, Setting]) -> list[tuple[Case, Case]]:
    """The recipe and the same with a part changed, on each task."""
    return [(Case.of(OWN, task), Case.of(OWN, task, changes)) for task in tasks]


def part_figure(results: Results, ablation: str, pairs: Sequence[tuple[Case, Case]]) -> Figure | None:
    """The recipe and the same with a part changed: every run as a thin line, the mean as a thick one.

    Of the recipe only the seeds that the other was run with, too; a logarithmic axis, as most is learnt early.
    """
    if not any(other in results for _, other in pairs):
        return None
    with style.styled():
        figure = style.new_figure(7.2, 2.6)
        panels = figure.subplots(1, len(pairs), squeeze=False)[0]
        for axes, (recipe, other) in zip(panels, pairs, strict=True):
            _part_panel(axes, results, ablation, recipe, other)
            axes.set_xscale("log")
        panels[0].set_ylabel("Return")
        handles, labels = panels[-1].get_legend_handles_labels()
        style.legend_below(figure, handles, labels, 2)
    return figure


def held_figure(results: Results, ablation: str, recipe: Case, other: Case) -> Figure | None:
    """The same for what is lost late: returns, and the entropy of the exploiter's policy where it is known."""
    if other not in results:
        return None
    with style.styled():
        figure = style.new_figure(7.2, 2.6)
        panels = figure.subplots(1, 2)
        columns = {"return": "Return", "entropy": "Entropy of the policy"}
        for axes, (column, label) in zip(panels, columns.items(), strict=True):
            _part_panel(axes, results, ablation, recipe, other, column)
            axes.set_ylabel(label)
        panels[1].set_ylim(bottom=0)
        handles, labels = panels[0].get_legend_handles_labels()
        style.legend_below(figure, handles, labels, 2)
    return figure


def _part_panel(axes: Axes, results: Results, ablation: str, recipe: Case, other: Case, column: str = "return") -> None:
    seeds = results.seeds(other) if other in results else None
    # Where both do the same, the wider line shows below the other.
    _runs(axes, results, recipe, "derl", style.VERMILLION, seeds, column, width=3.6)
    _runs(axes, results, other, ablation, style.BLUE, seeds, column, width=1.6)
    env = recipe.config().make_env()
    if column == "return":
        axes.axhline(env.memoryless_return or np.nan, color=style.INK, linewidth=1, linestyle=DASHED)
    stochastic = ", stochastic" if getattr(env, "stochastic", False) else ""
    axes.set_title(column_name(recipe.task) + stochastic, loc="left")
    axes.set_xlabel(LABELS["episodes"])


def _runs(
    axes: Axes,
    results: Results,
    case: Case,
    label: str,
    colour: str,
    seeds: np.ndarray | None,
    column: str,
    width: float,
) -> None:
    values = results.values(case, column)
    if values is None:
        return
    if seeds is not None and np.isin(results.seeds(case), seeds).any():
        values = values[np.isin(results.seeds(case), seeds)]
    episodes = results.episodes(case)
    axes.plot(episodes, values.T, color=colour, linewidth=width / 2, alpha=0.35)
    axes.plot(episodes, mean_without_nan(values), color=colour, linewidth=width, label=label)


def sensitivity_figure(found: Mapping[Case, Holding]) -> Figure | None:
    """Average returns over every value of lambda and the increment, beside the published ones with Count."""
    if not any(dict(case.changes).keys() & SWEPT.keys() for case in found if case.recipe == OWN):
        return None
    with style.styled():
        figure = style.new_figure(8.4, 5.2)
        panels = figure.subplots(2, 2)
        for row, task in zip(panels, SENSITIVITY_TASKS, strict=True):
            for axes, (setting, values) in zip(row, SWEPT.items(), strict=True):
                _sensitivity_panel(axes, found, task, setting, values)
        handles, labels = panels[0][0].get_legend_handles_labels()
        style.legend_below(figure, handles, labels, 4)
        style.add_title(figure, "Scale and decay of the bonus: average return over the whole training")
    return figure


def _sensitivity_panel(
    axes: Axes, found: Mapping[Case, Holding], task: str, setting: str, values: Sequence[float]
) -> None:
    for i, recipe in enumerate(("a2c-count", "ppo-count", "dea2c-count", "deppo-count", "dedqn-count")):
        wanted = {Case.of(recipe, task, {setting: v}): v for v in values} | {Case.of(recipe, task): 1.0}
        table = "intrinsic_coef_mean" if setting == "bonus.scale" else "decay_sensitivity_count"
        points = {
            wanted[c.case]: c.mean
            for c in cells()
            if c.case in wanted and c.statistic == "average" and table in c.table and not c.table.endswith("_kl")
        }
        x = sorted(points)
        label = f"{row_name(recipe)} (published)"
        axes.plot(
            x,
            [points[v] for v in x],
            color=style.PALETTE[i % 7],
            linewidth=1,
            alpha=0.7,
            marker=style.MARKERS[i],
            markersize=4,
            label=label,
        )
    x = [v for v in values if swept(task, setting, v) in found]
    own = [found[swept(task, setting, v)].average for v in x]
    # The recipe does not read lambda: its line is one set of runs, not one for every value.
    marker = "" if setting == "bonus.scale" else "o"
    axes.plot(x, own, color=style.BLACK, linewidth=2.2, marker=marker, markersize=5, label="derl")
    axes.axhline(make(task).optimal_return or np.nan, color=style.INK, linewidth=1, linestyle=DASHED)
    axes.set_xscale("log")
    axes.set_title(column_name(task), loc="left")
    axes.set_xlabel("lambda" if setting == "bonus.scale" else "count increment")
    axes.set_ylabel("Average return")
