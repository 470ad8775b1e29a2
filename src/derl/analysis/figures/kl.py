"""How far explorer and exploiter drift apart: the paper's four-panel figures, and all coefficients at a glance."""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from derl.analysis.claims.divergence import RECIPE, Group, Variant
from derl.analysis.figures import style
from derl.analysis.figures.curves import Look, curve_of, draw_optimum, share_legend
from derl.analysis.figures.run import draw_line
from derl.analysis.measures.aggregates import optimal_return
from derl.analysis.measures.frames import Results
from derl.analysis.measures.numbers import signed
from derl.analysis.measures.statistics import mean_without_nan
from derl.experiments.paper import REWARDS, column_name, row_name

PANELS = (
    ("return", "Evaluation return (exploiter)"),
    ("log_importance_weight", "log importance weight"),
    ("explorer_return", "Training return (explorer)"),
    ("kl", "KL divergence"),
)
"""The paper's arrangement: upper left, upper right, lower left, lower right."""
LOOKS: dict[tuple[str, bool], Look] = {
    ("both", False): (style.ORANGE, 0),
    ("intrinsic", False): (style.BLUE, 1),
    ("both", True): (style.VERMILLION, 2),
    ("intrinsic", True): (style.GREEN, 3),
}
"""By reward, and whether there is a constraint: a variant looks the same in all figures, whichever others are there."""


def variant_name(variant: Variant) -> str:
    """What a line is called."""
    reward = "$r^e + \\lambda r^i$" if variant.reward == "both" else "$\\lambda r^i$"
    if not variant.constrained:
        return f"{reward}, no constraint"
    return f"{reward}, $\\alpha_\\beta$ = {variant.alpha_explorer:g}, $\\alpha_e$ = {variant.alpha_exploiter:g}"


def four_panels(results: Results, group: Group, variants: Sequence[Variant] | None = None) -> Figure | None:
    """Returns of both policies, importance weights and divergence. Without `variants` the paper's four, if run."""
    chosen = group.selected() if variants is None else [v for v in variants if v in group.cases]
    if not chosen:
        return None
    with style.styled():
        figure = style.new_figure(8.2, 5.4)
        grid = figure.subplots(2, 2, sharex=True).ravel()
        for axes, (column, name) in zip(grid, PANELS, strict=True):
            for variant in chosen:
                curve = curve_of(results, group.cases[variant], column)
                if curve is not None:
                    draw_line(axes, curve, "", variant_name(variant), *LOOKS[variant.reward, variant.constrained])
            style.style_curves(axes, name)
            if column.endswith("return"):
                draw_optimum(axes, group.task)
        for axes in grid[:2]:
            axes.set_xlabel("")
        title = f"{row_name(RECIPE)} in {column_name(group.task)}, {group.episodes:,} episodes"
        style.add_title(figure, title)
        share_legend(figure, list(grid), columns=2)
    return figure


def pair_figure(results: Results, group: Group, alphas: tuple[float, float]) -> Figure | None:
    """The four panels of one pair of coefficients, with and without extrinsic rewards (the paper's appendix)."""
    return four_panels(results, group, [Variant(*alphas, reward) for reward in REWARDS])


def coefficients_figure(results: Results, group: Group) -> Figure | None:
    """Each of the four panels as a map of its mean over training, for all pairs of coefficients; None if few were run.

    Both maps of a quantity (upper: both rewards, lower: intrinsic alone) share their colours, and the bar below them.
    """
    rows = sorted({v.alpha_explorer for v in group.cases})
    columns = sorted({v.alpha_exploiter for v in group.cases})
    if len(rows) < 3 or len(columns) < 3:
        return None
    with style.styled():
        figure = style.new_figure(10.4, 6.0)
        grid = figure.subplots(2, 4, sharex=True, sharey=True)
        for i, (column, name) in enumerate(PANELS):
            maps = [_map(results, group, rows, columns, reward, column) for reward in REWARDS]
            known = np.concatenate([m[np.isfinite(m)] for m in maps])
            ends = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
            if column.endswith("return"):
                # From nothing to the optimum: small differences should look small.
                ends = min(0.0, ends[0]), optimal_return(group.task)
            images = [_draw_map(axes, values, ends) for axes, values in zip(grid[:, i], maps, strict=True)]
            grid[0, i].set_title(name, fontsize=9.5)
            bar = figure.colorbar(images[0], ax=list(grid[:, i]), location="bottom", shrink=0.9, aspect=24, pad=0.02)
            bar.ax.tick_params(labelsize=8)
            cast(Any, bar.outline).set_visible(False)
        for j, reward in enumerate(("both rewards", "intrinsic rewards alone")):
            grid[j, 0].set_ylabel(f"{reward}\n$\\alpha_\\beta$ (explorer)")
            grid[j, 0].set_yticks(range(len(rows)), [f"{a:g}" for a in rows], fontsize=8)
        for axes in grid[1]:
            axes.set_xlabel("$\\alpha_e$ (exploiter)")
            axes.set_xticks(range(len(columns)), [f"{a:g}" for a in columns], fontsize=8)
        title = f"{row_name(RECIPE)} in {column_name(group.task)}: means over {group.episodes:,} episodes"
        style.add_title(figure, title)
    return figure


def _map(
    results: Results, group: Group, rows: Sequence[float], columns: Sequence[float], reward: str, column: str
) -> np.ndarray:
    values = np.full((len(rows), len(columns)), np.nan)
    for i, alpha in enumerate(rows):
        for j, other in enumerate(columns):
            case = group.cases.get(Variant(alpha, other, reward))
            there = None if case is None else results.values(case, column)
            if there is not None:
                values[i, j] = mean_without_nan(mean_without_nan(there))
    return values


def _draw_map(axes: Axes, values: np.ndarray, ends: tuple[float, float]) -> AxesImage:
    """Colours with the numbers in them, so that nobody has to guess from a shade. Dark is far from 0."""
    colours = style.heat_map() if abs(ends[1]) >= abs(ends[0]) else style.heat_map().reversed()
    image = axes.imshow(
        np.ma.masked_invalid(values), cmap=colours, vmin=ends[0], vmax=ends[1], origin="lower", aspect="auto"
    )
    for (i, j), value in np.ndenumerate(values):
        if np.isfinite(value):
            shade = colours((value - ends[0]) / max(ends[1] - ends[0], 1e-9))
            colour = "white" if style.luminance(shade) < 0.55 else style.INK
            axes.text(j, i, signed(value), ha="center", va="center", fontsize=7.5, color=colour)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    return image
