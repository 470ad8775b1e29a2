"""How tyro reads a flag's value and a setting's docstring, and plain words for the values that it cannot read."""

import contextlib
import dataclasses
import re
from collections.abc import Callable
from typing import Any

from tyro.constructors import (
    ConstructorRegistry,
    PrimitiveConstructorSpec,
    PrimitiveTypeInfo,
    StructConstructorSpec,
    StructTypeInfo,
)

RULES = ConstructorRegistry()


def whole_number(text: str) -> int:
    """100000, also written as 1e5. Raises a `ValueError` if it is none."""
    with contextlib.suppress(ValueError):
        return int(text)
    with contextlib.suppress(ValueError):
        value = float(text)
        if value.is_integer():
            return int(value)
    raise ValueError(f"a whole number such as 100000, not {text}")


def number(text: str) -> float:
    """Any number. Raises a `ValueError` if it is none."""
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"a number, not {text}") from None


NUMBERS: dict[Any, Callable[[str], float]] = {int: whole_number, float: number}


@RULES.primitive_rule
def read_number(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec | None:
    """Numbers as people write them."""
    read = NUMBERS.get(info.type)
    if read is None:
        return None
    kinds = (int, float) if info.type is float else int
    return PrimitiveConstructorSpec(
        nargs=1,
        metavar=info.type.__name__.upper(),
        instance_from_str=lambda words: read(words[0]),
        is_instance=lambda value: isinstance(value, kinds) and not isinstance(value, bool),
        str_from_instance=lambda value: [str(value)],
    )


asking: list[bool] = []
"""Whether a rule is being asked for by `read_docstrings` itself."""


@RULES.struct_rule
def read_docstrings(info: StructTypeInfo) -> StructConstructorSpec | None:
    """Docstrings without their line breaks: tyro keeps those of indented lines, which then end in mid-sentence."""
    if asking or not dataclasses.is_dataclass(info.type):
        return None
    asking.append(True)
    try:
        spec = ConstructorRegistry.get_struct_spec(info)
    finally:
        asking.pop()
    if not isinstance(spec, StructConstructorSpec):
        return None
    fields = [dataclasses.replace(field, helptext=in_one_line(field.helptext)) for field in spec.fields]
    return dataclasses.replace(spec, fields=tuple(fields))


def in_one_line(text: Any) -> str | None:
    """A docstring, or what gives it when it is asked, in one line."""
    words = text() if callable(text) else text
    return None if words is None else " ".join(str(words).split())


FROM = r"could be instantiated from \['(.*)'\]"
PLAIN = (
    (r"parsing (--\S+): (an? .*)", r"\1 takes \2"),
    (rf"parsing (--\S+): no type matching \S*INT\S* {FROM}", r"\1 takes a whole number such as 100000, not \2"),
    (rf"parsing (--\S+): no type matching \S*FLOAT\S* {FROM}", r"\1 takes a number, not \2"),
    (r"parsing (--\S+): Could not find valid parse for arguments: \['(.*)'\]", r"\1 takes whole numbers, not \2"),
    (r"missing value for argument '(.*)'\. Expected 1 values", r"\1 needs a value"),
    (r"missing from (derl \w+): RUN .*", r"\1 needs the folder of a run, for instance: \1 runs/first"),
)
"""What tyro says, and how it is said here."""


def in_plain_words(wrong: str) -> str:
    """What is wrong with a command's words, as tyro says it, for somebody who does not know Python."""
    for pattern, words in PLAIN:
        found = re.fullmatch(pattern, wrong, flags=re.IGNORECASE)
        if found:
            return found.expand(words).replace("', '", " ")
    return wrong
