"""From runs to jobs: runs that share a compiled program go together, as many as the caches like, longest first."""

import dataclasses
import hashlib
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

import jax
import numpy as np
import polars as pl

from derl.core.memory import memory_bytes
from derl.experiments.cases import Case
from derl.experiments.identity import config_key, seed_key
from derl.experiments.machine import Accelerator
from derl.experiments.packing import relabelled
from derl.experiments.store import Store
from derl.training.config import Config
from derl.training.members import Run
from derl.training.sizes import MEMORY_BYTES, MOST_RUNS, moved_by, population_size, weights_of

Answer = TypeVar("Answer")

MEMORY_BYTES_GPU = 12_000_000_000
"""What the whole state of one population may take of a GPU's own memory."""


@dataclasses.dataclass(frozen=True)
class Member:
    """A run to be made: a case and a seed, its content address and its whole configuration."""

    key: str
    case: Case
    seed: int
    config: Config

    @property
    def run(self) -> Run:
        """The run as the trainer takes it."""
        return Run(self.seed, {}, self.config)


@dataclasses.dataclass(frozen=True)
class Job:
    """Runs that go through one compiled program together."""

    members: tuple[Member, ...]
    seconds: float
    """How long it is expected to take."""

    @cached_property
    def name(self) -> str:
        """A name that the same runs always get."""
        return hashlib.sha256("".join(m.key for m in self.members).encode()).hexdigest()[:16]

    @cached_property
    def steps(self) -> int:
        """Environment steps of all its runs."""
        steps = by_case(self.members, steps_of)
        return sum(steps[m.case] for m in self.members)

    @cached_property
    def title(self) -> str:
        """What to call it on a display."""
        cases = list(dict.fromkeys(m.case for m in self.members))
        more = f" and {len(cases) - 1} more" if len(cases) > 1 else ""
        setting = f" ({cases[0].setting})" if cases[0].changes and not more else ""
        return f"{cases[0].recipe} on {cases[0].task}{setting}{more}"


def members_of(pairs: Sequence[tuple[Case, int]]) -> list[Member]:
    """Content addresses and configurations of runs; seeds of a case share the work.

    Cases that are the same but in name (lambda = 1 is the recipe as it is) give members with the same address.
    """
    recipes: dict[tuple[str, str], Config] = {}
    configs = {case: case.config(recipes) for case in dict.fromkeys(case for case, _ in pairs)}
    keys = {case: config_key(config) for case, config in configs.items()}
    return [Member(seed_key(keys[case], seed), case, seed, configs[case]) for case, seed in pairs]


def distinct(members: Sequence[Member]) -> list[Member]:
    """Each run once."""
    return list({member.key: member for member in reversed(members)}.values())[::-1]


def results_of(store: Store, members: Sequence[Member], columns: Sequence[str] | None = None) -> pl.DataFrame:
    """The results frame of an experiment's runs as far as they are in the store, by the experiment's own names."""
    names = [(m.key, m.case.recipe, m.case.task, m.case.setting) for m in members]
    return relabelled(store.frame({m.key for m in members}, columns), names)


def by_case(members: Sequence[Member], ask: Callable[[Config], Answer]) -> dict[Case, Answer]:
    """What every case answers; seeds of a case share the work."""
    return {case: ask(config) for case, config in {m.case: m.config for m in members}.items()}


def steps_of(config: Config) -> int:
    """Environment steps of a run."""
    return config.protocol.budget(config.make_env())[0]


def program_of(config: Config) -> Any:
    """What runs of one population have in common; hashable."""
    return jax.tree.structure(config.algorithm()), config.protocol


def memory_for(workers: int, gpu: Accelerator | None = None) -> int:
    """What one population may take where so many are trained at once: never more than half of the memory there is.

    Of the paper's experiments none comes near it: their populations are the same on every machine.
    """
    most, whole = (MEMORY_BYTES, memory_bytes()) if gpu is None else (MEMORY_BYTES_GPU, gpu.memory)
    return most if whole is None else min(most, whole // 2 // workers)


def expected_seconds(config: Config) -> float:
    """A rough guess of a run's time, for what has never been timed: gradient steps and the weights they touch."""
    per_rollout, cost = config.algorithm().steps_per_iteration, 2.5e-6
    for agent, weights in weights_of(config).agents:
        step = 20e-6 + 0.3e-6 * agent.replayed_steps + 1e-9 * moved_by(agent, weights)
        cost += agent.updates(per_rollout) * agent.gradient_steps * step / per_rollout
    if config.bonus.learned is not None:
        cost += 45e-6 / config.num_envs
    return steps_of(config) * cost


def plan(
    members: Sequence[Member],
    *,
    workers: int,
    done: Collection[str] = (),
    known: Mapping[tuple[str, str], float] | None = None,
    most: int = MOST_RUNS,
    memory: int = MEMORY_BYTES,
) -> list[Job]:
    """Jobs of the runs that are not among `done`, longest first.

    Who goes with whom depends only on the whole experiment and the workers, not on what is done or how fast they are:
    programs of another size may round differently, and a sweep that was interrupted is to give the same numbers as one
    that was not. Only where a machine's `memory` is too small for a group is it divided further. `known` gives measured
    seconds per step of a recipe and task, for the order of the jobs.
    """
    jobs, guesses = [], by_case([m for m in members if m.key not in done], expected_seconds)
    for group in partition(members, workers, most, memory):
        left = tuple(member for member in group if member.key not in done)
        if left:
            jobs.append(Job(left, sum(_seconds(member, guesses[member.case], known or {}) for member in left)))
    return sorted(jobs, key=lambda job: (-job.seconds, job.name))


SLOWEST = 4.0
"""How many times as long as guessed a run may take, whatever was measured."""


def partition(members: Sequence[Member], workers: int, most: int, memory: int) -> list[list[Member]]:
    """Runs in groups that share a program, none so large that it would keep one worker busy after all others."""
    programs: dict[Any, list[Member]] = {}
    program = by_case(members, program_of)
    for member in distinct(members):
        programs.setdefault(program[member.case], []).append(member)
    seconds = {program: expected_seconds(group[0].config) for program, group in programs.items()}
    total = sum(seconds[program] * len(group) for program, group in programs.items())
    groups = []
    for program, group in programs.items():
        fair = max(1, math.ceil(total / workers / max(seconds[program], 1e-9) - 1e-9))
        count = -(-len(group) // min(population_size(group[0].config, most, memory), fair))
        groups += [[group[i] for i in part] for part in np.array_split(np.arange(len(group)), count)]
    return groups


def _seconds(member: Member, guess: float, known: Mapping[tuple[str, str], float]) -> float:
    rate = known.get((member.case.recipe, member.case.task))
    # What was measured includes compilation, which is most of a short run's time and little of a long one's.
    return guess if rate is None else min(rate * steps_of(member.config), SLOWEST * guess)
