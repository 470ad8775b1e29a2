"""The outer loop, on the host: between pieces of compiled training it shows, saves, evaluates and can be stopped."""

import dataclasses
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jax
import numpy as np
import polars as pl

from derl.core.errors import DerlError, require
from derl.training.checkpoint import from_numpy, load_checkpoint, read_metadata, save_checkpoint, to_numpy
from derl.training.folder import RunFolder
from derl.training.members import Run, fingerprint
from derl.training.memory import check_memory
from derl.training.population import Population, alike
from derl.training.schedule import schedule_of
from derl.training.signals import stopped_by_signals
from derl.training.sizes import available_cores, best_size
from derl.training.state import RunState
from derl.training.tensorboard import TensorBoard, file_format

PIECE_SECONDS = 0.5
"""How long one piece of compiled training should take: the wait after Ctrl-C, and between updates of the display."""


@dataclasses.dataclass(frozen=True)
class Progress:
    """How far training is."""

    steps: int
    total_steps: int
    """Of all runs together."""
    steps_per_second: float
    episodes: float
    """Finished by each run, on average."""
    explorer_return: float
    exploiter_return: float
    """Of the last evaluation, averaged over runs; a baseline's own."""
    seconds_left: float
    failed: int


class Interrupted(DerlError):
    """Training was stopped by the user; progress was saved if there is a run folder."""


def groups_of(runs: int, size: int) -> list[list[int]]:
    """Run numbers in groups of one size, each a compiled population; the last group repeats its last run to fill up."""
    groups = [list(range(i, min(i + size, runs))) for i in range(0, runs, size)]
    groups[-1] += [groups[-1][-1]] * (size - len(groups[-1]))
    return groups


def check_runs(path: Path, metadata: dict[str, Any], runs: Sequence[Run]) -> None:
    """Raise if a checkpoint is of other runs than these; those of the same structure would fit."""
    require(
        metadata.get("runs") in (None, fingerprint(runs)),
        f"{path} is of other runs than these: its configuration or seeds differ; nothing was changed. "
        f"To train with an edited configuration start a new run: derl train --config {path.parent}",
    )


class Trainer:
    """Trains a list of runs that share their structure, in populations spread over the cores."""

    def __init__(
        self,
        runs: Sequence[Run],
        folder: RunFolder | None = None,
        *,
        cores: int | None = None,
        population_size: int | None = None,
        group_size: int | None = None,
        checkpoint_seconds: float = 30.0,
        tensorboard: bool = False,
    ):
        require(cores is None or cores >= 1, f"cores must be at least 1, not {cores}")
        require(checkpoint_seconds >= 0, f"checkpoint_seconds must not be negative, it is {checkpoint_seconds}")
        wrong = population_size is not None and population_size < 1
        require(not wrong, f"population_size must be at least 1, not {population_size}")
        self.runs, self.folder = list(runs), folder
        self.cores = cores or available_cores()
        self.checkpoint_seconds = checkpoint_seconds
        # All populations are of one structure: their states are kept in one checkpoint.
        algorithms = alike([run.config.algorithm() for run in runs])
        # A resumed run keeps its groups, whatever cores it has now: programs of another size may round differently.
        size = group_size or min(-(-len(self.runs) // self.cores), population_size or best_size(runs[0].config))
        self.groups = groups_of(len(self.runs), size)
        self.populations: list[Population] = []
        for group in self.groups:
            first = self.populations[0] if self.populations else None
            self.populations.append(Population([algorithms[i] for i in group], [runs[i].seed for i in group], first))
        check_memory(runs[0].config, len(self.runs), self.template)
        self.protocol = runs[0].config.protocol
        greedy = self.protocol.evaluation == "greedy"
        self.evaluation: dict[str, Any] = {"episodes": self.protocol.evaluation_episodes, "greedy": greedy}
        self.steps_per_iteration = algorithms[0].steps_per_iteration
        _, self.iterations, self.evaluations = schedule_of(runs[0].config, algorithms[0])
        self.states: list[RunState] = []
        self.clock = 0
        self.read_at = 0
        self.rows: list[dict[str, Any]] = []
        self._spent, self._since = 0.0, time.monotonic()
        self._stop = threading.Event()
        self._tensorboard: TensorBoard | None = None
        if tensorboard:
            require(folder is not None, "TensorBoard output needs a run folder (out)")
            file_format()
        self.tensorboard = tensorboard

    @property
    def group_size(self) -> int:
        """How many runs are one compiled program."""
        return len(self.groups[0])

    @property
    def core_seconds(self) -> float:
        """Time spent on these runs so far, of all cores; by earlier sittings up to the checkpoint that was resumed."""
        return self._spent + (time.monotonic() - self._since) * min(self.cores, len(self.groups))

    def start(self) -> None:
        """Bring all runs to their beginning."""
        with ThreadPoolExecutor(self.cores) as pool:
            self.states = list(pool.map(lambda p: p.init(), self.populations))

    def resume(self) -> None:
        """Bring all runs to where the folder's checkpoint left them."""
        assert self.folder is not None
        self.folder.lock()
        if not self.folder.checkpoint.exists():
            return self.start()
        metadata = read_metadata(self.folder.checkpoint)
        check_runs(self.folder.checkpoint, metadata, self.runs)
        self.load(*load_checkpoint(self.folder.checkpoint, self.template()))
        if metadata["rows"]:
            self.rows = self.folder.results_of_checkpoint(metadata["rows"]).to_dicts()

    def template(self) -> RunState:
        """The shapes of the state of all runs."""
        shapes = self.populations[0].shapes()
        return jax.tree.map(lambda x: jax.ShapeDtypeStruct((len(self.runs), *x.shape[1:]), x.dtype), shapes)

    def load(self, state: RunState, metadata: dict[str, Any]) -> None:
        """Distribute the state of all runs over the populations."""
        self.clock, self.read_at = metadata["clock"], metadata["read_at"]
        self._spent = metadata.get("core_seconds", 0.0)

        def part(group):
            return jax.tree.map(lambda x: from_numpy(to_numpy(x)[np.asarray(group)], x), state)

        self.states = [part(group) for group in self.groups]

    def merged(self) -> RunState:
        """The state of all runs, in their order. Put together on the host: there it needs no compilation."""
        flat = [run for group in self.groups for run in group]
        index = np.asarray([flat.index(run) for run in range(len(self.runs))])

        def merge(*leaves):
            return from_numpy(np.concatenate([to_numpy(leaf) for leaf in leaves])[index], leaves[0])

        return jax.tree.map(merge, *self.states)

    def save(self) -> None:
        """Write results, then the checkpoint that counts them."""
        if self.folder is None:
            return
        written = self.folder.write_results(self.frame())
        metadata = {
            "clock": self.clock,
            "read_at": self.read_at,
            "rows": len(self.rows),
            "core_seconds": self.core_seconds,
            "runs": fingerprint(self.runs),
        }
        save_checkpoint(self.folder.checkpoint, self.merged(), metadata, written)

    def frame(self) -> pl.DataFrame:
        """All evaluations so far, one row per run and evaluation."""
        return pl.DataFrame(self.rows, infer_schema_length=None)

    def train(self, show: Callable[[Progress], None] | None = None) -> pl.DataFrame:
        """Train to the end of the budget. Ctrl-C saves and raises `Interrupted`."""
        if self.states and self.clock >= self.iterations:
            return self.frame()
        self._prepare()
        if self.tensorboard and self.folder is not None:
            self._tensorboard = TensorBoard(self.folder.path, self.runs, self.clock * self.steps_per_iteration)
        with ThreadPoolExecutor(self.cores) as pool, stopped_by_signals(self._stop):
            try:
                self._loop(pool, show or (lambda progress: None))
            finally:
                if self._tensorboard is not None:
                    self._tensorboard.close()
        return self.frame()

    def _prepare(self) -> None:
        """Compile, and bring runs to their beginning that were not resumed."""
        # An exception might be lost in one of JAX's callbacks; an event is not. A second Ctrl-C does not wait.
        try:
            with stopped_by_signals(self._stop):
                self.populations[0].compile(self.cores, **self.evaluation)
                if not self.states:
                    self.start()
        except KeyboardInterrupt:
            self._stop.set()
        if self._stop.is_set():
            raise self._interrupted("interrupted before training began")

    def _loop(self, pool: ThreadPoolExecutor, show: Callable[[Progress], None]) -> None:
        piece, saved, begun, start_clock = 1, time.monotonic(), None, self.clock
        while self.clock < self.iterations:
            stop = min(self.clock + piece, next(t for t in self.evaluations if t > self.clock))
            since = time.monotonic()
            self._advance(pool, stop)
            seconds = time.monotonic() - since
            if begun is None:
                # The first piece is mostly compilation: it says nothing about speed.
                begun, start_clock = time.monotonic(), self.clock
            show(self._progress(_rate(self.clock - start_clock, begun)))
            piece = max(1, min(2 * piece, int(piece * PIECE_SECONDS / max(seconds, 1e-6))))
            if self.clock in self.evaluations:
                self._evaluate(pool)
                show(self._progress(_rate(self.clock - start_clock, begun)))
            finished = self.clock >= self.iterations
            if finished or self._stop.is_set() or time.monotonic() - saved > self.checkpoint_seconds:
                self.save()
                saved = time.monotonic()
            if self._stop.is_set() and not finished:
                raise self._interrupted(f"interrupted at {self.clock / self.iterations:.0%}")

    def _interrupted(self, when: str) -> Interrupted:
        return Interrupted(when if self.folder is None else f"{when}; continue with: derl resume {self.folder.path}")

    def _advance(self, pool: ThreadPoolExecutor, stop: int) -> None:
        def move(i: int) -> RunState:
            return jax.block_until_ready(self.populations[i].advance(self.states[i], self.clock, stop))

        self.states = list(pool.map(move, range(len(self.populations))))
        self.clock = stop

    def _evaluate(self, pool: ThreadPoolExecutor) -> None:
        number = self.evaluations.index(self.clock) + 1

        def one(i: int):
            state, returns = self.populations[i].evaluate(self.states[i], self.clock, number, **self.evaluation)
            state, metrics = self.populations[i].read(state, self.clock - self.read_at)
            return state, returns, metrics

        results = list(pool.map(one, range(len(self.populations))))
        self.states = [state for state, _, _ in results]
        self.read_at = self.clock
        before, seen = len(self.rows), set()
        for group, (_, returns, metrics) in zip(self.groups, results, strict=True):
            for i, run in enumerate(group):
                if run not in seen:
                    seen.add(run)
                    self.rows.append(self._row(run, number, returns[i], {k: v[i].item() for k, v in metrics.items()}))

        if self._tensorboard is not None:
            self._tensorboard.write(self.rows[before:])

    def _row(self, run: int, number: int, returns: np.ndarray, metrics: dict[str, Any]) -> dict[str, Any]:
        failed = metrics.pop("failed_at")
        return {
            "run": run,
            "seed": self.runs[run].seed,
            **self.runs[run].values,
            "evaluation": number,
            "steps": self.clock * self.steps_per_iteration,
            "episodes": metrics.pop("episodes"),
            "return": float(returns.mean()) if failed < 0 else float("nan"),
            "return_std": float(returns.std()) if failed < 0 else float("nan"),
            "failed_at_step": failed * self.steps_per_iteration if failed >= 0 else None,
            **metrics,
        }

    def _progress(self, rate: float) -> Progress:
        last = self.rows[-len(self.runs) :]
        # The last group may be filled up with copies of its last run.
        own = [len(set(group)) for group in self.groups]
        counts = [np.asarray(s.collector.finished)[:n].sum(0) for s, n in zip(self.states, own, strict=True)]
        episodes = [np.asarray(s.collector.episodes)[:n] for s, n in zip(self.states, own, strict=True)]
        finished, total = np.sum(counts, axis=0)
        recent = [row["explorer_return"] for row in last]
        returns = [row["return"] for row in last if row["failed_at_step"] is None]
        per_run = self.steps_per_iteration
        return Progress(
            steps=self.clock * per_run * len(self.runs),
            total_steps=self.iterations * per_run * len(self.runs),
            steps_per_second=rate * per_run * len(self.runs),
            episodes=float(np.mean(np.concatenate(episodes))),
            explorer_return=float(total / finished) if finished else float(np.mean(recent)) if recent else float("nan"),
            exploiter_return=float(np.mean(returns)) if returns else float("nan"),
            seconds_left=(self.iterations - self.clock) / rate,
            failed=sum(row["failed_at_step"] is not None for row in last),
        )


def _rate(iterations: int, since: float) -> float:
    """Iterations per second; not a number before there are any."""
    return iterations / max(time.monotonic() - since, 1e-9) if iterations else float("nan")
