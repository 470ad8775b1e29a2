"""The charts of the report in a real Chromium: how their numbers are written, and what tells many lines apart."""

import re

import polars as pl
import pytest

from analysis.report.reading import needs_chromium, readout
from analysis.synthetic import made_up
from derl.analysis.report import write_report
from derl.experiments.cases import Case

pytestmark = needs_chromium


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
