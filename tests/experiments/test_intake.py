"""Only runs that are whole, and what their names say, are taken into a store."""

from pathlib import Path

import polars as pl
import pytest
from cli.commanding import run

from derl.core.errors import DerlError
from derl.experiments.exchange import export, exported_runs, read_results
from derl.experiments.intake import check_intake
from derl.experiments.jobs import entry_of
from derl.experiments.planner import members_of
from derl.experiments.store import Store
from derl.training.schedule import schedule_of
from experiments.pretending import experiment
from experiments.storing import frame


@pytest.fixture(scope="module")
def good(tmp_path_factory) -> pl.DataFrame:
    """Two runs of this version, as a file has them."""
    folder, members = tmp_path_factory.mktemp("good"), members_of(experiment().members())
    config = members[0].config
    length = config.algorithm().steps_per_iteration
    steps = [time * length for time in schedule_of(config).evaluations]
    numbers = frame([0.5] * len(steps)).with_columns(steps=pl.Series(steps))
    store = Store(folder)
    store.add([entry_of(member) for member in members], [numbers.with_columns(seed=m.seed) for m in members])
    export(store, folder / "good.parquet")
    check_intake(read_results([folder / "good.parquet"]))
    return pl.read_parquet(folder / "good.parquet")


def with_value(name: str, value, dtype=None):
    return lambda frame: frame.with_columns(pl.lit(value, dtype).alias(name))


def of_one(frame: pl.DataFrame, **values) -> pl.DataFrame:
    """With other values in the rows of the run with seed 1."""
    changes = [pl.when(seed=1).then(pl.lit(value)).otherwise(pl.col(n)).alias(n) for n, value in values.items()]
    return frame.with_columns(changes)


NAME = r"a2c-count on DeepSea-4 \(protocol.episodes=200, protocol.evaluate_every=50\) with seed"


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: f.filter(pl.col("evaluation") < 4), f"{NAME} 0 is not finished in these files: 3 of 4 evaluations"),
        (lambda f: f.filter((pl.col("evaluation") != 2) | (pl.col("seed") != 1)), f"{NAME} 1 is not finished"),
        (with_value("steps", 7), "7 of 800 steps; leave it out"),
        (lambda f: pl.concat([f, f]), f"{NAME} 0 has an evaluation twice"),
        (lambda f: pl.concat([f, f.tail(1)]), f"{NAME} 1 has an evaluation twice"),
        (lambda f: of_one(f, seed=2), f"{NAME} 2 has the address of another run"),
        (lambda f: of_one(f, recipe="a2c"), "a2c on DeepSea-4 .* with seed 1 has the address"),
        (lambda f: of_one(f, setting=""), "a2c-count on DeepSea-4 with seed 1 has the address"),
        (lambda f: of_one(f, task="DeepSea-5"), "a2c-count on DeepSea-5 .* has the address"),
        (lambda f: of_one(f, task="DeepSea-0"), "a2c-count on DeepSea-0 .* is no case"),
        (lambda f: of_one(f, recipe="nope"), "unknown recipe in these files 'nope'"),
        (lambda f: of_one(f, seed=-4), "a seed is a whole number from 0"),
        (lambda f: of_one(f, seed=2**32), "a seed is a whole number from 0"),
        (with_value("seed", 2**63, pl.UInt64), "a seed is a whole number from 0"),
        (with_value("engine", 99), "runs of engine 99, this derl has 1: update it"),
        (with_value("engine", 0), "there was no engine 0"),
        (with_value("seconds", -1.0), "seconds are not finite, or negative"),
        (with_value("episodes", float("inf")), "episodes is too large a number"),
        (with_value("kl", "x"), "kl should be a column of numbers, and is String"),
        (lambda f: f.with_columns(kl=pl.concat_list("return")), r"kl should be a column of numbers, and is List"),
        (lambda f: f.with_columns(version=pl.col("return")), "version should be a column of text"),
        (lambda f: f.with_columns(run=pl.concat_list("run")), "run should be a column of Int64, and is List"),
        (lambda f: f.with_columns(evaluation=pl.concat_list("run")), "evaluation should be a column of Int64"),
    ],
)
def test_what_is_no_whole_run_is_refused_and_leaves_nothing(good, damage, message, tmp_path, capsys):
    damage(good).write_parquet(tmp_path / "bad.parquet")
    with pytest.raises(DerlError, match=message):
        exported_runs([tmp_path / "bad.parquet"])
    code, out = run(capsys, "store", "import", tmp_path / "bad.parquet", "--store", tmp_path / "store")
    # What is being read, and what is wrong with it.
    assert (code, len(out.strip().splitlines())) == (2, 2)
    assert not (tmp_path / "store").exists()


def test_files_that_do_not_fit_each_other_are_refused(good, tmp_path):
    good.write_parquet(tmp_path / "a.parquet")
    good.with_columns(coverage=pl.concat_list("run")).write_parquet(tmp_path / "b.parquet")
    good.with_columns(coverage=pl.lit(1.0)).write_parquet(tmp_path / "c.parquet")
    with pytest.raises(DerlError, match="do not fit each other"):
        read_results([tmp_path])


def test_a_run_may_have_another_name_of_the_same_configuration(good, tmp_path):
    """A scale of 1 is the recipe as it is."""
    renamed = good.with_columns(setting="bonus.scale=1, " + pl.col("setting"))
    renamed.write_parquet(tmp_path / "same.parquet")
    assert len(exported_runs([tmp_path / "same.parquet"]).entries) == 2


def test_runs_of_parts_that_are_not_loaded_are_taken_in(good, tmp_path):
    """What they are only their owner can tell."""
    of_one(good, task="Labyrinth-3").write_parquet(tmp_path / "own.parquet")
    assert len(exported_runs([tmp_path / "own.parquet"]).entries) == 2


def test_the_results_of_this_project_are_whole():
    folder = Path(__file__).parents[2] / "results"
    for name in ("paper", "beyond"):
        check_intake(read_results([folder / name]))
