"""Frames of results: grouped by case, whole or not."""

import importlib.util
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from analysis.made_up import frame_of
from derl.analysis.measures.frames import Results, newest
from derl.core.errors import DerlError
from derl.experiments.cases import Case
from derl.experiments.exchange import read_results
from derl.experiments.identity import config_key, seed_key
from derl.training.version import ENGINE

A2C = Case.of("a2c-count", "DeepSea-10")
WEAK = Case.of("a2c-count", "DeepSea-10", {"bonus.scale": 0.01})


def test_values_by_case_whatever_the_order_of_rows():
    frame = frame_of({A2C: [[1, 2, 3], [4, 5, 6]], WEAK: [[7, 8, 9]]}).sample(fraction=1, shuffle=True, seed=0)
    results = Results(frame)
    assert set(results.cases) == {A2C, WEAK}
    np.testing.assert_array_equal(results.values(A2C), [[1, 2, 3], [4, 5, 6]])
    np.testing.assert_array_equal(results.values(WEAK), [[7, 8, 9]])
    assert results.values(Case.of("ppo", "DeepSea-10")) is None
    np.testing.assert_array_equal(results.episodes(A2C), [1000, 2000, 3000])


def test_settings_are_cases_whatever_their_order():
    case = Case.of("dea2c-count", "DeepSea-10", {"bonus.scale": 2.0, "explorer_reward": "intrinsic"})
    frame = frame_of({case: [[1.0]]}).with_columns(setting=pl.lit("explorer_reward=intrinsic, bonus.scale=2.0"))
    assert case in Results(frame)


def test_unfinished_runs_are_known():
    frame = frame_of({A2C: [[1, 2, 3], [4, 5]]})
    results = Results(frame)
    np.testing.assert_array_equal(results.values(A2C), [[1, 2, 3], [4, 5, np.nan]])
    np.testing.assert_array_equal(results.finished(A2C, evaluations=3), [[1, 2, 3]])
    np.testing.assert_array_equal(results.finished(A2C, evaluations=2), [[1, 2], [4, 5]])
    assert results.finished(A2C) is None
    np.testing.assert_array_equal(results.lengths(A2C), [3, 2])


def test_returns_after_a_failure_do_not_count_but_the_run_is_finished():
    failed = pl.when((pl.col("run") == 1) & (pl.col("evaluation") > 1)).then(20).alias("failed_at_step")
    results = Results(frame_of({A2C: [[1, 2], [3, 4]]}).with_columns(failed))
    np.testing.assert_array_equal(results.finished(A2C, evaluations=2), [[1, 2], [3, np.nan]])


def test_columns_a_recipe_lacks_are_none():
    frame = frame_of({A2C: [[1.0]], WEAK: [[2.0]]})
    kl = pl.when(pl.col("setting") != "").then(0.5).alias("kl")
    results = Results(frame.with_columns(kl))
    assert results.values(A2C, "kl") is None
    assert results.values(A2C, "nonsense") is None
    np.testing.assert_array_equal(results.values(WEAK, "kl"), [[0.5]])


def test_reading_a_folder_numbers_runs_anew(tmp_path):
    frame_of({A2C: [[1, 2], [3, 4]]}).write_parquet(tmp_path / "a.parquet")
    frame_of({WEAK: [[5, 6]]}).with_columns(kl=pl.lit(1.0)).write_parquet(tmp_path / "b.parquet")
    frame = read_results([tmp_path])
    assert frame["run"].n_unique() == 3
    np.testing.assert_array_equal(Results(frame).values(WEAK), [[5, 6]])
    (tmp_path / "c.parquet").write_bytes(b"nonsense")
    with pytest.raises(DerlError, match=r"c\.parquet cannot be read"):
        read_results([tmp_path])


def test_engines_are_not_mixed():
    old, new = (frame_of({A2C: rows}).with_columns(engine=pl.lit(e)) for rows, e in (([[1.0]] * 2, 3), ([[2.0]], 4)))
    other = frame_of({WEAK: [[5.0]]}).with_columns(engine=pl.lit(3))
    frames = [frame.with_columns(run=pl.col("run") + 10 * i) for i, frame in enumerate((old, new, other))]
    results = Results(newest(pl.concat(frames)))
    np.testing.assert_array_equal(results.values(A2C), [[2.0]])
    # What only an older engine has run is better than nothing.
    np.testing.assert_array_equal(results.values(WEAK), [[5.0]])
    assert len(newest(old.drop("engine"))) == 2
    # Files of somebody who does not say, beside one that does.
    unknown = frame_of({WEAK: [[5.0]]}).with_columns(run=pl.col("run") + 30)
    mixed = newest(pl.concat([new, unknown], how="diagonal_relaxed"))
    np.testing.assert_array_equal(Results(mixed).values(WEAK), [[5.0]])
    np.testing.assert_array_equal(Results(mixed).values(A2C), [[2.0]])


def test_two_spellings_of_a_setting_are_refused():
    """One of them would take the other's place."""
    frame = frame_of({WEAK: [[5.0]]}).with_columns(setting=pl.lit("bonus.scale=0.5"))
    other = frame.with_columns(setting=pl.lit("bonus.scale=0.50"), run=pl.lit(7))
    with pytest.raises(DerlError, match=r"spelt in two ways, one of them 'bonus\.scale=0\.50'"):
        Results(pl.concat([frame, other.cast(frame.schema)]))


def keyed(rows: list[list[float]], change: str = "", first: int = 0) -> pl.DataFrame:
    """Runs of A2C under their content addresses, which `change` makes those of another configuration."""
    frame = frame_of({A2C: rows})
    keys = [change + seed_key(config_key(A2C.config()), seed) for seed in range(len(rows))]
    named = pl.col("seed").replace_strict(dict(enumerate(keys)), return_dtype=pl.String)
    return frame.with_columns(key=named, run=pl.col("run") + first)


def test_configurations_of_one_name_are_not_mixed():
    now, before = keyed([[1.0], [1.0]]), keyed([[5.0], [5.0], [5.0]], "x", first=10)
    results = Results(newest(pl.concat([now, before])))
    np.testing.assert_array_equal(results.values(A2C), [[1.0], [1.0]])
    # Alone, results of an older recipe are shown.
    assert len(newest(before)) == 3
    with pytest.raises(DerlError, match="a2c-count on DeepSea-10 was run with several configurations"):
        newest(pl.concat([before, keyed([[1.0]], "y", first=20)]))


def test_several_configurations_of_an_unknown_recipe_are_not_said_to_be_older_ones():
    """As `derl store import` says: a name that was mistyped is no version of anything."""
    mistyped = pl.concat([keyed([[1.0]]), keyed([[1.0]], "y", first=20)]).with_columns(recipe=pl.lit("a2c-cuont"))
    with pytest.raises(DerlError, match="unknown recipe in these files 'a2c-cuont'; did you mean a2c-count"):
        newest(mistyped)


def test_runs_of_a_recipe_that_has_changed_do_not_pass_for_it():
    changed, now = keyed([[5.0], [5.0]], "x"), keyed([[1.0]], first=10)
    changed, now = (frame.with_columns(engine=pl.lit(ENGINE)) for frame in (changed, now))
    assert len(newest(changed)) == 0
    assert newest(pl.concat([changed, now]))["return"].to_list() == [1.0]
    # Nobody can say of a recipe that there is no more, nor of an older engine, what it is now.
    assert len(newest(changed.with_columns(recipe=pl.lit("gone")))) == 2
    assert len(newest(changed.with_columns(engine=pl.lit(ENGINE - 1)))) == 2
    # Other programs write whole numbers as floats.
    assert len(newest(now.with_columns(pl.col("seed").cast(pl.Float64)))) == 1


def test_the_documents_do_not_mix_engines(monkeypatch, tmp_path):
    """Nothing `docs/build.py` reads reaches its pages without the filter."""
    spec = importlib.util.spec_from_file_location("build", Path(__file__).parents[3] / "docs" / "build.py")
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    read = frame_of({A2C: [[1.0], [2.0]]}).with_columns(engine=pl.col("run") + 1)
    given = []
    monkeypatch.setattr(build, "read_results", lambda paths: read)
    monkeypatch.setattr(build, "write_all", lambda frame, folder, **_: given.append(frame))
    monkeypatch.setattr(build, "write_beyond", lambda own, folder, paper: given.extend((own, paper)))
    monkeypatch.setattr(build, "own_table", lambda frame: given.append(frame))
    monkeypatch.setattr(build, "verdicts", lambda frame: given.append(frame) or [])
    monkeypatch.setattr(build, "claims", lambda frame: given.append(frame) or [])
    monkeypatch.setattr(build, "FIGURES", tmp_path)
    for name in ("draw_recipe", "fill_in", "draw_decoupling", "table", "progress", "benefit"):
        monkeypatch.setattr(build, name, lambda *_: None)
    build.main()
    assert len(given) == 6
    assert {frame["engine"].n_unique() for frame in given} == {1}


def test_mistakes_are_told(tmp_path):
    with pytest.raises(DerlError, match="no results"):
        read_results([tmp_path])
    with pytest.raises(DerlError, match="no column setting"):
        Results(frame_of({A2C: [[1.0]]}).drop("setting"))
    frame = frame_of({A2C: [[1.0]]})
    with pytest.raises(DerlError, match="evaluation twice"):
        Results(pl.concat([frame, frame]))
