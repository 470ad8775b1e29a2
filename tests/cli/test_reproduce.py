"""`derl reproduce`: the paper's experiments, and tests of the reasons for differences."""

import dataclasses
import re

import polars as pl
import pytest

from cli.commanding import entered, refused, run
from derl.analysis.pages.tables import grid_of, text
from derl.analysis.published.explaining import explaining, repeating
from derl.analysis.published.reasons import reasons_for
from derl.analysis.published.verdicts import Verdict
from derl.cli.reproduce import as_run
from derl.experiments.builtin import experiment
from derl.experiments.cases import case_of
from derl.experiments.experiment import Part
from derl.experiments.jobs import entry_of
from derl.experiments.paper import cells
from derl.experiments.planner import members_of
from derl.experiments.store import Store
from derl.experiments.sweep import Sweep


def test_a_dry_run_shows_what_would_explain_stored_differences(tmp_path, capsys):
    """A number that differs and has a reason with an option: its test is a second plan."""
    cell = next(c for c in cells() if c.table == "tab:mean_returns" and any(r.test(c.case) for r in reasons_for(c)))
    asked = ["reproduce", "table-1", "--only", cell.case.recipe, cell.case.task, "--explain", "--dry-run", "--store"]
    code, out = run(capsys, *asked, tmp_path)
    assert (code, "None of these runs is in the store yet" in out) == (0, True)
    entered(tmp_path, cell.case, 5, value=cell.mean + 100.0)
    code, out = run(capsys, *asked, tmp_path)
    assert (code, "5 in the store, 0 left" in out, "Tests of reasons for differences" in out) == (0, True, True)


def test_the_papers_experiment_end_to_end(tmp_path, capsys):
    """Table 1 reduced to one run: a table with a verdict, pages, figures and the report."""
    only = ["--only", "DeepSea-10", "a2c-count", "--seeds", "1", "--episodes", "200"]
    out = tmp_path / "out"
    code, text = run(capsys, "reproduce", "table-1", *only, "--store", tmp_path / "store", "--out", out)
    assert code == 0
    assert "A2C Count" in text
    assert "expect differences" in text
    assert (out / "report.html").stat().st_size > 10_000
    # The average and the maximum of one case, which are in several tables.
    assert re.search(
        r"1,684 published numbers: \d+ (is|are) consistent, \d+ differs?, 1,6\d\d have not been run",
        (out / "README.md").read_text(),
    )
    assert "> **Trained for 200 of 100,000 episodes" in (out / "mean-returns.md").read_text()
    assert list(out.rglob("*.pdf"))


def test_what_has_no_table_in_the_paper_shows_its_returns(tmp_path, capsys, monkeypatch):
    """Nothing was said about pure exploration but where its pages are."""
    for case in experiment("pure-exploration").narrowed(only=["DeepSea-10"]).cases:
        entered(tmp_path / "store", case, 3, value=0.25)
    monkeypatch.setattr("derl.cli.reproduce.write_all", lambda frame, out, **_: [])
    monkeypatch.setattr("derl.cli.reproduce.write_report", lambda frame, path, **_: path)
    where = ("--store", tmp_path / "store", "--out", tmp_path / "out")
    code, text = run(capsys, "reproduce", "pure-exploration", "--only", "DeepSea-10", *where)
    assert code == 0
    assert text.count("0.25 ± 0.00") == 2
    assert "explorer_reward=intrinsic" in text
    # One of its two tasks.
    assert "Too little was run to judge any." in text


def test_an_experiment_ends_with_the_claims_it_tests(tmp_path, capsys, monkeypatch):
    """Pure exploration and constraints are there for them, and they stood in the pages alone."""
    for case in experiment("pure-exploration").cases:
        entered(tmp_path / "store", case, 3, value=0.9 if case.task == "DeepSea-10" else 2.4)
    monkeypatch.setattr("derl.cli.reproduce.write_all", lambda frame, out, **_: [])
    monkeypatch.setattr("derl.cli.reproduce.write_report", lambda frame, path, **_: path)
    where = ("--store", tmp_path / "store", "--out", tmp_path / "out")
    code, text = run(capsys, "reproduce", "pure-exploration", *where)
    assert code == 0
    told = text.partition("The paper's claims, as far as these runs can judge them\n")[2].splitlines()
    assert told[0] == "5. Exploration by intrinsic rewards alone works."
    assert told[1].startswith("   holds: all: best mean return of the exploiter is 0.")
    # Neither what these runs have nothing of, nor single cases.
    assert [line for line in told if line.startswith("   ")] == told[1:2]


def test_the_report_of_an_experiment_has_its_failures(tmp_path, capsys, monkeypatch):
    """And no others that are in the store."""
    chosen = experiment("table-1").narrowed(only=["DeepSea-10", "a2c"], seeds=[0, 1])
    case = chosen.cases[0]
    entered(tmp_path / "store", case, 1)
    failed = [entry_of(member) for member in members_of([(case, 1), (case, 2)])]
    Store(tmp_path / "store").add_failures(failed, "RuntimeError: boom")
    told = []
    monkeypatch.setattr(Sweep, "run", lambda self: self._end() or {failed[0].key: "RuntimeError: boom"})
    monkeypatch.setattr("derl.cli.reproduce.write_all", lambda frame, out, **_: [])
    monkeypatch.setattr("derl.cli.reproduce.write_report", lambda frame, path, facts, **_: told.append(facts) or path)
    where = ("--store", tmp_path / "store", "--out", tmp_path / "out", "--workers", "1")
    code, out = run(capsys, "reproduce", "table-1", "--only", "DeepSea-10", "a2c", "--seeds", "2", *where)
    assert (code, f"1 run failed; to see why: derl status --store {tmp_path}/store\n" in out) == (2, True)
    assert told[0].failures == (("a2c", "DeepSea-10", "", 1, "RuntimeError: boom"),)


def test_a_grid_search_shows_what_was_chosen(tmp_path, capsys, monkeypatch):
    """And not a line for each of its two thousand configurations."""
    chosen = experiment("grid-search").narrowed(only=["DeepSea-20", "a2c-rnd"])
    for value, case in enumerate(chosen.cases):
        entered(tmp_path / "store", case, 3, value=value / 10)
    monkeypatch.setattr("derl.cli.reproduce.write_all", lambda frame, out, **_: [])
    monkeypatch.setattr("derl.cli.reproduce.write_report", lambda frame, path, **_: path)
    where = ("--store", tmp_path / "store", "--out", tmp_path / "out")
    code, text = run(capsys, "reproduce", "grid-search", "--only", "DeepSea-20", "a2c-rnd", *where)
    assert code == 0
    assert (
        f"| A2C RND | DeepSea-20 | {len(chosen.cases)} | {chosen.cases[-1].setting or 'as the recipe'} | 0.40 |" in text
    )
    assert text.count("a2c-rnd") == 0
    assert (tmp_path / "out" / "choices.md").read_text().strip() in text


def test_further_seeds_are_not_run_where_the_first_five_are_missing():
    """They would slip in among the five that decide, and change the verdict."""
    cell = next(c for c in cells() if (c.row, c.column, c.table) == ("A2C Count", "DeepSea 14", "tab:mean_returns"))
    parts = [Part((cell.case,), tuple(range(5)))]
    assert repeating([Verdict(cell, "differs", seeds=5)], parts).cases == (cell.case,)
    assert repeating([Verdict(cell, "differs", seeds=4)], parts).cases == ()


def test_reasons_for_differences_are_tested_by_their_options():
    """A number that differs asks for the runs that would explain it, a consistent one for none."""
    cell = next(c for c in cells() if (c.row, c.column, c.table) == ("PPO Count", "Hallway 10-10", "tab:mean_returns"))
    judged = [Verdict(cell, "differs"), Verdict(cells()[0], "consistent")]
    parts = [Part((cells()[0].case,), (0, 1)), Part((cell.case,), (0,))]
    tests = explaining(judged, parts)
    found = {case.setting for case in tests.cases}
    assert "normalise_observations=false, normalise_rewards=false" in found
    assert "protocol.evaluation=sampled" in found
    assert {case.recipe for case in tests.cases} == {"ppo-count"}
    assert {seed for _, seed in tests.members()} == {0}
    assert not explaining(judged[1:], parts).cases


def test_what_differs_is_repeated_with_further_seeds():
    """The case of a number that differs, once, with the ten seeds that follow its part's."""
    cell = next(c for c in cells() if (c.row, c.column, c.table) == ("PPO Count", "Hallway 10-10", "tab:mean_returns"))
    twice = dataclasses.replace(cell, statistic="maximum")
    judged = [Verdict(cell, "differs", 5), Verdict(twice, "differs", 5), Verdict(cells()[0], "consistent", 5)]
    parts = [Part((cells()[0].case,), (0, 1)), Part((cell.case,), (0, 1, 2, 3, 4))]
    assert repeating(judged, parts).members() == [(cell.case, seed) for seed in range(5, 15)]
    assert repeating(judged, parts, further=2).members() == [(cell.case, 5), (cell.case, 6)]
    assert not repeating(judged[2:], parts).cases


def test_the_number_of_further_seeds_is_checked_before_anything_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code, out = run(capsys, "reproduce", "table-1", "--explain", "--further", "0")
    assert (code, "--further must be at least 1, not 0" in out) == (2, True)
    code, out = run(capsys, "reproduce", "table-1", "--explain", "--seeds", "3")
    assert (code, "--explain needs 5 seeds or more" in out) == (2, True)
    code, out = run(capsys, "reproduce", "table-1", "--episodes", "500000")
    assert (code, "--episodes 500000 shortens nothing of table-1: leave it out" in out) == (2, True)
    code, out = run(capsys, "reproduce", "table-1", "--further", "20")
    assert (code, "--further belongs to --explain" in out) == (2, True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["grid-search", "beyond", "pure-exploration"])
def test_what_has_no_published_numbers_cannot_be_explained(name, tmp_path, monkeypatch, capsys):
    """A dry run said that what would be added depends on runs to come: it would always have been nothing."""
    monkeypatch.chdir(tmp_path)
    said = refused(capsys, "reproduce", name, "--explain", "--dry-run")
    assert f"the paper's tables, and {name} has none: leave it out" in said
    assert list(tmp_path.iterdir()) == []


def test_an_export_carries_the_tests_of_reasons(tmp_path, capsys):
    """A number far from the published one, and the same with the option that would explain it."""
    case = next(
        c.case for c in cells() if (c.row, c.column, c.table) == ("A2C Count", "DeepSea 10", "tab:mean_returns")
    )
    tested = case_of(case.recipe, case.task, "protocol.evaluation=sampled")
    unrelated = case_of(case.recipe, "DeepSea-6", "")
    members = members_of([(c, seed) for c in (case, tested, unrelated) for seed in range(5)] + [(case, 70)])
    evaluations = range(1, 101)
    curve = pl.DataFrame({"run": 0, "seed": 0, "evaluation": evaluations, "steps": evaluations, "return": -0.5})
    curve = curve.with_columns(episodes=1000 * pl.col("evaluation"), failed_at_step=pl.lit(None, pl.Int64))
    Store(tmp_path / "store").add([entry_of(m) for m in members], [curve] * len(members))
    path = tmp_path / "table.parquet"
    assert run(capsys, "store", "export", path, "--experiment", "table-1", "--store", tmp_path / "store")[0] == 0
    assert set(pl.read_parquet(path)["setting"]) == {"", "protocol.evaluation=sampled"}
    assert set(pl.read_parquet(path)["task"]) == {"DeepSea-10"}
    # Further seeds too, however many.
    assert set(pl.read_parquet(path).filter(pl.col("setting") == "")["seed"]) == {0, 1, 2, 3, 4, 70}


@pytest.mark.parametrize("name", ["README.md", "report.html", "notes.txt"])
def test_a_folder_of_somebody_elses_is_not_written_to(tmp_path, capsys, name):
    """Only its README.md was looked at: a report or a figure of the user's own was replaced."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / name).write_text("# Mine\n")
    said = refused(capsys, "reproduce", "table-1", "--quick", "--out", folder, "--store", tmp_path / "store")
    what = "a README.md" if name == "README.md" else "files"
    assert f"{folder} has {what} that derl did not write; choose another folder with --out" in said
    assert (folder / name).read_text() == "# Mine\n"
    assert not (tmp_path / "store").exists()


def test_pages_of_an_earlier_selection_do_not_stay(tmp_path, capsys, monkeypatch):
    """Beside the new index they looked as if they belonged to it. What is the user's own stays."""
    monkeypatch.setattr("derl.analysis.pages.figures.sensitivity_figures", lambda *_: iter([]))
    out, where = tmp_path / "out", ("--store", tmp_path / "store", "--out", tmp_path / "out")
    plain, swept = (next(c for c in experiment(name).cases if c.recipe == "a2c-count") for name in ("table-1", "decay"))
    for case in (plain, swept):
        entered(tmp_path / "store", case, 5, value=0.2)
    only = [["--only", case.recipe, case.task, case.setting or "as-is"] for case in (plain, swept)]
    assert run(capsys, "reproduce", "table-1", *only[0], *where)[0] == 0
    first = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    mine = [out / name for name in ("notes.md", "figures/curves.png", "figures/mine.pdf", "curves-all.png", ".hidden")]
    for path in mine:
        path.write_text("mine")
    assert run(capsys, "reproduce", "decay", *only[1], *where)[0] == 0
    there = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    assert "mean-returns.md" in first - there
    assert "figures/curves-all.png" in first - there
    assert {"README.md", "report.html", "claims.csv", "decay-sensitivity-count-deepsea-mean.md"} <= there
    assert {path.read_text() for path in mine} == {"mine"}


def test_tables_on_the_terminal_have_what_was_run():
    judged = [
        Verdict(cell, "consistent" if (cell.row, cell.column) == ("A2C", "DeepSea 14") else "not run")
        for cell in cells()
        if cell.table == "tab:mean_returns"
    ]
    whole = grid_of(judged, "tab:mean_returns")
    grid = as_run(whole)
    assert (grid.rows, grid.columns) == (["A2C"], ["DeepSea 14"])
    assert "PPO" not in text(grid)
    assert text(grid).splitlines()[-1] == text(whole).splitlines()[-1] == "1 consistent, 0 different, 197 not run"


def test_what_is_in_the_store_explains_without_being_asked(tmp_path, capsys, monkeypatch):
    """After an import of results with further seeds and options `derl reproduce` said that nothing was explained."""
    cell = next(c for c in cells() if (c.row, c.column, c.table) == ("A2C RIDE", "DeepSea 10", "tab:mean_returns"))
    sampled = case_of("a2c-ride", "DeepSea-10", "protocol.evaluation=sampled")
    entered(tmp_path / "store", cell.case, 5, value=0.9)
    entered(tmp_path / "store", sampled, 5, value=cell.mean)
    pages = []
    monkeypatch.setattr("derl.cli.reproduce.write_all", lambda frame, out, **_: pages.append(frame) or [])
    monkeypatch.setattr("derl.cli.reproduce.write_report", lambda frame, path, **_: path)
    where = ("--store", tmp_path / "store", "--out", tmp_path / "out")
    only = ("--only", "a2c-ride", "DeepSea-10")
    assert run(capsys, "reproduce", "table-1", *only, *where)[0] == 0
    assert set(pages[0]["setting"]) == {"", "protocol.evaluation=sampled"}
    # Who asks for other seeds gets these alone.
    assert run(capsys, "reproduce", "table-1", *only, *where, "--seeds", "5")[0] == 0
    assert set(pages[1]["setting"]) == {""}
