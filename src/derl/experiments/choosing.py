"""Which of an experiment's cases are meant by a few words."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache, reduce
from typing import Any

from derl.core.errors import UnknownNameError, require
from derl.experiments.cases import PARTS, Case, Setting, parse_setting, setting_text

AS_IS = "as-is"
"""The word for recipes in which nothing is changed but, perhaps, how long they are trained."""

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
    # Capitals do not matter in a task's name, nor in a sweep's file.
    small = name.lower()
    kinds: dict[str, Test] = {"task": lambda case: case.task.lower() == small}
    kinds["recipe"] = lambda case: case.recipe.lower() == small
    if name == AS_IS:
        kinds["setting"] = lambda case: all(path.startswith("protocol.") for path, _ in case.changes)
    elif "=" in name:
        wanted = {path.replace("-", "_"): value for path, value in parse_setting(name).items()}
        kinds["setting"] = lambda case: all(value_of(case, path) == value for path, value in wanted.items())
    for kind, test in kinds.items():
        if any(map(test, cases)):
            return kind, test
    require(name != AS_IS, f"{AS_IS}: every case of this experiment changes a setting")
    settings = {setting_text(dict([change])) for case in cases for change in case.changes}
    known = settings.union(*((case.task, case.recipe) for case in cases), [AS_IS])
    raise UnknownNameError("task, recipe or setting", name, known)


def value_of(case: Case, path: str) -> Setting | None:
    """What a setting is in a case, changed or not; None if it has no such setting."""
    changes = dict(case.changes)
    return changes[path] if path in changes else default_of(case, path)


def default_of(case: Case, path: str) -> Setting | None:
    """What a setting of a case is if nobody changes it; None if it has no such setting."""
    # Other changes do not matter, and to build every case of a grid would take a while.
    kinds = {f"{part}_kind" for part in PARTS}
    return _default(Case(case.recipe, case.task, tuple(change for change in case.changes if change[0] in kinds)), path)


@cache
def _default(case: Case, path: str) -> Setting | None:
    value = reduce(lambda part, name: getattr(part, name, None), path.split("."), _config(case))
    return value if isinstance(value, float | int | str | tuple) else None


@cache
def _config(case: Case) -> Any:
    return case.config()
