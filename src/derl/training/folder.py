"""A run's folder: its configuration, results and checkpoint, used by one process at a time."""

import contextlib
import io
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from derl.core.errors import DerlError, UnknownNameError, require
from derl.core.files import LOCK, try_lock, write_atomically
from derl.envs.base import AnyEnvironment
from derl.training.checkpoint import read_attached, read_metadata
from derl.training.config import Config
from derl.training.objects import described, made_again
from derl.training.seeds import check_seeds
from derl.training.version import code_version, versions_of
from derl.training.written import from_json, to_json

CONFIG, RESULTS, CHECKPOINT = "config.json", "results.parquet", "checkpoint.safetensors"
MOST_NAMED = 5
"""Of the run folders in a folder."""


class RunFolder:
    """Where one training run keeps everything."""

    def __init__(self, path: Path | str):
        self.path = Path(path)
        self._lock: int | None = None

    @property
    def checkpoint(self) -> Path:
        """The state of all runs."""
        return self.path / CHECKPOINT

    @property
    def results(self) -> Path:
        """One row per run and evaluation."""
        return self.path / RESULTS

    def create(
        self, config: Config, seeds: Sequence[int], vary: Mapping[str, Sequence[float]], group_size: int
    ) -> None:
        """Make the folder, claim it, and write down what will run. Refuses one that already holds something."""
        # What cannot be written down must not leave an empty folder behind.
        data = {
            "derl": code_version(),
            "versions": versions_of(config),
            "seeds": list(seeds),
            "vary": {k: list(v) for k, v in vary.items()},
            "group_size": group_size,
            "config": json.loads(to_json(config)),
        } | ({} if config.env is None else {"env": described(config.env)})
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            taken = any(child.name != LOCK for child in self.path.iterdir())
        except OSError as error:
            reason = error.strerror or error
            raise DerlError(f"cannot make the run folder {self.path}: {reason}; choose another with --out") from None
        holds_run = (self.path / CONFIG).exists()
        hint = f"continue it with 'derl resume {self.path}', or choose another" if holds_run else "choose another"
        require(not taken, f"{self.path} is not empty: {hint} with --out")
        self.lock()
        try:
            write_atomically(self.path / CONFIG, json.dumps(data, indent=2).encode())
        except DerlError:
            self.unlock()
            raise

    def open(self, env: AnyEnvironment | None = None) -> tuple[Config, list[int], dict[str, list[float]]]:
        """What the folder's run is: its configuration, seeds and varied numbers.

        `env` is its environment object, if it has one; whose class is loaded is made again as it was.
        """
        data = self._described()
        if env is None and data.get("env") is not None:
            env = made_again(data["env"])
        try:
            return from_json(json.dumps(data["config"]), env), *self.members()
        except UnknownNameError:
            raise
        except DerlError as error:
            raise DerlError(f"{self.path / CONFIG}: {error}") from None

    def check_versions(self, config: Config) -> None:
        """Raise unless the folder's run was begun by an engine that computes what this one does."""
        theirs, ours = self._described().get("versions"), versions_of(config)
        require(
            theirs == ours,
            f"{self.path} was made by another version of the engine ({theirs or 'an unknown one'}, this is {ours}); "
            "start it anew",
        )

    def members(self) -> tuple[list[int], dict[str, list[float]]]:
        """The seeds and varied numbers of the folder's runs."""
        data = self._described()
        seeds, vary = data["seeds"], data["vary"]
        lists = isinstance(vary, dict) and all(isinstance(values, list) for values in vary.values())
        numbers = lists and all(type(value) in (int, float) for values in vary.values() for value in values)
        good = isinstance(seeds, list) and numbers and all(values for values in vary.values())
        require(good, f"{self.path / CONFIG} is damaged (seeds is a list, vary lists of numbers by setting)")
        check_seeds(seeds)
        return seeds, vary

    def group_size(self) -> int:
        """How many runs are trained in one compiled program: another number may round differently."""
        size, (seeds, vary) = self._described()["group_size"], self.members()
        runs = len(seeds) * math.prod(len(values) for values in vary.values())
        good = type(size) is int and 1 <= size <= runs
        require(good, f"{self.path / CONFIG} is damaged (group_size is from 1 to its {runs} runs, not {size!r})")
        return size

    def _described(self) -> dict[str, Any]:
        path = self.path / CONFIG
        require(path.exists(), f"{self.path} is not a run folder (it has no {CONFIG}){self._runs_inside()}")
        try:
            data = json.loads(path.read_text())
            missing = {"config", "seeds", "vary", "group_size"} - set(dict(data))
        except (OSError, ValueError, TypeError, RecursionError) as error:
            raise DerlError(f"{path} is damaged ({error})") from None
        require(not missing, f"{path} is damaged (it lacks {', '.join(sorted(missing))})")
        return data

    def _runs_inside(self) -> str:
        """The run folders in a folder that is none itself, newest first: one of them may be meant."""
        found = sorted(self.path.glob(f"*/{CONFIG}"), key=lambda file: file.stat().st_mtime, reverse=True)
        named = ", ".join(str(file.parent) for file in found[:MOST_NAMED])
        more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
        return f"; it holds {named}{more}: give one of them" if found else ""

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Keep the folder from other processes while in here."""
        self.lock()
        try:
            yield
        finally:
            self.unlock()

    def lock(self) -> None:
        """Claim the folder for this process until it ends."""
        if self._lock is not None:
            return
        handle = try_lock(self.path)
        require(handle is not None, f"{self.path} is in use by another process; wait for it, or choose another folder")
        self._lock = handle

    def unlock(self) -> None:
        """Let other processes use the folder."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def write_results(self, frame: pl.DataFrame) -> bytes:
        """Replace the results; the value is what was written."""
        buffer = io.BytesIO()
        frame.write_parquet(buffer)
        write_atomically(self.results, buffer.getvalue())
        return buffer.getvalue()

    def results_of_checkpoint(self, rows: int) -> pl.DataFrame:
        """The first `rows` results, as they were when the checkpoint was written.

        It holds them itself: the file beside it has no checksum, and may be newer or damaged.
        """
        attached = read_attached(self.checkpoint)
        frame = pl.read_parquet(io.BytesIO(attached)) if attached else self.read_results()
        require(len(frame) >= rows, f"{self.results} lacks results its checkpoint has; restore it or start anew")
        return frame.head(rows)

    def read_results(self) -> pl.DataFrame:
        """The results so far."""
        require(self.results.exists(), f"{self.path} has no results yet")
        try:
            return pl.read_parquet(self.results)
        except (pl.exceptions.PolarsError, OSError) as error:
            raise DerlError(f"{self.results} is damaged ({str(error).splitlines()[0]})") from None

    def core_seconds(self) -> float:
        """Time spent on the runs up to their last checkpoint, of all cores; 0 if nobody wrote it down."""
        try:
            return float(read_metadata(self.checkpoint).get("core_seconds", 0.0))
        except DerlError:
            return 0.0
