"""Drawings of policies on grids of states: heat maps of visits with an arrow per state, or bars above a corridor."""

from collections.abc import Sequence
from typing import Any, cast

import matplotlib.patheffects as patheffects
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from derl.analysis.figures import style
from derl.analysis.measures.numbers import signed
from derl.analysis.runs.behaviour import Behaviour, Cell
from derl.envs.base import AnyEnvironment

SMALLEST_CELL = 6
"""Points along the side of a cell below which an arrow in it could not be seen."""
PANEL = 4.0
"""The side of a map in inches."""
CORRIDOR = 8.4
"""The width of a figure of corridors in inches."""
STRIP = 26
"""The height of a corridor in points."""
PATH, GOLD = style.VERMILLION, "#F5C542"


def draw_behaviours(env: AnyEnvironment, behaviours: Sequence[Behaviour], title: str) -> Figure:
    """One picture per policy: beside each other, or one above the other if the grid is a corridor."""
    assert env.grid_shape is not None
    rows, columns = env.grid_shape
    draw = _corridors if rows == 1 < columns else _maps
    with style.styled():
        figure = draw(env, behaviours, shared_norm(behaviours))
        style.add_title(figure, title)
    return figure


def shared_norm(behaviours: Sequence[Behaviour]) -> LogNorm:
    """One logarithmic scale for all, so that the same colour means the same number of visits."""
    most = max(float(b.visits.max()) for b in behaviours)
    seen = min(float(b.visits[b.visits > 0].min()) for b in behaviours)
    return LogNorm(np.clip(seen, most * 1e-5, most / 10), most)


def headline(behaviour: Behaviour, alone: bool) -> str:
    """Whose policy it is and what it earns the way it acts: the explorer by sampling, the exploiter greedily."""
    explores = behaviour.seat == "explorer"
    score = behaviour.sampled_return if explores else behaviour.greedy_return
    who = "Policy" if alone else behaviour.seat.capitalize()
    return f"{who}: {'mean' if explores else 'greedy'} return {signed(score)}"


def counted(behaviour: Behaviour) -> str:
    """What the colours count."""
    if behaviour.seat == "explorer":
        return f"visits in {behaviour.episodes:,} training episodes"
    return f"visits in {behaviour.episodes:,} sampled episodes (mean return {signed(behaviour.sampled_return)})"


def _maps(env: AnyEnvironment, behaviours: Sequence[Behaviour], norm: LogNorm) -> Figure:
    count = len(behaviours)
    figure = style.new_figure(PANEL * count + 1.0, PANEL + 0.8)
    panels = np.atleast_1d(figure.subplots(1, count))
    image: Any = None
    side = 72 * PANEL / max(behaviours[0].visits.shape)
    for axes, behaviour in zip(panels, behaviours, strict=True):
        image = draw_map(axes, env, behaviour, norm, width=side, height=side)
        axes.set_title(headline(behaviour, count == 1))
        axes.set_xlabel(counted(behaviour))
    bar = figure.colorbar(image, ax=list(panels), shrink=0.9, pad=0.02, aspect=30)
    bar.set_label("Visits per episode (grey: none)")
    cast(Any, bar.outline).set_visible(False)
    return figure


def _corridors(env: AnyEnvironment, behaviours: Sequence[Behaviour], norm: LogNorm) -> Figure:
    count = len(behaviours)
    figure = style.new_figure(CORRIDOR, 1.95 * count + 0.4)
    cast(Any, figure.get_layout_engine()).set(h_pad=0.04, hspace=0.0)
    parts = np.atleast_1d(cast(Any, figure.subfigures(count, 1)))
    for part, behaviour in zip(parts, behaviours, strict=True):
        bars, strip = part.subplots(2, 1, sharex=True, height_ratios=[3, 1])
        draw_bars(bars, behaviour, norm)
        bars.set_title(headline(behaviour, count == 1), loc="left")
        bars.set_title(counted(behaviour), loc="right", fontsize=9.5)
        draw_strip(strip, env, behaviour, norm)
    return figure


def draw_bars(axes: Axes, behaviour: Behaviour, norm: LogNorm) -> None:
    """Visits per episode along a corridor."""
    visits = behaviour.visits[0]
    low = cast(float, norm.vmin) / 2
    axes.set_yscale("log")
    axes.set_ylim(low, cast(float, norm.vmax) * 1.5)
    heights = np.where(visits > 0, visits, low)
    axes.bar(np.arange(len(visits)), heights, width=0.92, color=style.heat_map()(norm(heights)))
    axes.set_ylabel("Visits per\nepisode")
    axes.spines["bottom"].set_visible(False)
    axes.tick_params(axis="x", length=0)


def draw_strip(axes: Axes, env: AnyEnvironment, behaviour: Behaviour, norm: LogNorm) -> None:
    """A corridor below its bars, drawn like a map of one row whose cells may be narrow."""
    cells = behaviour.visits.shape[1]
    draw_map(axes, env, behaviour, norm, width=72 * 0.88 * CORRIDOR / cells, height=STRIP)
    axes.set_aspect("auto")
    goal = env.goal_cell
    ends = {0, cells - 1} if goal is None else {0, goal[1], cells - 1}
    axes.set_xticks(sorted(ends), [f"{x} (goal)" if goal and x == goal[1] else str(x) for x in sorted(ends)])
    axes.tick_params(axis="x", length=0)


def draw_map(
    axes: Axes, env: AnyEnvironment, behaviour: Behaviour, norm: LogNorm, *, width: float, height: float
) -> Any:
    """A heat map of visits, with the greedy path and an arrow per state on top. A cell is `width` x `height` points."""
    rows, columns = behaviour.visits.shape
    seen = np.ma.masked_less_equal(behaviour.visits, 0)
    edges = np.arange(columns + 1) - 0.5, np.arange(rows + 1) - 0.5
    gap = 1.0 if width >= SMALLEST_CELL else 0.0
    image = axes.pcolormesh(*edges, seen, norm=norm, cmap=style.heat_map(), edgecolors="white", linewidth=gap)
    axes.set_facecolor(style.UNSEEN)
    axes.set_aspect("equal")
    axes.invert_yaxis()
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
    draw_path(axes, behaviour.path, height)
    if behaviour.moves is not None and width >= SMALLEST_CELL:
        draw_arrows(axes, env, behaviour, norm, TIP if width < 0.5 * height else ARROW)
    draw_goal(axes, env, height)
    return image


def draw_path(axes: Axes, path: Sequence[Cell], points: float) -> None:
    """The greedy episode as a line through its cells, from a disc at its start."""
    y, x = np.asarray(path, float).T
    rim = [patheffects.Stroke(linewidth=0.34 * points + 1.6, foreground="white"), patheffects.Normal()]
    axes.plot(x, y, color=PATH, linewidth=0.34 * points, solid_capstyle="round", path_effects=rim, zorder=3)
    axes.plot(x[0], y[0], "o", color=PATH, markersize=0.62 * points, markeredgecolor="white", zorder=3, clip_on=False)


def draw_goal(axes: Axes, env: AnyEnvironment, points: float) -> None:
    """A golden frame around the goal with a star in its corner, which leaves the arrow within visible."""
    cell = env.goal_cell
    if cell is None:
        return
    row, column = cell
    thin = max(1.0, 0.07 * points)
    for width, colour in ((thin + 1.4, style.INK), (thin, GOLD)):
        frame = Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, edgecolor=colour, linewidth=width, zorder=5)
        axes.add_patch(frame).set_clip_on(False)
    star = {"color": GOLD, "markersize": max(0.5 * points, 9), "markeredgecolor": style.INK, "markeredgewidth": 0.8}
    axes.plot(column + 0.5, row - 0.5, "*", **star, clip_on=False, zorder=6)


ARROW = np.array([[-0.30, -0.05], [0.04, -0.05], [0.04, -0.17], [0.30, 0.0], [0.04, 0.17], [0.04, 0.05], [-0.30, 0.05]])
TIP = np.array([[-0.26, -0.14], [0.30, 0.0], [-0.26, 0.14]])
"""Arrows to the right, in a cell of side 1: a whole one, and one for narrow cells."""
DOT = 0.11 * np.stack([np.cos(np.linspace(0, 2 * np.pi, 25)), np.sin(np.linspace(0, 2 * np.pi, 25))], axis=-1)


def draw_arrows(axes: Axes, env: AnyEnvironment, behaviour: Behaviour, norm: LogNorm, arrow: np.ndarray) -> None:
    """The greedy move of every state the policies have learnt about: an arrow, or a dot for staying."""
    assert behaviour.moves is not None
    shapes, colours, paint = [], [], style.heat_map()
    on_path = set(behaviour.path)
    for index, (down, right) in enumerate(behaviour.moves):
        cell = env.cell(index)
        if cell is None or not behaviour.known[cell]:
            continue
        turn = np.arctan2(down, right)
        matrix = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
        shapes.append((arrow @ matrix if down or right else DOT) + [cell[1], cell[0]])
        visits = behaviour.visits[cell]
        dark = cell in on_path or (visits > 0 and style.luminance(paint(norm(visits))) < 0.6)
        colours.append("white" if dark else "#4a5a6a" if visits > 0 else "#a5a19b")
    axes.add_collection(PolyCollection(shapes, facecolors=colours, linewidths=0, zorder=4))
