"""Stores that were not made whole, or are no longer whole, are mended or named."""

import sqlite3
import threading
from pathlib import Path

import pytest

from derl.core.errors import DerlError
from derl.experiments.exchange import export
from derl.experiments.pruning import leftovers, prune
from derl.experiments.remaining import finished, make_plan
from derl.experiments.store import Store, is_store
from experiments.pretending import experiment
from experiments.storing import entry, frame


def killed_while_making(folder: Path) -> None:
    """What a process leaves that was killed before it made the tables of its store."""
    db = sqlite3.connect(folder / "runs.sqlite")
    db.execute("PRAGMA journal_mode = WAL")
    db.close()
    assert (folder / "runs.sqlite").stat().st_size > 0


def test_a_store_that_was_not_made_whole_is_made_again(tmp_path):
    """No sweep accepted it, and none said what to do."""
    killed_while_making(tmp_path)
    assert not is_store(tmp_path)
    assert make_plan(experiment(), tmp_path, 1).found == 0
    assert finished(experiment(), tmp_path) is None
    Store(tmp_path).add([entry("x")], [frame([0.5])])
    assert is_store(tmp_path)
    assert Store(tmp_path, read_only=True).keys() == {"x"}


def test_who_comes_while_a_store_is_being_made_waits(tmp_path):
    """SQLite itself does not: it says at once that the file is locked."""
    maker = sqlite3.connect(tmp_path / "runs.sqlite", isolation_level=None, check_same_thread=False)
    maker.execute("CREATE TABLE other (x)")
    maker.execute("BEGIN IMMEDIATE")
    threading.Timer(0.5, lambda: maker.execute("COMMIT")).start()
    Store(tmp_path).add([entry("x")], [frame([0.5])])
    assert Store(tmp_path, read_only=True).keys() == {"x"}
    maker.close()


@pytest.mark.parametrize(
    "damage",
    [
        "data = substr(data, 1, 20)",
        "data = NULL",
        "data = zeroblob(0)",
        "data = CAST(x'000000000000F07F' || substr(data, 9) AS BLOB)",
        "columns = substr(columns, 1, 20)",
        "columns = '[1]'",
        "columns = NULL",
        "evaluations = 0",
        "seed = 'three'",
    ],
)
def test_a_damaged_run_is_named_and_can_be_removed(tmp_path, damage):
    store = Store(tmp_path / "store")
    store.add([entry("x"), entry("y", 3)], [frame([0.5, 0.25])] * 2)
    assert store.damaged() == []
    store._writing.execute(f"UPDATE runs SET {damage} WHERE key = 'y'")
    with pytest.raises(DerlError, match=r"runs.sqlite is damaged: a2c on DeepSea-5 .*, y, .*; derl store prune"):
        export(store, tmp_path / "out.parquet")
    assert [run.key for run in leftovers(store).damaged] == ["y"]
    prune(store, leftovers(store))
    assert store.frame()["return"].to_list() == [0.5, 0.25]
