"""The end of the page: what failed, and how to make each part again."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from derl.analysis.measures.frames import NAMES
from derl.analysis.measures.numbers import grouped, plural
from derl.analysis.published.reasons import reasons_for
from derl.analysis.report.html import Html, h, join, long_duration
from derl.analysis.report.model import Failure, Table
from derl.analysis.report.names import setting_label
from derl.analysis.report.plain import plain_table
from derl.analysis.report.sections import command, each_once
from derl.experiments.builtin import DESCRIPTIONS, experiment
from derl.experiments.paper import cells, column_name, row_name

MOST_FAILURES = 200


def runs_told(frame: pl.DataFrame) -> str:
    """How many runs there are, and how long they took."""
    if "seconds" not in frame.columns:
        return ""
    runs = each_once(frame).group_by("run").agg(pl.col("seconds").first())["seconds"]
    untimed = int((runs.fill_null(0) <= 0).sum())
    words = [plural(len(runs), "run"), long_duration(float(runs.sum()))] if len(runs) else ["none"]
    return ", ".join(words) + (f" ({grouped(untimed)} were not timed)" if untimed else "")


def runs_of(frame: pl.DataFrame, *parts: str) -> pl.DataFrame:
    """The runs that these experiments have, by case and seed."""
    members = [(case.recipe, case.task, case.setting, seed) for p in parts for case, seed in experiment(p).members()]
    wanted = pl.DataFrame(members, {**dict.fromkeys(NAMES, pl.String), "seed": frame.schema["seed"]}, orient="row")
    return frame.join(wanted, on=[*NAMES, "seed"], how="semi")


def other_runs(frame: pl.DataFrame) -> pl.DataFrame:
    """The runs that none of the paper's experiments has, under any name."""
    own = runs_of(frame, *DESCRIPTIONS)
    others = frame.join(own, on="run", how="anti")
    return others.join(own.drop_nulls("key"), on="key", how="anti") if "key" in frame.columns else others


def explaining_runs(frame: pl.DataFrame) -> pl.DataFrame:
    """Of the runs that no experiment has those that `--explain` can make: of an experiment's cases, and of reasons'."""
    cases = {case for part in DESCRIPTIONS for case, _ in experiment(part).members()}
    cases |= {test for cell in cells() for reason in reasons_for(cell) if (test := reason.test(cell.case)) is not None}
    wanted = pl.DataFrame([(c.recipe, c.task, c.setting) for c in cases], dict.fromkeys(NAMES, pl.String), orient="row")
    return other_runs(frame).join(wanted, on=NAMES, how="semi")


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
