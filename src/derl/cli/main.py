"""The `derl` command: finds the sub-command and turns errors into one line and an exit code."""

import importlib
import sys

from derl._version import __version__
from derl.cli.modules import remember_modules
from derl.core.errors import DerlError
from derl.experiments.machine import stay_on_cpu

COMMANDS = {
    "train": "train a recipe on a task",
    "resume": "go on with an interrupted run",
    "evaluate": "evaluate the policies of a run",
    "watch": "watch both policies of a run act, in the terminal and as a GIF",
    "plot": "draw a run's learning curves and what decoupling does",
    "report": "results beside the paper's, as one HTML page",
    "list": "list tasks, recipes, agents and bonuses",
    "demo": "A2C and DeA2C with Count on DeepSea-10, beside the published numbers",
    "reproduce": "run one of the paper's experiments, beside the published numbers",
    "sweep": "run an experiment described in a file",
    "status": "show what is in the store, and what of an experiment is left",
    "store": "take results out of the store, or into it",
    "bench": "measure speed and memory",
}

PLANNING = ("report", "list", "reproduce", "sweep", "status", "store")
"""Commands that train nothing themselves: what they start, or nobody, needs the accelerator."""


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
    if not args or args[0] in ("-h", "--help"):
        print(usage())
        return 0 if args else 2
    modules = []
    while len(args) > 1 and args[0] == "--import":
        # A user's own module, which registers tasks, agents or bonuses by name.
        modules.append(args[1])
        args = args[2:]
    remember_modules(modules)
    if args and args[0] in PLANNING:
        # Before the user's modules, which may make arrays.
        stay_on_cpu()
    for module in modules:
        sys.path.insert(0, "")
        try:
            importlib.import_module(module)
        except ModuleNotFoundError as error:
            print(f"derl: error: cannot import {module} ({error}); is it in this folder?", file=sys.stderr)
            return 2
        except DerlError as error:
            print(f"derl: error: cannot import {module}: {error}", file=sys.stderr)
            return 2
    if not args:
        print(usage())
        return 2
    if args[0] == "--version":
        print(f"derl {__version__}")
        return 0
    # Imports that take a second come after the cheap answers.
    from derl.cli.display import fail
    from derl.core.errors import UnknownNameError
    from derl.training.trainer import Interrupted

    try:
        if args[0] not in COMMANDS:
            raise UnknownNameError("command", args[0], COMMANDS)
        importlib.import_module(f"derl.cli.{args[0]}").main(args[1:])
    except Interrupted as error:
        fail(str(error))
        return 130
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
        fail("interrupted; what was last saved is intact")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
