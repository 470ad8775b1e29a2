"""What a sweep does when something goes wrong, with training and worker processes that are only pretended."""

import pytest

from derl.core.errors import DerlError
from derl.experiments import jobs
from derl.experiments.jobs import WriteError, execute, halves, job_folder
from derl.experiments.remaining import make_plan
from derl.experiments.store import Store
from derl.experiments.sweep import Sweep
from derl.training.trainer import Trainer
from experiments.pretending import begin, experiment, job_of, pretended, put, results, started


@pytest.fixture
def trained(monkeypatch):
    """Training that takes no time, and saves at its end."""

    def begin(self, runs, folder, **options):
        self.folder, self.cores, self.groups, self._spent, self._since = folder, 1, [[0, 1]], 0.0, 0.0

    def train(self, show):
        self.folder.checkpoint.write_bytes(b"hours of work")
        self.save()
        return results()

    monkeypatch.setattr(Trainer, "__init__", begin)
    monkeypatch.setattr(Trainer, "resume", lambda self: None)
    monkeypatch.setattr(Trainer, "train", train)
    monkeypatch.setattr(Trainer, "save", lambda self: None)


@pytest.mark.parametrize("broken", ["entering", "saving", "describing"])
def test_what_cannot_be_written_is_told_from_what_cannot_be_trained(broken, tmp_path, trained, monkeypatch):
    def refuse(*args):
        raise DerlError("database is locked")

    where = {"entering": (Store, "add"), "saving": (Trainer, "save"), "describing": (jobs, "write_atomically")}[broken]
    monkeypatch.setattr(*where, refuse)
    job = job_of()
    with pytest.raises(WriteError, match="database is locked"):
        execute(tmp_path, job, lambda p: None, 60.0)
    assert broken == "describing" or job_folder(tmp_path, job).checkpoint.read_bytes() == b"hours of work"
    monkeypatch.undo()


def test_a_job_that_another_process_has_is_no_error_in_training(tmp_path, trained):
    """Else it would be tried in halves, and its runs stored as failed."""
    job = job_of()
    folder = job_folder(tmp_path, job)
    folder.path.mkdir(parents=True)
    with folder.held(), pytest.raises(WriteError, match="in use by another process"):
        execute(tmp_path, job, lambda p: None, 60.0)


def test_an_error_in_training_is_no_error_in_writing(tmp_path, trained, monkeypatch):
    def train(self, show):
        raise DerlError("the bonus has no network")

    monkeypatch.setattr(Trainer, "train", train)
    with pytest.raises(DerlError, match="no network") as caught:
        execute(tmp_path, job_of(), lambda p: None, 60.0)
    assert not isinstance(caught.value, WriteError)


def test_what_cannot_be_written_ends_the_sweep_and_keeps_the_job(tmp_path):
    sweep = Sweep(experiment(), tmp_path, workers=1)
    folder = begin(tmp_path, sweep.waiting[0], 1.0)
    worker = pretended(sweep.waiting.pop())
    message = {"error": "cannot write: Disk quota exceeded", "unsaved": True}
    with pytest.raises(DerlError, match=r"quota exceeded; the same command continues"):
        sweep._freed(worker, message)
    sweep._end()
    assert (folder / "checkpoint.safetensors").exists()
    assert len(make_plan(experiment(), tmp_path, 1).jobs[0].members) == 2


@pytest.mark.parametrize(("share", "resumed"), [(0.5, True), (0.25, True), (0.1, False)])
def test_a_begun_job_is_gone_on_with_though_one_of_its_runs_is_stored(share, resumed, tmp_path):
    """Three of four runs are missing: from a quarter on, to go on is less work than to begin them again."""
    job = job_of(4)
    begin(tmp_path, job, share)
    put(tmp_path, job, {0})
    again = make_plan(experiment(4), tmp_path, 1)
    assert ([one.name for one in again.jobs] == [job.name]) == resumed
    assert (again.runs, again.found, sum(len(again.new(one)) for one in again.jobs)) == (4, 1, 3)


def test_a_begun_job_of_which_runs_are_missing_is_not_removed(tmp_path):
    """Interrupted with four seeds, run to its end with one: the other three are still worth their checkpoint."""
    job = job_of(4)
    folder = begin(tmp_path, job, 0.1)
    put(tmp_path, job, {0})
    sweep = Sweep(experiment(1), tmp_path, workers=1)
    assert sweep.run() == {}
    assert folder.exists()
    put(tmp_path, job, {1, 2, 3})
    Sweep(experiment(1), tmp_path, workers=1).run()
    assert not folder.exists()


def test_of_jobs_that_share_runs_the_one_that_saves_most_is_gone_on_with(tmp_path):
    small, large = job_of(1), job_of(2)
    begin(tmp_path, small, 0.9)
    begin(tmp_path, large, 0.1)
    jobs = make_plan(experiment(2), tmp_path, 1).jobs
    assert [(job.name == small.name, [m.seed for m in job.members]) for job in jobs] == [(True, [0]), (False, [1])]


def test_a_run_that_is_stored_counts_once_when_its_job_ends(tmp_path):
    job = job_of(4)
    begin(tmp_path, job, 0.5)
    put(tmp_path, job, {0})
    sweep = Sweep(experiment(4), tmp_path, workers=1)
    worker = pretended(sweep.waiting.pop())
    sweep.workers = [worker]
    # What is stored is not being made either.
    assert (len(sweep.progress().running), sweep.progress().running_runs) == (1, 3)
    sweep._freed(worker, {"done": job.name})
    progress = sweep.progress()
    sweep._end()
    assert (progress.runs, progress.found, progress.done, progress.running_runs) == (4, 1, 4, 0)


def test_a_worker_that_dies_after_its_job_was_stored_is_not_given_it_again(tmp_path, monkeypatch):
    sweep = Sweep(experiment(), tmp_path, workers=1)
    monkeypatch.setattr(sweep, "_start", lambda core: None)
    (job,) = sweep.waiting
    sweep.workers, sweep.waiting = [pretended(job)], []
    put(tmp_path, job, {0, 1})
    sweep._died(sweep.workers[0])
    progress = sweep.progress()
    sweep._end()
    assert (sweep.waiting, progress.done, progress.steps) == ([], 2, progress.total_steps)


def test_a_worker_that_dies_before_its_job_was_stored_has_it_tried_again(tmp_path, monkeypatch):
    sweep = Sweep(experiment(), tmp_path, workers=1)
    monkeypatch.setattr(sweep, "_start", lambda core: None)
    (job,) = sweep.waiting
    sweep.workers, sweep.waiting = [pretended(job)], []
    put(tmp_path, job, {0})
    sweep._died(sweep.workers[0])
    sweep._end()
    assert sweep.waiting == [job]


def test_the_bar_of_a_resumed_job_fills(tmp_path):
    """What was done before counts for how far it is, but not for how fast."""
    sweep = Sweep(experiment(), tmp_path, workers=1)
    (job,) = sweep.waiting
    half = job.steps // 2
    worker = pretended(job, job.steps, half)
    sweep.workers, sweep.waiting, sweep.pace.begun = [worker], [], sweep.pace.begun - 10.0
    before = sweep.progress()
    sweep._freed(worker, {"done": job.name})
    after = sweep.progress()
    sweep._end()
    assert before.steps == after.steps == after.total_steps == job.steps
    assert after.steps_per_second == pytest.approx(half / 10.0, rel=0.05)


def test_a_job_that_cannot_be_done_is_tried_in_halves(tmp_path):
    sweep = Sweep(experiment(5), tmp_path, workers=1)
    whole = sweep.waiting.pop()
    sweep._retry(whole, "no memory")
    assert [[m.seed for m in job.members] for job in sweep.waiting] == [[0, 1, 2], [3, 4]]
    assert sum(job.seconds for job in sweep.waiting) == pytest.approx(whole.seconds)
    for job in halves(sweep.waiting[1], sweep.waiting[1].members):
        sweep._retry(job, "no memory")
    failures = sweep.store.failures()["seed"].to_list()
    sweep._end()
    assert failures == [3, 4]


DEAF = "import signal, sys; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('{}', flush=True); sys.stdin.read()"


def test_a_worker_that_waits_for_its_next_job_ends_when_it_is_told_to():
    """SIGTERM in the last moment of a job is caught and forgotten: the process then waits for another job."""
    worker = started(DEAF)
    assert worker.process.stdout is not None
    worker.process.stdout.readline()
    worker.stop()
    assert worker.process.wait(30) == 0
    worker.wait()


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("os.kill(os.getpid(), 9)", "signal 9, as when memory runs out"),
        ("print('x', file=sys.stderr); os.kill(os.getpid(), 9)", "signal 9, as when memory runs out; its last line: x"),
        ("sys.exit('no such thing')", "exit code 1; its last line: no such thing"),
        ("os._exit(9)", "exit code 9"),
    ],
)
def test_how_a_worker_ended_is_said_beside_what_it_wrote_last(program, words):
    worker = started(f"import os, sys; {program}")
    assert worker.last_words() == words
    worker.wait()
