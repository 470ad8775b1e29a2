"""What the index says of the paper's plan: how long it took, and what of it has not been run."""

import polars as pl

from analysis.made_up import frame_of
from derl.analysis.measures.frames import Results
from derl.analysis.pages.plan import core_hours, not_run_section
from derl.analysis.pages.reproduction import index_page
from derl.analysis.published.not_run import untabled_cases
from derl.analysis.published.verdicts import Verdict, verdicts
from derl.experiments.builtin import DESCRIPTIONS, experiment
from derl.experiments.cases import Case
from derl.experiments.paper import cells

A2C, PURE = Case.of("a2c", "DeepSea-10"), experiment("pure-exploration").cases[0]


def timed(seconds: dict[Case, list[float]]) -> pl.DataFrame:
    """Runs of one evaluation that took so long."""
    frame = frame_of({case: [[0.5]] * len(times) for case, times in seconds.items()})
    return frame.with_columns(seconds=pl.Series([time for times in seconds.values() for time in times]))


def test_hours_are_those_of_the_seeds_an_experiment_plans():
    told = core_hours(timed({A2C: [3600.0] * 5 + [7e6]}))
    assert "on 2 cores: `table-1` 5.0 (2.5; 5 of 990 runs). Compilation is included, and machines were shared" in told
    # An experiment of three seeds, a run that was not timed, and a few seconds.
    told = core_hours(timed({A2C: [0.0, 9000.0], PURE: [50.0] * 4}))
    assert "`table-1` 2.5 (1.2; 2 of 990 runs; 1 run not timed)" in told
    assert "`pure-exploration` under 0.1 (under 0.1; 3 of 12 runs)" in told
    assert core_hours(timed({A2C: [0.0]})) == core_hours(frame_of({A2C: [[0.5]]})) == ""


def test_the_index_says_how_much_of_the_paper_was_not_run():
    """All that it said of the grids and of constraints was what runs them."""
    kl = experiment("kl").cases
    results = Results(timed({case: [60.0] for case in kl}))
    judged = verdicts(results, evaluations=1)
    shown = index_page(results, judged, [], evaluations=1)
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in shown.partition("## Not run")[2].splitlines()]
    grids = [row for row in rows if len(row) == 4 and row[0].startswith("The grids")]
    expected = {one.task: one for one in untabled_cases(results, 1) if one.part == "grid-search"}
    assert len(grids) == len(expected) == 2
    for name, absent, of, command in grids:
        (one,) = (one for one in expected.values() if one.name == name)
        assert (int(absent.replace(",", "")), int(of.replace(",", ""))) == (len(one.absent), len(one.cases))
        assert command == f"`derl reproduce grid-search --only {one.task}`"
    assert not [row for row in filter(None, rows) if row[0].startswith(("Divergence constraints", "Exploration"))]
    assert "of 1,684 published numbers have not been run" in shown
    assert f"`kl` {len(kl) / 60:.1f} (" in shown


def test_nothing_is_missing_where_everything_was_run():
    cases = dict.fromkeys(case for part in DESCRIPTIONS for case in experiment(part).cases)
    results = Results(frame_of({case: [[0.5]] for case in cases}))
    _, *said = not_run_section(results, [Verdict(cell, "consistent") for cell in cells()], 1)
    assert said == ["Every published number has been run.", "Nor is anything missing that no table shows."]
