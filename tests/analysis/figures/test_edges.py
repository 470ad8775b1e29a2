"""No title, legend, label or note of a figure is cut off, be there one panel or many."""

import numpy as np
import polars as pl
import pytest

from analysis.figures.edges import cut_off
from analysis.made_up import frame_of
from derl.analysis.claims.sensitivity import swept_case
from derl.analysis.figures.aggregates import aggregates_figure
from derl.analysis.figures.beyond import curves_figure
from derl.analysis.figures.curves import coverage_figure, curve_of, family_grid, task_grid, weights_figure
from derl.analysis.figures.grids import draw_behaviours
from derl.analysis.figures.normalised import normalised_figure
from derl.analysis.figures.run import Line, draw_curves
from derl.analysis.figures.sensitivity import sensitivity_figure
from derl.analysis.measures.frames import Results
from derl.analysis.pages.figures import EXPLORERS, FAMILIES
from derl.analysis.runs.behaviour import Behaviour
from derl.envs import DeepSea, Hallway
from derl.envs.registry import PAPER_TASKS
from derl.experiments.cases import Case
from derl.training.recipes import TABLE_1

TITLE = "Learning curves in DeepSea, best bonus of each algorithm there"
LONGEST = ["a2c-hash-count", "ppo-hash-count", "dea2c-count", "deppo-count", "dedqn-count"]
LONG = "DeA2C Hash-Count on Hallway-30-30"
NOTE = "failed runs (1 of 4) are left out from their failure on"


def results_in(tasks, recipes=TABLE_1) -> Results:
    """Two runs of every recipe in every task."""
    frame = frame_of({Case.of(recipe, task): np.full((2, 6), 0.5) for recipe in recipes for task in tasks})
    return Results(frame.with_columns(coverage=pl.lit(9), log_importance_weight=pl.lit(-0.5), seconds=pl.lit(2.0)))


@pytest.mark.parametrize("count", [1, 2, 5])
def test_figures_of_tasks(count):
    tasks = PAPER_TASKS[:count]
    results = results_in(tasks)
    assert cut_off(task_grid(results, tasks, LONGEST, TITLE)) == []
    assert cut_off(family_grid(results, tasks, FAMILIES, TITLE)) == []
    assert cut_off(coverage_figure(results, tasks, EXPLORERS)) == []
    assert cut_off(aggregates_figure(results, "DeepSea", tasks, evaluations=6)) == []


def test_a_panel_with_stand_ins_and_notes():
    runs = [("a2c-hash-count", "DeepSea-10"), ("ppo-hash-count", "DeepSea-10"), ("dedqn-count", "DeepSea-10")]
    runs += [("a2c", "DeepSea-14"), ("ppo-count", "DeepSea-14")]
    results = Results(frame_of({Case.of(*names): [[0.5] * 6] for names in runs}))
    figure = task_grid(results, ["DeepSea-14"], [recipe for recipe, _ in runs[:3]], TITLE)
    assert figure.axes[0].get_title("right") == "dashed: 2 of 3\nnot run: DeDQN Count"
    assert cut_off(figure) == []


@pytest.mark.parametrize("environments", [["DeepSea"], ["Hallway"], ["DeepSea", "Hallway"]])
def test_normalised_returns(environments):
    tasks = {name: [task for task in PAPER_TASKS if task.startswith(name)][:2] for name in environments}
    results = results_in([task for several in tasks.values() for task in several])
    figure = normalised_figure(results, tasks)
    assert cut_off(figure) == []
    for axes in figure.axes:
        # The legend hangs from the panel, as does the label.
        names = axes.get_legend().get_texts()
        assert not any(name.get_window_extent().overlaps(axes.xaxis.label.get_window_extent()) for name in names)


def test_importance_weights():
    assert cut_off(weights_figure(results_in(["DeepSea-14"]), Case.of("dea2c-count", "DeepSea-14"))) == []


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("axis", ["episodes", "seconds"])
def test_the_library_s_own_recipe(count, axis):
    tasks = PAPER_TASKS[:count]
    results = results_in(tasks, ["derl", "bootdqn"])
    assert cut_off(curves_figure(results, results_in(tasks, ["a2c"]), axis)) == []


@pytest.mark.parametrize(("recipes", "columns"), [(["a2c-count"], 1), (LONGEST, 5)])
def test_sweeps(recipes, columns):
    swept = {swept_case(r, "Hallway-10-10", "lambda", x): np.full((2, 100), 0.5) for r in recipes for x in (1.0, 2.0)}
    assert cut_off(sensitivity_figure(Results(frame_of(swept)), "Hallway-10-10", "lambda", recipes, columns)) == []


@pytest.mark.parametrize("swept", ["", "bonus.scale", "decoupling.alpha_explorer, decoupling.alpha_exploiter"])
@pytest.mark.parametrize("lines", [1, 3, 20])
def test_curves_of_a_run(lines, swept):
    curve = curve_of(results_in(["DeepSea-10"]), Case.of("a2c", "DeepSea-10"))
    assert curve is not None
    curve = curve.with_columns(explorer_mean="mean", explorer_low="low", explorer_high="high")
    several = [Line(f"DeA2C Count with constraints {i}", curve) for i in range(lines)]
    figure = draw_curves(several, title=LONG, legend_title=swept, optimal=0.99, note=NOTE)
    assert cut_off(figure) == []
    legend = figure.legends[0].get_window_extent()
    assert not any(legend.overlaps(axes.get_window_extent()) for axes in figure.axes)


@pytest.mark.parametrize("env", [DeepSea(10), Hallway(30, 30)])
@pytest.mark.parametrize("seats", [["explorer"], ["exploiter"], ["explorer", "exploiter"]])
def test_maps(env, seats):
    visits = np.ones(env.grid_shape)
    seen = [Behaviour(seat, visits, 100_000, visits > 0, None, [(0, 0)], -0.004, 0.99) for seat in seats]
    title = f"{LONG} (seed 12, decoupling.alpha_explorer 0.0001): failed, its numbers are no longer finite"
    assert cut_off(draw_behaviours(env, seen, title)) == []
