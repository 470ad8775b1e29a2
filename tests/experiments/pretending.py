"""Small experiments, what interrupted ones leave, and worker processes that are only pretended."""

import json
import queue
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl

from derl.experiments.experiment import Experiment, from_data
from derl.experiments.jobs import entry_of, job_folder, to_data
from derl.experiments.planner import Job, members_of, plan
from derl.experiments.pool import Worker
from derl.experiments.store import Store
from derl.training.checkpoint import save_checkpoint


@cache
def experiment(seeds: int = 2) -> Experiment:
    if seeds < 5:
        return experiment(5).narrowed(seeds=range(seeds))
    data = {"tasks": ["DeepSea-4"], "recipes": ["a2c-count"], "seeds": seeds}
    return from_data({**data, "protocol": {"episodes": 200, "evaluate_every": 50}}, "small")


def job_of(seeds: int = 2) -> Job:
    return plan(members_of(experiment(seeds).members()), workers=1)[0]


def results(runs: int = 2) -> pl.DataFrame:
    """What a trainer returns, one evaluation of each run."""
    rows = [{"run": i, "evaluation": 1, "steps": 8, "episodes": 2, "return": 0.5} for i in range(runs)]
    return pl.DataFrame(rows).with_columns(failed_at_step=pl.lit(None, pl.Int64))


def begin(store: Path, job: Job, share: float) -> Path:
    """Leave what an interrupted job leaves: its description, and a checkpoint after a share of its training."""
    config, folder = job.members[0].config, job_folder(store, job)
    iterations = job.steps // len(job.members) // config.algorithm().steps_per_iteration
    folder.path.mkdir(parents=True)
    (folder.path / "job.json").write_text(json.dumps(to_data(job)))
    save_checkpoint(folder.checkpoint, {"x": np.zeros(1)}, {"clock": round(share * iterations)})
    return folder.path


def put(store: Path, job: Job, seeds: set[int]) -> None:
    """Put some runs of a job into the store."""
    place, chosen = Store(store), [member for member in job.members if member.seed in seeds]
    place.add([entry_of(member) for member in chosen], [results(1)] * len(chosen))
    place.close()


def pretended(job: Job | None, steps: int = 0, begun_at: int = 0) -> Worker:
    """A worker without a process, which is at a job."""
    worker = object.__new__(Worker)
    worker.job, worker.steps, worker.begun_at, worker.ready, worker.core = job, steps, begun_at, True, "any"
    worker._began, worker.process = None, subprocess.CompletedProcess([], 0)  # pyright: ignore[reportAttributeAccessIssue]
    worker.wait, worker.last_words = lambda patience=60.0: None, lambda: "signal 9"
    worker.give, worker.stop = lambda job: setattr(worker, "job", job), lambda: None
    return worker


def started(program: str, *args: str) -> Worker:
    """A worker whose process runs a program of a few lines."""
    worker, errors = object.__new__(Worker), tempfile.TemporaryFile()  # noqa: SIM115
    command = [sys.executable, "-c", program, *args]
    worker._errors, worker._events = errors, queue.Queue()
    worker.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True)
    return worker
