"""Learning curves and summaries of frames small enough to check by hand."""

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from derl.analysis.measures.curves import learning_curves, summarise
from derl.core.errors import DerlError

NAN = float("nan")


def frame_of(returns, *, scales=None, failed=(), explorer=None):
    """Rows in the order training writes them. `returns` is runs x evaluations, `failed` pairs of run and evaluation."""
    rows = []
    for evaluation in range(1, len(returns[0]) + 1):
        for run, values in enumerate(returns):
            rows.append(
                {
                    "run": run,
                    "seed": run,
                    **({} if scales is None else {"bonus.scale": scales[run]}),
                    "evaluation": evaluation,
                    "steps": 40 * evaluation,
                    "episodes": 10 * evaluation,
                    "return": float(values[evaluation - 1]),
                    "failed_at_step": 7 if (run, evaluation) in failed else None,
                    "explorer_return": -1.0 if explorer is None else float(explorer[run][evaluation - 1]),
                }
            )
    return pl.DataFrame(rows, schema_overrides={"failed_at_step": pl.Int64})


def test_a_curve():
    curves = learning_curves(frame_of([[0, 1, 2], [1, 1, 4]], explorer=[[0, 0, 0], [2, 2, 8]]), [])
    assert curves["evaluation"].to_list() == [1, 2, 3]
    assert curves["steps"].to_list() == [40, 80, 120]
    assert curves["episodes"].to_list() == [10, 20, 30]
    assert curves["runs"].to_list() == [2, 2, 2]
    # With two runs the 95 % interval spans exactly from one to the other.
    assert curves.select("mean", "low", "high").rows() == [(0.5, 0, 1), (1, 1, 1), (3, 2, 4)]
    assert curves.select("explorer_mean", "explorer_low", "explorer_high").rows() == [(1, 0, 2), (1, 0, 2), (4, 0, 8)]


def test_settings_are_kept_apart_in_their_order():
    frame = frame_of([[0, 1], [2, 3], [4, 5], [6, 7]], scales=[10.0, 10.0, 0.1, 0.1])
    curves = learning_curves(frame, ["bonus.scale"])
    assert curves["bonus.scale"].to_list() == [10, 10, 0.1, 0.1]
    assert curves["mean"].to_list() == [1, 2, 5, 6]
    summary = summarise(frame, ["bonus.scale"])
    assert summary.select("bonus.scale", "runs", "average", "final").rows() == [(10, 2, 1.5, 2), (0.1, 2, 5.5, 6)]


def test_a_summary():
    summary = summarise(frame_of([[0, 4, 0], [2, 0, 3]]), [])
    assert summary.columns == [
        *("runs", "average", "average_std", "low", "high"),
        *("maximum", "maximum_std", "final", "failed"),
    ]
    row = summary.row(0, named=True)
    # Means over runs: 1, 2 and 1.5; the runs' own averages are 4/3 and 5/3.
    assert row["average"] == pytest.approx(1.5)
    assert row["average_std"] == pytest.approx(np.std([1, 2, 1.5]))
    assert (row["low"], row["high"]) == (pytest.approx(4 / 3), pytest.approx(5 / 3))
    assert (row["maximum"], row["maximum_std"], row["final"]) == (2, 2, 1.5)
    assert (row["runs"], row["failed"]) == (2, 0)


def test_a_failed_run_is_left_out_and_counted():
    frame = frame_of([[1, 2], [3, NAN], [NAN, NAN]], failed={(1, 2), (2, 1), (2, 2)})
    curves = learning_curves(frame, [])
    assert curves["runs"].to_list() == [2, 1]
    assert curves.select("mean", "low", "high").rows() == [(2, 1, 3), (2, 2, 2)]
    # The explorer of a failed run goes on acting: its returns must not count either.
    assert curves["explorer_mean"].to_list() == [-1, -1]
    summary = summarise(frame, []).row(0, named=True)
    assert (summary["runs"], summary["failed"], summary["average"], summary["final"]) == (3, 2, 2, 2)


def test_explorer_returns_after_a_failure_do_not_count():
    frame = frame_of([[1, 2], [3, NAN]], failed={(1, 2)}, explorer=[[0, 0], [0, 1000]])
    assert learning_curves(frame, [])["explorer_mean"].to_list() == [0, 0]


def test_only_failed_runs():
    frame = frame_of([[NAN, NAN]], failed={(0, 1), (0, 2)})
    summary = summarise(frame, []).row(0, named=True)
    assert summary["failed"] == 1
    assert np.isnan([summary[name] for name in ("average", "low", "high", "maximum", "final")]).all()
    assert learning_curves(frame, [])["mean"].is_nan().all()


def test_the_order_of_rows_and_missing_evaluations_do_not_matter():
    frame = frame_of([[0, 1, 2], [1, 1, 4]])
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=1)
    assert_frame_equal(learning_curves(frame, []), learning_curves(shuffled, []))
    short = frame.filter((pl.col("run") == 0) | (pl.col("evaluation") < 3))
    assert learning_curves(short, [])["mean"].to_list() == [0.5, 1, 2]
    # Having fewer evaluations is no failure.
    assert summarise(short, [])["failed"].to_list() == [0]


def test_mistakes_are_told():
    frame = frame_of([[0, 1]], scales=[1.0])
    with pytest.raises(DerlError, match=r"did you mean bonus\.scale"):
        summarise(frame, ["bonus.scal"])
    with pytest.raises(DerlError, match="share their numbers"):
        learning_curves(pl.concat([frame, frame.with_columns(pl.lit(2.0).alias("bonus.scale"))]), [])
    with pytest.raises(DerlError, match="no evaluations"):
        summarise(frame.clear(), [])
