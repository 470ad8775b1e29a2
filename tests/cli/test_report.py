"""The command `report`: which files it reads, what it writes, and what it says when it cannot."""

import errno
import json
import os
import re
from pathlib import Path

import polars as pl
import pytest
from analysis.synthetic import made_up
from analysis.trained import tiny_run

from cli.commanding import entered, refused
from derl.analysis.report.files import read_facts
from derl.cli.main import main
from derl.cli.report import Report
from derl.core.errors import DerlError
from derl.experiments.cases import Case
from derl.experiments.exchange import read_results
from derl.experiments.jobs import entry_of
from derl.experiments.planner import members_of
from derl.experiments.store import Store

CASES = [Case.of(recipe, "DeepSea-10") for recipe in ("a2c-count", "dea2c-count")]


@pytest.fixture
def results(tmp_path):
    folder = tmp_path / "results"
    folder.mkdir()
    frame = made_up(CASES, seeds=2, evaluations=4)
    frame.filter(pl.col("recipe") == "a2c-count").write_parquet(folder / "one.parquet")
    other = frame.filter(pl.col("recipe") == "dea2c-count").with_columns(pl.col("run") - 2)
    other.write_parquet(folder / "two.parquet")
    return folder


def test_it_writes_a_page_and_tells_where(results, tmp_path, capsys):
    (results / "facts.json").write_text(json.dumps({"machine": "a large one", "seconds": 7200, "Weather": "fine"}))
    out = tmp_path / "deep" / "page.html"
    assert main(["report", "--results", str(results), "--out", str(out), "--evaluations", "4", "--title", "Mine"]) == 0
    told = capsys.readouterr().out.splitlines()
    # Before each wait it is said what for.
    assert told[0] == f"reading {results}"
    assert told[1].startswith("4 runs: comparing them with the paper, testing its claims")
    assert "page.html (" in told[2]
    page = out.read_text()
    for text in ("<title>Mine</title>", "a large one", "2 h 0 min", "Weather", "DeA2C Count"):
        assert text in page
    assert list(out.parent.iterdir()) == [out]


def test_files_and_folders_become_one_frame(results):
    frame = read_results([results])
    assert sorted(frame["run"].unique()) == [0, 1, 2, 3]
    assert set(frame["recipe"]) == {"a2c-count", "dea2c-count"}
    assert read_results([results / "one.parquet"])["run"].n_unique() == 2
    # The same runs from two places count once.
    (results / "copy.parquet").write_bytes((results / "one.parquet").read_bytes())
    assert read_results([results, results / "one.parquet"])["run"].n_unique() == 4


def test_without_facts_the_version_is_known(results):
    assert read_facts([results]).version
    assert read_facts([results]).seconds is None


def test_a_store_is_reported_as_it_is_and_beside_files(results, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    entered(Path("kept"), Case.of("a2c", "DeepSea-10"), 2)
    assert main(["report", "--store", "kept"]) == 0
    assert "2 runs: " in capsys.readouterr().out
    # The page has the command that makes it again.
    assert "derl report --store kept" in Path("report.html").read_text()
    assert main(["report", "--store", "kept", "--results", str(results), "--evaluations", "4"]) == 0
    assert "6 runs: " in capsys.readouterr().out
    assert main(["report", "--store", "nowhere"]) == 2
    assert "there are no results in nowhere yet" in capsys.readouterr().err


def test_the_page_of_a_store_has_its_failures(results, tmp_path, capsys):
    """Those that would be tried again, by whatever name, and are not finished in another place."""
    case, store = Case.of("a2c", "DeepSea-10"), tmp_path / "store"
    entered(store, case, 2)
    fifth, sixth = (entry_of(member) for member in members_of([(case, 5), (case, 6)]))
    lost, old = fifth._replace(key="lost", recipe="a3c"), fifth._replace(key="old", seed=8)
    Store(store).add_failures([fifth, sixth, lost, old], "RuntimeError: boom")
    done = made_up([case], seeds=1, evaluations=4).with_columns(key=pl.lit(sixth.key), seed=pl.lit(6))
    done.write_parquet(tmp_path / "done.parquet")
    for files, count in ([], 3), (["--results", str(tmp_path / "done.parquet")], 2):
        assert main(["report", "--store", str(store), *files, "--out", str(tmp_path / "page.html")]) == 0
        page = (tmp_path / "page.html").read_text()
        assert f"{count} runs could not be finished" in page
        rows = re.findall("<tr>((?:(?!</tr>).)*RuntimeError: boom.*?)</tr>", page)
        assert [re.findall(">([^<]+)<", row)[0] for row in rows] == ["A2C"] * (count - 1) + ["a3c"]
    capsys.readouterr()


def test_of_nothing_there_is_no_page(results, tmp_path, capsys):
    """An empty store was answered by a list of columns, a file without rows by a page about nothing."""
    out = tmp_path / "page.html"
    Store(tmp_path / "sto re").close()
    said = refused(capsys, "report", "--store", tmp_path / "sto re", "--out", out)
    assert "there is no finished run in" in said
    assert f"see what was begun or failed with: derl status --store '{tmp_path}/sto re'\n" in said
    empty = tmp_path / "empty.parquet"
    pl.read_parquet(results / "one.parquet").clear().write_parquet(empty)
    assert f"no finished run in {empty}; name files" in refused(capsys, "report", "--results", empty, "--out", out)
    assert not out.exists()


def test_a_run_folder_has_to_go_through_a_store(tmp_path, capsys):
    folder = tiny_run().folder
    assert folder is not None
    way = f"derl store import {folder.path}, and the store into a report, derl report --store FOLDER"
    for path in (folder.path, folder.results):
        assert main(["report", "--results", str(path), "--out", str(tmp_path / "x.html")]) == 2
        assert way in capsys.readouterr().err
    assert main(["report", "--results", str(folder.path.parent), "--out", str(tmp_path / "x.html")]) == 2
    assert f"derl store import {folder.path.parent}/*" in capsys.readouterr().err


def test_a_full_disk_leaves_no_half_report(results, tmp_path, monkeypatch):
    def fail(path: Path, target: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    out = tmp_path / "out" / "page.html"
    with pytest.raises(DerlError, match=r"cannot write .*page.html: No space"):
        Report(out=out, results=(results,)).execute()
    assert not list(out.parent.iterdir())


def test_mistakes_are_told_in_one_line(results, tmp_path, capsys):
    empty = tmp_path / "empty"
    empty.mkdir()
    (tmp_path / "broken.parquet").write_text("nothing")
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "other.parquet")
    for path, message in (
        (empty, "there are no results"),
        (tmp_path / "nowhere", "there is no"),
        (tmp_path / "broken.parquet", "cannot be read"),
        (tmp_path / "other.parquet", "does not hold exported results"),
    ):
        assert main(["report", "--results", str(path), "--out", str(tmp_path / "x.html")]) == 2
        assert message in capsys.readouterr().err
    with pytest.raises(DerlError, match="is a folder"):
        Report(out=tmp_path, results=(results,)).execute()
    with pytest.raises(DerlError, match="at least 1"):
        Report(evaluations=0, results=(results,)).execute()
    for text in ("[1", '{"seconds": "8 h"}', '{"seconds": true}'):
        (results / "facts.json").write_text(text)
        with pytest.raises(DerlError, match="cannot be read"):
            Report(out=tmp_path / "x.html", results=(results,)).execute()
