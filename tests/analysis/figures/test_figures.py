"""Figures: written, readable, repeatable, and with the right parts in them."""

import dataclasses

import matplotlib
import numpy as np
import polars as pl
import pytest
from matplotlib.collections import PolyCollection
from PIL import Image

from analysis.trained import tiny_run
from derl.analysis.figures import style
from derl.analysis.figures.grids import draw_behaviours
from derl.analysis.figures.run import Line, draw_curves, failure_note, plot_comparison, plot_curves, plot_decoupling
from derl.analysis.runs.behaviour import Behaviour
from derl.core.errors import DerlError
from derl.envs import DeepSea, Hallway


def check_files(paths, stem):
    """PNG and PDF exist, and the PNG shows something."""
    assert [path.name for path in paths] == [f"{stem}.png", f"{stem}.pdf"]
    with Image.open(paths[0]) as image:
        assert min(image.size) > 500
        colours = {colour: count for count, colour in image.convert("RGB").getcolors(2**24)}
        assert len(colours) > 50
        assert 0.02 < colours[255, 255, 255] / (image.width * image.height) < 0.98
    assert paths[1].read_bytes().startswith(b"%PDF")


def without_variation(result):
    """The runs of the first varied value, as if nothing had been varied."""
    runs = [dataclasses.replace(run, values={}) for run in result.runs[:2]]
    return dataclasses.replace(result, runs=runs, frame=result.frame.filter(pl.col("run") < 2))


def behaviour_of(env, seat="explorer", moves=None, path=((0, 0),), visits=None) -> Behaviour:
    """Made up, so that nothing has to be trained."""
    rows, columns = env.grid_shape
    visits = np.tril(np.ones((rows, columns))) if visits is None else visits
    return Behaviour(seat, visits, 10, visits > 0, moves, list(path), -0.004, 0.99)


def arrows_in(axes) -> np.ndarray:
    """From tail to tip, as (columns, rows), of each arrow in a panel."""
    collections = [c for c in axes.collections if isinstance(c, PolyCollection) and c.get_zorder() == 4]
    shapes = [path.vertices for c in collections for path in c.get_paths()]
    return np.array([shape[3] - (shape[0] + shape[6]) / 2 for shape in shapes])


def test_curves_of_varied_runs(tmp_path):
    check_files(plot_curves(tiny_run(), tmp_path / "new" / "curves"), "curves")


def test_a_comparison(tmp_path):
    result = without_variation(tiny_run())
    check_files(plot_comparison([result, result], tmp_path / "comparison"), "comparison")
    with pytest.raises(DerlError, match="one by one"):
        plot_comparison([tiny_run()], tmp_path / "comparison")
    with pytest.raises(DerlError, match="nothing to compare"):
        plot_comparison([], tmp_path / "comparison")


def test_decoupling_is_repeatable_and_leaves_settings_alone(tmp_path):
    before = dict(matplotlib.rcParams)
    first = plot_decoupling(tiny_run(), 0, tmp_path / "a", episodes=64)
    again = plot_decoupling(tiny_run(), 0, tmp_path / "b", episodes=64)
    check_files(first, "a")
    assert [p.read_bytes() for p in first] == [p.read_bytes() for p in again]
    assert dict(matplotlib.rcParams) == before


def test_a_run_that_does_not_exist_is_told(tmp_path):
    with pytest.raises(DerlError, match="there is no run 9"):
        plot_decoupling(tiny_run(), 9, tmp_path / "a")


def test_one_setting_shares_a_panel_and_several_have_two():
    result = without_variation(tiny_run())
    line = Line("a", result.curves())
    alone = draw_curves([line], title="t", optimal=0.99)
    assert len(alone.axes) == 1
    labels = [text.get_text() for text in alone.legends[0].get_texts()]
    assert labels == ["Exploiter (evaluation)", "Explorer (training)", "best possible"]
    both = draw_curves([line, Line("b", line.curve)], title="t", decoupled=False)
    assert [axes.get_title(loc="left") for axes in both.axes] == ["Evaluation", "Training"]
    assert [text.get_text() for text in both.legends[0].get_texts()] == ["a", "b"]
    # One on top of the other, both are seen: what is below shows between the dashes.
    assert [[line.is_dashed() for line in axes.lines] for axes in both.axes] == [[False, True]] * 2
    mean = both.axes[0].lines[0].get_ydata()
    np.testing.assert_array_equal(mean, line.curve["mean"])


@pytest.mark.parametrize("count", [2, 7, 9])
def test_the_legend_never_covers_data(count):
    curve = without_variation(tiny_run()).curves()
    figure = draw_curves(
        [Line(f"line {i}", curve) for i in range(count)], title="t", legend_title="setting" * (count > 2)
    )
    figure.canvas.draw()
    legend = figure.legends[0].get_window_extent()
    assert not any(legend.overlaps(axes.get_window_extent()) for axes in figure.axes)
    assert len({line.get_color() for line in figure.axes[0].lines}) == count


def test_failed_runs_are_noted():
    result = tiny_run()
    assert failure_note([result]) is None
    failed = pl.when(pl.col("run") == 3).then(pl.lit(60)).otherwise(None).alias("failed_at_step")
    broken = dataclasses.replace(result, frame=result.frame.with_columns(failed))
    assert failure_note([broken]) == "failed runs (1 of 4) are left out from their failure on"
    assert failure_note([broken, result]) == "failed runs (1 of 8) are left out from their failure on"


def test_two_maps_with_an_arrow_in_each_known_cell():
    env = DeepSea(3)
    moves = np.array([[1, 1], *[[1, -1]] * 8])
    explorer, exploiter = behaviour_of(env, moves=moves), behaviour_of(env, "exploiter", moves=moves)
    figure = draw_behaviours(env, [explorer, exploiter], "title")
    assert figure.axes[0].get_title() == "Explorer: mean return 0.00"
    assert figure.axes[1].get_title() == "Exploiter: greedy return 0.99"
    assert figure.axes[0].get_xlabel() == "visits in 10 training episodes"
    arrows = arrows_in(figure.axes[0])
    assert len(arrows) == 6
    # Rows grow downwards in the picture: the axis is inverted, so that (1, 1) points to the lower right.
    assert figure.axes[0].yaxis_inverted()
    np.testing.assert_array_equal(np.sign(arrows), [[1, 1], *[[-1, 1]] * 5])


def test_a_baseline_has_one_panel():
    env = DeepSea(3)
    figure = draw_behaviours(env, [behaviour_of(env)], "title")
    assert [axes.get_title() for axes in figure.axes if axes.get_title()] == ["Policy: mean return 0.00"]


@pytest.mark.parametrize("sizes", [(3, 2), (30, 30)])
def test_corridors_are_stacked(sizes, tmp_path):
    env = Hallway(*sizes)
    cells = sum(sizes) + 1
    visits = np.where(np.arange(cells) < cells - 1, 1.0 / (1 + np.arange(cells)), 0)[None]
    moves = np.stack([np.zeros(cells, int), np.arange(cells) % 3 - 1], axis=-1)
    path = [(0, i) for i in range(3)]
    seats = [behaviour_of(env, seat, moves, path, visits) for seat in ("explorer", "exploiter")]
    figure = draw_behaviours(env, seats, "title")
    assert len(figure.axes) == 4
    ticks = [label.get_text() for label in figure.axes[1].get_xticklabels()]
    assert ticks == ["0", f"{sizes[0]} (goal)", str(cells - 1)]
    heights = [bar.get_height() for bar in figure.axes[0].patches]
    np.testing.assert_allclose(heights[:-1], visits[0, :-1])
    if cells > 10:
        check_files(style.save(figure, tmp_path / "corridor"), "corridor")


def test_large_grids_have_no_arrows():
    env = DeepSea(60)
    moves = np.ones((3600, 2), int)
    figure = draw_behaviours(env, [behaviour_of(env, moves=moves)], "title")
    assert len(arrows_in(figure.axes[0])) == 0


def test_a_figure_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DerlError, match=r"cannot write .*curves\.png"):
        style.save(style.new_figure(1, 1), tmp_path / "file" / "curves")
    (tmp_path / "curves.pdf").mkdir()
    with pytest.raises(DerlError, match=r"cannot write .*curves\.pdf"):
        style.save(style.new_figure(1, 1), tmp_path / "curves")


def test_style():
    assert [style.short_number(x) for x in (0, 500, 2500, 1e6)] == ["0", "500", "2.5k", "1M"]
    for count in (1, 7, 20):
        assert len(set(style.colours(count))) == count
