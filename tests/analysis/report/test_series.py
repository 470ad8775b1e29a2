"""The curves in the report: what is packed into the page is what was measured."""

import base64
import gzip

import numpy as np
import polars as pl
import pytest

from analysis.report.reading import CASES
from analysis.synthetic import made_up
from derl.analysis.measures.aggregates import optimal_return
from derl.analysis.measures.frames import Results
from derl.analysis.measures.statistics import bootstrap_interval
from derl.analysis.report.numbers import grouped_results
from derl.analysis.report.series import pack, pack_series, places, whole_families
from derl.envs.registry import PAPER_TASKS
from derl.experiments.cases import Case


def unpack(text: str) -> np.ndarray:
    """The floats `pack` was given, to four digits; the page's own is in assets/data.js."""
    planes = np.frombuffer(gzip.decompress(base64.b64decode(text)), np.uint8).reshape(3, -1).astype(np.uint32)
    return (((planes[0] << 16) | (planes[1] << 8) | planes[2]) << 8).astype(np.uint32).view(np.float32)


def test_curves_survive_packing():
    values = np.array([0.99, -0.5, 0.0, np.nan, 1e-9, 123456.0, np.pi, 1e300])
    back = unpack(pack(values))
    assert back[:-1] == pytest.approx(values[:-1], rel=2e-5, nan_ok=True)
    assert back[-1] == np.inf
    assert pack(values) == pack(values.copy())
    assert len(unpack(pack(np.zeros(0)))) == 0


def test_embedded_curves_are_those_of_the_frame(frame):
    results = grouped_results(frame)
    series = pack_series(results)
    values, at = unpack(series["values"]), 0
    for case in series["cases"]:
        names = [series[kind][case[key]]["name"] for kind, key in (("recipes", "r"), ("tasks", "t"), ("settings", "s"))]
        rows = frame.filter(
            pl.all_horizontal(pl.col(c) == n for c, n in zip(("recipe", "task", "setting"), names, strict=True))
        )
        count = len(series["episodes"][case["x"]])
        for metric in case["m"]:
            name = series["metrics"][metric]["name"]
            block = values[at : at + (len(case["seeds"]) + 2) * count].reshape(-1, count)
            at += block.size
            ours = np.stack(
                [rows.filter(pl.col("seed") == s).sort("evaluation")[name].to_numpy() for s in case["seeds"]]
            )
            assert block[:-2] == pytest.approx(ours, rel=2e-5, abs=1e-9)
            low, high = bootstrap_interval(ours)
            assert block[-2] == pytest.approx(low, rel=1e-4, abs=1e-6)
            assert block[-1] == pytest.approx(high, rel=1e-4, abs=1e-6)
    assert at == len(values)


def test_the_runs_that_tables_count_come_first():
    """Of six seeds one is unfinished: the band is that of the five others, as in the cell that opens the curve."""
    frame = made_up([Case.of("a2c-count", "DeepSea-10")], seeds=6, evaluations=10)
    cut = frame.filter((pl.col("seed") != 1) | (pl.col("evaluation") < 6))
    series = pack_series(Results(cut), 10)
    (case,) = series["cases"]
    assert (case["seeds"], case["n"]) == ([0, 2, 3, 4, 5, 1], 5)
    values = unpack(series["values"]).reshape(-1, 10)
    counted = [cut.filter(pl.col("seed") == s).sort("evaluation")["return"].to_numpy() for s in (0, 2, 3, 4, 5)]
    assert values[6] == pytest.approx(bootstrap_interval(np.stack(counted)).low, rel=1e-4, abs=1e-6)


def test_long_curves_are_thinned():
    assert places(5).tolist() == [0, 1, 2, 3, 4]
    frame = made_up([Case.of("a2c-count", "DeepSea-10")], seeds=2, evaluations=2500)
    series = pack_series(grouped_results(frame))
    (episodes,) = series["episodes"]
    assert (len(episodes), episodes[0], episodes[-1]) == (1000, 1000, 2_500_000)
    returns = unpack(series["values"])[:1000]
    one = frame.filter(pl.col("seed") == 0).sort("evaluation")
    expected = one.filter(pl.col("episodes").is_in(episodes))["return"].to_numpy()
    assert returns == pytest.approx(expected, rel=2e-5, abs=1e-9)


def test_normalised_returns_need_all_tasks_of_a_family():
    tasks = [task for task in PAPER_TASKS if task.startswith("Hallway")]
    frame = made_up([Case.of("dea2c-count", task) for task in tasks], seeds=2, evaluations=4)
    (found,) = whole_families(Results(frame))
    assert found.recipe == "dea2c-count"
    mean, low, high = found.metrics["return"]
    best = pl.col("task").replace_strict({task: optimal_return(task) for task in tasks}, return_dtype=pl.Float64)
    expected = frame.with_columns(pl.col("return") / best).group_by("evaluation").agg(pl.col("return").mean())
    assert mean.mean(0) == pytest.approx(expected.sort("evaluation")["return"].to_numpy())
    assert (low <= mean.mean(0)).all()
    assert (mean.mean(0) <= high).all()
    assert whole_families(Results(frame.filter(pl.col("task") != tasks[0]))) == []
    # A task with further seeds, or fewer, leaves those that all tasks have.
    (fewer,) = whole_families(Results(frame.filter((pl.col("task") != tasks[0]) | (pl.col("seed") == 0))))
    assert fewer.seeds == [0]
    assert fewer.metrics["return"][0] == pytest.approx(mean[:1])
    none = (pl.col("task") != tasks[0]) ^ (pl.col("seed") == 0)
    assert whole_families(Results(frame.filter(none & ((pl.col("task") != tasks[0]) | (pl.col("seed") == 0))))) == []


def test_nothing_after_a_failure_is_drawn(frame):
    broken = frame.with_columns(
        pl.when((pl.col("run") == 0) & (pl.col("evaluation") > 10)).then(77).alias("failed_at_step"),
        pl.when(pl.col("run") == 0).then(5.0).otherwise(pl.col("bonus")).alias("bonus"),
    )
    values = grouped_results(broken).values(CASES[0], "bonus")
    assert values is not None
    assert np.isfinite(values[0, :10]).all()
    assert np.isnan(values[0, 10:]).all()
    assert np.isfinite(values[1:]).all()
