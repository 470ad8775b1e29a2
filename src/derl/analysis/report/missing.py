"""What has not been run: numbers of the paper's tables, and cases of its experiments that no table shows."""

from collections.abc import Sequence
from typing import NamedTuple

from derl.analysis.measures.frames import Results
from derl.analysis.measures.numbers import grouped, plural
from derl.analysis.published.ours import DRAWN
from derl.analysis.report.html import Html, h, join
from derl.analysis.report.model import Table
from derl.analysis.report.sections import command
from derl.experiments.builtin import DESCRIPTIONS, experiment
from derl.experiments.cases import Case
from derl.experiments.paper import cells, column_name, row_name


class Untabled(NamedTuple):
    """The cases of an experiment in a task of which the paper has no number, and those of them that were not run."""

    part: str
    task: str
    cases: Sequence[Case]
    absent: Sequence[Case]


def untabled_cases(results: Results, evaluations: int) -> list[Untabled]:
    """Everything the paper's experiments have beside its tables. Only runs with so many evaluations count."""
    shown, found = {cell.case for cell in cells()}, []
    for part in DESCRIPTIONS:
        by_task: dict[str, list[Case]] = {}
        for case in experiment(part).cases:
            if case not in shown:
                by_task.setdefault(case.task, []).append(case)
        for task, there in by_task.items():
            absent = [case for case in there if results.finished(case, evaluations=evaluations) is None]
            found.append(Untabled(part, task, there, absent))
    return found


def missing_section(tables: Sequence[Table], untabled: Sequence[Untabled]) -> Html:
    """What has not been run: table by table, and within a table by row; then what no table shows."""
    items = []
    for table in tables:
        count = table.counts()["not run"]
        if not count:
            continue
        lines = []
        for row in table.rows:
            absent = [c for c in table.columns if _not_run(table, row, c)]
            if absent:
                every = len(absent) == len(table.columns)
                lines.append(h("li", h("b", f"{row}: "), "all" if every else ", ".join(absent)))
        summary = h("summary", f"{table.title}: {count} of {len(table.numbers)}")
        items.append(h("details", summary, h("ul", lines)))
    shown = h("div", items, class_="folds") if items else h("p", "Every published number has been run.")
    others = [_fold(one) for one in untabled if one.absent]
    return join(shown, others and join(h("h3", "What no table shows"), h("div", others, class_="folds")))


def _fold(one: Untabled) -> Html:
    """How much of an experiment is missing in a task, recipe by recipe, and what runs it."""
    name, count = DESCRIPTIONS[one.part].partition(" (")[0], f"{grouped(len(one.absent))} of {grouped(len(one.cases))}"
    lines = []
    for recipe in dict.fromkeys(case.recipe for case in one.absent):
        absent, planned = (sum(case.recipe == recipe for case in cases) for cases in (one.absent, one.cases))
        lines.append(h("li", h("b", f"{row_name(recipe)}: "), f"{grouped(absent)} of {plural(planned, 'setting')}"))
    how = h("p", "Run it: ", command(f"derl reproduce {one.part} --only {one.task}"), class_="note")
    summary = h("summary", f"{name}, {column_name(one.task)}: {count} settings")
    return h("details", summary, h("ul", lines), how)


def _not_run(table: Table, row: str, column: str) -> bool:
    number = table.numbers.get((row, column))
    return number is not None and number.verdict == "not run"


def few_seeds(tables: Sequence[Table]) -> Html:
    """A sentence on numbers that rest on fewer seeds than the paper's."""
    count = sum(0 < n.seeds < DRAWN for table in tables for n in table.numbers.values())
    text = f"{plural(count, 'number rests', 'numbers rest')} on fewer than {DRAWN} seeds so far."
    return h("p", text) if count else Html()
