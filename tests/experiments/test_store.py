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
from derl.experiments.exchange import export, exported_runs, read_results
from derl.experiments.store import Entry, Store, relabelled


def entry(key: str = "k", seed: int = 0, recipe: str = "a2c", setting: str = "") -> Entry:
    return Entry(key, recipe, "DeepSea-5", setting, seed, 1, 2.5)


def frame(returns: list[float], extra: dict | None = None, failed_at: int | None = None) -> pl.DataFrame:
    count = len(returns)
    data = {"run": [7] * count, "seed": [0] * count, "evaluation": range(1, count + 1), "steps": range(10, 10 + count)}
    data |= {"episodes": range(count), "return": returns, "failed_at_step": [failed_at] * count}
    return pl.DataFrame({**data, **(extra or {})}, schema_overrides={"failed_at_step": pl.Int64})


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
    with pytest.raises(DerlError, match="cannot write"):
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


def test_parquet_out_and_in(tmp_path):
    store, other = Store(tmp_path / "a"), Store(tmp_path / "b")
    store.add([entry("x"), entry("y", 1)], [frame([0.5, 0.25]), frame([0.75, 1.0], {"kl": [1.0, 2.0]})])
    assert export(store, tmp_path / "out.parquet") == 2
    assert exported_runs([tmp_path / "out.parquet"]).enter(other) == 2
    assert exported_runs([tmp_path / "out.parquet"]).enter(other) == 0
    assert_frame_equal(other.frame(), store.frame(), check_column_order=False)
    assert other.entries()[0].seconds == 2.5
    twice = read_results([tmp_path / "out.parquet", tmp_path / "out.parquet"])
    assert len(twice) == 4


def origins(store: Store) -> dict[str, tuple[str | None, str | None]]:
    return {entry.key: (entry.finished, entry.version) for entry in store.entries()}


def test_where_a_run_comes_from_goes_with_it(tmp_path):
    store, other = Store(tmp_path / "a"), Store(tmp_path / "b")
    made = entry("x")._replace(finished="2026-01-02T03:04:05Z", version="0.1.0")
    store.add([made, entry("y", 1)], [frame([0.5]), frame([0.25])])
    store.add([made._replace(version="9"), entry("y", 1)._replace(version="9")], [frame([0.5]), frame([0.25])])
    known = {"x": ("2026-01-02T03:04:05Z", "0.1.0"), "y": (None, None)}
    assert origins(store) == known
    export(store, tmp_path / "out.parquet", columns=["steps"])
    exported_runs([tmp_path / "out.parquet"]).enter(other)
    assert origins(other) == known
    assert_frame_equal(other.frame(), store.frame(), check_column_order=False)
    other.remove(["x"], [])
    other.add([entry("x")], [frame([0.5])])
    assert origins(other)["x"] == (None, None)


def test_stores_and_files_that_do_not_say_where_runs_come_from_can_be_used(tmp_path):
    """As an older version of derl leaves them."""
    store = Store(tmp_path / "old")
    store.add([entry("x")], [frame([0.5])])
    store._writing.execute("DROP TABLE made_by")
    store.close()
    reader = Store(tmp_path / "old", read_only=True)
    assert origins(reader) == {"x": (None, None)}
    export(reader, tmp_path / "new.parquet")
    pl.read_parquet(tmp_path / "new.parquet").drop("finished", "version").write_parquet(tmp_path / "old.parquet")
    (run,) = exported_runs([tmp_path / "old.parquet"]).entries
    assert (run.finished, run.version) == (None, None)
    store = Store(tmp_path / "old")
    store.add([entry("y")._replace(version="0.1.0")], [frame([0.5])])
    assert origins(store) == {"x": (None, None), "y": (None, "0.1.0")}


def test_runs_of_different_versions_are_all_taken_in(tmp_path):
    """Two runs with the same names but other content, and one run with two names."""
    store, other = Store(tmp_path / "a"), Store(tmp_path / "b")
    store.add([entry("x"), entry("y")], [frame([0.5, 0.25]), frame([0.75, 1.0])])
    export(store, tmp_path / "one.parquet")
    renamed = pl.read_parquet(tmp_path / "one.parquet").with_columns(setting=pl.lit("bonus.scale=1"))
    renamed.write_parquet(tmp_path / "two.parquet")
    assert exported_runs([tmp_path / "one.parquet", tmp_path / "two.parquet"]).enter(other) == 2
    assert_frame_equal(other.frame(), store.frame(), check_column_order=False)


def test_a_foreign_file_is_refused(tmp_path):
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "x.parquet")
    with pytest.raises(DerlError, match="no column run, recipe"):
        read_results([tmp_path])
    (tmp_path / "x.parquet").write_text("no")
    with pytest.raises(DerlError, match="cannot be read"):
        read_results([tmp_path])


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: f.drop("steps"), "steps should be a column of Int64, and is Null"),
        (lambda f: f.drop("failed_at_step"), "failed_at_step should be a column of Int64"),
        (lambda f: f.with_columns(pl.lit("x").alias("return")), "return should be a column of Float64, and is String"),
        (lambda f: f.with_columns(pl.lit(None, pl.Int64).alias("seed")), "seed is empty in some rows"),
        (lambda f: f.with_columns(pl.lit(1.5).alias("engine")), "engine is not a whole number"),
        (lambda f: f.with_columns(pl.lit("same").alias("key")), "two runs have the same key"),
    ],
)
def test_files_that_do_not_say_which_runs_they_hold_are_refused(tmp_path, damage, message):
    store = Store(tmp_path / "store")
    store.add([entry("a", 0), entry("b", 1)], [frame([0.1, 0.2]), frame([0.3, 0.4])])
    export(store, tmp_path / "good.parquet")
    assert len(exported_runs([tmp_path / "good.parquet"]).entries) == 2
    damage(pl.read_parquet(tmp_path / "good.parquet")).write_parquet(tmp_path / "bad.parquet")
    with pytest.raises(DerlError, match=message):
        exported_runs([tmp_path / "bad.parquet"])
