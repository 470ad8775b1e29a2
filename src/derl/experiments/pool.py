"""The other end of a worker process: start it, give it a job, hear from it, and notice when it dies."""

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from derl.experiments.jobs import to_data
from derl.experiments.machine import WORKER
from derl.experiments.planner import Job

Event = tuple["Worker", dict[str, Any] | None]
"""Who says what; None means that it has ended."""


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
                self._events.put((self, json.loads(line)))
        self._events.put((self, None))

    def give(self, job: Job) -> None:
        """Have it do a job."""
        assert self.process.stdin is not None
        self.job, self.steps = job, 0
        try:
            self.process.stdin.write(json.dumps(to_data(job)) + "\n")
            self.process.stdin.flush()
        except OSError:
            # It has just died: its last event will say so.
            return

    def heard(self, steps: int) -> None:
        """Note how far its job is; the first time, where it began: a checkpoint may have been there."""
        if self.steps == 0:
            self.begun_at = steps
        self.steps = steps

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
        try:
            self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._hang_up()
        for stream in (self.process.stdout, self._errors):
            with contextlib.suppress(OSError):
                if stream is not None:
                    stream.close()

    def last_words(self) -> str:
        """How it ended, and the last line it wrote to its standard error, which need not have to do with it."""
        self.process.wait()
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return how_it_ended(self.process.returncode) + (f"; its last line: {lines[-1][:300]}" if lines else "")


def how_it_ended(code: int) -> str:
    """What a process' return code means."""
    if code >= 0:
        return f"exit code {code}"
    # Linux kills whoever it thinks should go when memory runs out, and tells nobody.
    return f"signal {-code}" + (", as when memory runs out" if -code == signal.SIGKILL else "")
