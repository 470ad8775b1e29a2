"""Which of an experiment's cases are meant by a few words, and which seeds."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache, reduce
from typing import Any

from derl.core.errors import UnknownNameError, require
from derl.experiments.cases import Case, Setting, parse_setting, setting_text

AS_IS = "as-is"
"""The word for recipes in which nothing is changed but, perhaps, how long they are trained."""

MOST_SEEDS = 1_000_000
"""More are a slip of the finger."""

Test = Callable[[Case], bool]


def chooser(only: Sequence[str], cases: Iterable[Case]) -> Test:
    """Whether a case is among those named, by task, recipe or setting.

    Several names of one kind widen the choice, names of different kinds narrow it.
    """
    cases = list(cases)
    chosen: dict[str, list[Test]] = {}
    for name in only:
        kind, test = meaning(name, cases)
        chosen.setdefault(kind, []).append(test)
    return lambda case: all(any(test(case) for test in tests) for tests in chosen.values())


def meaning(name: str, cases: Sequence[Case]) -> tuple[str, Test]:
    """What kind of name it is, and whether a case has it. Raises if no case has."""
    kinds: dict[str, Test] = {"task": lambda case: case.task == name, "recipe": lambda case: case.recipe == name}
    if name == AS_IS:
        kinds["setting"] = lambda case: all(path.startswith("protocol.") for path, _ in case.changes)
    elif "=" in name:
        wanted = parse_setting(name)
        kinds["setting"] = lambda case: all(value_of(case, path) == value for path, value in wanted.items())
    for kind, test in kinds.items():
        if any(map(test, cases)):
            return kind, test
    settings = {setting_text(dict([change])) for case in cases for change in case.changes}
    known = settings.union(*((case.task, case.recipe) for case in cases), [AS_IS])
    raise UnknownNameError("task, recipe or setting", name, known)


def value_of(case: Case, path: str) -> Setting | None:
    """What a setting is in a case, changed or not; None if it has no such setting."""
    changes = dict(case.changes)
    return changes[path] if path in changes else _default(case.recipe, case.task, path)


@cache
def _default(recipe: str, task: str, path: str) -> Setting | None:
    value = reduce(lambda part, name: getattr(part, name, None), path.split("."), _config(recipe, task))
    return value if isinstance(value, float | int | str | tuple) else None


@cache
def _config(recipe: str, task: str) -> Any:
    return Case.of(recipe, task).config()


def check_seeds(seeds: Sequence[int]) -> None:
    """Raise unless all of these can be seeds: JAX takes 32 bits."""
    require(len(seeds) > 0, "no seeds: give at least one")
    for seed in seeds:
        good = type(seed) is int and 0 <= seed < 2**32
        require(good, f"a seed is a whole number from 0 to {2**32 - 1}, none negative; got {seed!r}")


def check_count(seeds: int) -> None:
    """Raise if there would be more seeds than anybody means."""
    hint = "to name particular ones give a list, such as 7,8"
    require(seeds <= MOST_SEEDS, f"at most {MOST_SEEDS:,} seeds, not {seeds:,}; {hint}")
