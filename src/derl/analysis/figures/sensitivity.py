"""Bars of average returns at all values of a swept setting: robust algorithms have long bars everywhere."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from derl.analysis.claims.sensitivity import Kind, Sweep, published_values, sweep, swept_values
from derl.analysis.figures import style
from derl.analysis.figures.curves import DASHED, panels_of
from derl.analysis.measures.aggregates import Estimate, optimal_return
from derl.analysis.measures.effects import Effect
from derl.analysis.measures.frames import EVALUATIONS, Results
from derl.envs.registry import make
from derl.experiments.paper import column_name, row_name


def sensitivity_figure(
    results: Results,
    task: str,
    kind: Kind,
    recipes: Sequence[str],
    columns: int,
    rewards: Sequence[str] = ("both",),
    evaluations: int = EVALUATIONS,
    what: str = "",
) -> Figure | None:
    """A panel of bars per recipe (and reward), with the published numbers as diamonds; None if no sweep was run.

    The title says of `what` it is, for there are several of a task.
    """
    sweeps = [
        sweep(results, recipe, task, kind, reward, evaluations)
        for recipe in recipes
        for reward in _rewards(recipe, rewards)
    ]
    # One value is the recipe as it is, which is there without any sweep.
    if not any(len(swept.effects) + len(swept.once) > 1 for swept in sweeps):
        return None
    with style.styled():
        rows = -(-len(sweeps) // columns)
        figure = style.new_figure(1.95 * columns + 0.6, 2.35 * rows + 0.7)
        panels = panels_of(figure, len(sweeps), columns)
        low, high = _range(sweeps, task)
        for i, (axes, swept) in enumerate(zip(panels, sweeps, strict=True)):
            draw_bars(axes, swept)
            axes.set_xlim(low, high)
            axes.set_ylabel(_label(swept) if i % columns == 0 or _label(swept) != _label(sweeps[i - 1]) else "")
            axes.set_xlabel("Average return" if i + columns >= len(sweeps) else "")
        title = f"{column_name(task)}: average returns by {'λ' if kind == 'lambda' else 'rate of decay'}"
        style.add_title(figure, f"{title}, {what}" if what else title)
        _explain(figure, panels)
    return figure


def _rewards(recipe: str, rewards: Sequence[str]) -> Sequence[str]:
    return rewards if recipe.endswith("-kl") else ("both",)


def _label(swept: Sweep) -> str:
    if swept.kind == "lambda":
        return "λ"
    return "count increment" if swept.recipe.removesuffix("-kl").endswith("count") else "learning rate"


def _range(sweeps: Sequence[Sweep], task: str) -> tuple[float, float]:
    """One scale for all panels, from the lowest number there is to a little above the optimum."""
    best = optimal_return(task)
    lowest = [possible_returns(effect, task).low for swept in sweeps for effect in swept.effects.values()]
    lowest += [value * best for swept in sweeps for value in swept.once.values()]
    published = [value for swept in sweeps for value in published_values(swept).values()]
    low = min([0.0, *lowest, *published])
    return low - 0.06 * best if low < 0 else -0.02 * best, 1.06 * best


def possible_returns(effect: Effect, task: str) -> Estimate:
    """An effect as returns, with the part of its interval that is possible.

    Intervals of few runs are widened, which can move their ends beyond what any run can earn.
    """
    env, best = make(task), optimal_return(task)
    value, low, high = (best * x for x in effect.estimate())
    least = -np.inf if env.lowest_return is None else env.lowest_return
    return Estimate(value, max(low, least), min(high, best))


def draw_bars(axes: Axes, swept: Sweep) -> None:
    """One horizontal bar per value, the smallest value at the bottom."""
    values = swept_values(swept.recipe, swept.kind)
    best = optimal_return(swept.task)
    published = published_values(swept)
    shades = [to_hex(c) for c in style.heat_map()(np.linspace(0.2, 0.7, len(values)))]
    for i, value in enumerate(values):
        effect = swept.effects.get(value)
        if value in swept.once:
            # Pale and without an interval: one run does not tell how sure it is.
            axes.barh(i, best * swept.once[value], height=0.72, color=shades[i], alpha=0.45)
            axes.text(0.02 * best, i, "one run", fontsize=7, color=style.INK, va="center")
            continue
        if effect is None:
            # Beside the published number, not on it.
            place = 0.02 if published.get(value, best) > 0.4 * best else 0.5
            axes.text(place * best, i, "not run", fontsize=7, color=style.FAINT, va="center")
            continue
        middle, low, high = possible_returns(effect, swept.task)
        axes.barh(i, middle, height=0.72, color=shades[i])
        # A white rim keeps the line visible where it lies on a dark bar.
        for colour, width in (("white", 3.0), (style.INK, 1.4)):
            axes.plot([low, high], [i, i], color=colour, linewidth=width, solid_capstyle="butt")
    for value, number in published.items():
        axes.plot(number, values.index(value), "D", markersize=4, color="white", markeredgecolor=style.VERMILLION)
    axes.axvline(best, color=style.INK, linewidth=1.1, linestyle=DASHED, zorder=0)
    axes.axvline(0, color=style.FAINT, linewidth=0.8, zorder=0)
    axes.set_yticks(range(len(values)), [f"{value:g}" for value in values], fontsize=8)
    axes.set_ylim(-0.6, len(values) - 0.4)
    axes.tick_params(axis="x", labelsize=8)
    axes.tick_params(axis="y", length=0)
    axes.set_title(panel_title(swept), loc="left", fontsize=9.5)


def panel_title(swept: Sweep) -> str:
    """Whose bars they are."""
    if not swept.recipe.endswith("-kl"):
        return row_name(swept.recipe)
    reward = "" if swept.reward == "both" else ", only $r^i$"
    return f"{row_name(swept.recipe.removesuffix('-kl'))}, KL{reward}"


def _explain(figure: Figure, panels: Sequence[Axes]) -> None:
    axes = panels[0]
    handles = [
        axes.barh([0], [0], color=style.heat_map()(0.6), height=0)[0],
        axes.plot([], [], color=style.INK, linewidth=1.3)[0],
        axes.plot([], [], "D", markersize=4, color="white", markeredgecolor=style.VERMILLION)[0],
        axes.plot([], [], color=style.INK, linewidth=1.1, linestyle=DASHED)[0],
    ]
    names = ["ours", "95 % interval", "published", "optimum"]
    style.legend_below(figure, handles, names, 4)
