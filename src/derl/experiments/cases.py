"""A case is one thing whose returns a table reports: a recipe on a task, with some settings changed."""

import dataclasses
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from derl.core.errors import DerlError, require
from derl.training.config import Config
from derl.training.idle import check_idle
from derl.training.recipes import recipe as make_recipe
from derl.training.recipes import with_parts
from derl.training.seeds import MOST_SEEDS

Setting = float | str | bool | tuple[int, ...]
"""What a setting may be changed to; a tuple is the sizes of layers."""
PARTS = ("explorer", "exploiter", "bonus")
"""What a case may have another kind of, as `derl train` may: `bonus_kind`."""


@dataclasses.dataclass(frozen=True)
class Case:
    """A recipe on a task, and the settings in which it differs from the recipe. Hashable: cases are keys."""

    recipe: str
    task: str
    changes: tuple[tuple[str, Setting], ...] = ()
    """Setting and value, sorted by setting: (("bonus.scale", 0.1),)."""

    @staticmethod
    def of(recipe: str, task: str, changes: Mapping[str, Setting] | None = None) -> "Case":
        """A case with its changes in order, each by one name and as a plain value."""
        plain: dict[str, Any] = {n.replace("-", "_"): plain_value(v) for n, v in (changes or {}).items()}
        # A TOML file has lists, which are no keys.
        listed = {name: tuple(value) if isinstance(value, list) else value for name, value in plain.items()}
        return Case(recipe, task, tuple(sorted(listed.items())))

    @property
    def setting(self) -> str:
        """The changes as text, for tables and files; empty for the recipe as it is."""
        return setting_text(dict(self.changes))

    @property
    def title(self) -> str:
        """What to call it in a sentence."""
        return f"{self.recipe} on {self.task}" + (f" with {self.setting}" if self.changes else "")

    def config(self, known: dict[tuple[str, str], Config] | None = None) -> Config:
        """The whole configuration. Where many cases have one recipe, `known` remembers it between them."""
        known, name = {} if known is None else known, (self.recipe, self.task)
        if name not in known:
            known[name] = make_recipe(*name)
        config = known[name]
        changes: dict[str, Any] = dict(self.changes)
        # Parts first: their kinds decide which settings there are.
        kinds = {part: changes.pop(f"{part}_kind") for part in PARTS if f"{part}_kind" in changes}
        for part, kind in kinds.items():
            require(isinstance(kind, str), f"{part}_kind takes the name of one (see derl list), not {kind!r}")
        config = with_parts(config, **kinds) if kinds else config
        for path, value in changes.items():
            config = config.with_value(path, value)
        return config.in_proportion()


def normal_form(recipe: str, task: str, changes: Mapping[str, Setting]) -> Case:
    """The case without changes that change nothing, so that equal runs are one case wherever they appear.

    With parts of other kinds the case stays as it is: they decide which settings there are.
    """
    if any(path.endswith("_kind") for path in changes):
        return Case.of(recipe, task, changes)
    default = Case.of(recipe, task).config()
    kept = {path: value for path, value in changes.items() if default.with_value(path, value) != default}
    return Case.of(recipe, task, kept)


def plain_value(value: Any) -> Any:
    """NumPy's numbers and arrays as Python's own, which can be written down: values may come out of `np.logspace`."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, list | tuple | range):
        # Asked of what is beyond: a range may be longer than a length can say.
        require(not value[MOST_SEEDS:], f"a list of more than {MOST_SEEDS:,} values; take fewer")
        return [plain_value(one) for one in value]
    return value


def setting_text(changes: Mapping[str, Setting]) -> str:
    """Changes as text: `bonus.scale=0.1, explorer_reward=intrinsic`."""
    return ", ".join(f"{name}={_text(value)}" for name, value in sorted(changes.items()))


def _text(value: Setting) -> str:
    if isinstance(value, tuple):
        return "x".join(map(str, value)) + ("x" if len(value) == 1 else "")
    if type(value) is int and abs(value) <= 2**53:
        # Numbers are read back as floats, so that both are to be called the same.
        value = float(value)
    if isinstance(value, float):
        # As short as possible, but never so short that another value would be called the same.
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    return _quoted(value) if isinstance(value, str) and not _is_plain(value) else json.dumps(value).strip('"')


def _is_plain(text: str) -> bool:
    """Whether text without quotes would be read back as the same, and not as a number, sizes or several settings."""
    special = re.search(r'[",=\\]|[^ -~]', text) or text != text.strip() or not text
    return not special and setting_value(text) == text


def _quoted(text: str) -> str:
    """As JSON, without a quote inside: between quotes a comma is part of a value."""
    return '"' + json.dumps(text)[1:-1].replace('\\"', "\\u0022") + '"'


def check_value(path: str, value: Any) -> None:
    """Raise if nothing can be set to this, such as a date of a TOML file."""
    sizes = isinstance(value, list | tuple) and all(type(size) is int for size in value)
    good = sizes or isinstance(value, float | int | str)
    require(good, f"{path} takes a number, text, true, false or a list of whole numbers, not {value!r}")


def parse_setting(text: str) -> dict[str, Setting]:
    """`setting_text`, read back."""
    changes: dict[str, Setting] = {}
    for part in filter(None, (p.strip() for p in re.findall(r'(?:"[^"]*"?|[^",])+', text))):
        name, equals, value = part.partition("=")
        require(bool(equals), f"a setting is written name=value, not {part!r}")
        changes[name.strip()] = setting_value(value.strip())
    return changes


def setting_value(text: str) -> Setting:
    """A number, true, false, sizes of layers (64x64, or 64x for one), or text, in quotes if it looks like another."""
    if text.startswith('"'):
        try:
            return json.loads(text)
        except json.JSONDecodeError:
            raise DerlError(f"{text} begins with a quote, but is no text in quotes") from None
    if re.fullmatch(r"(\d+x)+\d*", text):
        return tuple(int(part) for part in text.split("x") if part)
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return float(text)
    except ValueError:
        return text


def case_of(recipe: str, task: str, setting: str) -> Case:
    """The case with these names, as they stand in a frame of results."""
    return Case.of(recipe, task, parse_setting(setting))


def check_case(case: Case, shapes: bool = True) -> None:
    """Raise a `DerlError` that names the case if its configuration makes no sense."""
    try:
        case.config().check(shapes, idle=False)
    except DerlError as error:
        raise DerlError(f"{case.title}: {error}") from None


def check_changes(cases: Iterable[Case]) -> None:
    """Raise a `DerlError` that names the recipe if a setting was changed that does nothing in any of its cases."""
    recipes: dict[str, list[Config]] = {}
    for case in cases:
        recipes.setdefault(case.recipe, []).append(case.config())
    for name, configs in recipes.items():
        try:
            check_idle(configs)
        except DerlError as error:
            raise DerlError(f"{name}: {error}") from None
