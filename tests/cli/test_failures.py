"""Runs whose numbers cease to be finite are said to have failed by every command that shows them."""

from types import SimpleNamespace
from typing import Any, cast

import polars as pl
import pytest
from rich.console import Console

from cli.commanding import run
from derl.cli import display, evaluate, plot, sweep, train, watch
from derl.core.errors import DerlError
from derl.experiments.sweep import Sweep

BROKEN = ["DeepSea-3", "--recipe", "dea2c-count", "--seeds", "2", "--explorer.learning-rate", "1e38"]
SHORT = ["--protocol.episodes", "40", "--protocol.evaluate-every", "20"]
FAILED = "run 1 (seed 1) failed: its numbers were no longer finite at step 0"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("failures") / "run"
    with pytest.raises(DerlError, match="every run failed"):
        train.main([*BROKEN, *SHORT, "--out", str(out)])
    return out


def test_the_policies_of_failed_runs_have_no_returns(folder, capsys):
    evaluate.main([str(folder), "--episodes", "2"])
    printed = capsys.readouterr().out
    assert printed.count("failed") == 2 * 2 + 2
    assert FAILED in printed
    assert "±" not in printed


def test_whoever_watches_or_plots_a_failed_run_is_told(folder, capsys, tmp_path):
    watch.Watch(folder, number=1, no_gif=True).execute(Console())
    assert FAILED in capsys.readouterr().out
    plot.main([str(folder), "--out", str(tmp_path)])
    assert FAILED in capsys.readouterr().out


@pytest.mark.parametrize(
    ("broken", "ending"), [({"kl": float("inf")}, "at step 7, which began with kl"), ({}, "at step 7")]
)
def test_the_metrics_that_broke_first_are_named(broken, ending, capsys):
    """Before everything else has broken too: then the list would be that of all metrics."""
    whole = {"run": 0, "return": 1.0, "return_std": 0.0, "failed_at_step": None, "kl": 0.1, "entropy": 0.2}
    failed = whole | {"return": float("nan"), "return_std": float("nan"), "failed_at_step": 7} | broken
    later = failed | dict.fromkeys(("kl", "entropy"), float("nan"))
    result = SimpleNamespace(frame=pl.DataFrame([whole, failed, later]), failed=[0], runs=[SimpleNamespace(seed=3)])
    display.tell_failures(cast(Any, result))
    assert capsys.readouterr().out.strip() == f"run 0 (seed 3) failed: its numbers were no longer finite {ending}"


def test_a_sweep_says_how_many_runs_failed(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(sweep, "console", wide := Console(width=200))
    monkeypatch.setattr(display, "console", wide)
    spec = tmp_path / "spec.toml"
    spec.write_text(
        'tasks = ["DeepSea-3"]\nrecipes = ["a2c"]\nseeds = 2\nvary = { "explorer.learning_rate" = [0.001, 1e38] }\n'
        "protocol = { episodes = 40, evaluate_every = 20 }\n"
    )
    sweep.main([str(spec), "--store", str(tmp_path / "store"), "--workers", "1"])
    printed = capsys.readouterr().out
    assert "2, 2 failed" in printed
    assert "2 runs failed: their numbers were no longer finite" in printed


def test_a_sweep_of_which_every_run_failed_is_an_error(tmp_path, capsys):
    spec = tmp_path / "spec.toml"
    spec.write_text(
        'tasks = ["DeepSea-3"]\nrecipes = ["a2c"]\nseeds = 1\nset = { "explorer.learning_rate" = 1e38 }\n'
        "protocol = { episodes = 40, evaluate_every = 20 }\n"
    )
    code, out = run(capsys, "sweep", spec, "--store", tmp_path / "store", "--workers", "1")
    assert (code, "every run failed: no numbers are left" in out) == (2, True)
    code, out = run(capsys, "status", spec, "--store", tmp_path / "store")
    assert (code, "1 run of them failed: their numbers were no longer finite" in out) == (0, True)


def give_up(self: Sweep) -> dict[str, str]:
    """A sweep of which every run fails, without the work."""
    for job in self.waiting:
        self._give_up(job, "RuntimeError: [boom] (envmod.py, line 12)")
    self._end()
    return self.failed


@pytest.mark.parametrize("modules", [(), ("json",)])
def test_a_sweep_says_which_runs_failed_and_what_shows_why(modules, tmp_path, capsys, monkeypatch):
    """It said that derl status says why, which looked into another store."""
    monkeypatch.setattr(Sweep, "run", give_up)
    spec, store = tmp_path / "spec.toml", tmp_path / "sto re"
    spec.write_text(
        'tasks = ["DeepSea-3", "DeepSea-4"]\nrecipes = ["a2c"]\nseeds = 2\nvary = {"explorer.n_steps" = [5, 8]}\n'
        "protocol = { episodes = 40, evaluate_every = 20 }\n"
    )
    given = [word for module in modules for word in ("--import", module)]
    code, out = run(capsys, *given, "sweep", spec, "--store", store, "--workers", "1")
    assert code == 2
    # Without what all of them have.
    named = "a2c on DeepSea-3 with explorer.n_steps=5; a2c on DeepSea-3 with explorer.n_steps=8; a2c on DeepSea-4 with"
    assert f"8 runs failed ({named} explorer.n_steps=5; 1 more): RuntimeError: [boom] (envmod.py, line 12); the" in out
    told = " ".join(["derl", *given, "status", "--store", f"'{store}'"])
    assert out.endswith(f"8 runs failed; to see why: {told}\n")
    code, out = run(capsys, "status", "--store", store)
    assert (code, out.count("RuntimeError: [boom] (envmod.py, line 12)\n")) == (0, 8)
