"""A worker process: takes jobs on its standard input, one line each, and says on its standard output how they go.

It is started as `python -m derl.experiments.worker STORE CORE SECONDS [MODULE ...]`. Its core is fixed before
the first array is made, when XLA starts: it then has a single thread and runs operations where they are called, which
is a quarter faster than a pool.
"""

import contextlib
import importlib
import json
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from derl.core.errors import DerlError
from derl.experiments.jobs import WriteError, execute, from_data
from derl.experiments.pool import STOPPED
from derl.training.cache import forget_programs, use_compilation_cache
from derl.training.trainer import Interrupted
from derl.training.version import code_version, keep_own_code

KEPT_JOBS = 8
"""After so many jobs their programs are forgotten. Those that come next are often of the same program."""


def speaker() -> Callable[..., None]:
    """What says one line to whoever started this. All other output, a user's prints say, goes to the errors."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def say(**message: Any) -> None:
        # Whoever started this may be gone: then the trainer is told to save and stop, and nobody needs to hear.
        with contextlib.suppress(BrokenPipeError):
            out.write(json.dumps(message) + "\n")
            out.flush()

    return say


def stop_with_parent() -> None:
    """End this process when the one that started it is gone."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        # The trainer answers to this by saving and stopping at a safe place.
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()


def main(argv: list[str]) -> int:
    """Do jobs until the input ends."""
    store, core, seconds, *modules = argv
    say = speaker()
    if core != "any" and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {int(core)})
    stop_with_parent()
    sys.path.insert(0, "")
    for module in modules:
        importlib.import_module(module)
    use_compilation_cache()
    code_version()  # Now, and kept: whoever edits the code while this runs does not edit what runs.
    keep_own_code()
    say(ready=True)
    for number, line in enumerate(sys.stdin):
        if number and number % KEPT_JOBS == 0:
            forget_programs()
        try:
            job = from_data(json.loads(line))
            execute(Path(store), job, lambda p: say(steps=p.steps), float(seconds))
            say(done=job.name)
        except Interrupted:
            return STOPPED
        except DerlError as error:
            say(error=str(error), unsaved=isinstance(error, WriteError))
        except Exception as error:  # A fault in a user's own part is this job's, not the worker's.
            say(error=f"{type(error).__name__}: {error}".splitlines()[0] + f" ({place_of(error, modules)})")
    return 0


def place_of(error: Exception, modules: Sequence[str]) -> str:
    """Where an error was raised: the last line of a user's module that led to it, or of all if there is none."""
    frames = traceback.extract_tb(error.__traceback__)
    own = {os.path.realpath(found) for name in modules if (found := getattr(sys.modules.get(name), "__file__", None))}
    last = next((frame for frame in reversed(frames) if os.path.realpath(frame.filename) in own), frames[-1])
    return f"{Path(last.filename).name}, line {last.lineno}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
