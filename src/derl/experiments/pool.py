"""The other end of a worker process: start it, give it a job, hear from it, and notice when it dies."""

import contextlib
import importlib.util
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from derl.core.errors import require
from derl.experiments.jobs import to_data
from derl.experiments.machine import WORKER
from derl.experiments.planner import Job

PATIENCE = 5.0
"""So many seconds a process has to end after it has closed its output."""
STOPPED = 130
"""The exit code of a worker that was told to stop, and has saved."""
Event = tuple["Worker", dict[str, Any] | None]
"""Who says what; None means that it has ended."""


def check_modules(modules: Sequence[str]) -> None:
    """Raise unless there are such modules: workers would die of it one after another. Nothing is loaded, but the
    packages that they are in."""
    # Workers look in the folder they are started in, too.
    sys.path.insert(0, "")
    try:
        for name in modules:
            try:
                found = name in sys.modules or importlib.util.find_spec(name) is not None
            except (ImportError, ValueError):
                found = False
            require(found, f"there is no module {name!r}; is it in this folder, or in one of PYTHONPATH?")
    finally:
        sys.path.remove("")


class Worker:
    """A process that does one job at a time."""

    def __init__(
        self,
        store: Path,
        core: str,
        checkpoint_seconds: float,
        modules: Sequence[str],
        lock: int,
        events: "queue.Queue[Event]",
    ):
        self.core, self.steps, self.begun_at, self.ready = core, 0, 0, False
        self._began: float | None = None
        self.job: Job | None = None
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (it lives as long as the process)
        command = [
            sys.executable,
            "-m",
            WORKER,
            str(store.absolute()),
            core,
            str(checkpoint_seconds),
        ]
        self.process = subprocess.Popen(
            [*command, *modules],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            # It keeps the store locked for as long as it lives, even if this process is killed.
            pass_fds=[lock],
            # Ctrl-C is for this process to hear; it tells its workers.
            start_new_session=True,
        )
        self._events = events
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        # The pipe may be closed under this thread when the sweep ends.
        with contextlib.suppress(ValueError, OSError):
            for line in self.process.stdout:
                self._hear(line)
        self._events.put((self, None))

    def _hear(self, line: str) -> None:
        """Pass a message on. What Python prints on its way up, before the worker has its output to itself, is none."""
        try:
            message = json.loads(line)
        except ValueError:
            message = None
        if isinstance(message, dict):
            self._events.put((self, message))
        else:
            self._errors.write(line.encode())
            self._errors.flush()

    def give(self, job: Job) -> None:
        """Have it do a job."""
        assert self.process.stdin is not None
        self.job, self.steps, self.begun_at, self._began = job, 0, 0, None
        try:
            self.process.stdin.write(json.dumps(to_data(job)) + "\n")
            self.process.stdin.flush()
        except OSError:
            # It has just died: its last event will say so.
            return

    def free(self) -> None:
        """Note that it has nothing to do."""
        self.ready, self.job, self.steps, self.begun_at = True, None, 0, 0

    def heard(self, steps: int) -> None:
        """Note how far its job is; the first time, where it began: a checkpoint may have been there."""
        if self._began is None:
            self.begun_at, self._began = steps, time.monotonic()
        self.steps = steps

    @property
    def seconds(self) -> float:
        """How long it has trained its job; compilation, before it is first heard of, does not count."""
        return 0.0 if self.job is None or self._began is None else time.monotonic() - self._began

    @property
    def left(self) -> float:
        """How long the rest of its job was expected to take."""
        return 0.0 if self.job is None else self.job.seconds - self._worth(self.job, self.steps)

    @property
    def skipped(self) -> float:
        """How long what earlier sittings did of its job was expected to take."""
        return 0.0 if self.job is None else self._worth(self.job, self.begun_at)

    @staticmethod
    def _worth(job: Job, steps: int) -> float:
        """How long so many of a job's steps were expected to take. It may train a little more than its budget: the
        last rollout, or the only one, is a whole one."""
        return job.seconds * min(1.0, steps / max(job.steps, 1))

    def stop(self) -> None:
        """Ask it to save and end."""
        if self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGTERM)
        # In the last moment of a job the signal is not heeded, for the job is done: then no other is to be waited for.
        self._hang_up()

    def _hang_up(self) -> None:
        with contextlib.suppress(OSError):
            if self.process.stdin is not None:
                self.process.stdin.close()

    def wait(self, patience: float = 60.0) -> None:
        """Wait until it has ended, by force if it takes too long."""
        self._end_of_process(patience)
        self._hang_up()
        for stream in (self.process.stdout, self._errors):
            with contextlib.suppress(OSError):
                if stream is not None:
                    stream.close()

    def _end_of_process(self, patience: float) -> None:
        """Whoever has closed its output is as good as dead, but may take for ever to end."""
        try:
            self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    @property
    def saved(self) -> bool:
        """Whether it has ended as it was asked to: once it has saved, or at once if it was not training yet."""
        return self.process.returncode in (0, STOPPED, -signal.SIGTERM)

    def last_words(self) -> str:
        """How it ended, and the last line it wrote to its standard error, which need not have to do with it."""
        self._end_of_process(PATIENCE)
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return how_it_ended(self.process.returncode) + (f"; its last line: {lines[-1][:300]}" if lines else "")


def how_it_ended(code: int) -> str:
    """What a process' return code means."""
    if code >= 0:
        return f"exit code {code}"
    # Linux kills whoever it thinks should go when memory runs out, and tells nobody.
    return f"signal {-code}" + (", as when memory runs out" if -code == signal.SIGKILL else "")
