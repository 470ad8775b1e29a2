"""Results that would be used again, though the user's code that made them has changed without a new `version`."""

from collections import Counter
from pathlib import Path

from derl.experiments.planner import by_case
from derl.experiments.remaining import Plan
from derl.experiments.store import Store
from derl.training.version import own_code, own_code_in


def other_code(plan: Plan, path: Path) -> list[str]:
    """A sentence for each module of the user's own by other code of which some of a plan's stored runs were made.

    Runs of which the store does not know the code, from an older derl say, do not count.
    """
    found = {member.key: member for member in plan.members if member.key in plan.stored}
    now = {case: own for case, own in by_case(list(found.values()), own_code).items() if own}
    if not now:
        return []
    made = {entry.key: own_code_in(entry.version or "") for entry in Store(path, read_only=True).entries()}
    others: Counter[str] = Counter()
    for key, member in found.items():
        then = made.get(key, {})
        others.update(m for m, digest in now.get(member.case, {}).items() if then.get(m, digest) != digest)
    return [_sentence(module, count) for module, count in sorted(others.items())]


def _sentence(module: str, count: int) -> str:
    results = "1 result was" if count == 1 else f"{count} results were"
    return (
        f"{results} made by other code of the module {module}: if that gives other numbers now, raise its class's "
        "version, or use another store"
    )
