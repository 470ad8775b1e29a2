"""The `derl` command: finds the sub-command and turns errors into one line and an exit code."""

import contextlib
import importlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from typing import Any

from derl._version import __version__
from derl.cli.display import fail
from derl.cli.modules import check_module, remember_modules
from derl.core.errors import DerlError, UnknownNameError
from derl.experiments.machine import stay_on_cpu
from derl.training.trainer import Interrupted

COMMANDS = {
    "train": "train a recipe on a task",
    "resume": "continue an interrupted run",
    "evaluate": "evaluate the policies of a run",
    "watch": "watch both policies of a run act, in the terminal and as a GIF",
    "plot": "draw a run's learning curves and what decoupling does",
    "report": "results beside the paper's, as one HTML page",
    "list": "list tasks, recipes, agents and bonuses",
    "demo": "A2C and DeA2C with Count on DeepSea-10, beside the published numbers",
    "reproduce": "run one of the paper's experiments, beside the published numbers",
    "sweep": "run an experiment described in a file",
    "status": "show the store, and how much of an experiment remains",
    "store": "take results out of the store, or into it",
    "bench": "measure speed and memory",
}

INTERRUPTED = "interrupted; what was last saved is intact"
PLANNING = ("report", "list", "reproduce", "sweep", "status", "store")
"""Commands that train nothing themselves: what they start, or nobody, needs the accelerator."""
READING = ("resume", "evaluate", "watch", "plot")
"""Commands that read a run folder."""


@contextlib.contextmanager
def leaving_at_once() -> Iterator[None]:
    """Let Ctrl-C end the process there and then wherever no training or sweep handles it.

    Python would raise an exception, which is lost if it happens to be in one of JAX's callbacks, and training begins.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(*_: Any) -> None:
        fail(INTERRUPTED)
        os._exit(130)

    before = signal.signal(signal.SIGINT, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def usage() -> str:
    """What `derl --help` prints."""
    lines = [f"  {name:<10}{text}" for name, text in COMMANDS.items()]
    return "\n".join(
        [
            "usage: derl [--import MODULE] COMMAND ...",
            "",
            "Decoupled reinforcement learning: one policy explores, a second one exploits what it found.",
            "",
            *lines,
            "",
            "'derl COMMAND --help' shows a command's options. Start with: derl train DeepSea-10",
        ]
    )


def main(argv: list[str] | None = None) -> int:
    """Run a command; the value is the exit code."""
    args = sys.argv[1:] if argv is None else argv
    modules = []
    while args and args[0] == "--import":
        if len(args) == 1:
            fail("--import needs the name of a module, and a command after it")
            return 2
        modules.append(args[1])
        args = args[2:]
    if not args or args[0] in ("-h", "--help"):
        print(usage())
        return 0 if args else 2
    if args[0] == "--version":
        print(f"derl {__version__}")
        return 0
    try:
        with leaving_at_once():
            run(args[0], args[1:], modules)
    except Interrupted as error:
        fail(str(error))
        return 130
    except UnknownNameError as error:
        # A run folder names its parts, and who reads it need not know that some are of a module.
        own = args[0] in READING and not modules
        hint = f" (if it is your own: derl --import MODULE {args[0]} ...)" if own else ""
        fail(f"{error}{hint}")
        return 2
    except DerlError as error:
        fail(str(error))
        return 2
    except BrokenPipeError:
        return 1
    except PermissionError as error:
        # What a user may not read or write can be met anywhere.
        fail(f"cannot use {error.filename}: {error.strerror}")
        return 2
    except KeyboardInterrupt:
        fail(INTERRUPTED)
        return 130
    return 0


def run(command: str, args: list[str], modules: list[str]) -> None:
    """Run a command after loading the user's modules, which register tasks, agents or bonuses by name."""
    if command not in COMMANDS:
        raise UnknownNameError("command", command, COMMANDS)
    if command in PLANNING:
        # Before the user's modules, which may make arrays.
        stay_on_cpu()
    remember_modules(modules)
    for module in modules:
        load(module)
    importlib.import_module(f"derl.cli.{command}").main(args)


def load(module: str) -> None:
    """Import a user's module, which may be in the folder the command was typed in."""
    check_module(module)
    sys.path.insert(0, "")
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise DerlError(f"cannot import {module} ({error}); is it in this folder?") from None
    except DerlError as error:
        raise DerlError(f"cannot import {module}: {error}") from None
