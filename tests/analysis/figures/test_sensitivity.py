"""Bars of a sweep: which there are, how long they are, and what their intervals and titles say."""

import numpy as np

from analysis.made_up import frame_of
from derl.analysis.claims.sensitivity import sweep, swept_case
from derl.analysis.figures.sensitivity import panel_title, sensitivity_figure
from derl.analysis.measures.frames import Results
from derl.analysis.pages.figures import MAIN, OTHERS, sensitivity_figures
from derl.experiments.paper import LAMBDAS


def swept_results(values) -> Results:
    return Results(
        frame_of({swept_case("a2c-count", "DeepSea-10", "lambda", v): [[0.4] * 100, [0.6] * 100] for v in values})
    )


def test_bars_of_a_sweep():
    figure = sensitivity_figure(swept_results(LAMBDAS[:3]), "DeepSea-10", "lambda", MAIN, 5)
    bars = figure.axes[0]
    assert bars.get_title(loc="left") == "A2C Count"
    np.testing.assert_allclose([bar.get_width() for bar in bars.patches if bar.get_height()], [0.5] * 3)
    assert [text.get_text() for text in bars.texts] == ["not run"] * 6
    diamonds = [line.get_xdata()[0] for line in bars.lines if line.get_marker() == "D" and len(line.get_xdata())]
    assert len(diamonds) == 9
    assert 0.99 in diamonds
    assert sensitivity_figure(swept_results(LAMBDAS[:3]), "Hallway-10-10", "lambda", MAIN, 5) is None
    # One value alone is no sweep, and unfinished runs do not count.
    assert sensitivity_figure(swept_results([1.0]), "DeepSea-10", "lambda", MAIN, 5) is None
    assert sensitivity_figure(swept_results(LAMBDAS), "DeepSea-10", "lambda", MAIN, 5, evaluations=101) is None


def test_the_figures_of_a_sweep_have_titles_of_their_own():
    """Those of all algorithms, of other bonuses and of constraints had the same one."""
    cases = [swept_case(recipe, "DeepSea-10", "lambda", value) for recipe in MAIN + OTHERS for value in LAMBDAS[:2]]
    tied = [swept_case("dea2c-count-kl", "DeepSea-10", "lambda", value) for value in LAMBDAS[:2]]
    results = Results(frame_of({case: [[0.4] * 100] * 2 for case in (*cases, *tied)}))
    titles = [figure.get_suptitle() for _, _, figure in sensitivity_figures(results) if figure is not None]
    start = "DeepSea 10: average returns by λ, "
    assert titles == [start + what for what in ("Count and ICM", "other bonuses", "with KL constraints")]


def test_a_single_run_has_a_bar_without_an_interval():
    rows = {swept_case("a2c-count", "DeepSea-10", "lambda", v): [[0.4] * 100] for v in LAMBDAS[:2]}
    figure = sensitivity_figure(Results(frame_of(rows)), "DeepSea-10", "lambda", ["a2c-count"], 1)
    bars = figure.axes[0]
    np.testing.assert_allclose([bar.get_width() for bar in bars.patches if bar.get_height()], [0.4] * 2)
    assert [text.get_text() for text in bars.texts] == ["one run"] * 2 + ["not run"] * 7
    assert not [line for line in bars.lines if line.get_linewidth() == 3.0 and len(line.get_xdata())]


def test_intervals_end_where_returns_do():
    """Those of two runs at the ends of the range are wider than it by a root of two."""
    for task, lowest, best in (("DeepSea-10", -0.01, 0.99), ("Hallway-10-10", -0.2, 1.8)):
        rows = {swept_case("a2c-count", task, "lambda", v): [[lowest] * 100, [best] * 100] for v in (1.0, 2.0)}
        figure = sensitivity_figure(Results(frame_of(rows)), task, "lambda", ["a2c-count"], 1)
        (axes,) = figure.axes
        intervals = [line.get_xdata() for line in axes.lines if line.get_linewidth() == 3.0 and len(line.get_xdata())]
        assert [tuple(ends) for ends in intervals] == [(lowest, best)] * 2
        left, right = axes.get_xlim()
        assert lowest - 0.1 * best < left < lowest < best < right


def test_rewards_are_written_as_in_the_paper():
    nothing = Results(frame_of({swept_case("a2c-count", "DeepSea-10", "lambda", 1.0): [[0.0]]}))
    titles = [panel_title(sweep(nothing, "dea2c-count-kl", "DeepSea-10", "lambda", r)) for r in ("both", "intrinsic")]
    assert titles == ["DeA2C Count, KL", "DeA2C Count, KL, only $r^i$"]
