"""What a sweep of a user's own has brought: its table of returns, the one that `derl sweep` prints."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from derl.analysis.measures.curves import summarise
from derl.analysis.measures.frames import NAMES, Results
from derl.analysis.published.verdicts import ENOUGH_RUNS
from derl.analysis.report.html import Html, h, join, number
from derl.analysis.report.names import setting_label
from derl.analysis.report.plain import plain_table
from derl.core.errors import DerlError
from derl.experiments.cases import Case, Setting, case_of, setting_text
from derl.experiments.choosing import value_of
from derl.experiments.paper import column_name, row_name

COLUMNS = ("Recipe", "Task", "Setting", "Runs", "Average return", "95 % interval", "Maximum", "Final")
MANY = 40
"""A longer table scrolls in a box of its own, so that the curves below it are not pages away."""


class OwnCase(NamedTuple):
    """What the runs of a case have reached; unlike in the paper's tables all of them count, with all evaluations."""

    case: Case
    shown: Mapping[str, Setting]
    """Its settings without those that all cases share, and with the recipe's own value of what is varied: a sweep over
    0.1 and 1 is stored as 0.1 and the recipe as it is, if that has 1."""
    runs: int
    failed: int
    average: float
    std: float
    low: float | None
    """The 95 % interval of the average, if there are runs enough."""
    high: float | None
    maximum: float
    final: float

    def label(self, without: str = "") -> str:
        """What is shown of its settings, perhaps without one."""
        return setting_label(setting_text({name: value for name, value in self.shown.items() if name != without}))


def own_cases(results: Results, order: Iterable[Case]) -> list[OwnCase]:
    """The returns of all cases, in this order."""
    found = {
        case_of(*(row[name] for name in NAMES)): row for row in summarise(results.frame, NAMES).iter_rows(named=True)
    }
    own = [case for case in order if case in found]
    cases, shown = [], shown_settings(own)
    for case in own:
        row = found[case]
        # The ends of an interval of two runs are these runs.
        enough = row["runs"] - row["failed"] >= ENOUGH_RUNS
        low, high = (row["low"], row["high"]) if enough else (None, None)
        numbers = (row["average"], row["average_std"], low, high, row["maximum"], row["final"])
        cases.append(OwnCase(case, shown[case], row["runs"], row["failed"], *numbers))
    return cases


def shared_changes(cases: Iterable[Case]) -> dict[str, Setting]:
    """What is changed in the same way in all cases: said once, it need not stand at every line."""
    changes = [set(case.changes) for case in cases]
    return dict(sorted(set.intersection(*changes))) if changes else {}


def shown_settings(cases: Sequence[Case]) -> dict[Case, dict[str, Setting]]:
    """The changes of each case without those that all share, and with what other cases of its recipe change."""
    shared, shown = shared_changes(cases), {}
    varied: dict[str, set[str]] = {}
    for case in cases:
        varied.setdefault(case.recipe, set()).update(name for name, _ in case.changes if name not in shared)
    for case in cases:
        values = {name: value_or_none(case, name) for name in sorted(varied[case.recipe])}
        shown[case] = {name: value for name, value in values.items() if value is not None}
    return shown


def value_or_none(case: Case, name: str) -> Setting | None:
    """What a setting is in a case, changed or not; None if it has no such setting, or nobody knows its recipe."""
    try:
        return value_of(case, name)
    except DerlError:
        return None


def names_of_settings(cases: Sequence[Case]) -> dict[str, str]:
    """What to call each setting of these cases. One that means another value in another recipe keeps its own words."""
    shared, names = shared_changes(cases), {}
    for case, shown in shown_settings(cases).items():
        names.setdefault(case.setting, set()).add(setting_text(shown))
    plain = {case.setting: setting_text({n: v for n, v in case.changes if n not in shared}) for case in cases}
    return {setting: min(found) if len(found) == 1 else plain[setting] for setting, found in names.items()}


def returns_table(cases: Sequence[OwnCase]) -> Html:
    """A row for each case."""
    all_have = setting_label(setting_text(shared_changes(one.case for one in cases)))
    table = plain_table("Returns of all cases", COLUMNS, [_row(one) for one in cases], "returns")
    box = h("div", table, class_="long-table") if len(cases) > MANY else table
    return join(all_have and h("p", f"All have: {all_have}.", class_="note"), box)


def _row(one: OwnCase) -> tuple[str, ...]:
    spread = "–" if one.average != one.average else f"{number(one.average)} ± {number(one.std)}"
    return (
        row_name(one.case.recipe),
        column_name(one.case.task),
        one.label() or ("as said above" if one.case.changes else "as in the recipe"),
        f"{one.runs}" + (f", {one.failed} failed" if one.failed else ""),
        spread,
        "–" if one.low is None else f"{number(one.low)} to {number(one.high)}",
        number(one.maximum),
        number(one.final),
    )
