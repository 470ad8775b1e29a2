"""A sweep: every run of an experiment that is not in the store yet, on all cores, whatever happens on the way."""

import os
import queue
import shutil
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from derl.core.errors import DerlError, require
from derl.core.files import try_lock
from derl.experiments.experiment import Experiment
from derl.experiments.jobs import check_jobs, entry_of, halves, job_folder, set_aside, share_done, tidy
from derl.experiments.machine import accelerator, enough_room, quiet_cores, try_writing
from derl.experiments.planner import Job
from derl.experiments.pool import Event, Worker, check_modules
from derl.experiments.progress import Pace, SweepProgress
from derl.experiments.remaining import make_plan
from derl.experiments.store import Store
from derl.training.signals import stopped_by_signals
from derl.training.trainer import Interrupted

ATTEMPTS = 3
"""How often a job is tried when its worker dies under it."""
PATIENCE = 20.0
"""For how many seconds a sweep waits for a store that another one, or what is left of it, is using."""


class Sweep:
    """Runs a plan with worker processes, one per core."""

    def __init__(
        self,
        experiment: Experiment,
        path: Path | str,
        *,
        workers: int | None = None,
        modules: Sequence[str] = (),
        checkpoint_seconds: float = 60.0,
        show: Callable[[SweepProgress], None] | None = None,
        tell: Callable[[str], None] = lambda text: None,
    ):
        self.path, self.modules, self.checkpoint_seconds = Path(path), tuple(modules), checkpoint_seconds
        self.show = show or (lambda progress: None)
        # Before anything is made: what cannot begin is to leave nothing.
        check_modules(self.modules)
        check_jobs(self.path)
        enough_room(self.path)
        self.store = Store(self.path)
        self._lock = claim(self.path, tell=tell)
        try:
            try_writing(self.path)
            self.store.check_writable()
            self.plan = make_plan(experiment, self.path, workers)
        except BaseException:
            os.close(self._lock)
            self.store.close()
            raise
        self.waiting = list(self.plan.jobs)
        self.attempts: dict[str, tuple[int, float]] = {}
        """By job: how often it was tried without getting further, and how far that is."""
        self.anew: set[str] = set()
        """Single runs that were tried again from their beginning."""
        self.resumed: set[str] = set()
        """Jobs that were tried again from their checkpoint, after an error."""
        self.idle_deaths = 0
        self.unsaved = ""
        self.failed: dict[str, str] = {}
        self.pace = Pace(self.plan)
        self.events: queue.Queue[Event] = queue.Queue()
        self.workers: list[Worker] = []
        self._stop = threading.Event()
        self._shown = 0.0

    def run(self) -> dict[str, str]:
        """Run everything that is left; the value is what failed, with the reason. Ctrl-C raises `Interrupted`."""
        with stopped_by_signals(self._stop):
            try:
                self._tidy()
                count = min(self.plan.workers, len(self.waiting))
                cores = quiet_cores(count) if accelerator() is None else []
                for core in cores or ["any"] * count:
                    self._start(str(core))
                while self._busy() and not self._stop.is_set():
                    self._handle()
                self._tidy()
            finally:
                self._end()
        if self._stop.is_set():
            raise Interrupted(self._farewell())
        return self.failed

    def _farewell(self) -> str:
        """What is said of a sweep that was stopped, when all workers have ended and it is known what they saved."""
        done = f"interrupted with {self.plan.found + self.pace.finished} of {self.plan.runs} runs done"
        if self.unsaved:
            return f"{done}; what was trained since the last checkpoint is lost: {self.unsaved}"
        return f"{done}, all saved; continue with the same command"

    def _busy(self) -> bool:
        return bool(self.waiting) or any(worker.job is not None for worker in self.workers)

    def _start(self, core: str) -> None:
        worker = Worker(self.path, core, self.checkpoint_seconds, self.modules, self._lock, self.events)
        self.workers.append(worker)

    def _handle(self) -> None:
        try:
            event = self.events.get(timeout=0.5)
        except queue.Empty:
            return
        worker, message = event
        if worker not in self.workers:
            return
        if message is None:
            self._died(worker)
        elif "steps" in message:
            worker.heard(message["steps"])
        else:
            self._freed(worker, message)
            self._shown = 0.0
        # Workers report several times a second each: the display need not follow all of it.
        if time.monotonic() - self._shown > 0.5:
            self._shown = time.monotonic()
            self.show(self.progress())

    def _freed(self, worker: Worker, message: dict[str, Any]) -> None:
        """A worker has begun, or ended its job well or badly: it takes the next one."""
        job = worker.job
        if "done" in message and job is not None:
            self.pace.count(worker, job)
        elif "error" in message and job is not None:
            # If nothing can be written the next job would fail as well, and what is saved of this one is worth keeping.
            require(not message.get("unsaved"), f"{message['error']}; the same command continues from here")
            self._failed(job, message["error"])
        else:
            self.idle_deaths = 0
        worker.free()
        self._next()

    def _next(self) -> None:
        """Give every worker that has nothing to do the next job."""
        for worker in self.workers:
            if worker.ready and worker.job is None and self.waiting:
                worker.give(self.waiting.pop(0))

    def _failed(self, job: Job, error: str) -> None:
        """A job ended with an error: where it was saved on the way it is tried once more from there, for the machine
        may have been out of memory."""
        if job.name in self.resumed or not share_done(self.path, job):
            self._retry(job, error)
            return
        self.resumed.add(job.name)
        self.waiting.insert(0, job)

    def _retry(self, job: Job, error: str) -> None:
        """Try the runs of a job that cannot be done in two halves: one of them, or all together, may be at fault."""
        # If it is the disk, the next job would fail as well, and its checkpoint is worth keeping.
        enough_room(self.path)
        folder = job_folder(self.path, job)
        if len(job.members) > 1:
            shutil.rmtree(folder.path, ignore_errors=True)
            self.waiting += halves(job, self.plan.new(job))
        elif job.name not in self.anew and set_aside(folder):
            # The checkpoint it began from may be the reason: once more, from the beginning.
            self.anew.add(job.name)
            self.attempts.pop(job.name, None)
            self.waiting.insert(0, job)
        else:
            self._give_up(job, error)

    def _died(self, worker: Worker) -> None:
        """Replace a worker that died, and have its job tried again where its checkpoint left it."""
        self.workers.remove(worker)
        words, job = worker.last_words(), worker.job
        worker.wait()
        if job is None:
            self.idle_deaths += not worker.ready
            require(self.idle_deaths < ATTEMPTS, f"worker processes die before they begin: {words}")
        elif self.store.keys() >= {member.key for member in job.members}:
            # It died when all was done, before it could say so.
            self.pace.count(worker, job)
        else:
            # Who gets further each time is not to blame: somebody else kills it.
            tries, reached = self.attempts.get(job.name, (0, 0.0))
            share = share_done(self.path, job)
            self.attempts[job.name] = (1 if share > reached else tries + 1, share)
            if self.attempts[job.name][0] < ATTEMPTS:
                self.waiting.insert(0, job)
            else:
                self._retry(job, f"its process died {ATTEMPTS} times ({words})")
        if self.waiting:
            self._start(worker.core)
            self._next()

    def _give_up(self, job: Job, error: str) -> None:
        self.store.add_failures([entry_of(member) for member in job.members], error)
        self.failed |= {member.key: error for member in job.members}

    def _tidy(self) -> None:
        tidy(self.path, self.store.keys())

    def progress(self) -> SweepProgress:
        """How far it is."""
        return self.pace.progress(self.workers, self.waiting, len(self.failed))

    def _end(self) -> None:
        """Have all workers save and end."""
        for worker in self.workers:
            worker.stop()
        for worker in self.workers:
            worker.wait()
        while not self.events.empty():
            worker, message = self.events.get()
            if message is not None and message.get("unsaved"):
                self.unsaved = message["error"]
            elif message is not None and "done" in message and worker.job is not None:
                # It ended while the sweep did.
                self.pace.count(worker, worker.job)
                worker.job = None
        if not self.unsaved and any(worker.job is not None and not worker.saved for worker in self.workers):
            self.unsaved = "a worker process did not end by itself"
        os.close(self._lock)
        self.store.close()


def claim(path: Path, patience: float = PATIENCE, tell: Callable[[str], None] = lambda text: None) -> int:
    """Keep other sweeps out of a store until this one and its workers have ended; the value is a file descriptor.

    Workers inherit it. If an earlier sweep was killed, its workers are given time to save what they have.
    """
    begun, told = time.monotonic(), False
    while (handle := try_lock(path)) is None:
        waited = time.monotonic() - begun
        if waited > patience:
            raise DerlError(f"another sweep is using {path}; wait for it, or choose another with --store")
        if waited > 1 and not told:
            tell(f"{path} is in use: waiting up to {patience:.0f} seconds, in case a stopped sweep is still saving")
            told = True
        time.sleep(0.2)
    return handle
