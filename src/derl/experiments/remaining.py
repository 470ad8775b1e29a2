"""What is left of an experiment: which runs are in the store, which were begun, and the jobs that make the rest."""

import dataclasses
import functools
from collections.abc import Hashable, Mapping, Sequence, Set
from pathlib import Path

import equinox as eqx
import jax

from derl.core.errors import DerlError, require
from derl.core.memory import memory_bytes
from derl.experiments.experiment import Experiment
from derl.experiments.jobs import begun_jobs, share_done
from derl.experiments.machine import accelerator
from derl.experiments.planner import Job, Member, members_of, memory_for, plan, program_of
from derl.experiments.store import Store, is_store
from derl.training.config import Config
from derl.training.memory import check_memory
from derl.training.sizes import MOST_RUNS, MOST_RUNS_GPU, available_cores
from derl.training.state import RunState, blank_run

COMPILE_SECONDS = 20.0
"""What compiling a program takes of a core, about: the 25 of `derl reproduce table-1 --quick` take 8.5 minutes."""


@dataclasses.dataclass(frozen=True)
class Plan:
    """What a sweep will do."""

    members: tuple[Member, ...]
    """The whole experiment."""
    jobs: tuple[Job, ...]
    """What is left of it, in the order of starting."""
    workers: int
    stored: frozenset[str] = frozenset()
    """Every run that was in the store. A job that was begun before may hold some of them."""
    shares: Mapping[str, float] = dataclasses.field(default_factory=dict)
    """How much is done of the jobs that were begun before, by name."""

    @property
    def runs(self) -> int:
        """How many runs there are; cases may share some."""
        return len({member.key for member in self.members})

    @property
    def found(self) -> int:
        """Runs that are in the store already."""
        return len({member.key for member in self.members} & self.stored)

    @property
    def seconds(self) -> float:
        """How long the rest is expected to take."""
        longest = max((self.left(job) + COMPILE_SECONDS for job in self.jobs), default=0.0)
        return max(longest, sum(self.left(job) for job in self.jobs) / self.workers + self.compilation)

    def left(self, job: Job) -> float:
        """How long the rest of a job is expected to take, on one core."""
        return job.seconds * (1.0 - self.shares.get(job.name, 0.0))

    @property
    def compilation(self) -> float:
        """How much of that is compilation, if no program was compiled before."""
        # Workers share what they compile.
        count = len(set(self.programs.values()))
        return COMPILE_SECONDS * count / min(self.workers, max(count, 1))

    @functools.cached_property
    def programs(self) -> dict[str, Hashable]:
        """The program of every job that is left. Populations of another size are other programs."""
        return {job.name: (program_of(job.members[0].config), len(job.members)) for job in self.jobs}

    def new(self, job: Job) -> list[Member]:
        """The runs of a job that were not in the store."""
        return [member for member in job.members if member.key not in self.stored]


def finished(experiment: Experiment, path: Path) -> Plan | None:
    """The plan of an experiment of which nothing is left. Quicker than `make_plan`, which says what is left."""
    members = members_of(experiment.members())
    stored = Store(path, read_only=True).keys() if is_store(path) else set()
    return Plan(tuple(members), (), 1, frozenset(stored)) if stored >= {m.key for m in members} else None


def make_plan(experiment: Experiment, path: Path, workers: int | None = None) -> Plan:
    """What is left of an experiment. Jobs already begun are resumed unchanged."""
    members = members_of(experiment.members())
    gpu = accelerator()
    workers = (available_cores() if gpu is None else 1) if workers is None else workers
    require(workers >= 1, f"a sweep needs at least one worker, not {workers}")
    known, stored = {}, set()
    if is_store(path):
        store = Store(path, read_only=True)
        known, stored = store.seconds_of(), store.keys()
    begun = to_resume(path, {m.key for m in members}, stored)
    taken = stored | {m.key for job in begun for m in job.members}
    most, memory = MOST_RUNS if gpu is None else MOST_RUNS_GPU, memory_for(workers, gpu)
    jobs = plan(members, workers=workers, done=taken, known=known, most=most, memory=memory)
    check_room(jobs, memory_bytes() if gpu is None else gpu.memory)
    shares = {job.name: share_done(path, job) for job in begun}
    return Plan(tuple(members), (*begun, *jobs), workers, frozenset(stored), shares)


def check_room(jobs: Sequence[Job], there: int | None) -> None:
    """Raise before any work if a run needs more memory alone than there is: no worker could train it."""
    for job in jobs:
        case, config = job.members[0].case, job.members[0].config

        def shapes(config: Config = config) -> RunState:
            return eqx.filter_eval_shape(lambda key: blank_run(config.algorithm(), key), jax.random.key(0))

        try:
            check_memory(config, 1, shapes, there)
        except DerlError as error:
            raise DerlError(f"{case.title}: {error}") from None


def to_resume(path: Path, wanted: Set[str], stored: Set[str]) -> list[Job]:
    """The jobs already begun that are worth resuming: those of which every run that is missing is wanted.

    A job is one program: it trains all of its runs again, those too that came into the store by another way. So it is
    resumed only if that is less work than to make the missing runs from their beginning. Sweeps of different parts of
    an experiment may have begun the same runs: each is resumed once, where most is saved.
    """
    found = []
    for job in begun_jobs(path):
        missing, done = {m.key for m in job.members} - stored, share_done(path, job)
        if missing and missing <= wanted and (1.0 - done) * len(job.members) <= len(missing):
            found.append((done * len(missing), job, missing))
    begun, taken = [], set()
    for _, job, missing in sorted(found, key=lambda one: (-one[0], -len(one[1].members), one[1].name)):
        if taken.isdisjoint(missing):
            begun.append(job)
            taken |= missing
    return begun
