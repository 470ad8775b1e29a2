"""Tables in Markdown."""

from collections.abc import Iterable, Sequence
from typing import Any

SIDES = {"l": "---", "r": "---:"}


def markdown_table(sides: str, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table. `sides` has a letter for every column: "l" for text, which stands at the left, "r" for numbers."""
    lines = ["| " + " | ".join(head) + " |", "|" + "".join(f"{SIDES[side]}|" for side in sides)]
    return "\n".join([*lines, *("| " + " | ".join(map(str, row)) + " |" for row in rows)])
