"""Names by which users' own parts are found, beside the library's."""

from typing import TypeVar

from derl.core.errors import require

Kind = TypeVar("Kind")


def add_kind(kinds: dict[str, type[Kind]], name: str, kind: type[Kind]) -> None:
    """Let a class be found by a name that no other has.

    The same class made anew, by a notebook's cell that is run twice, replaces itself.
    """
    key = name.lower()
    known = kinds.get(key, kind)
    same = (known.__module__, known.__qualname__) == (kind.__module__, kind.__qualname__)
    require(same, f"cannot register {name!r}: the name is taken by {known.__name__}")
    kinds[key] = kind
