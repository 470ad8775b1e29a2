"""The store keeps what it is given, whole or not at all, and answers fast when it is large."""

import math
import sqlite3
import threading

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from derl.core.errors import DerlError
from derl.experiments.packing import relabelled
from derl.experiments.store import Store
from experiments.storing import entry, frame


def test_what_goes_in_comes_out(tmp_path):
    store = Store(tmp_path)
    store.add([entry("x"), entry("y", 1)], [frame([0.25, 0.5]), frame([0.1, float("nan")], {"kl": [1.5, 2.0]}, 11)])
    out = Store(tmp_path, read_only=True).frame()
    assert out["return"].to_list()[:3] == [0.25, 0.5, 0.1]
    assert math.isnan(out["return"][3])
    assert out["kl"].to_list() == [None, None, 1.5, 2.0]
    assert out["failed_at_step"].to_list() == [None, None, 11, 11]
    assert out["evaluation"].to_list() == [1, 2, 1, 2]
    assert out["run"].n_unique() == 2
    assert out.schema["episodes"] == pl.Int64


# How long a disk takes to write is no property of the store.
@settings(deadline=None)
@given(returns=st.lists(st.floats(allow_nan=False, width=64), min_size=1, max_size=5))
def test_numbers_keep_every_bit(returns, tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("store"))
    store.add([entry()], [frame(returns)])
    assert store.frame()["return"].to_list() == returns


def test_runs_come_in_one_order_however_they_were_entered(tmp_path):
    """By recipe, setting, seed and address, and within a run by evaluation; also where columns differ."""
    store, other = Store(tmp_path / "a"), Store(tmp_path / "b")
    entries = [entry("c"), entry("d", 1), entry("b", 0, setting="x"), entry("a", 0, "ppo"), entry("e", 0, "ppo")]
    extras = [None, {"kl": [1.0, 2.0]}, None, {"kl": [3.0, 4.0]}, None]
    frames = [frame([float(i), i + 0.5], extra) for i, extra in enumerate(extras)]
    store.add(entries, frames)
    other.add(entries[::-1], [one.reverse() for one in frames[::-1]])
    assert store.frame()["key"].unique(maintain_order=True).to_list() == ["c", "d", "b", "a", "e"]
    assert store.frame()["return"].to_list() == [0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5]
    assert_frame_equal(other.frame(), store.frame(), check_column_order=False)


def test_a_run_is_entered_once(tmp_path):
    store = Store(tmp_path)
    store.add([entry()], [frame([0.25])])
    store.add([entry()], [frame([0.75])])
    assert store.frame()["return"].to_list() == [0.25]


def test_time_per_step_is_that_of_the_quickest_quarter(tmp_path):
    """A run beside other work, or one that was mostly compiled, does not make the next seem slow."""
    store = Store(tmp_path)
    times = {"a2c": [4.0, 1.0, 2.0, 8.0, 16.0], "ppo": [1.0], "a2c-count": [0.0]}
    for recipe, seconds in times.items():
        for i, took in enumerate(seconds):
            steps = 50_000 if recipe == "ppo" else 100_000
            made = entry(f"{recipe}/{i}", i, recipe)._replace(seconds=took)
            store.add([made], [frame([0.5]).with_columns(steps=pl.lit(steps))])
    # The second of five; too few steps tell nothing, and neither does a run that does not say how long it took.
    assert store.seconds_of() == {("a2c", "DeepSea-5"): pytest.approx(2.0 / 100_000)}


def test_all_or_nothing(tmp_path):
    store = Store(tmp_path)

    def write_and_break() -> None:
        with store.transaction():
            store._db.execute("INSERT INTO failures VALUES ('a','b','c','d',0,'e')")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write_and_break()
    assert len(store.failures()) == 0


def test_a_failure_is_forgotten_when_the_run_succeeds(tmp_path):
    store = Store(tmp_path)
    store.add_failures([entry("x"), entry("y")], "no memory")
    store.add([entry("x")], [frame([1.0])])
    assert store.failures()["key"].to_list() == ["y"]


def test_many_writers_at_once(tmp_path):
    Store(tmp_path)

    def write(worker: int) -> None:
        mine = Store(tmp_path)
        for i in range(20):
            mine.add([entry(f"{worker}-{i}", i)], [frame([float(i)])])

    threads = [threading.Thread(target=write, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(Store(tmp_path).keys()) == 80


def test_reading_few_columns_of_few_runs(tmp_path):
    store = Store(tmp_path)
    store.add([entry("x"), entry("y", 1)], [frame([0.5], {"kl": [1.0]}), frame([0.25], {"kl": [2.0]})])
    part = store.frame({"y"}, ["return"])
    assert "kl" not in part.columns
    assert part["return"].to_list() == [0.25]


def test_only_the_runs_that_are_asked_for_are_read(tmp_path, monkeypatch):
    store, read = Store(tmp_path), []
    store.add([entry(f"{i}", i) for i in range(9)], [frame([0.5])] * 9)
    rows = Store._rows
    monkeypatch.setattr(Store, "_rows", lambda self, *args: read.append(rows(self, *args)) or read[-1])
    assert store.frame({"3", "7", "nothing"})["key"].to_list() == ["3", "7"]
    assert len(store.frame([])) == 0
    assert list(map(len, read)) == [2, 0]


def test_runs_can_be_called_by_other_names(tmp_path):
    store = Store(tmp_path)
    store.add([entry("x"), entry("y", 1)], [frame([0.5]), frame([0.25])])
    other = relabelled(store.frame(), [("y", "a2c", "DeepSea-5", "bonus.scale=1")])
    assert other.select("key", "setting").rows() == [("y", "bonus.scale=1")]
    both = relabelled(store.frame(), [("y", "a2c", "DeepSea-5", ""), ("y", "a2c", "DeepSea-5", "bonus.scale=1")])
    assert both.select("key", "setting").rows() == [("y", ""), ("y", "bonus.scale=1")]
    assert both["run"].to_list() == [0, 1]
    assert len(relabelled(store.frame(), [])) == 0


def test_another_format_is_refused(tmp_path):
    Store(tmp_path).close()
    db = sqlite3.connect(tmp_path / "runs.sqlite")
    db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(DerlError, match=r"has format 99.*--store"):
        Store(tmp_path)


def test_what_is_no_store_is_refused(tmp_path):
    (tmp_path / "runs.sqlite").write_bytes(b"hello " * 1000)
    with pytest.raises(DerlError, match="cannot use the store"):
        Store(tmp_path)
    assert (tmp_path / "runs.sqlite").read_bytes() == b"hello " * 1000
    with pytest.raises(DerlError, match="no results"):
        Store(tmp_path / "nowhere", read_only=True)
    assert not (tmp_path / "nowhere").exists()


def names(folder) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_reading_leaves_no_trace(tmp_path):
    store = Store(tmp_path)
    store.add([entry("x")], [frame([0.5])])
    store.close()
    before = names(tmp_path)
    reader = Store(tmp_path, read_only=True)
    assert reader.frame()["return"].to_list() == [0.5]
    assert names(tmp_path) == before == ["runs.sqlite"]
    with pytest.raises(DerlError, match="for reading only"):
        reader.add([entry("y")], [frame([0.5])])


def test_reading_where_nothing_can_be_made(tmp_path):
    """A folder in the place of a file that SQLite would make is what a read-only disk is: it cannot be made."""
    store = Store(tmp_path)
    store.add([entry("x")], [frame([0.5])])
    store.close()
    (tmp_path / "runs.sqlite-shm").mkdir()
    assert Store(tmp_path, read_only=True).keys() == {"x"}
    assert Store(tmp_path, read_only=True).summary()["runs"].to_list() == [1]
    with pytest.raises(DerlError, match=r"cannot write.*readonly database; change the rights .*--store"):
        Store(tmp_path).add([entry("y")], [frame([0.5])])


def test_what_a_killed_writer_left_is_read(tmp_path):
    """A copy of the store of a killed process: its newest entries are still in the file beside it."""
    store, copy = Store(tmp_path / "store"), tmp_path / "copy"
    store.add([entry("x")], [frame([0.5])])
    assert Store(tmp_path / "store", read_only=True).keys() == {"x"}
    copy.mkdir()
    for name in ("runs.sqlite", "runs.sqlite-wal"):
        (copy / name).write_bytes((tmp_path / "store" / name).read_bytes())
    assert Store(copy, read_only=True).keys() == {"x"}
    assert names(copy) == ["runs.sqlite", "runs.sqlite-wal"]


def test_a_reader_sees_what_is_written_meanwhile(tmp_path):
    """Writers come and go: each of their entries is there from when it was written, and nothing ever half."""
    Store(tmp_path).close()
    reader, written, seen = Store(tmp_path, read_only=True), [0], []

    def write() -> None:
        for i in range(40):
            writer = Store(tmp_path)
            writer.add([entry(f"{i}")], [frame([0.5] * 200)])
            writer.close()
            written[0] = i + 1

    thread = threading.Thread(target=write)
    thread.start()
    while thread.is_alive():
        least = written[0]
        seen.append(len(reader.frame()) / 200)
        assert seen[-1] >= least
    thread.join()
    assert seen == sorted(seen)
    assert all(count == int(count) for count in seen)
    assert len(reader.keys()) == 40


def test_an_unfinished_store_holds_no_results(tmp_path):
    """What a full disk leaves: a file without content."""
    (tmp_path / "runs.sqlite").write_bytes(b"")
    with pytest.raises(DerlError, match=r"no results in .*--store"):
        Store(tmp_path, read_only=True)
    assert (tmp_path / "runs.sqlite").read_bytes() == b""


def test_a_damaged_store_is_named(tmp_path):
    store = Store(tmp_path)
    store.add([entry(f"{i}") for i in range(20)], [frame([0.5] * 100)] * 20)
    store.close()
    file = tmp_path / "runs.sqlite"
    file.write_bytes(file.read_bytes()[:4096] + b"\xff" * (file.stat().st_size - 4096))
    with pytest.raises(DerlError, match=r"cannot read .*runs.sqlite"):
        Store(tmp_path, read_only=True).keys()
