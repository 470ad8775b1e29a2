"""Figures from frames of results: the right lines and bars, whatever is missing."""

import numpy as np
import polars as pl
import pytest
from PIL import Image

from analysis.made_up import frame_of, together, variants_of
from derl.analysis.claims.divergence import Variant, main_groups
from derl.analysis.figures import style
from derl.analysis.figures.aggregates import aggregates_figure, all_scores
from derl.analysis.figures.curves import (
    COLOURS,
    best_recipes,
    coinciding,
    coverage_figure,
    curve_of,
    family_grid,
    looks_of,
    task_grid,
    weights_figure,
)
from derl.analysis.figures.kl import coefficients_figure, four_panels, pair_figure
from derl.analysis.figures.normalised import comparable, normalised_curve, normalised_figure
from derl.analysis.figures.run import dashes_of
from derl.analysis.measures.frames import Results
from derl.analysis.pages.figures import FAMILIES, curve_figures, divergence_figures, figures, write_all
from derl.experiments.cases import Case
from derl.training.recipes import TABLE_1

TASKS = ["DeepSea-10", "Hallway-10-10"]


def results_of(levels: dict[tuple[str, str], float], runs: int = 2, evaluations: int = 6) -> Results:
    """Flat runs near a level each."""
    wobble = np.linspace(-0.01, 0.01, runs)[:, None]
    return Results(
        frame_of({Case.of(*names): level + wobble + np.zeros((runs, evaluations)) for names, level in levels.items()})
    )


def names_in(axes) -> list[str]:
    return [label for label in axes.get_legend_handles_labels()[1] if label != "optimum"]


def test_a_curve_ends_where_the_first_run_ends():
    results = Results(frame_of({Case.of("a2c", "DeepSea-10"): [[0, 1, 2], [2, 3]]}))
    curve = curve_of(results, Case.of("a2c", "DeepSea-10"))
    assert curve["mean"].to_list() == [1, 2]
    assert curve["episodes"].to_list() == [1000, 2000]
    assert (curve["low"].to_list(), curve["high"].to_list()) == ([0, 1], [2, 3])
    assert curve_of(results, Case.of("ppo", "DeepSea-10")) is None
    assert curve_of(results, Case.of("a2c", "DeepSea-10"), "kl") is None


def test_the_best_bonus_of_each_algorithm():
    levels = {
        ("a2c-count", "DeepSea-10"): 0.5,
        ("a2c-icm", "DeepSea-10"): 0.6,
        # The better in Hallway, where returns are larger; but normalised returns count.
        ("a2c-count", "Hallway-10-10"): 0.5,
        ("a2c-icm", "Hallway-10-10"): 0.2,
        # Better still, but not run in the second task.
        ("a2c-rnd", "DeepSea-10"): 0.9,
        ("dedqn-icm", "DeepSea-10"): 0.1,
    }
    results = results_of(levels)
    assert best_recipes(results, TASKS) == ["a2c-count", "dedqn-icm"]
    assert best_recipes(results, TASKS[:1]) == ["a2c-rnd", "dedqn-icm"]
    assert best_recipes(results, ["DeepSea-30"]) == []


def test_a_recipe_of_which_all_runs_failed_is_not_the_best():
    levels = {("a2c", "DeepSea-10"): np.nan, ("a2c-count", "DeepSea-10"): 0.9, ("ppo", "DeepSea-10"): np.nan}
    assert best_recipes(results_of(levels), TASKS) == ["a2c-count"]


def test_the_best_bonus_where_tasks_are_missing():
    # Count was also run in a task that is hard for all, which is not held against it.
    levels = {("a2c-count", t): x for t, x in (("DeepSea-10", 0.9), ("DeepSea-14", 0.8), ("DeepSea-30", 0.1))}
    levels |= {("a2c-icm", t): x for t, x in (("DeepSea-10", 0.7), ("DeepSea-14", 0.7))} | {("a2c", "DeepSea-30"): 0.0}
    assert best_recipes(results_of(levels), ["DeepSea-10", "DeepSea-14", "DeepSea-30"]) == ["a2c-count"]


def test_recipes_keep_their_colours():
    """DeA2C Count was blue among all recipes and red beside the best of other algorithms, where blue was A2C's."""
    assert set(COLOURS) == set(TABLE_1)
    assert len(set(COLOURS.values())) == len(COLOURS)
    runs = {(recipe, "DeepSea-10"): 0.5 for recipe in ("a2c", "dea2c-count")} | {("a2c-ride", "DeepSea-14"): 0.5}
    tasks = ["DeepSea-10", "DeepSea-14"]
    results = results_of(runs)
    drawn = [
        task_grid(results, tasks, ["a2c", "dea2c-count"], "title"),
        family_grid(results, tasks, FAMILIES, "title"),
        normalised_figure(results, {"DeepSea": tasks[:1]}),
    ]
    colours = [{line.get_label(): line.get_color() for axes in f.axes for line in axes.lines} for f in drawn]
    for found in colours:
        assert (found["A2C"], found["DeA2C Count"]) == (COLOURS["a2c"], COLOURS["dea2c-count"])
    # In the place of a recipe another is drawn in its own.
    assert colours[0]["A2C RIDE (no A2C)"] == colours[1]["A2C RIDE"] == COLOURS["a2c-ride"]
    # Recipes of somebody's own have as many as there are.
    assert len({colour for colour, _ in looks_of(["mine", "a2c", "yours"]).values()}) == 3


def test_lines_on_each_other_are_all_seen():
    """Of three equal lines only the last was; each has its own part of the way now."""
    three = {("a2c", "DeepSea-10"): 0.5, ("a2c-count", "DeepSea-10"): 0.51, ("a2c-icm", "DeepSea-10"): 0.5}
    figure = family_grid(results_of(three | {("a2c-rnd", "DeepSea-10"): 0.6}), ["DeepSea-10"], FAMILIES, "title")
    assert figure.get_suptitle().replace("\n", " ") == "title (dashed: mostly on another line)"
    lines = {line.get_label(): line for line in figure.axes[0].lines if not line.get_label().startswith("_")}
    dashed = {name: line.is_dashed() for name, line in lines.items() if name != "optimum"}
    assert dashed == {"A2C": False, "A2C Count": True, "A2C ICM": True, "A2C RND": False}
    (_, (on, off)), (start, _), (later, _) = dashes_of(1, 3), dashes_of(1, 3), dashes_of(2, 3)
    assert off == 2 * on
    assert start - later == on


def test_lines_hide_each_other_if_half_of_them_is_the_same():
    def curve(*values: float) -> pl.DataFrame:
        return pl.DataFrame({"mean": values}, {"mean": pl.Float64})

    curves = {"a": curve(0, 0, 1, 1), "b": curve(0.01, 0, 0.5, 0.5, 9), "c": curve(0, 0.5, 0.5, 0.5), "d": curve(1, 1)}
    assert coinciding(curves, 0.02) == {"a": (0, 2), "b": (1, 2), "c": (0, 1), "d": (0, 1)}


def test_a_grid_of_tasks():
    results = results_of({("a2c", "DeepSea-10"): 0.5, ("dea2c-count", "DeepSea-10"): 0.7, ("a2c", "Hallway-10-10"): 1})
    figure = task_grid(results, TASKS, ["a2c", "dea2c-count"], "title")
    first, second = figure.axes
    assert [axes.get_title(loc="left") for axes in (first, second)] == ["DeepSea 10", "Hallway 10-10"]
    assert names_in(first) == ["A2C", "DeA2C Count"]
    assert names_in(second) == ["A2C"]
    np.testing.assert_allclose(first.lines[0].get_ydata(), 0.5)
    (optimum,) = [line for line in second.lines if line.get_label() == "optimum"]
    assert set(optimum.get_ydata()) == {1.8}
    assert [t.get_text() for t in figure.legends[0].get_texts()] == ["A2C", "DeA2C Count", "optimum"]


def test_what_is_left_of_a_row_stays_empty():
    results = results_of({("a2c", task): 0.5 for task in (*TASKS, "DeepSea-14")})
    figure = task_grid(results, [*TASKS, "DeepSea-14", "DeepSea-20"], ["a2c"], "title", columns=3)
    assert [axes.axison for axes in figure.axes] == [True] * 4 + [False] * 2
    assert [[text.get_text() for text in axes.texts] for axes in figure.axes[:4]] == [[], [], [], ["not run"]]
    low, high = figure.axes[3].get_ylim()
    assert low < 0.01
    assert 0.99 < high < 1.2


def test_a_legend_fits_and_panels_say_what_was_not_run():
    """A name as long as that of a stand-in used to push the others over both edges."""
    recipes = ["a2c-hash-count", "ppo-hash-count", "dea2c-count", "deppo-count", "dedqn-count"]
    tasks = ["DeepSea-10", "DeepSea-14", "DeepSea-20"]
    runs = {(recipe, "DeepSea-10"): 0.5 for recipe in recipes} | {("ppo-count", "DeepSea-14"): 0.5}
    runs |= {(recipe, "DeepSea-20"): 0.5 for recipe in recipes[:-1]}
    figure = task_grid(results_of(runs), tasks, recipes, "title")
    figure.draw_without_rendering()
    box = figure.legends[0].get_window_extent()
    assert 0 <= box.x0 < box.x1 <= figure.bbox.width
    said = [axes.get_title("right") for axes in figure.axes]
    assert said == ["", "dashed: PPO Count\nnot run: 4 of 5", "not run: DeDQN Count"]


def test_families_have_columns():
    results = results_of({("a2c-ride", "DeepSea-10"): 0.5, ("deppo-icm", "Hallway-10-10"): 0.7})
    figure = family_grid(results, TASKS, FAMILIES, "title")
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles[:3] == ["DeepSea 10: A2C", "DeepSea 10: PPO", "DeepSea 10: DeRL"]
    legends = [axes.get_legend() for axes in figure.axes[3:]]
    assert [len(legend.get_texts()) for legend in legends] == [6, 6, 6]
    assert names_in(figure.axes[0]) == ["A2C RIDE"]


def test_normalised_returns_weigh_tasks_alike():
    levels = {("a2c", "DeepSea-10"): 0.99, ("a2c", "DeepSea-14"): 0.0, ("ppo", "DeepSea-10"): 0.0}
    results = results_of(levels)
    curve = normalised_curve(results, "a2c", ["DeepSea-10", "DeepSea-14", "DeepSea-20"])
    np.testing.assert_allclose(curve["mean"], 0.5)
    figure = normalised_figure(results, {"DeepSea": ["DeepSea-10", "DeepSea-14"]})
    # PPO has another task's mean: it is not drawn beside A2C, but named.
    assert names_in(figure.axes[0]) == ["A2C"]
    assert figure.axes[0].get_legend().get_title().get_text() == "too few tasks: PPO"


def test_recipes_are_compared_in_the_tasks_all_of_them_have():
    tasks = ["DeepSea-10", "DeepSea-14", "DeepSea-20"]
    levels = {("a2c", task): 0.99 for task in tasks} | {("ppo", task): 0.0 for task in tasks[:2]}
    results = results_of(levels | {("dedqn-count", "DeepSea-10"): 0.99})
    assert comparable(results, ["a2c", "ppo", "dedqn-count"], tasks) == (["a2c", "ppo"], tasks[:2])
    figure = normalised_figure(results, {"DeepSea": tasks})
    assert names_in(figure.axes[0]) == ["A2C", "PPO"]
    assert figure.axes[0].get_title(loc="left") == "DeepSea (2 of 3 tasks)"
    # Nothing in common: one of them alone.
    apart = results_of({("a2c", "DeepSea-10"): 1.0, ("ppo", "DeepSea-14"): 1.0})
    assert comparable(apart, ["a2c", "ppo"], tasks) == (["a2c"], ["DeepSea-10"])


def test_normalised_returns_are_of_recipes_with_all_tasks():
    tasks = ["DeepSea-10", "DeepSea-14", "DeepSea-20"]
    levels = {(recipe, task): 0.5 for recipe in ("a2c", "ppo-count", "ppo-icm") for task in tasks}
    levels |= {("ppo-icm", task): 0.3 for task in tasks} | {("ppo-rnd", task): 0.9 for task in tasks[:2]}
    results = results_of(levels)
    assert best_recipes(results, tasks) == ["a2c", "ppo-rnd"]
    assert best_recipes(results, tasks, fullest=True) == ["a2c", "ppo-count"]
    (axes,) = normalised_figure(results, {"DeepSea": tasks}).axes
    assert axes.get_title(loc="left") == "DeepSea"
    assert names_in(axes) == ["A2C", "PPO Count"]
    assert axes.get_legend().get_title().get_text() == "too few tasks: PPO RND"
    # PPO used to have no profile, because its best cannot be compared.
    assert names_in(aggregates_figure(results, "DeepSea", tasks, 6).axes[3]) == ["A2C", "PPO Count"]


def test_where_the_best_was_not_run_another_of_its_algorithm_is_drawn():
    results = results_of({("a2c-count", "DeepSea-10"): 0.9, ("a2c", "DeepSea-10"): 0.1, ("a2c", "DeepSea-14"): 0.2})
    figure = task_grid(results, ["DeepSea-10", "DeepSea-14", "DeepSea-20"], ["a2c-count"], "title")
    assert [names_in(axes) for axes in figure.axes[:2]] == [["A2C Count"], ["A2C (no A2C Count)"]]
    assert [axes.get_title("right") for axes in figure.axes[:2]] == ["", "dashed: A2C"]
    assert [axes.lines[0].get_linestyle() for axes in figure.axes[:2]] == ["-", "--"]
    assert [text.get_text() for text in figure.axes[2].texts] == ["not run"]


def test_aggregates_compare_only_what_was_run_everywhere():
    levels = {(r, t): 0.5 for r in ("a2c", "ppo", "dea2c-icm") for t in ("DeepSea-10", "DeepSea-14")}
    del levels["ppo", "DeepSea-14"]
    results = results_of(levels)
    tasks = ["DeepSea-10", "DeepSea-14"]
    assert list(all_scores(results, tasks, 6)) == ["a2c", "dea2c-icm"]
    figure = aggregates_figure(results, "DeepSea", tasks, 6)
    assert [axes.get_title(loc="left") for axes in figure.axes[:3]] == ["Mean", "Interquartile mean", "Optimality gap"]
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["A2C", "DeA2C ICM"]
    assert aggregates_figure(results, "DeepSea", [*tasks, "DeepSea-20"], 6) is None
    # As in tables and claims, a run that is not finished does not count.
    unfinished = frame_of({Case.of("a2c", "DeepSea-10"): [[1.0] * 6] * 2, Case.of("ppo", "DeepSea-10"): [[1.0] * 3]})
    assert [len(s["DeepSea-10"]) for s in all_scores(Results(unfinished), tasks[:1], 6).values()] == [2]


def test_weights_need_weights():
    case = Case.of("dea2c-count", "DeepSea-14")
    frame = frame_of({case: [[0.0, 0.5], [0.2, 0.9]]})
    assert weights_figure(Results(frame), case) is None
    figure = weights_figure(Results(frame.with_columns(log_importance_weight=pl.lit(-0.5))), case)
    assert [axes.get_ylabel() for axes in figure.axes] == ["Return", "log importance weight"]


def test_coverage_is_a_share():
    results = Results(frame_of({Case.of("a2c", "DeepSea-10"): [[0.0] * 3]}).with_columns(coverage=pl.lit(11)))
    figure = coverage_figure(results, ["DeepSea-10"], ["a2c"], columns=1)
    np.testing.assert_allclose(figure.axes[0].lines[0].get_ydata(), 0.2)


def test_four_panels():
    (group,) = main_groups(Results(variants_of("DeepSea-10")))
    results = Results(variants_of("DeepSea-10"))
    figure = four_panels(results, group)
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles[0].startswith("Evaluation return")
    assert titles[1:] == ["log importance weight", "Training return (explorer)", "KL divergence"]
    assert [len(names_in(axes)) for axes in figure.axes] == [4, 4, 4, 4]
    assert "0.1" in names_in(figure.axes[0])[2]
    assert len(names_in(pair_figure(results, group, (0.0, 0.0)).axes[0])) == 2
    assert four_panels(results, group, [Variant(9.0, 9.0, "both")]) is None
    assert coefficients_figure(results, group) is None


def test_all_coefficients():
    alphas = (0.0, 0.01, 0.1)
    results = Results(
        variants_of("DeepSea-10", pairs=[(a, b) for a in alphas for b in alphas if (a, b) != (0.1, 0.01)])
    )
    (group,) = main_groups(results)
    figure = coefficients_figure(results, group)
    maps, bars = figure.axes[:8], figure.axes[8:]
    # One of nine pairs was not run.
    assert [len(axes.texts) for axes in maps] == [8] * 8
    # A bar says what the shades of each column mean, and dark is far from 0 in all of them.
    assert len(bars) == 4
    for column, bar in enumerate(bars):
        images = [maps[row * 4 + column].images[0] for row in (0, 1)]
        assert len({image.get_clim() for image in images}) == 1
        (low, high), paint = images[0].get_clim(), images[0].cmap
        assert bar.get_xlim() == pytest.approx((low, high))
        shades = [style.luminance(paint(end)) for end in (0.0, 1.0)]
        assert (shades[0] < shades[1]) == (abs(low) > abs(high))


def test_every_pair_of_coefficients_has_a_figure():
    """Appendix D: all pairs that were run, with and without extrinsic rewards."""
    results = Results(variants_of("DeepSea-10", pairs=[(0.0, 0.0), (0.1, 0.0), (1e-4, 0.1)]))
    drawn = {name: figure for name, _, figure in divergence_figures(results)}
    pairs = [f"kl-deepsea-10-explorer-{a}-exploiter-{b}" for a, b in (("0", "0"), ("0_1", "0"), ("0_0001", "0_1"))]
    assert set(drawn) == {"kl-deepsea-10", "kl-deepsea-10-coefficients", *pairs}
    for name in pairs:
        assert len(names_in(drawn[name].axes[0])) == 2


def test_coefficients_are_missing_only_where_the_paper_varies_them():
    for task, missing in (("DeepSea-10", True), ("Hallway-20-20", True), ("Hallway-10-10", False)):
        drawn = {name: figure for name, _, figure in divergence_figures(Results(variants_of(task)))}
        name = f"kl-{task.lower()}-coefficients"
        assert (name in drawn) == missing
        assert drawn.get(name) is None


def test_every_figure_has_a_name_of_its_own_and_missing_ones_are_none():
    nothing = results_of({("dea2c-count", "Hallway-10-10"): 0.3})
    named = list(figures(nothing))
    names = [name for name, _, _ in named]
    assert len(set(names)) == len(names)
    drawn = {name for name, _, figure in named if figure is not None}
    assert drawn == {"curves-all", "curves-hallway-best", "curves-hallway-families", "normalised"}
    assert [name for name, _, _ in divergence_figures(nothing)] == ["kl"]
    assert any(name == "coverage" and figure is None for name, _, figure in curve_figures(nothing))


def test_everything_is_written(tmp_path):
    frame = together(
        frame_of({Case.of("dea2c-count", "DeepSea-10"): np.linspace(0, 1, 100)[None] * [[0.9], [0.8]]}),
        variants_of("Hallway-20-20"),
    )
    paths = write_all(frame, tmp_path)
    assert {path.suffix for path in paths} == {".md", ".csv", ".png", ".pdf"}
    assert all(path.exists() for path in paths)
    shown = (tmp_path / "figures" / "README.md").read_text()
    for path in paths:
        if path.suffix == ".png":
            assert f"({path.name})" in shown
            with Image.open(path) as image:
                assert min(image.size) > 500
    assert "## Not run" in shown
    assert "the first 5 seeds" in shown
    assert "widened" in shown
    assert "(figures/README.md)" in (tmp_path / "README.md").read_text()
