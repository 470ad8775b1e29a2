"""What a sweep does about processes that are killed, talk nonsense or hang, damaged files, and folders of others."""

import importlib
import json
import os
import queue
import sqlite3
import time

import numpy as np
import pytest
from polars.testing import assert_frame_equal

from derl.core.errors import DerlError
from derl.core.files import try_lock
from derl.experiments.jobs import begun_jobs, execute, job_folder, outdated_jobs, to_data
from derl.experiments.pool import Worker
from derl.experiments.progress import seconds_left
from derl.experiments.pruning import leftovers, prune
from derl.experiments.store import Store
from derl.experiments.sweep import ATTEMPTS, Sweep, claim
from derl.experiments.worker import place_of
from derl.training.checkpoint import read_attached, read_metadata, save_checkpoint
from derl.training.trainer import Interrupted
from experiments.pretending import begin, experiment, job_of, pretended, put, started


def test_folders_that_are_no_jobs_are_left_alone(tmp_path):
    """A store may lie in a folder that has a jobs/ of somebody else's."""
    mine = tmp_path / "jobs" / "slurm"
    mine.mkdir(parents=True)
    (mine / "notes.txt").write_text("weeks of work")
    lookalike = tmp_path / "jobs" / "0123456789abcdef"
    lookalike.mkdir()
    (lookalike / "data.bin").write_bytes(b"x")
    sweep = Sweep(experiment(), tmp_path, workers=1)
    sweep._tidy()
    sweep._end()
    prune(Store(tmp_path), leftovers(Store(tmp_path)))
    assert (mine / "notes.txt").exists()
    assert (lookalike / "data.bin").exists()


def test_jobs_of_other_versions_stay_until_they_are_pruned(tmp_path):
    """Another sweep in the same store must not take a checkpoint that another version, or a module, can resume."""
    job = job_of()
    unknown, other = to_data(job), to_data(job)
    unknown["members"][0][2], other["members"][0][0] = "Labyrinth-3", "an older version's address"
    for name, data in (("0" * 16, unknown), ("1" * 16, other)):
        (tmp_path / "jobs" / name).mkdir(parents=True)
        (tmp_path / "jobs" / name / "job.json").write_text(json.dumps(data))
    sweep = Sweep(experiment(), tmp_path, workers=1)
    sweep._tidy()
    sweep._end()
    assert sorted(folder.name for folder in (tmp_path / "jobs").iterdir()) == ["0" * 16, "1" * 16]
    found = leftovers(Store(tmp_path))
    assert [folder.name for folder in found.jobs] == ["1" * 16]
    prune(Store(tmp_path), found)
    # What names a task that is not loaded here is somebody's who loads it.
    assert [folder.name for folder in (tmp_path / "jobs").iterdir()] == ["0" * 16]
    assert outdated_jobs(tmp_path) == []


def test_traces_of_a_job_whose_runs_are_stored_are_removed(tmp_path):
    job = job_of()
    folder = begin(tmp_path, job, 0.5)
    put(tmp_path, job, {0, 1})
    sweep = Sweep(experiment(5), tmp_path, workers=1)
    sweep._tidy()
    sweep._end()
    assert not folder.exists()


def test_a_folder_with_the_description_of_another_job_is_kept(tmp_path):
    """Somebody has put a job's traces aside, under a name of their own."""
    job = job_of()
    aside = begin(tmp_path, job, 0.5).rename(tmp_path / "jobs" / "before-the-change")
    put(tmp_path, job, {0, 1})
    sweep = Sweep(experiment(5), tmp_path, workers=1)
    sweep._tidy()
    sweep._end()
    assert aside.exists()
    # Nor is it gone on with: its checkpoint is not where the job would look for it.
    assert list(begun_jobs(tmp_path)) == []


def test_a_worker_keeps_the_store_locked_though_the_sweep_is_gone(tmp_path):
    lock = try_lock(tmp_path)
    assert lock is not None
    events: queue.Queue = queue.Queue()
    worker = Worker(tmp_path, "any", 60.0, [], lock, events)
    assert events.get(timeout=120) == (worker, {"ready": True})
    # As if this process had been killed.
    os.close(lock)
    assert try_lock(tmp_path) is None
    worker.stop()
    worker.wait()
    again = try_lock(tmp_path)
    assert again is not None
    os.close(again)


def deaths(tmp_path, monkeypatch, shares):
    """A sweep of one job whose worker dies once after each of these shares of it."""
    sweep = Sweep(experiment(), tmp_path, workers=1)
    monkeypatch.setattr(sweep, "_start", lambda core: None)
    (job,) = sweep.waiting
    folder = begin(tmp_path, job, 0.0)
    iterations = job.steps // len(job.members) // job.members[0].config.algorithm().steps_per_iteration
    for share in shares:
        save_checkpoint(folder / "checkpoint.safetensors", {"x": np.zeros(1)}, {"clock": round(share * iterations)})
        sweep.workers, sweep.waiting = [pretended(job)], []
        sweep._died(sweep.workers[0])
    sweep._end()
    return sweep, job, folder


def test_a_job_that_gets_further_each_time_is_not_given_up(tmp_path, monkeypatch):
    """Somebody kills it now and then: nothing is wrong with it, and hours are in its checkpoint."""
    sweep, job, folder = deaths(tmp_path, monkeypatch, [i / 20 for i in range(1, 5 * ATTEMPTS)])
    assert sweep.waiting == [job]
    assert folder.exists()


def test_a_job_that_gets_no_further_is_tried_in_halves(tmp_path, monkeypatch):
    sweep, _, folder = deaths(tmp_path, monkeypatch, [0.3] * ATTEMPTS)
    assert [len(job.members) for job in sweep.waiting] == [1, 1]
    assert not folder.exists()


def test_after_an_error_a_job_is_tried_once_more_from_its_checkpoint(tmp_path):
    """Memory may have been short for a moment: hours of all its runs are not thrown away at once."""
    sweep = Sweep(experiment(), tmp_path, workers=1)
    (job,) = sweep.waiting
    folder = begin(tmp_path, job, 0.5)
    sweep.waiting = []
    sweep._failed(job, "out of memory")
    assert sweep.waiting == [job]
    assert (folder / "checkpoint.safetensors").exists()
    sweep.waiting = []
    sweep._failed(job, "out of memory")
    assert [len(half.members) for half in sweep.waiting] == [1, 1]
    # A half has nothing saved yet: it is not tried twice from its beginning.
    half = sweep.waiting.pop()
    sweep.waiting = []
    sweep._failed(half, "out of memory")
    assert (sweep.waiting, list(sweep.failed)) == ([], [half.members[0].key])
    sweep._end()


def test_before_a_run_is_given_up_it_is_tried_from_its_beginning(tmp_path):
    """Its checkpoint may be the reason, in a way that no checksum tells."""
    sweep = Sweep(experiment(1), tmp_path, workers=1)
    (job,) = sweep.waiting
    folder = begin(tmp_path, job, 0.5)
    sweep.waiting = []
    sweep._retry(job, "its process died")
    assert (sweep.waiting, sweep.failed) == ([job], {})
    assert not (folder / "checkpoint.safetensors").exists()
    # Once: what fails again has a new checkpoint by then, and would be tried for ever.
    save_checkpoint(folder / "checkpoint.safetensors", {"x": np.zeros(1)}, {"clock": 1})
    sweep.waiting = []
    sweep._retry(job, "its process died")
    assert sweep.waiting == []
    sweep._end()
    assert list(sweep.failed.values()) == ["its process died"]


def test_idle_workers_may_die(tmp_path, monkeypatch):
    sweep = Sweep(experiment(), tmp_path, workers=1)
    monkeypatch.setattr(sweep, "_start", lambda core: None)
    sweep.waiting = []
    for _ in range(2 * ATTEMPTS):
        sweep.workers = [pretended(None)]
        sweep._died(sweep.workers[0])
    unready = [pretended(None) for _ in range(ATTEMPTS)]
    for worker in unready:
        worker.ready = False
    sweep.workers = list(unready)
    for worker in unready[:-1]:
        sweep._died(worker)
    with pytest.raises(DerlError, match="die before they begin"):
        sweep._died(unready[-1])
    sweep._end()


NOISY = """import json, sys
print("welcome to the cluster")
print([1, 2])
print(json.dumps({"ready": True}))
sys.stdin.read()"""


def test_what_is_no_message_is_not_taken_for_one():
    worker = started(NOISY)
    worker.process.stdin.close()
    Worker._listen(worker)
    assert [message for _, message in list(worker._events.queue)] == [{"ready": True}, None]
    assert worker.last_words() == "exit code 0; its last line: [1, 2]"
    worker.wait()


def test_a_worker_that_closes_its_output_and_hangs_is_ended(monkeypatch):
    monkeypatch.setattr("derl.experiments.pool.PATIENCE", 0.2)
    worker = started("import os, sys, time; os.close(1); time.sleep(600)")
    begun = time.monotonic()
    assert worker.last_words().startswith("signal 9")
    assert time.monotonic() - begun < 60
    worker.wait()


@pytest.mark.parametrize("damage", ["gone", "other bytes", "empty"])
def test_results_beside_a_checkpoint_may_be_damaged(tmp_path, damage):
    """The checkpoint holds them itself, with a checksum."""
    job, alone, hurt = job_of(), tmp_path / "alone", tmp_path / "hurt"
    execute(alone, job, lambda p: None, 60.0)

    def stop(progress):
        if progress.steps >= job.steps / 2:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError):
        execute(hurt, job, stop, 0.0)
    folder = job_folder(hurt, job)
    assert read_metadata(folder.checkpoint)["rows"] > 0
    assert read_attached(folder.checkpoint) == folder.results.read_bytes()
    if damage == "gone":
        folder.results.unlink()
    else:
        folder.results.write_bytes(b"PAR1" + bytes(400) + b"PAR1" if damage == "other bytes" else b"")
    shown = []
    execute(hurt, job, lambda p: shown.append(p.steps), 60.0)
    assert min(shown) > job.steps / 4  # It was gone on with.
    frames = [Store(path, read_only=True).frame().drop("seconds") for path in (alone, hurt)]
    assert_frame_equal(*frames, check_exact=True)


def test_what_was_not_saved_is_said_when_a_sweep_is_stopped(tmp_path):
    sweep = Sweep(experiment(), tmp_path, workers=1)
    worker = pretended(sweep.waiting.pop())
    sweep.workers = [worker]
    sweep._stop.set()
    worker.stop = lambda: sweep.events.put((worker, {"error": "no space left", "unsaved": True}))
    with pytest.raises(Interrupted, match=r"0 of 2 runs done; what was trained since .* is lost: no space left"):
        sweep.run()
    again = Sweep(experiment(), tmp_path, workers=1)
    again._stop.set()
    again.waiting = []
    with pytest.raises(Interrupted, match=r"0 of 2 runs done, all saved"):
        again.run()


def test_a_job_that_ends_while_the_sweep_does_is_counted(tmp_path):
    sweep = Sweep(experiment(), tmp_path, workers=1)
    worker = pretended(sweep.waiting.pop())
    sweep.workers = [worker]
    sweep._stop.set()
    worker.stop = lambda: sweep.events.put((worker, {"done": True}))
    with pytest.raises(Interrupted, match=r"2 of 2 runs done, all saved"):
        sweep.run()


@pytest.mark.parametrize(("code", "saved"), [(0, True), (130, True), (-15, True), (-9, False), (1, False)])
def test_who_ended_as_asked_has_saved(tmp_path, code, saved):
    """A worker that is told to end while it compiles ends by the signal itself, and has lost nothing."""
    sweep = Sweep(experiment(), tmp_path, workers=1)
    worker = pretended(sweep.waiting.pop())
    worker.process.returncode = code
    sweep.workers = [worker]
    sweep._stop.set()
    with pytest.raises(Interrupted) as told:
        sweep.run()
    assert ("all saved" in str(told.value)) == saved


def test_a_store_that_cannot_be_written_is_noticed_before_any_work(tmp_path, monkeypatch):
    Store(tmp_path).close()
    holder = Store(tmp_path)
    monkeypatch.setattr(Store, "_writing", property(lambda self: read_only(tmp_path)))
    with pytest.raises(DerlError, match="readonly database"):
        Sweep(experiment(), tmp_path, workers=1)
    holder.close()


def read_only(store):
    return sqlite3.connect(f"file:{store / 'runs.sqlite'}?mode=ro", uri=True, isolation_level=None)


@pytest.mark.parametrize(
    ("rest", "workers", "trained", "worth", "seconds"),
    [
        ([], 2, 10.0, 10.0, 0.0),
        ([37.5, 14.0], 16, 0.0, 0.0, 37.5),  # The longest job decides, however many workers there are.
        ([37.5, 14.0], 1, 0.0, 0.0, 51.5),
        ([23.5], 2, 28.0, 28.0, 23.5),  # Two jobs were trained for 14 s each; one is left.
        ([10.0] * 8, 2, 40.0, 20.0, 80.0),  # All takes twice what was expected.
        ([100.0], 1, 5.0, 0.1, 100.0),  # Too little was done to tell.
    ],
)
def test_how_long_the_rest_takes(rest, workers, trained, worth, seconds):
    assert seconds_left(rest, workers, trained, worth) == pytest.approx(seconds)


def test_a_run_that_trains_more_than_its_budget_leaves_nothing():
    """A single rollout may be longer than all that was asked for: then less than nothing seemed left."""
    job = job_of()
    assert pretended(job, 5 * job.steps).left == 0
    assert pretended(job, 5 * job.steps, begun_at=5 * job.steps).skipped == job.seconds
    assert pretended(job, job.steps // 4).left == pytest.approx(job.seconds * 3 / 4)


def test_a_sweep_that_cannot_begin_gives_the_store_back(tmp_path, monkeypatch):
    """In a notebook the process lives on, and with it the lock."""
    sweep = Sweep(experiment(), tmp_path, workers=1)

    def fail():
        raise DerlError("no luck")

    monkeypatch.setattr(sweep, "_tidy", fail)
    with pytest.raises(DerlError, match="no luck"):
        sweep.run()
    os.close(claim(tmp_path, patience=0.0))


def test_an_error_is_told_with_the_line_of_the_users_module(tmp_path, monkeypatch):
    (tmp_path / "faulty_bonus.py").write_text("import json\n\n\ndef reward(text):\n    return json.loads(text)\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ValueError, match="Expecting") as caught:
        importlib.import_module("faulty_bonus").reward("{")
    assert place_of(caught.value, ["faulty_bonus", "missing"]) == "faulty_bonus.py, line 5"
    assert place_of(caught.value, []).startswith("decoder.py, line ")
