"""Bars of a sweep: what their intervals and titles say."""

from analysis.made_up import frame_of
from derl.analysis.claims.sensitivity import sweep, swept_case
from derl.analysis.figures.sensitivity import panel_title, sensitivity_figure
from derl.analysis.measures.frames import Results


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
