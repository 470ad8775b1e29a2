"""Learning curves from a frame of results: grids of tasks, importance weights, coverage."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from derl.analysis.figures import style
from derl.analysis.figures.run import draw_line
from derl.analysis.measures.aggregates import optimal_return
from derl.analysis.measures.frames import Results
from derl.analysis.measures.statistics import average_return, bootstrap_interval, mean_without_nan
from derl.envs.registry import make
from derl.experiments.cases import Case
from derl.experiments.paper import column_name, row_name
from derl.training.recipes import TABLE_1

ALGORITHMS: tuple[str, ...] = ("a2c", "ppo", "dea2c", "deppo", "dedqn")
COLOURS: dict[str, str] = {
    "a2c": style.BLACK,
    "a2c-count": style.BLUE,
    "a2c-hash-count": style.SKY,
    "a2c-icm": "#00a6a6",
    "a2c-rnd": "#7f8fa6",
    "a2c-ride": "#2b2b8c",
    "ppo": "#5c3a1e",
    "ppo-count": style.ORANGE,
    "ppo-hash-count": "#a67c52",
    "ppo-icm": "#7d7d00",
    "ppo-rnd": "#ff7f50",
    "ppo-ride": "#b8b800",
    "dea2c-count": style.VERMILLION,
    "dea2c-icm": "#8b1a1a",
    "deppo-count": style.PURPLE,
    "deppo-icm": "#7b3294",
    "dedqn-count": style.GREEN,
    "dedqn-icm": "#7bc043",
}
"""A recipe has the same colour in all figures of the paper's tasks: blues and greys are A2C, browns and yellows PPO,
reds DeA2C, purples DePPO, greens DeDQN."""
PANEL = 3.1, 2.15
"""Inches of a panel in a grid."""
DASHED = (0, (5, 3))
NEAR = 0.02
"""Two lines that are as near as this share of the best return hide each other."""

Look = tuple[str, int]
"""A colour, and the number of a marker."""


def curve_of(
    results: Results, case: Case, column: str = "return", change: Callable[[np.ndarray], np.ndarray] | None = None
) -> pl.DataFrame | None:
    """Mean and 95 % interval over the runs of a case at every evaluation; None if there is nothing.

    Evaluations that not all runs have reached are left out: the mean would jump where a run drops out.
    """
    values = results.values(case, column)
    if values is None:
        return None
    values = values[:, : int(results.lengths(case).min())]
    values = values if change is None else change(values)
    low, high = bootstrap_interval(values)
    episodes = results.episodes(case)[: values.shape[1]]
    return pl.DataFrame({"episodes": episodes, "mean": mean_without_nan(values), "low": low, "high": high})


def looks_of(recipes: Sequence[str]) -> dict[str, Look]:
    """The paper's recipes in their colours; among others, as many colours as there are recipes."""
    known = all(recipe in COLOURS for recipe in recipes)
    colours = [COLOURS[recipe] for recipe in recipes] if known else style.colours(len(recipes))
    return {recipe: (colour, i) for i, (recipe, colour) in enumerate(zip(recipes, colours, strict=True))}


def best_recipes(
    results: Results, tasks: Sequence[str], algorithms: Sequence[str] = ALGORITHMS, *, fullest: bool = False
) -> list[str]:
    """Of each algorithm the recipe with the highest normalised average return over the tasks.

    Where not all have been run, a task counts by how much better a recipe is there than the algorithm's others, and
    recipes with half as many tasks as another, or fewer, are left out. `fullest` keeps only
    those with the most tasks: means over different tasks do not compare.
    """
    scores: dict[str, dict[str, float]] = {}
    for case in results.cases:
        values = results.values(case)
        if case.task in tasks and case.recipe in TABLE_1 and not case.changes and values is not None:
            average = average_return(values).value / optimal_return(case.task)
            # Of a recipe whose runs all failed there is none.
            if np.isfinite(average):
                scores.setdefault(case.recipe, {})[case.task] = average
    chosen = []
    for algorithm in algorithms:
        own = {recipe: by_task for recipe, by_task in scores.items() if recipe.partition("-")[0] == algorithm}
        if own:
            chosen.append(_best(own, fullest))
    return chosen


def _best(scores: Mapping[str, Mapping[str, float]], fullest: bool) -> str:
    most = max(map(len, scores.values()))
    usual = {
        task: float(np.mean([s[task] for s in scores.values() if task in s]))
        for task in {task for s in scores.values() for task in s}
    }
    gains = {
        recipe: float(np.mean([value - usual[task] for task, value in sorted(by_task.items())]))
        for recipe, by_task in scores.items()
        if (len(by_task) == most if fullest else 2 * len(by_task) > most)
    }
    return max(gains, key=lambda recipe: gains[recipe])


def draw_returns(
    axes: Axes,
    results: Results,
    task: str,
    looks: Mapping[str, Look],
    stand_ins: Mapping[str, str] | None = None,
    apart: bool = False,
) -> None:
    """The evaluation returns of several recipes in one task, with the optimum as a dashed line.

    `stand_ins` are drawn, dashed and named as such, in the place of recipes that were not run in this task. Lines that
    lie on each other are told `apart` by dashes.
    """
    stand_ins = stand_ins or {}
    curves = {recipe: curve_of(results, Case.of(stand_ins.get(recipe, recipe), task)) for recipe in looks}
    known = {recipe: curve for recipe, curve in curves.items() if curve is not None}
    places = coinciding(known, NEAR * optimal_return(task)) if apart else {}
    for recipe, curve in known.items():
        colour, index = looks[recipe]
        instead = stand_ins.get(recipe)
        name = row_name(recipe) if instead is None else f"{row_name(instead)} (no {row_name(recipe)})"
        colour, dashed = COLOURS.get(instead or recipe, colour), instead is not None
        draw_line(axes, curve, "", name, colour, index, dashed=dashed, among=places.get(recipe, (0, 1)))
    missing = [recipe for recipe in looks if Case.of(stand_ins.get(recipe, recipe), task) not in results]
    style.style_curves(axes, "")
    mark_empty(axes)
    notes = {"dashed": list(stand_ins.values()), "not run": missing if len(missing) < len(looks) else []}
    said = [f"{what}: {_few(recipes, len(looks))}" for what, recipes in notes.items() if recipes]
    axes.set_title("\n".join(said), loc="right", fontsize=7, color=style.FAINT, fontweight="normal")
    draw_optimum(axes, task)


def coinciding(curves: Mapping[str, pl.DataFrame], near: float) -> dict[str, tuple[int, int]]:
    """The place of each curve among those that lie on each other, and how many these are.

    Two do if at least half of their evaluations are as near as that: what else they have is seen beside the other.
    """
    groups: list[list[str]] = []
    for name, curve in curves.items():
        on = next((group for group in groups if _lies_on(curve, curves[group[0]], near)), None)
        if on is None:
            groups.append([name])
        else:
            on.append(name)
    return {name: (place, len(group)) for group in groups for place, name in enumerate(group)}


def _lies_on(curve: pl.DataFrame, other: pl.DataFrame, near: float) -> bool:
    length = min(len(curve), len(other))
    ours, theirs = (one["mean"].to_numpy()[:length] for one in (curve, other))
    return bool((np.abs(ours - theirs) <= near).mean() >= 0.5)


def _few(recipes: Sequence[str], lines: int) -> str:
    """A name, or how many there are: more names than one do not fit beside a panel's title."""
    return row_name(recipes[0]) if len(recipes) == 1 else f"{len(recipes)} of {lines}"


def stand_ins_of(results: Results, task: str, recipes: Sequence[str]) -> dict[str, str]:
    """For recipes that were not run in a task the best of the same algorithm that was, unless it is there anyway."""
    found = {}
    for recipe in recipes:
        if Case.of(recipe, task) not in results:
            for other in best_recipes(results, [task], [recipe.partition("-")[0]]):
                found |= {} if other in recipes else {recipe: other}
    return found


def mark_empty(axes: Axes) -> None:
    """Say so in a panel without lines, whose axis would show arbitrary numbers."""
    if not axes.lines:
        axes.text(0.5, 0.5, "not run", transform=axes.transAxes, ha="center", va="center", color=style.FAINT)
        # Invisible, so that the axis begins at 0 although nothing else does.
        axes.plot([0], [0], alpha=0.0)
        axes.set_xticks([])
        axes.set_xlabel("")


def draw_optimum(axes: Axes, task: str) -> None:
    """The best possible return, dashed."""
    axes.axhline(optimal_return(task), color=style.INK, linewidth=1.1, linestyle=DASHED, zorder=1, label="optimum")


def grid_figure(count: int, columns: int) -> tuple[Figure, list[Axes]]:
    """A figure of so many panels, wide enough for a title even if there is only one."""
    rows = -(-count // columns)
    width = max(PANEL[0] * columns, 5.6)
    figure = style.new_figure(width, PANEL[1] * rows * (1.3 if columns == 1 else 1.0) + 0.8)
    return figure, panels_of(figure, count, columns)


def panels_of(figure: Figure, count: int, columns: int) -> list[Axes]:
    """So many panels in rows; what is left of the last row stays empty."""
    rows = -(-count // columns)
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes in grid.flat[count:]:
        axes.set_axis_off()
    return list(grid.flat[:count])


def share_legend(figure: Figure, panels: Sequence[Axes], columns: int = 6) -> None:
    """One legend below all panels, with each name once."""
    entries = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    # The optimum comes last.
    entries = dict(sorted(entries.items(), key=lambda entry: entry[0] == "optimum"))
    # So many fit beside each other if all names are as long as the longest: about 0.07 inches a letter, and the line.
    widest = 0.65 + 0.07 * max(map(len, entries), default=0)
    columns = max(1, min(columns, len(entries), int(figure.get_figwidth() / widest)))
    style.legend_below(figure, entries.values(), entries, columns)


def outer_labels(panels: Sequence[Axes], columns: int, y: str) -> None:
    """The vertical axis is named at the left only, the horizontal one in the lowest panel of each column only."""
    for i, axes in enumerate(panels):
        axes.set_ylabel(y if i % columns == 0 else "")
        if i + columns < len(panels):
            axes.set_xlabel("")


def task_grid(results: Results, tasks: Sequence[str], recipes: Sequence[str], title: str, columns: int = 3) -> Figure:
    """A panel per task, a line per recipe, or of another with the same algorithm where it was not run."""
    looks, columns = looks_of(recipes), min(columns, len(tasks))
    with style.styled():
        figure, panels = grid_figure(len(tasks), columns)
        for axes, task in zip(panels, tasks, strict=True):
            draw_returns(axes, results, task, looks, stand_ins_of(results, task, recipes))
            axes.set_title(column_name(task), loc="left")
        outer_labels(panels, columns, "Return")
        style.add_title(figure, title)
        share_legend(figure, panels)
    return figure


def family_grid(results: Results, tasks: Sequence[str], families: Mapping[str, Sequence[str]], title: str) -> Figure:
    """A row per task and a column per family of recipes, each column with a legend of its own at its foot."""
    with style.styled():
        figure = style.new_figure(PANEL[0] * len(families) + 0.3, PANEL[1] * len(tasks) + 1.3)
        grid = figure.subplots(len(tasks), len(families), squeeze=False, sharey="row")
        for column, (family, recipes) in enumerate(families.items()):
            looks = looks_of(recipes)
            for row, task in enumerate(tasks):
                axes = grid[row, column]
                draw_returns(axes, results, task, looks, apart=True)
                axes.set_title(f"{column_name(task)}: {family}", loc="left")
                axes.set_ylabel("Return" if column == 0 else "")
                if row + 1 < len(tasks):
                    axes.set_xlabel("")
            _legend_below(grid[-1, column], looks)
        style.add_title(figure, f"{title} (dashed: mostly on another line)")
        if len(tasks) == 1:
            style.settle(figure)
    return figure


def _legend_below(axes: Axes, looks: Mapping[str, Look]) -> None:
    """Also names lines that are not in the lowest panel, because the recipe was not run there."""
    handles = [
        axes.plot([], [], color=colour, marker=style.MARKERS[index % len(style.MARKERS)], markersize=4.5)[0]
        for colour, index in looks.values()
    ]
    names = [row_name(recipe) for recipe in looks]
    axes.legend(handles, names, loc="upper center", bbox_to_anchor=(0.5, -0.3), ncols=2, fontsize=8)


def weights_figure(results: Results, case: Case) -> Figure | None:
    """Returns above, logarithms of importance weights below: drops in one beside outbreaks in the other."""
    parts = [("return", "Return"), ("log_importance_weight", "log importance weight")]
    curves = [curve_of(results, case, column) for column, _ in parts]
    with style.styled():
        figure = style.new_figure(5.2, 4.4)
        panels = figure.subplots(2, 1, sharex=True)
        for i, (axes, curve, (column, name)) in enumerate(zip(panels, curves, parts, strict=True)):
            if curve is None:
                return None
            values = results.values(case, column)
            for run in [] if values is None else values[:, : len(curve)]:
                axes.plot(curve["episodes"], run, color=style.FAINT, linewidth=0.6, alpha=0.7, zorder=1)
            draw_line(axes, curve, "", "mean of all runs", (style.BLUE, style.VERMILLION)[i], i)
            style.style_curves(axes, "")
            axes.set_ylabel(name)
        draw_optimum(panels[0], case.task)
        panels[0].set_xlabel("")
        title = f"{row_name(case.recipe)} in {column_name(case.task)} (grey: single runs)"
        style.add_title(figure, title, size=11)
    return figure


def coverage_figure(results: Results, tasks: Sequence[str], recipes: Sequence[str], columns: int = 3) -> Figure:
    """The share of reachable states the explorer has been in, by task."""
    looks, columns = looks_of(recipes), min(columns, len(tasks))
    with style.styled():
        figure, panels = grid_figure(len(tasks), columns)
        for axes, task in zip(panels, tasks, strict=True):
            states = make(task).reachable_states
            assert states is not None
            for recipe, (colour, index) in looks.items():
                curve = curve_of(results, Case.of(recipe, task), "coverage", lambda v, states=states: v / states)
                if curve is not None:
                    draw_line(axes, curve, "", row_name(recipe), colour, index)
            style.style_curves(axes, f"{column_name(task)} ({states} states)")
            mark_empty(axes)
            axes.set_ylim(0, 1.05)
        outer_labels(panels, columns, "Share visited")
        style.add_title(figure, "States the explorer has visited")
        share_legend(figure, panels)
    return figure
