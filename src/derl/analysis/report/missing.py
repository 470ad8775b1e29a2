"""What has not been run: numbers of the paper's tables, and cases of its experiments that no table shows."""

from collections.abc import Sequence

from derl.analysis.measures.numbers import grouped, plural
from derl.analysis.published.not_run import Untabled
from derl.analysis.published.ours import DRAWN
from derl.analysis.report.html import Html, h, join
from derl.analysis.report.model import Table
from derl.analysis.report.sections import command
from derl.experiments.paper import row_name


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
    lines = []
    for recipe in dict.fromkeys(case.recipe for case in one.absent):
        absent, planned = (sum(case.recipe == recipe for case in cases) for cases in (one.absent, one.cases))
        lines.append(h("li", h("b", f"{row_name(recipe)}: "), f"{grouped(absent)} of {plural(planned, 'setting')}"))
    how = h("p", "Run it: ", command(one.command), class_="note")
    summary = h("summary", f"{one.name}: {grouped(len(one.absent))} of {grouped(len(one.cases))} settings")
    return h("details", summary, h("ul", lines), how)


def _not_run(table: Table, row: str, column: str) -> bool:
    number = table.numbers.get((row, column))
    return number is not None and number.verdict == "not run"


def few_seeds(tables: Sequence[Table]) -> Html:
    """A sentence on numbers that rest on fewer seeds than the paper's."""
    count = sum(0 < n.seeds < DRAWN for table in tables for n in table.numbers.values())
    text = f"{plural(count, 'number rests', 'numbers rest')} on fewer than {DRAWN} seeds so far."
    return h("p", text) if count else Html()
