"""A sweep gives the same numbers whatever happens on the way: processes killed, stopped and started again."""

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from polars.testing import assert_frame_equal

from derl.core.errors import DerlError
from derl.experiments.experiment import from_data, read_experiment
from derl.experiments.jobs import begun_jobs, execute, job_folder, to_data
from derl.experiments.planner import members_of, plan
from derl.experiments.pool import Worker
from derl.experiments.remaining import make_plan
from derl.experiments.store import Store
from derl.experiments.sweep import Sweep, claim
from derl.training.trainer import Interrupted
from derl.training.version import code_version

SPEC = """
tasks = ["DeepSea-4"]
recipes = RECIPES
seeds = 3
[protocol]
episodes = EPISODES
evaluate_every = EVERY
"""


def write_spec(folder: Path, recipes: list[str], episodes: int) -> Path:
    path, text = folder / "spec.toml", SPEC.replace("RECIPES", json.dumps(recipes))
    path.write_text(text.replace("EPISODES", str(episodes)).replace("EVERY", str(episodes // 20)))
    return path


def experiment(episodes: int = 200, recipes: tuple[str, ...] = ("a2c-count",)):
    data = {"tasks": ["DeepSea-4"], "recipes": list(recipes), "seeds": 2}
    return from_data({**data, "protocol": {"episodes": episodes, "evaluate_every": 50}}, "small")


def start(spec: Path, store: Path) -> subprocess.Popen:
    command = [sys.executable, "-m", "derl", "sweep", str(spec), "--store", str(store), "--workers", "2"]
    with open(spec.with_suffix(".log"), "a") as log:
        return subprocess.Popen([*command, "--checkpoint-seconds", "0.5"], stdout=log, stderr=log)


def workers_of(process: subprocess.Popen) -> list[int]:
    """The worker processes of a sweep."""
    children = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True).stdout
    return [int(pid) for pid in children.split()]


def count_entries(store: Path) -> None:
    """Have the database itself note every attempt to enter a run."""
    Store(store).close()
    db = sqlite3.connect(store / "runs.sqlite")
    db.execute("CREATE TABLE entered (key TEXT)")
    db.execute("CREATE TRIGGER note BEFORE INSERT ON runs BEGIN INSERT INTO entered VALUES (NEW.key); END")
    db.commit()
    db.close()


def entered(store: Path) -> list[str]:
    db = sqlite3.connect(store / "runs.sqlite")
    return [key for (key,) in db.execute("SELECT key FROM entered")]


def results(store: Path):
    """All numbers of a store, but for how long they took."""
    return Store(store, read_only=True).frame().drop("seconds")


def survive(tmp_path: Path, recipes: list[str], episodes: int, kills: int, seed: int) -> None:
    """Kill a sweep and its workers at random, begin again each time, and compare with one left alone."""
    spec, alone, killed = write_spec(tmp_path, recipes, episodes), tmp_path / "alone", tmp_path / "killed"
    assert Sweep(read_experiment(spec), alone, workers=2).run() == {}
    count_entries(killed)
    rng = random.Random(seed)
    for i in range(kills):
        process = start(spec, killed)
        deadline = time.monotonic() + 120
        while not workers_of(process) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        # Not before a job is under way, else there is nothing to lose.
        while not list(killed.glob("jobs/*/checkpoint.safetensors")) and process.poll() is None:
            time.sleep(0.05)
        time.sleep(rng.uniform(0.0, 1.0))
        assert process.poll() is None, "the sweep ended before it could be killed: give it more to do"
        victims = workers_of(process) if i % 2 else [process.pid]
        for pid in victims[:1]:
            os.kill(pid, signal.SIGKILL)
        if i % 2:
            # The sweep replaces the worker and goes on; it is stopped here to begin the next round.
            time.sleep(1.0)
            process.send_signal(signal.SIGINT)
        process.wait(120)
    assert start(spec, killed).wait(600) == 0, spec.with_suffix(".log").read_text()
    a, b = (results(path) for path in (alone, killed))
    assert len(a) == 20 * len(read_experiment(spec).members())
    assert_frame_equal(a, b, check_exact=True)
    keys = entered(killed)
    assert sorted(keys) == sorted(set(keys))
    assert not list((killed / "jobs").glob("*"))


def test_a_killed_sweep_ends_as_one_left_alone(tmp_path):
    # Seconds of training, so that a quick machine is not done before it is killed.
    survive(tmp_path, ["a2c-count"], episodes=200_000, kills=2, seed=0)


@pytest.mark.slow
def test_ten_kills_at_random_moments(tmp_path):
    survive(tmp_path, ["a2c-count", "dea2c-count"], episodes=100_000, kills=10, seed=1)


def test_nothing_is_run_twice(tmp_path):
    first = Sweep(experiment(), tmp_path, workers=1)
    assert first.run() == {}
    again = make_plan(experiment(), tmp_path, 1)
    assert (again.found, again.jobs) == (2, ())
    wider = make_plan(experiment(recipes=("a2c-count", "a2c")), tmp_path, 1)
    assert wider.found == 2
    assert sum(len(job.members) for job in wider.jobs) == 2


def test_a_begun_job_is_gone_on_with_from_its_checkpoint(tmp_path):
    """What the checkpoint holds is used: a job whose clock is at the end trains no more."""
    whole = experiment(400)
    job = plan(members_of(whole.members()), workers=1)[0]
    shown: list[int] = []

    def stop_halfway(progress) -> None:
        # Once: a second signal would not be caught.
        if progress.steps >= job.steps / 2 > max(shown, default=0):
            os.kill(os.getpid(), signal.SIGTERM)
        shown.append(progress.steps)

    with pytest.raises(Interrupted):
        execute(tmp_path, job, stop_halfway, 0.0)
    assert make_plan(whole, tmp_path, 1).jobs[0].name == job.name
    rest: list[int] = []
    execute(tmp_path, job, lambda p: rest.append(p.steps), 60.0)
    assert min(rest) >= max(shown) > 0
    other = tmp_path / "other"
    execute(other, job, lambda p: None, 60.0)
    assert_frame_equal(results(tmp_path), results(other), check_exact=True)


def test_time_spent_before_a_kill_counts(tmp_path):
    """What kill -9 leaves is what lies on the disk: a copy of it, made on the way, is gone on with elsewhere."""
    job = plan(members_of(experiment(400).members()), workers=1)[0]
    alone, killed = tmp_path / "alone", tmp_path / "killed"
    shown: list[int] = []

    def sleep_and_copy(progress) -> None:
        shown.append(progress.steps)
        if len(shown) == 1:
            time.sleep(3.0)
        elif not killed.exists():
            # The checkpoint after the first piece, sleep included, is on the disk.
            shutil.copytree(alone / "jobs", killed / "jobs")

    execute(alone, job, sleep_and_copy, 0.0)
    before = job_folder(killed, job).core_seconds()
    assert before > 3.0
    execute(killed, job, lambda p: None, 60.0)
    assert sum(run.seconds for run in Store(killed, read_only=True).entries()) > before


def test_a_damaged_checkpoint_costs_time_not_results(tmp_path):
    whole = experiment(100)
    job = plan(members_of(whole.members()), workers=1)[0]
    folder = job_folder(tmp_path, job)
    folder.path.mkdir(parents=True)
    folder.checkpoint.write_bytes(b"not a checkpoint")
    execute(tmp_path, job, lambda p: None, 60.0)
    assert len(Store(tmp_path).keys()) == 2
    assert {entry.version for entry in Store(tmp_path).entries()} == {code_version()}


@pytest.mark.slow
def test_a_job_that_kills_its_worker_is_reported_and_the_rest_goes_on(tmp_path, monkeypatch):
    """A module that workers load makes every DeepSea-3 run end its process."""
    (tmp_path / "deadly.py").write_text(
        "import os\nimport __main__ as worker\nold = worker.execute\n"
        "def execute(store, job, *args):\n"
        "    if job.members[0].case.task == 'DeepSea-3':\n        os._exit(9)\n    old(store, job, *args)\n"
        "worker.execute = execute\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    data = {"tasks": ["DeepSea-3", "DeepSea-4"], "recipes": ["a2c"], "seeds": 1}
    whole = from_data({**data, "protocol": {"episodes": 50, "evaluate_every": 50}}, "deadly")
    sweep = Sweep(whole, tmp_path / "store", workers=1, modules=["deadly"])
    failed = sweep.run()
    assert len(failed) == 1
    assert "died 3 times (exit code 9)" in next(iter(failed.values()))
    store = Store(tmp_path / "store")
    assert store.frame()["task"].unique().to_list() == ["DeepSea-4"]
    assert store.failures()["task"].to_list() == ["DeepSea-3"]


def test_workers_that_cannot_begin_end_the_sweep(tmp_path, monkeypatch):
    """A module that is there, but not whole: only whoever loads it can tell."""
    (tmp_path / "halfway.py").write_text("import no_such_module\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(DerlError, match=r"die before they begin.*No module named"):
        Sweep(experiment(), tmp_path / "store", workers=1, modules=["halfway"]).run()


def test_one_sweep_at_a_time(tmp_path):
    handle = claim(tmp_path)
    with pytest.raises(DerlError, match="another sweep is using"):
        claim(tmp_path, patience=0.3)
    told = []
    with pytest.raises(DerlError, match="another sweep is using"):
        claim(tmp_path, patience=1.5, tell=told.append)
    assert len(told) == 1
    assert "waiting up to" in told[0]
    os.close(handle)
    os.close(claim(tmp_path))


def test_a_full_disk_is_noticed_before_any_work(tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda path: type("Usage", (), {"free": 1000})())
    with pytest.raises(DerlError, match="left on the disk"):
        Sweep(experiment(), tmp_path / "deep" / "store")
    assert not list(tmp_path.iterdir())


def test_a_disk_that_fills_up_ends_the_sweep_and_keeps_what_is_saved(tmp_path, monkeypatch):
    """Else every job would be trained to its first checkpoint, fail, and be tried again run by run."""
    sweep = Sweep(experiment(), tmp_path, workers=1)
    folder = job_folder(tmp_path, sweep.waiting[0])
    folder.path.mkdir(parents=True)
    monkeypatch.setattr("shutil.disk_usage", lambda path: type("Usage", (), {"free": 1000})())
    with pytest.raises(DerlError, match=r"left on the disk.*make room"):
        sweep._retry(sweep.waiting[0], "cannot write: No space left on device")
    assert folder.path.exists()
    assert len(sweep.store.failures()) == 0
    sweep._end()


ORPHAN = """
import json, os, subprocess, sys
command = [sys.executable, "-m", "derl.experiments.worker", sys.argv[1], "any", "600"]
worker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
worker.stdin.write(sys.argv[2] + chr(10))
worker.stdin.flush()
for line in worker.stdout:
    if "steps" in json.loads(line):
        os._exit(0)
"""


@pytest.mark.slow
def test_a_worker_saves_when_whoever_started_it_is_gone(tmp_path):
    """Checkpoints are ten minutes apart: what is there was saved because the parent, which did not wait, had died."""
    job = plan(members_of(experiment(400_000).members()), workers=1)[0]
    subprocess.run([sys.executable, "-c", ORPHAN, str(tmp_path), json.dumps(to_data(job))], check=True, timeout=200)
    deadline = time.monotonic() + 60
    while not job_folder(tmp_path, job).checkpoint.exists() and time.monotonic() < deadline:
        time.sleep(0.2)
    assert [begun.name for begun in begun_jobs(tmp_path)] == [job.name]


def test_runs_that_two_sweeps_have_begun_are_gone_on_with_once(tmp_path):
    """Interrupted whole, then interrupted with fewer seeds, then begun whole again."""
    whole, part = experiment(), experiment().narrowed(seeds=[0])
    for one in (whole, part):
        job = plan(members_of(one.members()), workers=1)[0]
        folder = job_folder(tmp_path, job)
        folder.path.mkdir(parents=True)
        folder.checkpoint.write_bytes(b"")
        (folder.path / "job.json").write_text(json.dumps(to_data(job)))
    again = make_plan(whole, tmp_path, 1)
    assert sorted(m.key for job in again.jobs for m in job.members) == sorted(m.key for m in again.members)
    assert again.found == 0


@pytest.mark.slow
def test_a_users_prints_do_not_disturb_the_sweep(tmp_path, monkeypatch):
    (tmp_path / "noisy.py").write_text("print(1)\nprint('.', end='')\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert Sweep(experiment(50), tmp_path / "store", workers=1, modules=["noisy"]).run() == {}


@pytest.mark.slow
def test_a_population_that_cannot_be_trained_together_is_tried_one_by_one(tmp_path, monkeypatch):
    """A module that workers load lets only single runs through."""
    (tmp_path / "lonely.py").write_text(
        "import __main__ as worker\nold = worker.execute\n"
        "def execute(store, job, *args):\n"
        "    if len(job.members) > 1:\n        raise RuntimeError('RESOURCE_EXHAUSTED [a, b]')\n"
        "    old(store, job, *args)\n"
        "worker.execute = execute\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert Sweep(experiment(50), tmp_path / "store", workers=1, modules=["lonely"]).run() == {}
    assert len(Store(tmp_path / "store").keys()) == 2


def test_a_sweep_that_cannot_begin_leaves_the_store_free(tmp_path):
    with pytest.raises(DerlError, match="at least one worker"):
        Sweep(experiment(), tmp_path, workers=0)
    os.close(claim(tmp_path, patience=0.1))


def test_the_time_left_counts_only_what_this_sitting_did(tmp_path):
    """A job resumed at nine tenths has a tenth left, whatever that took before."""
    sweep = Sweep(experiment(), tmp_path, workers=1)
    (job,) = sweep.waiting
    sweep.waiting = []
    worker = object.__new__(Worker)
    worker.job, worker.steps, worker.begun_at, worker._began = job, 0, 0, None
    worker.heard(int(job.steps * 0.9))
    worker._began = time.monotonic() - 10.0
    worker.heard(int(job.steps * 0.95))
    sweep.workers = [worker]
    left = sweep.progress().seconds_left
    sweep.workers = []
    sweep._end()
    assert left == pytest.approx(10.0, rel=0.05)
