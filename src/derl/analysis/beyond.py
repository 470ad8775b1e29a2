"""The experiment `beyond` as a page and figures: the library's own recipe beside the paper's best."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from derl.analysis import style
from derl.analysis.curve_figures import DASHED, curve_of
from derl.analysis.figures import draw_line
from derl.analysis.frames import Results, as_results
from derl.analysis.holding import Holding, holdings, longest, table
from derl.analysis.pages import write_text
from derl.envs import make
from derl.envs.registry import PAPER_TASKS
from derl.experiments.beyond import ABLATION_TASKS, ABLATIONS, HELD_OUT, SENSITIVITY_TASKS
from derl.experiments.cases import Case
from derl.experiments.paper import INCREMENTS, LAMBDAS, Cell, cells, column_name, row_name
from derl.training.recipes import TABLE_1

OWN = "derl"
SWEPT: Mapping[str, Sequence[float]] = {"bonus.scale": LAMBDAS, "bonus.increment": INCREMENTS}


def best_published(task: str) -> Cell:
    """The highest average return the paper has for a task."""
    there = [c for c in cells() if c.table == "tab:mean_returns" and c.case.task == task]
    return max(there, key=lambda c: c.mean)


def write_beyond(frame: pl.DataFrame, folder: Path | str, paper: pl.DataFrame | None = None) -> list[Path]:
    """The page and its figures. `paper` holds our runs of the paper's recipes, to draw beside."""
    frame = longest(frame)
    results = as_results(frame)
    found = {holding.case: holding for holding in holdings(frame)}
    paths = []
    figures = {"curves": curves_figure(results, None if paper is None else as_results(paper))}
    figures["sensitivity"] = sensitivity_figure(found)
    shown = []
    for name, figure in figures.items():
        if figure is not None:
            paths += style.save(figure, Path(folder) / name)
            shown.append(name)
    return [*paths, write_text(Path(folder) / "README.md", beyond_page(found, shown))]


def beyond_page(found: Mapping[Case, Holding], figures: Sequence[str] = ()) -> str:
    """What the recipe reaches and holds, in tables."""
    parts = ["# Beyond the paper", INTRODUCTION]
    if "curves" in figures:
        parts.append("![Returns over episodes](curves.png)")
    parts += _section(
        "The paper's tasks", [(column_name(t), Case.of(OWN, t)) for t in PAPER_TASKS], found, published=True
    )
    if "sensitivity" in figures:
        parts.append("## Sensitivity\n\n![Sensitivity to lambda and increments](sensitivity.png)")
    for setting, values in SWEPT.items():
        rows = [(f"{column_name(t)}, {setting} {v:g}", swept(t, setting, v)) for t in SENSITIVITY_TASKS for v in values]
        parts += _section(f"Every value of {setting}", rows, found)
    bonuses = [
        (f"{column_name(t)}, {r}", Case.of(r, t))
        for t in SENSITIVITY_TASKS
        for r in (f"{OWN}-hash-count", f"{OWN}-rnd")
    ]
    parts += _section("Other bonuses", bonuses, found)
    held_out = [Case.of(OWN, task, changes) for task, changes in HELD_OUT]
    parts += _section("Held out", [(f"{column_name(c.task)} {c.setting}".strip(), c) for c in held_out], found)
    ablated = [(f"{column_name(t)}: {n}", Case.of(OWN, t, c)) for t in ABLATION_TASKS for n, c in ABLATIONS.items()]
    parts += _section("Without each part", ablated, found)
    deep = [case for case in found if case.task in ("DeepSea-50", "DeepSea-100")]
    parts += _section("Larger tasks", [(column_name(c.task), c) for c in deep], found)
    compared = [case for case in found if case.recipe == "bootdqn"]
    parts += _section("Bootstrapped DQN with random priors", [(column_name(c.task), c) for c in compared], found)
    return "\n\n".join(parts) + "\n"


INTRODUCTION = (
    "`derl reproduce beyond` makes all of this at full length; the page is generated from the runs there are, and says "
    "for how many episodes they were trained. A run *holds* the optimum from the first optimal greedy evaluation on "
    "from which at least 95 % of all (and five at least) are optimal; there is one every 10 episodes. Best possible is "
    "what a policy that sees only the observation can reach. The published numbers are averages over 100,000 episodes, "
    "the best of the paper's 18 algorithms in each task."
)


def _section(
    title: str, rows: Iterable[tuple[str, Case]], found: Mapping[Case, Holding], published: bool = False
) -> list[str]:
    there = [(name, found[case]) for name, case in rows if case in found]
    missing = [name for name, case in rows if case not in found]
    if not there:
        return []
    extra = {}
    if published:
        best = [best_published(h.case.task) for _, h in there]
        extra = {"best published average": [f"{c.mean:.2f} ({c.row})" for c in best]}
    parts = [f"## {title}", table(there, extra)]
    return parts + ([f"Not run: {', '.join(missing)}."] if missing else [])


def swept(task: str, setting: str, value: float) -> Case:
    """The recipe with one setting changed; its default is the recipe itself."""
    return Case.of(OWN, task, {} if value == 1.0 else {setting: value})


def curves_figure(results: Results, paper: Results | None) -> Figure | None:
    """Returns over episodes on a logarithmic axis, the paper's best average as a line, our runs of its rows beside."""
    tasks = [task for task in PAPER_TASKS if Case.of(OWN, task) in results]
    if not tasks:
        return None
    with style.styled():
        columns = min(3, len(tasks))
        figure = style.new_figure(3.2 * columns, 2.3 * -(-len(tasks) // columns) + 0.5)
        panels = figure.subplots(-(-len(tasks) // columns), columns, squeeze=False).reshape(-1)
        for axes, task in zip(panels, tasks, strict=False):
            best = best_published(task)
            others = [] if paper is None else [Case.of(r, task) for r in TABLE_1 if Case.of(r, task) in paper]
            for i, case in enumerate(others):
                curve = curve_of(paper, case)  # pyright: ignore[reportArgumentType]
                if curve is not None:
                    label = "the paper's algorithms" if i == 0 else None
                    axes.plot(
                        curve["episodes"], curve["mean"], color=style.FAINT, linewidth=0.8, alpha=0.6, label=label
                    )
            curve = curve_of(results, Case.of(OWN, task))
            assert curve is not None
            draw_line(axes, curve, "", "derl", style.VERMILLION, 0)
            axes.axhline(best.mean, color=style.BLUE, linewidth=1.3, linestyle=":", label="best published average")
            axes.axhline(
                make(task).optimal_return or 0.0, color=style.INK, linewidth=1, linestyle=DASHED, label="optimum"
            )
            axes.set_xscale("log")
            axes.set_title(column_name(task), loc="left")
            axes.set_xlabel("Training episodes")
        for axes in panels[len(tasks) :]:
            axes.set_visible(False)
        panels[0].set_ylabel("Return")
        unique = {label: line for axes in panels for line, label in zip(*axes.get_legend_handles_labels(), strict=True)}
        figure.legend(unique.values(), unique.keys(), loc="outside lower center", ncols=4, fontsize=9)
        figure.suptitle("One set of hyper-parameters on every task of the paper", fontsize=11.5, fontweight="bold")
    return figure


def sensitivity_figure(found: Mapping[Case, Holding]) -> Figure | None:
    """Returns at the end over every value of lambda and the increment, beside the published averages with Count."""
    if not any(dict(case.changes).keys() & SWEPT.keys() for case in found if case.recipe == OWN):
        return None
    with style.styled():
        figure = style.new_figure(8.4, 5.2)
        panels = figure.subplots(2, 2)
        for row, task in zip(panels, SENSITIVITY_TASKS, strict=True):
            for axes, (setting, values) in zip(row, SWEPT.items(), strict=True):
                _sensitivity_panel(axes, found, task, setting, values)
        handles, labels = panels[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=9)
        figure.suptitle("Nothing to tune: scale and decay of the bonus", fontsize=11.5, fontweight="bold")
    return figure


def _sensitivity_panel(axes, found: Mapping[Case, Holding], task: str, setting: str, values: Sequence[float]) -> None:
    for i, recipe in enumerate(("a2c-count", "ppo-count", "dea2c-count", "deppo-count", "dedqn-count")):
        wanted = {Case.of(recipe, task, {setting: v}): v for v in values} | {Case.of(recipe, task): 1.0}
        tables = ("intrinsic_coef_mean",) if setting == "bonus.scale" else ("decay_sensitivity_count",)
        points = {
            wanted[c.case]: c.mean
            for c in cells()
            if c.case in wanted and c.statistic == "average" and tables[0] in c.table and not c.table.endswith("_kl")
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
    own = [found[swept(task, setting, v)].final for v in x]
    axes.plot(x, own, color=style.BLACK, linewidth=2.2, marker="o", markersize=5, label="derl")
    axes.axhline(make(task).optimal_return or np.nan, color=style.INK, linewidth=1, linestyle=DASHED)
    axes.set_xscale("log")
    axes.set_title(column_name(task), loc="left")
    axes.set_xlabel("lambda" if setting == "bonus.scale" else "count increment")
    axes.set_ylabel("Return")
