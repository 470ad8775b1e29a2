"""The charts of the report in a real Chromium: how their numbers are written, and what tells many lines apart."""

import re

import polars as pl
import pytest

from analysis.report.reading import needs_chromium, readout
from analysis.synthetic import made_up
from derl.analysis.report import write_report
from derl.experiments.cases import Case

pytestmark = needs_chromium

EIGHT = ("a2c", "a2c-count", "a2c-icm", "a2c-rnd", "dea2c-count", "dea2c-icm", "ppo", "ppo-count")
BANDS = "[...document.querySelectorAll('#curve-panels .band')].filter((band) => band.checkVisibility()).length"
LIT = """[...document.querySelectorAll('#curve-panels .readout .lit .name')].map((name) => name.textContent)"""
FADED = """[...document.querySelectorAll('#curve-panels .series')]
  .filter((series) => getComputedStyle(series).opacity < 0.5).length"""


def with_returns(case: Case, values: list[float]) -> pl.DataFrame:
    """Three runs of one evaluation each, with these returns."""
    return made_up([case], seeds=len(values), evaluations=1).with_columns(pl.Series("return", values))


@pytest.mark.parametrize(
    ("returns", "expected"),
    [
        ([-0.00143, 0.5, -0.0001], r"0\.166 \(−0\.001 to 0\.500\)"),
        ([-0.00043, 0.9, -0.00001], r"0\.300 \(0\.000 to 0\.900\)"),
        # Where all are small, decimals would leave nothing of them.
        ([-0.00143, -0.0005, -0.0001], r"−6\.77e−4 \(−1\.43e−3 to −1\.00e−4\)"),
    ],
)
def test_a_chart_writes_its_numbers_in_one_way(started, tmp_path, returns, expected):
    """`−4.29e−4 (−0.001 to −1.43e−4)` stood between numbers of three decimals."""
    frame = with_returns(Case.of("a2c-count", "DeepSea-10"), returns)
    started.open(write_report(frame, tmp_path / "r.html", claims=(), evaluations=1))
    assert re.fullmatch(expected, readout(started)["A2C Count"])
    started.run("document.querySelector('#curve-panels .values summary').click()")
    started.wait("document.querySelector('#curve-panels .values table')")
    shown = started.run("document.querySelector('#curve-panels .values td').textContent")
    assert re.fullmatch(expected, shown)


@pytest.fixture
def many(started, tmp_path):
    """A chart of eight lines."""
    cases = [Case.of(recipe, "DeepSea-10") for recipe in EIGHT]
    started.open(
        write_report(made_up(cases, seeds=3, evaluations=10), tmp_path / "many.html", claims=(), evaluations=10)
    )
    started.run("document.querySelectorAll('input[name=recipe]:not(:checked)').forEach((box) => box.click())")
    started.wait("document.querySelectorAll('#curve-panels .series').length === 8")
    yield started
    assert started.problems() == []


def test_of_many_lines_no_bands_are_drawn(many):
    """Nineteen bands lay on each other, and nothing could be seen beneath them."""
    assert many.run(BANDS) == 0
    note = "document.querySelector('#curve-panels .chart > .note')?.textContent ?? ''"
    assert "one band" in many.run(note)
    many.run("[...document.querySelectorAll('input[name=recipe]:checked')].slice(6).forEach((box) => box.click())")
    many.wait("document.querySelectorAll('#curve-panels .series').length === 6")
    assert many.run(BANDS) == 6
    assert "one band" not in many.run(note)


def test_the_line_that_is_pointed_at_stands_out(many):
    assert many.run(FADED) == 0
    many.point(*many.middle("#curve-panels .readout li:nth-child(3)"))
    assert many.run(LIT) == ["A2C ICM"]
    assert (many.run(FADED), many.run(BANDS)) == (7, 1)
    # In the chart itself: on the last point of a line, where the vertical line's dots are.
    many.middle("#curve-panels .plot")
    dot = "document.querySelectorAll('#curve-panels .cursor circle')[4].getBoundingClientRect()"
    left, top = many.run(f"(({{ left, top, width, height }}) => [left + width / 2, top + height / 2])({dot})")
    many.point(left - 1, top)
    many.wait(f"{LIT}.length === 1 && {LIT}[0] !== 'A2C ICM'")
    assert many.run(FADED) == 7
    many.point(left, 2)
    assert (many.run(LIT), many.run(FADED), many.run(BANDS)) == ([], 0, 0)


def test_a_line_stands_out_by_keyboard_and_stays_if_pressed(many):
    many.run("document.querySelector('#curve-panels .plot').focus()")
    many.press("Tab")
    assert many.run(LIT) == ["A2C"]
    many.press("ArrowDown", 2)
    assert many.run(LIT) == ["A2C ICM"]
    assert many.run("document.activeElement.textContent") == "A2C ICM"
    many.press("Enter")
    assert many.run("document.activeElement.getAttribute('aria-pressed')") == "true"
    many.press("End")
    assert many.run(LIT) == ["DeA2C ICM"]
    many.press("Tab")  # All names are one stop, and what was pressed is lit again.
    assert many.run("document.activeElement.tagName") == "SUMMARY"
    assert many.run(LIT) == ["A2C ICM"]
    many.run("document.querySelector('#curve-panels .readout li:nth-child(3) button').click()")
    assert many.run(LIT) == []


def test_what_is_not_chosen_is_named(many):
    """With nothing ticked it said that no run has this task, recipe, setting and metric."""
    text = "document.getElementById('curve-panels').textContent"
    many.run("document.querySelectorAll('input[name=recipe]:checked').forEach((box) => box.click())")
    assert many.run(text) == "Nothing to draw: no recipe is chosen. Tick one above."
    many.run("document.querySelector('input[name=task]:checked').click()")
    assert many.run(text) == "Nothing to draw: no task and no recipe is chosen. Tick some above."
    many.run("document.querySelectorAll('input[name=task], input[name=recipe]').forEach((box) => box.click())")
    many.run("document.querySelectorAll('input[name=curve-view]')[2].click()")
    many.run("document.querySelectorAll('input[name=seed]').forEach((box) => box.click())")
    assert many.run(text) == "Nothing to draw: no seed is chosen. Tick one above."
