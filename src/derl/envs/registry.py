"""Environments by name: "DeepSea-10", "Hallway-10-10", and whatever a user registers."""

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from derl.core.errors import DerlError, UnknownNameError, require
from derl.envs.base import AnyEnvironment
from derl.envs.deep_sea import DeepSea
from derl.envs.hallway import Hallway

PAPER_TASKS = (
    "DeepSea-10",
    "DeepSea-14",
    "DeepSea-20",
    "DeepSea-24",
    "DeepSea-30",
    "Hallway-10-0",
    "Hallway-10-10",
    "Hallway-20-0",
    "Hallway-20-20",
    "Hallway-30-0",
    "Hallway-30-30",
)
"""The tasks of the paper's tables, in their order."""

NOT_GYMNASIUM = " (Gymnasium's ids are not; docs/environments.md tells how to add a task, as pure JAX functions)"
Constructor = Callable[..., AnyEnvironment]


class Family(NamedTuple):
    """Environments that differ in their sizes."""

    name: str
    sizes: int
    """How many whole numbers follow the name."""
    example: str
    constructor: Constructor

    def options(self) -> list[str] | None:
        """The keywords the constructor takes beside the sizes; None if it takes any."""
        parameters = list(inspect.signature(self.constructor).parameters.values())
        if any(p.kind is p.VAR_KEYWORD for p in parameters):
            return None
        return [p.name for p in parameters[self.sizes :] if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]


_FAMILIES: dict[str, Family] = {}


def make(name: str, **options: Any) -> AnyEnvironment:
    """The environment called `name`, for instance "DeepSea-10" or "hallway-20-0".

    Capitals do not matter, nor underscores within a name (`deep_sea-10`). `options` go to the constructor:
    `make("DeepSea-10", mapping_seed=7)`.
    """
    head, *tail = name.strip().split("-")
    kind = _FAMILIES.get(_plain(head))
    if kind is None:
        asked = [_as_asked(known, tail) for known in _FAMILIES.values()]
        raise UnknownNameError("task", name, asked, few=0, advice=NOT_GYMNASIUM)
    sizes = _sizes(kind, name, tail)
    # Looking at a signature takes longer than making most environments.
    allowed = kind.options() if options else None
    if allowed is not None:
        for option in options:
            if option not in allowed:
                raise UnknownNameError(f"option of {kind.name}", option, allowed)
    return kind.constructor(*sizes, **options)


def register(example: str, constructor: Constructor) -> None:
    """Let `make`, and with it every command, build environments of your own by name.

    `example` is one such name. Its numbers show how many sizes the constructor takes: after `register("Maze-7", Maze)`,
    "Maze-9" means `Maze(9)`. Registering the same class again replaces it, so that a notebook cell can run twice.
    """
    head, *tail = example.split("-")
    key = _plain(head)
    require(
        key.isalnum() and all(map(_is_number, tail)),
        f"cannot register {example!r}: write a name and then its sizes, joined by hyphens, as in DeepSea-10",
    )
    known = _FAMILIES.get(key)
    require(
        known is None or _origin(known.constructor) == _origin(constructor),
        f"cannot register {example!r}: the name {head} is taken",
    )
    _FAMILIES[key] = Family(head, len(tail), example, constructor)


def families() -> tuple[str, ...]:
    """The names of all families, without sizes."""
    return tuple(kind.name for kind in _FAMILIES.values())


def family(env: AnyEnvironment) -> str:
    """The family an environment belongs to, which is the name of its class: "DeepSea" or "Hallway", for instance."""
    return type(env).__name__


def _plain(name: str) -> str:
    """A family's name without what does not matter: "Deep_Sea" and "deepsea" are the same."""
    return name.lower().replace("_", "").replace(" ", "")


def _is_number(text: str) -> bool:
    """Whether `text` is a plain whole number; `int` alone would also take "1_0", " 3" and "+3"."""
    return text.isascii() and text.isdecimal()


def _as_asked(kind: Family, tail: list[str]) -> str:
    """The name the user may have meant: this family with the sizes asked for, if they fit, else its example."""
    fits = len(tail) == kind.sizes and all(map(_is_number, tail))
    return "-".join([kind.name, *tail]) if fits else kind.example


def _sizes(kind: Family, name: str, tail: list[str]) -> list[int]:
    """The sizes in a name, or a `DerlError` that shows a correct one."""
    given = [text for text in tail if text]
    for text in given:
        if not _is_number(text):
            raise DerlError(f"{text!r} in {name!r} is not a whole number; write for instance {kind.example}")
    if len(given) != kind.sizes or given != tail:
        wanted = ("no size", "a size", "two sizes")[kind.sizes] if kind.sizes < 3 else f"{kind.sizes} sizes"
        verb = "needs" if kind.sizes else "takes"
        raise DerlError(f"{kind.name} {verb} {wanted}, for instance {kind.example}, but the name given is {name!r}")
    return [int(text) for text in given]


def _origin(constructor: Constructor) -> tuple[str | None, str | None]:
    """Where a class was defined: running its definition again gives a new object of the same origin."""
    return getattr(constructor, "__module__", None), getattr(constructor, "__qualname__", None)


register("DeepSea-10", DeepSea)
register("Hallway-10-10", Hallway)
