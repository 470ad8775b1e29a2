"""How far a sweep is, and how long the rest will take."""

import dataclasses
import time
from collections.abc import Sequence

from derl.experiments.planner import Job
from derl.experiments.pool import Worker
from derl.experiments.remaining import COMPILE_SECONDS, Plan


@dataclasses.dataclass(frozen=True)
class SweepProgress:
    """How far a sweep is."""

    runs: int
    """In the whole experiment."""
    done: int
    found: int
    """Of those done, how many were in the store from before."""
    failed: int
    running: tuple[str, ...]
    """What the workers are at."""
    running_runs: int
    """How many of the runs that were left they are at: a job may hold several."""
    steps: int
    total_steps: int
    """Of the jobs that were left; what earlier sittings did of them counts."""
    steps_per_second: float
    """Of this sitting."""
    seconds_left: float


class Pace:
    """What a sweep has done so far, and how long that took beside what was expected."""

    def __init__(self, plan: Plan):
        self.plan, self.begun = plan, time.monotonic()
        self.finished = 0
        """Runs of this sitting."""
        self._total_steps = sum(job.steps for job in plan.jobs)
        self._steps_done, self._steps_here = 0, 0
        self._trained, self._worth = 0.0, 0.0

    def count(self, worker: Worker, job: Job) -> None:
        """A worker has done a job: its runs are in the store."""
        self.finished += len(self.plan.new(job))
        self._steps_done += job.steps
        self._steps_here += job.steps - worker.begun_at
        self._trained += worker.seconds
        self._worth += job.seconds - worker.skipped

    def progress(self, workers: Sequence[Worker], waiting: Sequence[Job], failed: int) -> SweepProgress:
        """How far the sweep is, with what workers are at and which jobs are waiting."""
        # What earlier sittings did of a job says nothing about how fast this one is.
        here = self._steps_here + sum(worker.steps - worker.begun_at for worker in workers)
        jobs = [worker.job for worker in workers if worker.job is not None]
        return SweepProgress(
            runs=self.plan.runs,
            done=self.plan.found + self.finished,
            found=self.plan.found,
            failed=failed,
            running=tuple(job.title for job in jobs),
            running_runs=sum(len(self.plan.new(job)) for job in jobs),
            steps=self._steps_done + sum(worker.steps for worker in workers),
            total_steps=self._total_steps,
            steps_per_second=here / max(time.monotonic() - self.begun, 1e-9),
            seconds_left=self._seconds_left(workers, waiting),
        )

    def _seconds_left(self, workers: Sequence[Worker], waiting: Sequence[Job]) -> float:
        """Expected seconds, not steps, tell how much is left: a step of PPO is not a step of A2C."""
        busy = [worker for worker in workers if worker.job is not None]
        rest = [*(worker.left for worker in busy), *(self.plan.left(job) for job in waiting)]
        trained = self._trained + sum(worker.seconds for worker in busy)
        worth = self._worth + sum(w.job.seconds - w.left - w.skipped for w in busy if w.job is not None)
        compiling = self._to_compile(waiting) / self.plan.workers + any(not w.seconds for w in busy)
        return COMPILE_SECONDS * compiling + seconds_left(rest, self.plan.workers, trained, worth)

    def _to_compile(self, waiting: Sequence[Job]) -> int:
        """How many programs no worker has been given yet."""
        programs, left = self.plan.programs, {job.name for job in waiting}
        wanted = {programs[name] for name in left if name in programs}
        return len(wanted - {program for name, program in programs.items() if name not in left})


def seconds_left(rest: Sequence[float], workers: int, trained: float, worth: float) -> float:
    """How long jobs take that were expected to take `rest`: as long as the longest, or all of them shared out.

    So far workers have trained for so many seconds what was expected to take `worth`; before they have done much of
    it, what was expected is the better guess.
    """
    if not rest:
        return 0.0
    slower = trained / worth if worth > 0.02 * (worth + sum(rest)) else 1.0
    return slower * max(max(rest), sum(rest) / workers)
