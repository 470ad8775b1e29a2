"""The command line, run as a user does."""

import contextlib
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from derl.bonuses import BONUSES
from derl.cli.main import main
from derl.cli.train import parse, parse_vary
from derl.envs.registry import _FAMILIES
from derl.training.folder import RunFolder
from derl.training.recipes import recipe
from derl.training.seeds import seeds_named

TINY = ["--seeds", "2", "--protocol.episodes", "200", "--protocol.evaluate-every", "100"]


def run(*args, cwd=None) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "derl", *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, timeout=240, cwd=cwd)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    out = tmp_path_factory.mktemp("cli") / "run"
    done = run(
        "train", "DeepSea-5", "--recipe", "a2c-count", *TINY, "--out", out, "--bonus.scale", "0.5", "--tensorboard"
    )
    assert done.returncode == 0, done.stderr
    return out, done.stdout


def test_train_reports_and_writes_a_run_folder(trained):
    out, printed = trained
    assert "average return" in printed
    assert "best possible mean return of DeepSea-5 is 0.99" in printed
    assert f"derl plot {out}" in printed.replace("\n", " ")
    config = json.loads((out / "config.json").read_text())
    assert config["config"]["bonus"]["scale"] == 0.5
    assert config["seeds"] == [0, 1]
    frame = pl.read_parquet(out / "results.parquet")
    assert frame.height == 4
    events = list((out / "tensorboard" / "seed1").iterdir())
    assert len(events) == 1
    assert events[0].stat().st_size > 500


def test_a_run_can_be_rerun_from_its_configuration(trained, tmp_path):
    again = run("train", "--config", trained[0], "--out", tmp_path / "again")
    assert again.returncode == 0, again.stderr
    first, second = (pl.read_parquet(p / "results.parquet") for p in (trained[0], tmp_path / "again"))
    assert first.equals(second)


def test_evaluate_prints_each_run(trained):
    done = run("evaluate", trained[0], "--episodes", "3")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("±") == 2
    # A baseline has one policy: derl watch calls it so too.
    assert "policy return" in done.stdout
    assert "explorer" not in done.stdout
    assert run("evaluate", trained[0], "--episodes", "0").returncode == 2


def test_list_names_everything(capsys):
    assert main(["list"]) == 0
    printed = capsys.readouterr().out
    for name in ("DeepSea-30", "Hallway-30-30", "dedqn-icm", "hash-count", "jensen-shannon", "3.40"):
        assert name in printed
    # Labels of the paper's source are not for readers.
    assert "eq. kl" not in printed


def test_other_parts_and_varied_numbers(tmp_path):
    done = run(
        *("train", "Hallway-3-3", *TINY, "--out", tmp_path / "run"),
        *("--explorer-kind", "dqn", "--exploiter-kind", "a2c", "--bonus-kind", "hash-count"),
        *("--explorer.batch-size", "16", "--explorer.n-steps", "1", "--exploiter.correction", "vtrace"),
        *("--vary", "bonus.scale=0.1,1", "--env-option", "random_start=true"),
    )
    assert done.returncode == 0, done.stderr
    frame = pl.read_parquet(tmp_path / "run" / "results.parquet")
    assert sorted(frame["bonus.scale"].unique()) == [0.1, 1.0]
    assert frame["run"].n_unique() == 4
    config = json.loads((tmp_path / "run" / "config.json").read_text())["config"]
    assert config["explorer"]["kind"] == "dqn"
    assert config["exploiter"]["correction"] == "vtrace"
    assert config["env_options"] == {"random_start": True}


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["trian"], "did you mean train"),
        (["train"], "needs a task"),
        (["train", "DeepSee-10"], "did you mean DeepSea-10"),
        (["train", "CartPole-v1"], "known: DeepSea-10, Hallway-10-10 (Gymnasium's ids are not"),
        (["train", "DeepSea-0"], "size of DeepSea"),
        (["train", "DeepSea-10", "--recipe", "dea2c-coun"], "did you mean dea2c-count"),
        (["train", "DeepSea-10", "--bonus-kind", "icn"], "known: count, hash-count, icm"),
        (["train", "DeepSea-10", "--explorer-kind", "sac"], "known: a2c, bootstrapped-dqn"),
        (["train", "DeepSea-10", "--explorer.learning-rate", "-1"], "learning_rate"),
        (["train", "DeepSea-10", "--bonus.increment", "0"], "increment"),
        (["train", "DeepSea-10", "--protocol.episodes", "0"], "episodes"),
        (["train", "DeepSea-10", "--num-envs", "0"], "num_envs"),
        (["train", "DeepSea-10", "--seeds", "none"], "seeds are a number of them"),
        (["train", "DeepSea-10", "--seeds", "0"], "at least one seed"),
        (["train", "DeepSea-10", "--seeds", "1,1"], "twice"),
        (["train", "DeepSea-10", "--vary", "bonus.scale"], "name=value"),
        (
            ["train", "DeepSea-10", "--vary", "bonus.sale=1"],
            "unknown number to vary 'bonus.sale'; did you mean bonus.scale",
        ),
        (["train", "DeepSea-10", "--vary", "explorer.n_steps=1,2"], "shapes the program"),
        (["train", "DeepSea-10", "--env-option", "mapping_sed=1"], "known: mapping_seed"),
        (["train", "DeepSea-10", "--explorer-reward", "none"], "known: both, intrinsic"),
        (["resume", "nowhere"], "not a run folder"),
        (["evaluate", "nowhere"], "not a run folder"),
        (["evaluate", "nowhere", "--episodes", "100000000000"], "--episodes must be from 1 to 1,000,000"),
        (["train", "DeepSea-10", "--protocol.evaluation-episodes", "100000000000"], "must be from 1 to 1,000,000"),
        (["bench", "--recipes", "a2c-cont"], "did you mean a2c-count"),
        (["demo", "--recipes"], "--recipes needs at least one recipe"),
        (["demo", "--recipes", "a2c", "a2c"], "a recipe twice"),
        (["demo", "--recipes", "a2c", "a2d", "--task", "DeepSea-3"], "unknown recipe 'a2d'"),
        (["--import"], "--import needs the name of a module"),
        (["train", "DeepSea-10", "--recipe", ""], "unknown recipe ''"),
    ],
)
def test_bad_input_gets_one_line_and_costs_nothing(args, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(args) == 2
    printed = capsys.readouterr().err
    assert message in printed
    assert printed.startswith("derl: error: ")
    assert printed.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_choice_is_told_with_the_right_ones(capsys):
    assert main(["train", "DeepSea-10", "--decoupling.divergence", "kk"]) == 2
    printed = capsys.readouterr().err
    assert "'kk'" in printed
    assert "jensen-shannon" in printed
    assert printed.count("\n") == 1


def test_a_mistyped_flag_is_told_with_its_neighbours_whatever_the_terminals_width(monkeypatch, capsys):
    told = "derl: error: unrecognized options: --sedes, 3; did you mean --seeds? (all flags: derl train --help)\n"
    for width in ("40", "80", "200"):
        monkeypatch.setenv("COLUMNS", width)
        assert main(["train", "DeepSea-10", "--sedes", "3"]) == 2
        assert capsys.readouterr().err == told
    assert main(["watch", "run", "--nubmer", "3", "--episods", "1"]) == 2
    printed = capsys.readouterr().err
    assert "did you mean" in printed
    assert "--number" in printed
    assert "--episodes" in printed
    assert printed.count("\n") == 1


def test_errors_reach_the_shell(tmp_path):
    done = run("train", "DeepSee-10", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "derl: error: unknown task 'DeepSee-10'; did you mean DeepSea-10?\n"
    assert done.stdout == ""


def test_unknown_flags_are_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["train", "DeepSea-10", "--bonus.scal", "1"]) == 2
    assert "did you mean --bonus.scale" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


OWN_MODULE = """
import equinox as eqx
from derl import Count, Hallway, register, register_bonus

class Twice(Count):
    factor: float = 2.0
    def step(self, state, rollout):
        state, bonus = super().step(state, rollout)
        return state, self.factor * bonus

register_bonus("twice", Twice)
register("Corridor-3", lambda n: Hallway(n, 0))
"""


def test_a_users_own_module_adds_tasks_and_bonuses(tmp_path, monkeypatch, capsys):
    (tmp_path / "own_parts.py").write_text(OWN_MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    flags = ["--bonus-kind", "twice", "--bonus.factor", "3", "--seeds", "1", "--protocol.episodes", "50"]
    args = ["train", "Corridor-4", "--recipe", "dea2c-count", *flags, "--protocol.evaluate-every", "50", "--out", "run"]
    try:
        assert main(["--import", "own_parts", *args]) == 0
    finally:
        BONUSES.pop("twice", None)
        _FAMILIES.pop("corridor", None)
    bonus = json.loads((tmp_path / "run" / "config.json").read_text())["config"]["bonus"]
    assert bonus["kind"] == "twice"
    assert bonus["factor"] == 3.0
    # What to type next works, and without the module it is said what is missing.
    assert "see it with: derl --import own_parts plot run, derl --import own_parts watch run" in capsys.readouterr().out
    assert main(["evaluate", "run"]) == 2
    assert "derl --import MODULE evaluate ..." in capsys.readouterr().err
    assert main(["--import", "no_such_module", "list"]) == 2


def test_help_shows_every_setting(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["train", "DeepSea-10", "--recipe", "dedqn-icm", "--help"])
    assert stop.value.code == 0
    printed = capsys.readouterr().out
    for flag in ("--explorer.learning-rate", "--bonus.forward-coef", "--exploiter.batch-size", "--decoupling.period"):
        assert flag in printed
    assert "Train a recipe on a task" in printed
    assert "The task: DeepSea-N" in printed
    assert main(["--help"]) == 0
    assert main([]) == 2


def test_a_terminal_sees_live_progress(tmp_path):
    """Under a real terminal the display is a line that updates itself, with speed and both returns."""
    screen, terminal = pty.openpty()
    command = [
        sys.executable,
        "-m",
        "derl",
        "train",
        "DeepSea-5",
        "--recipe",
        "dea2c-count",
        "--seeds",
        "2",
        "--protocol.episodes",
        "20000",
    ]
    process = subprocess.Popen(
        [*command, "--out", str(tmp_path / "run")],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env=os.environ | {"COLUMNS": "160", "TERM": "xterm-256color"},
    )
    os.close(terminal)
    seen = bytearray()
    with contextlib.suppress(OSError):  # Linux says so when the last writer has gone
        while data := os.read(screen, 4096):
            seen.extend(data)
    os.close(screen)
    assert process.wait(60) == 0, seen.decode()
    text = seen.decode(errors="replace")
    for word in ("steps/s", "episodes", "explorer", "exploiter", "left"):
        assert word in text
    assert "\x1b[" in text


def test_the_documentation_shows_what_help_prints(capsys):
    page = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text()
    assert main(["--help"]) == 0
    assert f"```text\n{capsys.readouterr().out}```" in page


def test_a_repeated_run_has_the_seeds_and_the_varied_numbers_of_the_first(tmp_path):
    folder = RunFolder(tmp_path / "run")
    config = recipe("a2c-count", "DeepSea-5")
    folder.create(config, [3, 7], {"bonus.scale": [0.1, 2.5]}, 2)
    command, again = parse(["--config", str(folder.path)])
    assert again == config
    assert seeds_named(command.seeds) == [3, 7]
    assert parse_vary(command.vary) == {"bonus.scale": [0.1, 2.5]}
    assert command.population_size == 2
    command, _ = parse(["--config", str(folder.path / "config.json"), "--seeds", "4", "--vary", "bonus.scale=1"])
    assert seeds_named(command.seeds) == [0, 1, 2, 3]
    assert parse_vary(command.vary) == {"bonus.scale": [1.0]}


def test_a_full_disk_ends_a_training_with_tensorboard_files_in_one_line(tmp_path):
    limited = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000));"
        "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "from derl.cli.main import main; sys.exit(main(sys.argv[1:]))"
    )
    args = ["train", "DeepSea-5", "--recipe", "a2c", "--protocol.episodes", "2000", "--protocol.evaluate-every", "20"]
    done = subprocess.run(
        [sys.executable, "-c", limited, *args, "--seeds", "1", "--out", str(tmp_path / "run"), "--tensorboard"],
        capture_output=True,
        text=True,
        timeout=240,
        env={**os.environ, "JAX_ENABLE_COMPILATION_CACHE": "false"},
    )
    assert done.returncode == 2, done.stderr
    assert "cannot write TensorBoard files in" in done.stderr
    assert "Traceback" not in done.stderr


def test_help_names_the_options_of_the_task(capsys):
    with pytest.raises(SystemExit):
        parse(["Hallway-10-5", "--env-option", "stay_duration=7", "--help"])
    told = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "Hallway has: horizon=20 stay_duration=7 random_start=false" in told
