"""The end of the page: what is missing, what failed, and how to make each part again."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from derl.analysis.measures.frames import NAMES
from derl.analysis.report.html import Html, grouped, h, join, long_duration, plural
from derl.analysis.report.model import Table
from derl.analysis.report.names import setting_label
from derl.analysis.report.plain import plain_table
from derl.analysis.report.sections import command
from derl.experiments.builtin import DESCRIPTIONS, experiment
from derl.experiments.paper import column_name, row_name

MOST_FAILURES = 200


def time_of(frame: pl.DataFrame, part: str) -> str:
    """How many runs of an experiment there are, and how long they took."""
    if "seconds" not in frame.columns:
        return ""
    cases = pl.DataFrame([(c.recipe, c.task, c.setting) for c in experiment(part).cases], NAMES, orient="row")
    runs = frame.join(cases, on=NAMES, how="semi").group_by("run").agg(pl.col("seconds").first())["seconds"]
    untimed = int((runs.fill_null(0) <= 0).sum())
    words = [plural(len(runs), "run"), long_duration(float(runs.sum()))] if len(runs) else ["none"]
    return ", ".join(words) + (f" ({grouped(untimed)} were not timed)" if untimed else "")


def missing_section(tables: Sequence[Table]) -> Html:
    """What has not been run, table by table, and within a table by row."""
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
    if not items:
        return h("p", "Every published number has been run.")
    return h("div", items, class_="folds")


def _not_run(table: Table, row: str, column: str) -> bool:
    number = table.numbers.get((row, column))
    return number is not None and number.verdict == "not run"


def few_seeds(tables: Sequence[Table], usual: int = 5) -> Html:
    """A sentence on numbers that rest on fewer seeds than the paper's."""
    count = sum(0 < n.seeds < usual for table in tables for n in table.numbers.values())
    text = f"{plural(count, 'number rests', 'numbers rest')} on fewer than {usual} seeds so far."
    return h("p", text) if count else Html()


def failures_section(frame: pl.DataFrame) -> Html:
    """Runs whose numbers ceased to be finite."""
    columns = ["recipe", "task", "setting", "seed"]
    failed = frame.filter(pl.col("failed_at_step").is_not_null())
    rows = failed.group_by("run", *columns).agg(pl.col("failed_at_step").min()).sort(*columns, "run")
    if rows.is_empty():
        return h("p", "No run failed: all numbers stayed finite.")
    listed = [_failure(row) for row in rows.head(MOST_FAILURES).iter_rows(named=True)]
    text = f"{plural(len(rows), 'run')} ended with numbers that were not finite. What came before that counts."
    more = len(rows) > MOST_FAILURES and h("p", f"The first {MOST_FAILURES} are listed.", class_="note")
    table = plain_table("Failed runs", ("Recipe", "Task", "Setting", "Seed", "Failed at step"), listed)
    return join(h("p", text), table, more)


def _failure(row: dict[str, Any]) -> tuple[str, ...]:
    setting = setting_label(row["setting"]) or "as in the recipe"
    return row_name(row["recipe"]), column_name(row["task"]), setting, row["seed"], grouped(row["failed_at_step"])


def commands_section(frame: pl.DataFrame, page: str) -> Html:
    """How to make each part again, and how long its runs took; `page` is the command that makes the page."""
    rows: list[tuple[Any, ...]] = [
        (what, command(f"derl reproduce {part}"), time_of(frame, part)) for part, what in DESCRIPTIONS.items()
    ]
    others = {
        "What tells why numbers differ": f"derl reproduce {next(iter(DESCRIPTIONS))} --explain",
        "Results as a file, out of the store": "derl store export results/paper/results.parquet",
        "This page": page,
    }
    rows += [(what, command(text), "") for what, text in others.items()]
    return plain_table("Commands", ("Part", "Command", "Runs here, and their time"), rows, "commands")
