"""Sweeps, the store and its status, used as a user does."""

import os
import re
import shutil
from pathlib import Path

import polars as pl
import pytest

from cli.commanding import entered, run
from derl.cli.flags import parsed
from derl.cli.main import main
from derl.cli.reproduce import Reproduce
from derl.experiments.cases import Case, case_of
from derl.experiments.packing import Entry
from derl.experiments.planner import members_of
from derl.experiments.store import Store
from derl.experiments.sweep import claim
from derl.training.version import code_version

SPEC = """
tasks = ["DeepSea-4"]
recipes = ["a2c", "a2c-count"]
seeds = 2
[vary]
explorer.n_steps = [8]
[protocol]
episodes = 100
evaluate_every = 50
"""

SPEC_FILE = "SPEC"


@pytest.fixture(scope="module")
def done(tmp_path_factory) -> Path:
    """A folder with a spec and a store in which it has been run."""
    folder = tmp_path_factory.mktemp("sweep")
    (folder / "spec.toml").write_text(SPEC)
    assert main(["sweep", str(folder / "spec.toml"), "--store", str(folder / "store")]) == 0
    return folder


def test_a_finished_sweep_is_not_run_again(done, capsys):
    code, out = run(capsys, "sweep", done / "spec.toml", "--store", done / "store")
    assert code == 0
    assert "4 runs: 4 were in" in out
    assert "explorer.n_steps=8" in out
    assert len(re.findall("DeepSea-4", out)) == 2


def test_a_finished_sweep_is_shown_beside_another_and_without_the_right_to_write(done, capsys, monkeypatch):
    monkeypatch.setattr("derl.experiments.sweep.claim", lambda path: pytest.fail("it took the store for itself"))
    monkeypatch.setattr("derl.experiments.sweep.try_writing", lambda path: pytest.fail("it wrote"))
    code, out = run(capsys, "sweep", done / "spec.toml", "--store", done / "store", "--only", "a2c-count")
    assert code == 0
    assert "2 runs: 2 were in" in out
    assert main(["sweep", str(done / "spec.toml"), "--store", str(done / "store"), "--workers", "0"]) == 2
    assert "--workers must be at least 1, not 0" in capsys.readouterr().err


def test_a_dry_run_tells_what_is_left_and_does_nothing(done, capsys):
    code, out = run(capsys, "sweep", done / "spec.toml", "--store", done / "store", "--seeds", "3", "--dry-run")
    assert code == 0
    assert "6 runs, 4 in the store, 2 left" in out
    code, out = run(capsys, "sweep", done / "spec.toml", "--store", done / "elsewhere", "--dry-run")
    assert "0 in the store" in out
    assert not (done / "elsewhere").exists()


def test_status(done, capsys):
    code, out = run(capsys, "status", "--store", done / "store")
    assert code == 0
    assert "4 runs" in out
    code, out = run(capsys, "status", done / "spec.toml", "--store", done / "store")
    assert "4 of 4 runs done (100%)\n" in out
    code, out = run(capsys, "status", done / "spec.toml", "--store", done / "store", "--seeds", "7,8", "--no-quick")
    assert f"what is left: derl sweep {done / 'spec.toml'} --store {done / 'store'} --seeds 7,8\n" in out
    code, out = run(capsys, "status", "table-1", "--store", done / "store")
    assert "0 of 990 runs done (0%)\n" in out
    assert f"what is left: derl reproduce table-1 --store {done / 'store'}\n" in out
    code, out = run(capsys, "status", "table-1", "--quick", "--only", "a2c", "--store", done / "store")
    assert "0 of 4 runs done (0%)" in out
    code, out = run(capsys, "report", "--results", done / "store", "--out", done / "report.html")
    assert (code, "derl store export" in out) == (2, True)


def test_the_store_finds_a_part_by_the_flags_it_was_run_with(tmp_path, capsys):
    """Shorter training is other runs: without the flags a store that has all of them seemed empty."""
    flags = ("--quick", "--only", "DeepSea-10", "a2c", "a2c-count", "--seeds", "1")
    part = parsed(Reproduce, ["table-1", *flags], "").chosen()[0]
    assert len(part.cases) == 2
    for case in part.cases:
        entered(tmp_path, case, 1)
    code, out = run(capsys, "status", "table-1", "--store", tmp_path)
    assert (code, "0 of 990 runs done" in out) == (0, True)
    code, out = run(capsys, "status", "table-1", *flags, "--store", tmp_path)
    assert (code, "2 of 2 runs done (100%)" in out) == (0, True)
    file = tmp_path / "part.parquet"
    code, out = run(capsys, "store", "export", file, "--experiment", "table-1", *flags, "--store", tmp_path)
    assert (code, "2 runs written" in out) == (0, True)


def test_core_time_is_said_to_be_of_the_runs_that_have_one(tmp_path, capsys):
    entered(tmp_path, Case.of("a2c", "DeepSea-10"), 2, seconds=60.0)
    assert "2 runs, 2:00 of core time, in" in run(capsys, "status", "--store", tmp_path)[1]
    entered(tmp_path, Case.of("a2c", "DeepSea-14"), 3)
    assert "5 runs, 2:00 of core time (of 2 of them" in run(capsys, "status", "--store", tmp_path)[1]


def test_a_run_with_two_names_counts_once(done, capsys, monkeypatch):
    """A scale of 1 is the recipe as it is. Addresses are derived once."""
    spec = done / "twice.toml"
    spec.write_text(SPEC.replace('"a2c", ', "") + "[[parts]]\n[[parts]]\nset = {'bonus.scale' = 1.0}\n")
    derived = []
    monkeypatch.setattr("derl.cli.status.members_of", lambda pairs: derived.append(1) or members_of(pairs))
    code, out = run(capsys, "status", spec, "--store", done / "store")
    assert (code, "2/2" in out, "2 of 2 runs done (100%)" in out, len(derived)) == (0, True, True, 1)
    code, out = run(capsys, "sweep", spec, "--store", done / "store", "--dry-run")
    assert "2 runs, 2 in the store" in out


def test_results_move_from_store_to_store(done, capsys):
    path = done / "out" / "results.parquet"
    assert run(capsys, "store", "export", path, "--store", done / "store")[0] == 0
    frame = pl.read_parquet(path)
    assert frame["key"].n_unique() == 4
    assert frame.filter(seed=1, recipe="a2c")["evaluation"].to_list() == [1, 2]
    assert set(frame["version"]) == {code_version()}
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", time) for time in frame["finished"])
    code, out = run(capsys, "store", "import", path, "--store", done / "other")
    assert (code, "4 new runs imported" in out) == (0, True)
    code, out = run(capsys, "sweep", done / "spec.toml", "--store", done / "other")
    assert "4 runs: 4 were in" in out


def test_an_export_can_leave_metrics_out(done, capsys):
    path = done / "out" / "small.parquet"
    small = ["store", "export", path, "--store", done / "store", "--columns"]
    assert run(capsys, *small, "coverage")[0] == 0
    columns = pl.read_parquet(path).columns
    assert {"key", "seconds", "return", "coverage"} <= set(columns)
    assert "bonus" not in columns
    assert run(capsys, "store", "import", path, "--store", done / "small")[0] == 0
    code, out = run(capsys, *small, "coverag")
    assert (code, "coverage" in out) == (2, True)


def test_a_run_folder_is_taken_in(tmp_path, capsys):
    folder, store = tmp_path / "run", tmp_path / "store"
    train = ["train", "DeepSea-4", "--recipe", "a2c-count", "--seeds", "2", "--vary", "bonus.scale=0.5,1"]
    short = ["--protocol.episodes", "60", "--protocol.evaluate-every", "30", "--out", str(folder)]
    assert main([*train, *short]) == 0
    code, out = run(capsys, "store", "import", folder, "--store", store)
    assert code == 0
    assert "4 new runs imported" in out
    spec = tmp_path / "spec.toml"
    spec.write_text(
        'tasks = ["DeepSea-4"]\nrecipes = ["a2c-count"]\nseeds = 2\nvary = {"bonus.scale" = [0.5, 1]}\n'
        "protocol = {episodes = 60, evaluate_every = 30}\n"
    )
    code, out = run(capsys, "status", spec, "--store", store)
    assert "4 of 4 runs done" in out
    # What training took is known, and goes with the results from store to store.
    spent = [entry.seconds for entry in Store(store, read_only=True).entries()]
    assert min(spent) > 0
    # They have the names that a sweep's would have: the recipe's own lambda is no change.
    settings = {entry.setting for entry in Store(store, read_only=True).entries()}
    short = "protocol.episodes=60, protocol.evaluate_every=30"
    assert settings == {short, f"bonus.scale=0.5, {short}"}
    assert {entry.version for entry in Store(store, read_only=True).entries()} == {code_version()}
    assert run(capsys, "store", "export", tmp_path / "x.parquet", "--store", store)[0] == 0
    assert run(capsys, "store", "import", tmp_path / "x.parquet", "--store", tmp_path / "other")[0] == 0
    again = [entry.seconds for entry in Store(tmp_path / "other", read_only=True).entries()]
    assert again == pytest.approx(spent)


def failure(key: str, recipe: str, seed: int) -> Entry:
    return Entry(key, recipe, "DeepSea-4", "protocol.episodes=100, protocol.evaluate_every=50", seed, 1, 0.0)


def test_what_older_versions_left_is_shown_apart_and_removed(done, tmp_path, capsys, monkeypatch):
    """A store with the runs of a sweep, one failure of this version, one of another and one of a lost recipe."""
    folder = tmp_path / "store"
    shutil.copytree(done / "store", folder)
    case = case_of("a2c", "DeepSea-4", failure("", "a2c", 7).setting)
    store = Store(folder)
    store.add_failures([failure(members_of([(case, 7)])[0].key, "a2c", 7)], "no memory")
    store.add_failures([failure("old", "a2c", 8), failure("lost", "a3c", 9)], "no [luck]")
    store.close()
    derived = []
    monkeypatch.setattr("derl.experiments.pruning.case_of", lambda *names: derived.append(1) or case_of(*names))
    code, out = run(capsys, "status", "--store", folder)
    # Of two seeds of one case, and of one of another.
    assert len(derived) == 2
    assert (out.count("failed:"), "seed 7: no memory" in out, "1 failure of another version" in out) == (2, True, True)
    # Whose names nobody knows here may be of a module: why it failed is told as it was noted.
    assert f"failed: a3c on DeepSea-4 ({failure('', '', 9).setting}) with seed 9: no [luck]\n" in out
    assert "1 of these: no such recipe, task or setting here; load the module that has it with --import" in out
    assert out.rstrip().endswith(f"to see and remove: derl store prune --store {folder}")

    code, out = run(capsys, "store", "prune", "--store", folder, "--dry-run")
    assert code == 0
    assert "a2c on DeepSea-4" in out
    assert "seed 8: no [luck]" in out
    assert (
        "0 runs of older engines (0:00 of core time), 2 failures and 0 checkpoints of other versions would be removed"
        in out
    )
    # Not while a sweep, perhaps one of that other version, is at work.
    lock = claim(folder)
    code, out = run(capsys, "store", "prune", "--store", folder)
    assert (code, f"another sweep is using {folder}" in out) == (2, True)
    os.close(lock)
    assert len(Store(folder, read_only=True).failures()) == 3
    code, out = run(capsys, "store", "prune", "--store", folder)
    assert "2 failures and 0 checkpoints of other versions removed" in out
    assert Store(folder, read_only=True).failures()["seed"].to_list() == [7]

    # The engine moves on: its runs are old now, and a newer one's would not be.
    monkeypatch.setattr("derl.experiments.pruning.ENGINE", 2)
    code, out = run(capsys, "store", "prune", "--store", folder, "--dry-run")
    assert "engine 1: 2 runs of a2c-count on DeepSea-4" in out
    monkeypatch.setattr("derl.experiments.pruning.ENGINE", 0)
    run(capsys, "store", "prune", "--store", folder)
    assert len(Store(folder, read_only=True).keys()) == 4
    monkeypatch.setattr("derl.experiments.pruning.ENGINE", 2)
    code, out = run(capsys, "store", "prune", "--store", folder)
    assert "4 runs of older engines" in out
    assert not Store(folder, read_only=True).keys()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["sweep"], "needs a file"),
        (["sweep", "nowhere.toml"], "cannot read nowhere.toml"),
        (["sweep", "table-1"], "derl reproduce table-1"),
        (["sweep", SPEC_FILE, "--only", "as-is"], "as-is: every case of this experiment changes a setting"),
        (["reproduce", SPEC_FILE], "is a file, not an experiment of the paper: derl sweep "),
        (["status", "table-1", "--episodes", "50"], "--episodes must be at least 400"),
        (["status", SPEC_FILE, "--seeds", "0-999999"], "and at most 1,000,000 can be"),
        (
            ["store", "--store", "x", "prune"],
            "then --store: derl store export or import or prune",
        ),
        (["sweep", "table1"], "unknown file or experiment 'table1'; did you mean table-1"),
        (["sweep", SPEC_FILE, "--store", ""], "--store is empty; give it a value"),
        (["sweep", SPEC_FILE, "--store="], "--store is empty; give it a value"),
        (["status", ""], "the first argument is empty"),
        (["status", "tabel-1"], "known: beyond, "),
        (["status", "--quick"], "--quick is for an experiment: give its name"),
        (["status", SPEC_FILE, "--quick"], "--quick is for the paper's experiments"),
        (["status", "table-1", "--only", "DeepSea-10", "Hallway-9-9"], "did you mean"),
        (["store"], "needs one of: export FILE, import PATH ..., prune"),
        (["store", "import", __file__, "--quick"], "unrecognized options: --quick (all flags: derl store import"),
        (["report"], "name results with --results"),
        (["status", "--store", "nowhere"], "no results in nowhere"),
        (["store", "export", "x.parquet", "--store", "nowhere"], "no results in nowhere"),
        (["store", "import", "nothing.parquet"], "there is no nothing.parquet"),
        (["store", "import", __file__], "cannot be read as Parquet"),
        (["store", "prune", "--store", "nowhere"], "no results in nowhere"),
        (["store", "prune", "results.parquet"], "unrecognized options: results.parquet"),
        (["store", "imprt", "results.parquet"], "unknown action 'imprt'; known: export, import, prune"),
        (["store", "export"], "needs a file to write"),
        (["store", "import", __file__, "--dry-run"], "unrecognized options: --dry-run"),
        (["store", "prune", "--experiment", "table-1"], "unrecognized options: --experiment"),
        (["status", "--store", __file__], "Not a directory"),
        (["sweep", SPEC_FILE, "--dry-run", "--store", __file__], "Not a directory"),
        (["sweep", SPEC_FILE, "--checkpoint-seconds", "nan"], "--checkpoint-seconds must not be negative"),
        (["sweep", SPEC_FILE, "--workers", "0", "--dry-run"], "at least one worker"),
        (["--import", "wrong", "status"], "cannot import wrong: unknown"),
        (["reproduce", "table-1", "--out", f"{__file__}/out"], "choose another folder with --out"),
        (["reproduce"], "needs an experiment: table-1"),
        (["reproduce", "table-2"], "known: beyond, "),
        (["reproduce", "table-1", "--only", "DeepSea-11"], "did you mean"),
        (["reproduce", "table-1", "--episodes", "0"], "--episodes must be at least 1"),
        (["reproduce", "table-1", "--seeds", "x"], "seeds are a number of them, or which"),
        (["reproduce", "table-1", "--seeds", "1000000000000"], "at most 1,000,000 seeds"),
        (["sweep", SPEC_FILE, "--seeds", "4294967296,1"], "from 0 to 4294967295"),
        (["reproduce", "table-1", "--quick", "--explain"], "--explain needs the whole length"),
    ],
)
def test_mistakes_are_one_line_and_leave_nothing(args, message, capsys, tmp_path, tmp_path_factory, monkeypatch):
    monkeypatch.chdir(tmp_path)
    modules = tmp_path_factory.mktemp("modules")
    (modules / "wrong.py").write_text("import derl\nderl.make('DeepSae-3')\n")
    (modules / "spec.toml").write_text(SPEC)
    monkeypatch.syspath_prepend(modules)
    args = [modules / "spec.toml" if arg == SPEC_FILE else arg for arg in args]
    code, out = run(capsys, *args)
    assert code == 2
    assert message in out
    # Beside what is being read.
    assert len([line for line in out.strip().splitlines() if not line.startswith("reading ")]) == 1
    assert not list(tmp_path.iterdir())


def test_a_file_of_a_similar_name_may_have_been_meant(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lambdas.toml").write_text(SPEC)
    code, out = run(capsys, "sweep", "lambdas")
    assert (code, "lambdas.toml?" in out) == (2, True)


def test_a_file_in_the_place_of_the_jobs_is_named(tmp_path, capsys):
    (tmp_path / "spec.toml").write_text(SPEC)
    (tmp_path / "jobs").write_text("")
    code, out = run(capsys, "sweep", tmp_path / "spec.toml", "--store", tmp_path)
    assert (code, "jobs is no folder: move it away, or choose another with --store" in out) == (2, True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["jobs", "spec.toml"]


def test_a_folder_that_cannot_be_written_is_named(done, capsys, tmp_path):
    (tmp_path / "file").write_text("")
    code, out = run(capsys, "sweep", done / "spec.toml", "--store", tmp_path / "file" / "store")
    assert code == 2
    assert "file/store: Not a directory; choose another folder with --store" in out


def test_workers_are_told_of_modules_also_if_python_calls_the_command(tmp_path, monkeypatch):
    """What counts is what the command was called with, not what the process was."""
    told: list[tuple[str, ...]] = []
    (tmp_path / "mine.py").write_text("")
    (tmp_path / "spec.toml").write_text(SPEC)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("derl.cli.sweep.run_experiment", lambda experiment, running, modules: told.append(modules))
    assert main(["--import", "mine", "sweep", str(tmp_path / "spec.toml")]) == 0
    assert main(["sweep", str(tmp_path / "spec.toml")]) == 0
    assert told == [("mine",), ()]


def test_what_may_not_be_read_is_one_line(capsys, monkeypatch):
    def refuse(args):
        raise PermissionError(13, "Permission denied", "folder/x")

    monkeypatch.setattr("derl.cli.status.main", refuse)
    assert run(capsys, "status") == (2, "derl: error: cannot use folder/x: Permission denied\n")


def test_brackets_in_a_title_are_only_brackets(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spec.toml").write_text('title = "x [/red] y [bold]"\n' + SPEC)
    code, out = run(capsys, "sweep", "spec.toml", "--dry-run")
    assert code == 0
    assert "x [/red] y [bold]" in out


def test_files_of_other_kinds_are_not_replaced(done, tmp_path, capsys):
    """A slip of the hand made Parquet of the file that describes the sweep."""
    spec = tmp_path / "mine.toml"
    spec.write_text("seeds = 1")
    code, out = run(capsys, "store", "export", spec, "--store", done / "store")
    assert (code, "ends in .parquet" in out) == (2, True)
    code, out = run(capsys, "report", "--results", done / "spec.toml", "--out", spec)
    assert (code, "ends in .html" in out) == (2, True)
    assert spec.read_text() == "seeds = 1"


def test_only_nothing_is_refused(done, capsys):
    code, out = run(capsys, "sweep", done / "spec.toml", "--store", done / "store", "--only")
    assert (code, "--only needs tasks, recipes or settings" in out) == (2, True)


def test_the_name_of_an_experiment_is_never_a_file_or_folder(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lambda").write_text(SPEC)
    (tmp_path / "table-1").mkdir()
    for name in ("lambda", "table-1"):
        code, out = run(capsys, "sweep", name)
        assert (code, f"derl reproduce {name}" in out) == (2, True)
        assert ("give its full path" in out) == (name == "lambda")
    code, out = run(capsys, "sweep", tmp_path / "lambda", "--store", tmp_path / "store", "--dry-run")
    assert (code, "0 in the store" in out) == (0, True)
