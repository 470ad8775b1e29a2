"""An experiment is data: which cases, with which seeds. From the paper, from a TOML file, or made in Python."""

import dataclasses
import itertools
import math
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from derl.core.errors import DerlError, UnknownNameError, require
from derl.envs import make
from derl.experiments.cases import Case, Setting, check_case, check_changes, check_value, plain_value
from derl.experiments.choosing import chooser, default_of
from derl.experiments.shortening import shortened
from derl.training.config import Protocol
from derl.training.recipes import RECIPES
from derl.training.seeds import check_seeds, count_seeds, seeds_named

KNOWN = ("name", "title", "tasks", "recipes", "seeds", "vary", "set", "protocol", "parts")
PROTOCOL = tuple(field.name for field in dataclasses.fields(Protocol))
MOST_CASES = 100_000
"""More are a slip of the finger: their plan alone would take minutes."""
MOST_MEMBERS = 1_000_000
PART = ("tasks", "recipes", "seeds", "vary", "set", "protocol")


@dataclasses.dataclass(frozen=True)
class Part:
    """Cases that share their seeds."""

    cases: tuple[Case, ...]
    seeds: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Experiment:
    """What to run. `name` is what commands call it."""

    name: str
    parts: tuple[Part, ...]
    title: str = ""

    @property
    def cases(self) -> tuple[Case, ...]:
        """Every case once, in order."""
        return tuple(dict.fromkeys(case for part in self.parts for case in part.cases))

    def members(self) -> list[tuple[Case, int]]:
        """Every case with every seed, each once."""
        return list(dict.fromkeys((case, seed) for part in self.parts for case in part.cases for seed in part.seeds))

    def check(self) -> "Experiment":
        """Raise a `DerlError` before any work if a case makes no sense or there is none."""
        for part in self.parts:
            check_seeds(part.seeds)
        self._check_number()
        require(len(self.members()) > 0, f"{self.name}: there is nothing to run")
        seen = set()
        for case in self.cases:
            # Whether parts fit each other takes a while to ask: once for all values of a number.
            shape = (case.recipe, case.task, tuple(p for p in case.changes if not _is_number(case, *p)))
            check_case(case, shape not in seen)
            seen.add(shape)
        check_changes(self.cases)
        return self

    def narrowed(
        self,
        *,
        seeds: Sequence[int] | None = None,
        episodes: int | None = None,
        only: Sequence[str] = (),
        where: Callable[[Case], bool] | None = None,
    ) -> "Experiment":
        """A smaller version: other seeds, shorter training, only cases whose task, recipe or setting is named.

        How names choose is said at `chooser`, what becomes of the evaluations at `shortened`.
        """
        if seeds is not None:
            check_seeds(seeds)
        wanted = chooser(only, self.cases)
        parts = []
        for part in self.parts:
            cases = [c for c in part.cases if wanted(c) and (where is None or where(c))]
            if episodes is not None:
                cases = [shortened(case, episodes) for case in cases]
            parts.append(Part(tuple(cases), part.seeds if seeds is None else tuple(seeds)))
        return dataclasses.replace(self, parts=tuple(part for part in parts if part.cases))._check_number()

    def _check_number(self) -> "Experiment":
        """Raise if there are more runs than anybody means, before they are listed."""
        runs = sum(len(part.cases) * len(part.seeds) for part in self.parts)
        require(
            runs <= MOST_MEMBERS, f"{self.name}: {runs:,} runs, and at most {MOST_MEMBERS:,} can be: take fewer seeds"
        )
        return self


def _is_number(case: Case, path: str, value: Setting) -> bool:
    """Whether it is a number that can be any. A whole number may be one as well, or the size of something."""
    whole = type(value) is int and isinstance(default_of(case, path), float)
    return isinstance(value, float) or whole


def product(
    tasks: Sequence[str],
    recipes: Sequence[str],
    *,
    vary: Mapping[str, Sequence[Setting]] | None = None,
    fixed: Mapping[str, Setting] | None = None,
) -> tuple[Case, ...]:
    """Every task with every recipe and every combination of the varied settings."""
    vary = vary or {}
    for path, values in vary.items():
        require(
            isinstance(values, Sequence) and not isinstance(values, str | bytes | bytearray) and len(values) > 0,
            f"vary: {path} needs a list of values",
        )
        for value in values:
            check_value(path, value)
        _check_different("vary", [Case.of("", "", {path: value}).setting for value in values])
    for path, value in (fixed or {}).items():
        check_value(path, value)
    count = len(tasks) * len(recipes) * math.prod(map(len, vary.values()))
    fewer = "vary fewer settings at once, or fewer values"
    require(count <= MOST_CASES, f"{count:,} combinations, and at most {MOST_CASES:,} can be: {fewer}")
    return tuple(
        Case.of(recipe, task, {**(fixed or {}), **dict(zip(vary, combination, strict=True))})
        for task in (make(name).name for name in tasks)
        for recipe in recipes
        for combination in itertools.product(*vary.values())
    )


def read_experiment(path: Path | str) -> Experiment:
    """An experiment from a TOML file; see docs/experiments."""
    try:
        # Some editors begin a file with a mark that says it is UTF-8.
        data = tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise DerlError(f"cannot read {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DerlError(f"{path} is not valid TOML: {error}") from None
    return from_data(data, Path(path).stem)


def from_data(data: Mapping[str, Any], name: str) -> Experiment:
    """An experiment from the contents of a TOML file, or the same made in Python."""
    data = _plain(data)
    for key in data:
        if key not in KNOWN:
            require(key not in PROTOCOL, f"{key} belongs to the protocol: write it below [protocol]")
            raise UnknownNameError("entry of the experiment", key, KNOWN)
    shared = {key: value for key, value in data.items() if key in PART}
    parts = data.get("parts", [{}])
    tables = isinstance(parts, list) and len(parts) > 0 and all(isinstance(part, Mapping) for part in parts)
    require(tables, "parts is a list of tables, written [[parts]]")
    built = tuple(_part({**shared, **_plain(part)}) for part in parts)
    name, title = data.get("name", name), data.get("title", "")
    require(isinstance(name, str) and name.strip() != "", f'name is a text, such as name = "my-sweep", not {name!r}')
    require(isinstance(title, str), f"title is a text, not {title!r}")
    return Experiment(name, built, title).check()


def _plain(data: Mapping[str, Any]) -> dict[str, Any]:
    """With lists for tuples, ranges and arrays."""
    for key in data:
        require(isinstance(key, str), f"an experiment is described by names and their values; {key!r} is no name")
    return {key: _plain(value) if isinstance(value, Mapping) else plain_value(value) for key, value in data.items()}


def _part(data: Mapping[str, Any]) -> Part:
    for key in data:
        if key not in PART:
            raise UnknownNameError("entry of a part", key, PART)
    tasks, recipes = (_names(data, key) for key in ("tasks", "recipes"))
    for recipe in recipes:
        if recipe not in RECIPES:
            raise UnknownNameError("recipe", recipe, RECIPES)
    fixed, vary = _table(data, "set"), _table(data, "vary")
    for name in ("task", "recipe", "env"):
        require(name not in fixed and name not in vary, f"{name} is not a setting; write tasks and recipes")
    protocol = {f"protocol.{key}": value for key, value in _table(data, "protocol").items()}
    _check_once({"set": fixed, "vary": vary, "protocol": protocol})
    cases = product(tasks, recipes, vary=vary, fixed={**fixed, **protocol})
    return Part(cases, _seeds(data.get("seeds", 5)))


def _check_once(tables: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise if a setting is in two tables: only one of its values could count."""
    found: dict[str, str] = {}
    for table, settings in tables.items():
        for path in settings:
            require(path not in found, f"{path} is in [{found.get(path)}] and in [{table}]: leave it in one of them")
            found[path] = table


def _table(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    table = data.get(key, {})
    require(isinstance(table, Mapping), f"{key} is a table, written [{key}]")
    flat: dict[str, Any] = {}
    for path, value in flatten(table):
        name = path.replace("-", "_")
        require(name not in flat, f"{name} is in [{key}] twice, written in two ways: leave one")
        flat[name] = value
    return flat


def flatten(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Nested tables as dotted names: TOML reads an unquoted bonus.scale as a table in a table."""
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _names(data: Mapping[str, Any], key: str) -> list[str]:
    names = data.get(key, [])
    names = [names] if isinstance(names, str) else names
    require(isinstance(names, list) and len(names) > 0, f"name at least one of the {key}: {key} = [...]")
    _check_different(key, [str(name) for name in names])
    return [str(name) for name in names]


def _check_different(what: str, names: Sequence[str]) -> None:
    """Raise if something is listed twice: whoever wrote it may have meant another."""
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    require(twice is None, f"{what}: {twice} is listed twice; leave one out")


def _seeds(seeds: Any) -> tuple[int, ...]:
    if isinstance(seeds, str):
        seeds = seeds_named(seeds)
    if type(seeds) is int:
        seeds = list(count_seeds(seeds))
    require(isinstance(seeds, list), f'seeds is a number, a list or a text such as "10-19"; got {seeds!r}')
    check_seeds(seeds)
    return tuple(seeds)
