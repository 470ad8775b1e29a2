"""The end of the page: what failed, and how to make each part again."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from derl.analysis.measures.numbers import grouped, plural
from derl.analysis.published.experiments_run import each_once, explaining_runs, other_runs, runs_of, time_taken
from derl.analysis.report.html import Html, h, join, long_duration
from derl.analysis.report.model import Failure, Table
from derl.analysis.report.names import setting_label
from derl.analysis.report.plain import plain_table
from derl.analysis.report.sections import command
from derl.experiments.builtin import DESCRIPTIONS
from derl.experiments.paper import column_name, row_name

MOST_FAILURES = 200


def runs_told(frame: pl.DataFrame) -> str:
    """How many runs there are, and how long they took."""
    taken = time_taken(frame)
    if taken is None:
        return ""
    words = [plural(taken.runs, "run"), long_duration(taken.seconds)] if taken.runs else ["none"]
    return ", ".join(words) + (f" ({grouped(taken.untimed)} were not timed)" if taken.untimed else "")


CASE = ("Recipe", "Task", "Setting", "Seed")


def failures_section(frame: pl.DataFrame, failures: Sequence[Failure] = ()) -> Html:
    """Runs that could not be finished, and those whose numbers ceased to be finite."""
    parts = [part for part in (_unfinished(failures), _diverged(frame)) if part]
    return join(*parts) if parts else h("p", "None of these runs failed: all numbers stayed finite.")


def _unfinished(failures: Sequence[Failure]) -> Html:
    if not failures:
        return Html()
    listed = [(*_case(one._asdict()), one.error) for one in failures[:MOST_FAILURES]]
    text = f"{plural(len(failures), 'run')} could not be finished: of these there are no numbers on this page."
    table = plain_table("Runs that could not be finished", (*CASE, "Error"), listed)
    return join(h("p", text), table, _only_first(len(failures)))


def _diverged(frame: pl.DataFrame) -> Html:
    columns = ["recipe", "task", "setting", "seed"]
    failed = each_once(frame).filter(pl.col("failed_at_step").is_not_null())
    rows = failed.group_by("run", *columns).agg(pl.col("failed_at_step").min()).sort(*columns, "run")
    if rows.is_empty():
        return Html()
    listed = [(*_case(row), grouped(row["failed_at_step"])) for row in rows.head(MOST_FAILURES).iter_rows(named=True)]
    text = f"{plural(len(rows), 'run')} ended with numbers that were not finite. What came before that counts."
    table = plain_table("Failed runs", (*CASE, "Failed at step"), listed)
    return join(h("p", text), table, _only_first(len(rows)))


def _only_first(count: int) -> Html:
    return h("p", f"The first {MOST_FAILURES} are listed.", class_="note") if count > MOST_FAILURES else Html()


def _case(row: dict[str, Any]) -> tuple[str, ...]:
    setting = setting_label(row["setting"]) or "as in the recipe"
    return row_name(row["recipe"]), column_name(row["task"]), setting, row["seed"]


def commands_section(frame: pl.DataFrame, tables: Sequence[Table], page: str, sweep: bool = False) -> Html:
    """How to make each part again, and how long its runs took; `page` is the command that makes the page. Of a `sweep`
    of a user's own only what has runs is told, the sweep first."""
    there = {part: runs_of(frame, part) for part in DESCRIPTIONS}
    rows: list[tuple[Any, ...]] = [
        (what, command(f"derl reproduce {part}"), runs_told(there[part]))
        for part, what in DESCRIPTIONS.items()
        if not sweep or len(there[part])
    ]
    differing = {table.part for table in tables if table.counts()["differs"]}
    tests = [command(f"derl reproduce {part} --explain") for part in DESCRIPTIONS if part in differing]
    others, explaining = other_runs(frame), explaining_runs(frame)
    if tests or len(explaining):
        what = (
            "Further seeds (--further for more than ten) and settings of known reasons, which tell why numbers differ"
        )
        rows.append((what, [h("div", test) for test in tests], runs_told(explaining)))
    own = others.join(explaining, on="run", how="anti")
    if len(own):
        # Results do not know the name of the file that described them.
        what = "The sweep, of your own file" if sweep else "Other settings, of sweeps described by files"
        rows.insert(0 if sweep else len(rows), (what, command("derl sweep YOUR-FILE.toml"), runs_told(own)))
    file = "YOUR-RESULTS.parquet" if sweep else "results/paper/results.parquet"
    rows += [
        ("Results as a file, out of the store", command(f"derl store export {file}"), ""),
        ("This page", command(page), ""),
    ]
    return plain_table("Commands", ("Part", "Command", "Runs here, and their time"), rows, "commands")
