"""The page of the library's own recipe, from curves whose answer can be read off."""

import numpy as np
import polars as pl
import pytest

from analysis.made_up import frame_of
from derl.analysis.figures.beyond import (
    best_published,
    changed,
    curves_figure,
    file_name,
    held_figure,
    over,
    part_figure,
    published_points,
    sensitivity_figure,
)
from derl.analysis.measures.frames import Results
from derl.analysis.measures.holding import holdings
from derl.analysis.pages.beyond import write_beyond
from derl.analysis.published.runs_behind import MAXIMA
from derl.experiments.beyond import ABLATION_TASKS, ABLATIONS, CHANCE, DEEP, EARLY, HOLDING, UNHELD
from derl.experiments.cases import Case
from derl.experiments.reference import reference_speed

SOLVED, NEVER = [0.0] + [0.99] * 9, [0.0] * 10


def frame(*parts: tuple[Case, list[list[float]]], seconds: float = 2.0) -> pl.DataFrame:
    """One frame of several cases, evaluated every 10 episodes."""
    return frame_of(dict(parts), every=10).with_columns(pl.lit(seconds).alias("seconds"))


OWN = Case.of("derl", "DeepSea-20")
WITHOUT = Case.of("derl", "DeepSea-20", ABLATIONS["no optimism"])


def test_the_page_says_what_was_run_and_what_was_not(tmp_path):
    paths = write_beyond(frame((OWN, [SOLVED, SOLVED]), (WITHOUT, [NEVER, NEVER])), tmp_path)
    page = (tmp_path / "README.md").read_text()
    lines = {line.split("|")[1].strip(): line for line in page.splitlines() if line.startswith("| ")}
    assert "0.74 (A2C Count)" in lines["DeepSea 20"]
    assert "| 2 | 2 | 2 | 20 | 20 |" in lines["DeepSea 20"]
    assert "| 2 | 0 | 0 | – | 2 do not |" in lines["DeepSea 20: no optimism"]
    assert "Not run: DeepSea 10" in page
    assert "](without-no-optimism.png)" in page
    assert "no-mixture.png" not in page
    assert "## Held out\n\nNot run: DeepSea 20, mapping 1001; " in page
    for name in ("curves", "time", "without-no-optimism"):
        assert tmp_path / f"{name}.png" in paths
        assert (tmp_path / f"{name}.png").stat().st_size > 5_000


def test_seeds_nothing_was_chosen_on_stand_by_themselves(tmp_path):
    unseen = frame((OWN, [SOLVED, NEVER])).with_columns(pl.col("run") + 500, pl.col("seed") + 1000)
    write_beyond(pl.concat([frame((OWN, [SOLVED])), unseen]), tmp_path)
    known, fresh = (tmp_path / "README.md").read_text().split("## The same with seeds nothing was chosen on")
    assert "| 1 | 1 | 1 | 20 | 20 |" in known
    assert "| 2 | 1 | 1 | – | 1 does not |" in fresh


def test_the_best_published_average_is_the_papers():
    assert best_published("DeepSea-30").mean == 0.20
    assert best_published("Hallway-30-30").mean == pytest.approx(0.97)
    assert best_published("DeepSea-20", MAXIMA).mean == pytest.approx(0.99)


def test_time_goes_from_nothing_to_the_seconds_of_a_run():
    timed = over("seconds", Results(frame((OWN, [SOLVED]), seconds=40.0)), OWN)
    assert timed is not None
    np.testing.assert_allclose(timed["episodes"].to_numpy(), np.linspace(4.0, 40.0, 10))
    assert curves_figure(Results(frame((OWN, [SOLVED]), seconds=0.0)), None, axis="seconds") is None


def test_sensitivity_is_drawn_beside_the_published(tmp_path):
    swept = [(Case.of("derl", "DeepSea-10", {"bonus.increment": v}), [SOLVED]) for v in (0.01, 100.0)]
    write_beyond(frame((Case.of("derl", "DeepSea-10"), [SOLVED]), *swept), tmp_path)
    page = (tmp_path / "README.md").read_text()
    assert "](sensitivity.png)" in page
    assert "| DeepSea 10: `bonus.increment=100` |" in page
    assert (tmp_path / "sensitivity.png").exists()


def test_the_sensitivity_figure_has_every_value_that_was_run():
    swept = [(Case.of("derl", "DeepSea-10", {"bonus.increment": v}), [SOLVED]) for v in (0.01, 100.0)]
    found = {h.case: h for h in holdings(frame((Case.of("derl", "DeepSea-10"), [SOLVED]), *swept))}
    figure = sensitivity_figure(found)
    assert figure is not None
    _, decay, *_ = figure.axes
    lines = {line.get_label(): line for line in decay.lines}
    np.testing.assert_allclose(lines["derl"].get_xdata(), [0.01, 1.0, 100.0])
    np.testing.assert_allclose(lines["derl"].get_ydata(), np.mean(SOLVED))
    # The paper's seven increments.
    assert len(lines["A2C Count (published)"].get_xdata()) == 7
    assert sensitivity_figure({Case.of("derl", "DeepSea-10"): found[Case.of("derl", "DeepSea-10")]}) is None


def test_a_part_is_drawn_beside_the_recipe():
    pairs = changed(ABLATION_TASKS, ABLATIONS["no optimism"])
    figure = part_figure(Results(frame((OWN, [SOLVED, SOLVED]), (WITHOUT, [NEVER]))), "no optimism", pairs)
    assert figure is not None
    # The run of the one seed that both have, and its mean; the same of the other; the optimum.
    assert len(figure.axes[0].lines) == 5
    assert figure.axes[0].get_xscale() == "log"
    assert part_figure(Results(frame((OWN, [SOLVED]))), "no optimism", pairs) is None


def test_what_is_lost_late_is_drawn_with_its_entropy():
    deep, short = DEEP[0], next(iter(UNHELD.values()))
    curves = frame((deep, [SOLVED]), (short, [SOLVED])).with_columns(entropy=pl.col("evaluation") / 10)
    figure = held_figure(Results(curves), "a short memory", deep, short)
    assert figure is not None
    assert [len(axes.lines) for axes in figure.axes] == [5, 4]
    assert held_figure(Results(frame((deep, [SOLVED]))), "a short memory", deep, short) is None


def test_the_optimum_of_a_picture_is_that_of_its_variant():
    (early,) = EARLY.values()
    figure = held_figure(Results(frame((CHANCE, [SOLVED]), (early, [SOLVED]))), "early", CHANCE, early)
    assert figure is not None
    # 19 moves have to succeed before the one that pays, and each fails once in 20 times; 20 of them cost 0.01.
    assert 0.95**19 - 0.01 < figure.axes[0].lines[-1].get_ydata()[0] < 0.95**19
    assert figure.axes[0].get_title(loc="left") == "DeepSea 20, stochastic"


def test_names_of_pictures():
    assert file_name("Adam's usual memory, exploiter") == "without-adams-usual-memory-exploiter"
    names = (*ABLATIONS, *HOLDING, *UNHELD, *EARLY)
    assert len({file_name(name) for name in names}) == len(names)


def test_published_averages_are_where_the_papers_code_gets_to():
    points = published_points("DeepSea-10", "episodes")
    assert len(points) == 18
    assert {episodes for episodes, _ in points} == {100_000}
    assert max(mean for _, mean in points) == best_published("DeepSea-10").mean
    # 100,000 episodes of 60 steps at 1,388 a second.
    times = published_points("Hallway-30-30", "seconds")
    assert len(times) == 18
    assert any(seconds == pytest.approx(6_000_000 / 1388) for seconds, _ in times)


def test_a_task_that_was_not_timed_is_like_the_nearest():
    assert reference_speed("a2c-count", "DeepSea-14") == reference_speed("a2c-count", "DeepSea-10")
    assert reference_speed("a2c-count", "DeepSea-24") == reference_speed("a2c-count", "DeepSea-30")
    assert reference_speed("a2c-count", "Hallway-10-0") == reference_speed("a2c-count", "Hallway-30-30")
    assert reference_speed("ppo-ride", "DeepSea-10") == reference_speed("ppo-count", "DeepSea-10")
    assert reference_speed("a2c", "DeepSea-10") == 1020
