"""The figures of a run: learning curves, and what decoupling does. Each is written as PNG and PDF."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from derl.analysis.figures import style
from derl.analysis.figures.grids import draw_behaviours
from derl.analysis.runs.behaviour import observe
from derl.analysis.runs.result import Result
from derl.core.errors import require
from derl.experiments.paper import row_name
from derl.training.evaluation import Seat

DASH = 3.2
"""How long a dash is where lines lie on each other, in widths of a line."""


class Line(NamedTuple):
    """One line of a figure of curves: what `learning_curves` gives for one setting, and its name."""

    label: str
    curve: pl.DataFrame


def plot_curves(result: Result, path: Path | str) -> list[Path]:
    """The evaluation returns of the exploiter and the training returns of the explorer, one colour per varied value."""
    by = list(result.runs[0].values)
    curves = result.curves()
    if by:
        parts = curves.partition_by(by, maintain_order=True)
        lines = [Line(", ".join(f"{part[name][0]:g}" for name in by), part) for part in parts]
    else:
        lines = [Line(row_name(result.config.recipe), curves)]
    figure = draw_curves(
        lines,
        title=f"{row_name(result.config.recipe)} on {result.config.task}",
        legend_title=", ".join(by),
        decoupled=result.config.exploiter is not None,
        optimal=result.optimal_return,
        note=failure_note([result]),
    )
    return style.save(figure, path)


def plot_comparison(results: Sequence[Result], path: Path | str) -> list[Path]:
    """The returns of several recipes on one task, one colour each."""
    require(len(results) > 0, "there is nothing to compare")
    lines = []
    for result in results:
        require(not result.runs[0].values, "runs with varied settings are drawn one by one, with plot_curves")
        lines.append(Line(row_name(result.config.recipe), result.curves()))
    figure = draw_curves(
        lines,
        title=results[0].config.task,
        decoupled=all(result.config.exploiter is not None for result in results),
        optimal=results[0].config.make_env().optimal_return,
        note=failure_note(results),
    )
    return style.save(figure, path)


def plot_decoupling(
    result: Result, run: int = 0, path: Path | str = "decoupling", *, episodes: int = 1000, seed: int = 0
) -> list[Path]:
    """Where the explorer has been, where the exploiter goes, and which way each points, state by state.

    The explorer's map counts the whole training, the exploiter's `episodes` episodes of its policy as it is now.
    """
    seats: list[Seat] = ["explorer"] if result.config.exploiter is None else ["explorer", "exploiter"]
    behaviours = [observe(result, run, seat, episodes=episodes, seed=seed) for seat in seats]
    values = "".join(f", {name} {value:g}" for name, value in result.runs[run].values.items())
    title = f"{row_name(result.config.recipe)} on {result.config.task} (seed {result.runs[run].seed}{values})"
    if run in result.failed:
        title += ": failed, its numbers are no longer finite"
    env = result.runs[run].config.make_env()
    return style.save(draw_behaviours(env, behaviours, title), path)


def failure_note(results: Sequence[Result]) -> str | None:
    """How many runs are missing from the means."""
    failed, runs = sum(len(result.failed) for result in results), sum(len(result.runs) for result in results)
    return f"failed runs ({failed} of {runs}) are left out from their failure on" if failed else None


def draw_curves(
    lines: Sequence[Line],
    *,
    title: str,
    legend_title: str = "",
    decoupled: bool = True,
    optimal: float | None = None,
    note: str | None = None,
) -> Figure:
    """Curves with their 95 % bands: a single line's two returns share a panel, those of several lines have one each."""
    evaluated = "Exploiter (evaluation)" if decoupled else "Evaluation"
    trained = "Explorer (training)" if decoupled else "Training"
    with style.styled():
        single = len(lines) == 1
        figure = style.new_figure(5.6 if single else 8.4, 3.5)
        panels = np.atleast_1d(figure.subplots(1, 1 if single else 2, sharey=True))
        colours = style.colours(max(2, len(lines)))
        for i, line in enumerate(lines):
            # Of two lines the second is on top, and often as high: through its dashes the first is seen.
            draw = partial(draw_line, dashed=len(lines) == 2 and i == 1)
            draw(panels[0], line.curve, "", evaluated if single else line.label, colours[i], i)
            draw(panels[-1], line.curve, "explorer_", trained if single else None, colours[i + single], i + single)
        for axes, name in zip(panels, [""] if single else [evaluated, trained], strict=True):
            style.style_curves(axes, name)
            if optimal is not None:
                label = "best possible" if axes is panels[0] else None
                axes.axhline(optimal, color=style.INK, linewidth=1.1, linestyle=(0, (5, 3)), zorder=1, label=label)
        panels[0].set_ylabel("Return (mean, 95 % interval)")
        style.add_title(figure, f"{title}\n{note}" if note else title, weight="normal" if note else "bold")
        add_legend(figure, legend_title)
    return figure


def draw_line(
    axes: Axes,
    curve: pl.DataFrame,
    prefix: str,
    label: str | None,
    colour: str,
    index: int,
    *,
    dashed: bool = False,
    among: tuple[int, int] = (0, 1),
) -> None:
    """One mean with its band. Markers tell lines apart where colours cannot be seen.

    `among` is its place among so many lines that lie on each other: all but the first have dashes, each its own.
    """
    x, mean, low, high = (
        curve[name].to_numpy() for name in ("episodes", *(f"{prefix}{n}" for n in ("mean", "low", "high")))
    )
    axes.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)
    every = max(1, len(x) // 8)
    # Each line begins its markers elsewhere, so that lines on top of each other still show theirs.
    start = (index * max(1, every // 3)) % every
    axes.plot(
        x,
        mean,
        color=colour,
        linewidth=1.8,
        # Shorter than the dashes of the optimum.
        linestyle=(0, (2.2, 1.1)) if dashed else dashes_of(*among),
        label=label,
        marker=style.MARKERS[index % len(style.MARKERS)],
        markersize=4.5,
        markevery=(start, every),
        markeredgecolor="white",
        markeredgewidth=0.6,
    )


def dashes_of(place: int, lines: int) -> Any:
    """Dashes that leave room for those of the other lines, one after the other, above the first, which is whole."""
    return (DASH * (lines - place), (DASH, DASH * (lines - 1))) if place else "-"


def add_legend(figure: Figure, title: str) -> None:
    """Beside the panels if there are many lines, else below them: never on top of data."""
    handles, labels = figure.axes[0].get_legend_handles_labels()
    if len(labels) <= 4 and not title:
        style.legend_below(figure, handles, labels, len(labels), handlelength=2.2)
    else:
        options = {"loc": "outside right center", "title": title or None, "title_fontsize": 9}
        style.add_legend(figure, handles, labels, range(1, 5), **options)
