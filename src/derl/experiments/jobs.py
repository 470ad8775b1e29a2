"""A job on disk: which runs it holds and how far they are, so that whoever finds it can resume it."""

import contextlib
import json
import re
import shutil
import time
from collections.abc import Callable, Iterator, Sequence, Set
from pathlib import Path

import polars as pl

from derl.core.errors import DerlError, UnknownNameError, require
from derl.core.files import write_atomically
from derl.experiments.cases import Case, normal_form
from derl.experiments.identity import run_key
from derl.experiments.packing import Entry
from derl.experiments.planner import Job, Member, by_case
from derl.experiments.store import Store
from derl.training.checkpoint import read_metadata
from derl.training.folder import CHECKPOINT, RunFolder
from derl.training.schedule import schedule_of
from derl.training.trainer import Progress, Trainer
from derl.training.version import ENGINE, code_behind

JOBS, DESCRIPTION = "jobs", "job.json"
UNREADABLE = (DerlError, ValueError, KeyError, TypeError, AttributeError, OSError)
"""What reading a job may raise: it is damaged, somebody else's file, or from another version of derl."""


def to_data(job: Job) -> dict:
    """A job as plain data, for a file or a pipe."""
    members = [[m.key, m.case.recipe, m.case.task, list(m.case.changes), m.seed] for m in job.members]
    return {"members": members, "seconds": job.seconds}


def from_data(data: dict) -> Job:
    """A job from `to_data`. Raises if this version of derl would not make the same runs of it."""
    members = []
    for key, recipe, task, changes, seed in data["members"]:
        case = Case.of(recipe, task, dict(changes))
        member = Member(key, case, seed, case.config())
        if run_key(member.run) != key:
            raise DerlError(f"{recipe} on {task} is from another version of derl")
        members.append(member)
    return Job(tuple(members), data["seconds"])


def job_folder(store: Path, job: Job) -> RunFolder:
    """Where a job keeps its checkpoint."""
    return RunFolder(store / JOBS / job.name)


def check_jobs(store: Path) -> None:
    """Raise if jobs cannot be begun in a store, because there is something else in their place."""
    folder = store / JOBS
    other = folder.is_symlink() or folder.exists()
    require(folder.is_dir() or not other, f"{folder} is no folder: move it away, or choose another with --store")


def begun_jobs(store: Path) -> Iterator[Job]:
    """Jobs that were begun and not finished, as far as this version of derl can resume them."""
    for path in sorted((store / JOBS).glob(f"*/{DESCRIPTION}")):
        try:
            job = read_job(path.parent)
        except UNREADABLE:
            continue
        if (path.parent / CHECKPOINT).exists() and job.name == path.parent.name:
            yield job


def read_job(folder: Path) -> Job:
    """The job of a folder. Raises what is in `UNREADABLE`."""
    return from_data(json.loads((folder / DESCRIPTION).read_text()))


def tidy(store: Path, stored: Set[str]) -> None:
    """Remove the traces of jobs that nobody will resume, because all their runs are in the store.

    Nothing else: what cannot be read may be from another version, which `derl store prune` is for, or not a job at all.
    """
    for folder in (store / JOBS).glob("*"):
        try:
            job = read_job(folder)
        except UNREADABLE:
            continue
        if folder.name == job.name and all(m.key in stored for m in job.members):
            shutil.rmtree(folder, ignore_errors=True)


def outdated_jobs(store: Path) -> list[Path]:
    """The folders of jobs that this version of derl cannot resume.

    Not those that name recipes or tasks that are not there: a module that was not loaded may have them.
    """
    found = []
    for folder in sorted((store / JOBS).glob("*")):
        if not (folder / DESCRIPTION).is_file() or not re.fullmatch("[0-9a-f]{16}", folder.name):
            continue
        try:
            read_job(folder)
        except (UnknownNameError, OSError):
            continue
        except UNREADABLE:
            found.append(folder)
    return found


def entry_of(member: Member, seconds: float = 0.0) -> Entry:
    """How a run is entered in the store: lambda = 1 is the recipe as it is, whoever asked for it first."""
    case = normal_form(member.case.recipe, member.case.task, dict(member.case.changes))
    return Entry(member.key, case.recipe, case.task, case.setting, member.seed, ENGINE, seconds)


def share_done(store: Path, job: Job) -> float:
    """How far a job's checkpoint is, from 0 to 1."""
    iterations = schedule_of(job.members[0].config).iterations
    try:
        return min(1.0, read_metadata(job_folder(store, job).checkpoint)["clock"] / iterations)
    except (DerlError, KeyError):
        return 0.0


def halves(job: Job, members: Sequence[Member]) -> list[Job]:
    """Some runs of a job, as two jobs, or as one if there is only one."""
    middle, seconds = -(-len(members) // 2), job.seconds / len(job.members)
    return [Job(tuple(part), seconds * len(part)) for part in (members[:middle], members[middle:]) if part]


class WriteError(DerlError):
    """What was computed could not be written. That is the disk's fault, or the store's: it says nothing about the job.

    Whoever meets it has to leave the job's folder as it is, for hours of work may be in it.
    """


@contextlib.contextmanager
def as_write_error() -> Iterator[None]:
    """What goes wrong in here is a `WriteError`."""
    try:
        yield
    except OSError as error:
        raise WriteError(f"cannot write {error.filename or 'to the store'}: {error.strerror or error}") from None
    except DerlError as error:
        raise WriteError(str(error)) from None


class SavingTrainer(Trainer):
    """A trainer whose errors in saving can be told from its errors in training."""

    def save(self) -> None:
        """Write results, then the checkpoint that counts them."""
        with as_write_error():
            super().save()


def execute(store: Path, job: Job, show: Callable[[Progress], None], checkpoint_seconds: float) -> None:
    """Train a job to its end, from its checkpoint if it has one, and enter its runs in the store."""
    folder = job_folder(store, job)
    with as_write_error():
        folder.path.mkdir(parents=True, exist_ok=True)
        # `held` would claim it too, but a refusal is an error in writing.
        folder.lock()
    with folder.held():
        with as_write_error():
            write_atomically(folder.path / DESCRIPTION, json.dumps(to_data(job)).encode())
        trainer = begin(job, folder, checkpoint_seconds)
        frame = trainer.train(show)
        with as_write_error():
            enter(store, job, frame, trainer.core_seconds / len(job.members))
    shutil.rmtree(folder.path, ignore_errors=True)


def begin(job: Job, folder: RunFolder, checkpoint_seconds: float) -> Trainer:
    """A job's trainer, where its checkpoint left it."""
    runs = [member.run for member in job.members]

    def fresh() -> Trainer:
        return SavingTrainer(runs, folder, cores=1, group_size=len(runs), checkpoint_seconds=checkpoint_seconds)

    trainer = fresh()
    try:
        trainer.resume()
    except DerlError:
        # A damaged checkpoint costs time, not results.
        with as_write_error():
            set_aside(folder)
        trainer = fresh()
        trainer.start()
    return trainer


def set_aside(folder: RunFolder) -> bool:
    """Keep a checkpoint that is of no use beside the job until that is done, for hours may be in it; False if none."""
    try:
        folder.checkpoint.replace(folder.checkpoint.with_suffix(".unusable"))
    except FileNotFoundError:
        return False
    return True


def enter(store: Path, job: Job, frame: pl.DataFrame, seconds: float) -> None:
    """Put the results of a finished job into the store, all or none."""
    frames = [frame.filter(run=number) for number in range(len(job.members))]
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    made_by = by_case(job.members, code_behind)
    entries = [entry_of(m, seconds)._replace(finished=now, version=made_by[m.case]) for m in job.members]
    place = Store(store)
    place.add(entries, frames)
    place.close()
