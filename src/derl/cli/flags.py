"""Reading a command's flags: tyro does it, and what it finds wrong becomes one line like every other error."""

import contextlib
import io
import itertools
import os
import re
import sys
from pathlib import Path
from typing import Annotated, Any, TypeVar

import tyro

from derl.cli.reading import RULES, in_plain_words
from derl.core.errors import DerlError, require

STORE = Path(os.environ.get("DERL_STORE") or "derl-store")
"""The folder of results that sweeps use if they are given none."""
Command = TypeVar("Command")
Task = Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="TASK", help_behavior_hint="(required)")]
ExperimentFile = Annotated[
    tyro.conf.Positional[Path], tyro.conf.arg(metavar="FILE.toml", help_behavior_hint="(required)")
]
ExperimentName = Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="NAME", help_behavior_hint="(required)")]
RunPath = Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]

COLOURS = re.compile(r"\x1b\[[0-9;]*m")
FRAME = re.compile(r"[│|]$")
"""How a line within a frame ends."""
RULE = set("─-╯╰ ")
"""What stands between what is wrong, what may have been meant and where the help is; dashes where none can be drawn."""
SIMILAR = ("Perhaps you meant", "Arguments similar")
FLAG = "    --"


def parsed(kind: type[Command], args: list[str], prog: str, **kwargs: Any) -> Command:
    """A command with the values its flags were given."""
    if not {"-h", "--help"}.isdisjoint(args):
        # Alone: tyro leaves out of its help what it has read before it.
        args = ["--help"]
    for flag, value in itertools.pairwise(["", *args]):
        # An empty path would be this folder: a variable of a script was not set.
        require(value != "", f"{flag or 'the first argument'} is empty; give it a value, or leave it out")
        require(not re.fullmatch("--[a-z.-]+=", value), f"{value[:-1]} is empty; give it a value, or leave it out")
    said, shown = io.StringIO(), Shown()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(shown), RULES:
            command = tyro.cli(kind, args=args, prog=prog, **kwargs)
    except SystemExit as end:
        if not end.code:
            sys.stdout.write(without_none(shown.getvalue()))
            raise
        raise DerlError(f"{one_line(said.getvalue())} (all flags: {prog} --help)") from None
    sys.stderr.write(said.getvalue())
    return command


def check_filled(command: Any, args: list[str]) -> None:
    """Raise if a flag for several values has none: a variable of a script was not set, and () may mean something."""
    for flag, following in itertools.pairwise([*args, "--"]):
        if flag.startswith("--") and following.startswith("--"):
            value = command
            for name in flag[2:].replace("-", "_").split("."):
                value = getattr(value, name, None)
            require(value != (), f"{flag} is empty; give it a value, or leave it out")


class Shown(io.StringIO):
    """What keeps a command's help as a terminal would show it: with frames, and with colours unless they are off."""

    encoding = "utf-8"

    def __init__(self):
        super().__init__()
        # Asked now: soon this is the standard output.
        self.coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR")

    def isatty(self) -> bool:
        return self.coloured


def without_none(shown: str) -> str:
    """A command's help without saying of flags that need not be given that they may also be None."""
    nothing = "{None}|"
    # In a frame the other side has to stay where it is; in the usage above there is none.
    lines = [
        re.sub(re.escape(nothing) + r"(\S+)", lambda found: found[1] + " " * len(nothing), line)
        if FRAME.search(COLOURS.sub("", line))
        else line.replace(nothing, "")
        for line in shown.split("\n")
    ]
    return re.sub(" +$", "", "\n".join(lines), flags=re.MULTILINE)


def one_line(framed: str) -> str:
    """What a frame of tyro's says: what is wrong, and the names of flags that may have been meant."""
    # The first line is a title. All others begin with a side of the frame and a space, or with two spaces.
    lines = [line.rstrip(" │")[2:] for line in COLOURS.sub("", framed).splitlines()[1:]]
    rules = itertools.groupby(lines, lambda line: set(line) <= RULE)
    sections = [list(section) for is_rule, section in rules if not is_rule] or [[framed]]
    said = " ".join(line.strip() for line in sections[0]).removeprefix("Error ").rstrip(".")
    wrong = in_plain_words(said)
    similar = (section for section in sections[1:] if section[0].startswith(SIMILAR))
    # What a flag does stands below it, further in.
    near = dict.fromkeys(line.split()[0].rstrip(",") for lines in similar for line in lines if line.startswith(FLAG))
    hint = f"; did you mean {', '.join(near)}?" if near else ""
    return f"{wrong[:1].lower()}{wrong[1:]}{hint}"
