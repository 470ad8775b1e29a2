"""Results go from store to store as files, and what is no result is not taken in."""

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from derl.core.errors import DerlError
from derl.experiments.exchange import export, exported_runs, read_results
from derl.experiments.store import Store
from experiments.storing import entry, frame


@pytest.fixture(autouse=True)
def older(monkeypatch):
    """The runs of `storing` have addresses of no configuration: as those of an older engine they may."""
    monkeypatch.setattr("derl.experiments.intake.ENGINE", 2)


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


def test_equal_cases_have_one_name_and_the_fullest_copy_stays(tmp_path):
    """The file that is read first has the recipe's own lambda in its names, and none of the metrics."""
    store = Store(tmp_path / "a")
    runs = [entry("x", recipe="a2c-count"), entry("y", 1, recipe="a2c-count")]
    store.add(runs, [frame([0.5], {"kl": [1.0]}), frame([0.75], {"kl": [2.0]})])
    export(store, tmp_path / "full.parquet")
    named = pl.read_parquet(tmp_path / "full.parquet").drop("kl").with_columns(setting=pl.lit("bonus.scale=1"))
    other = {"run": pl.lit(9, pl.Int64), "seed": pl.lit(2, pl.Int64), "key": pl.lit("z")}
    own = named.head(1).with_columns(setting=pl.lit("bonus.nowhere=1"), **other)
    pl.concat([named, own]).write_parquet(tmp_path / "a-few.parquet")
    read = read_results([tmp_path]).sort("seed")
    assert read["setting"].to_list() == ["", "", "bonus.nowhere=1"]
    assert read["kl"].to_list() == [1.0, 2.0, None]


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
