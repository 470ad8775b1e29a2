"""What tests of the commands about experiments share."""

from pathlib import Path

import polars as pl

from derl.cli.main import main
from derl.experiments.cases import Case
from derl.experiments.jobs import entry_of
from derl.experiments.planner import members_of
from derl.experiments.store import Store


def run(capsys, *args: str) -> tuple[int, str]:
    code = main([str(arg) for arg in args])
    captured = capsys.readouterr()
    return code, captured.out + captured.err


def refused(capsys, *args: str) -> str:
    """What a command says that cannot be done: one line."""
    assert main([str(arg) for arg in args]) == 2
    said = capsys.readouterr().err
    assert said.startswith("derl: error: ")
    assert said.count("\n") == 1
    return said


def entered(store: Path, case: Case, seeds: int, seconds: float = 0.0, value: float = 0.0) -> None:
    """Put runs of a case into a store that all had the same return at every evaluation."""
    members = members_of([(case, seed) for seed in range(seeds)])
    rows = {"evaluation": range(1, 101), "steps": range(1000, 101_000, 1000), "episodes": range(1000, 101_000, 1000)}
    frame = pl.DataFrame({"run": 0, **rows, "return": value}).with_columns(
        pl.lit(None, pl.Int64).alias("failed_at_step")
    )
    Store(store).add([entry_of(m, seconds) for m in members], [frame.with_columns(seed=m.seed) for m in members])
