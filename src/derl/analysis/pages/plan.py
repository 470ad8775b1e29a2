"""What the index says of the paper's experiments: how long they took, and what of them has not been run."""

from collections.abc import Sequence

import polars as pl

from derl.analysis.measures.frames import EVALUATIONS, Results
from derl.analysis.measures.numbers import grouped, plural
from derl.analysis.pages.markdown import markdown_table
from derl.analysis.published.experiments_run import planned_seeds, runs_of, time_taken
from derl.analysis.published.not_run import untabled_cases
from derl.analysis.published.verdicts import Verdict, count_outcomes
from derl.experiments.builtin import DESCRIPTIONS

CORES = 2


def core_hours(frame: pl.DataFrame) -> str:
    """How long the seeds of every experiment took, in a sentence; empty if nothing was timed."""
    told = [text for part in DESCRIPTIONS if (text := _hours_of(frame, part))]
    if not told:
        return ""
    return (
        f"Core hours of the seeds that each experiment plans, as stored, and in brackets hours on {CORES} cores: "
        f"{', '.join(told)}. Compilation is included, and machines were shared with other work."
    )


def _hours_of(frame: pl.DataFrame, part: str) -> str:
    taken, planned = time_taken(runs_of(frame, part)), sum(planned_seeds(part).values())
    if taken is None or taken.seconds == 0:
        return ""
    notes = [_hours(taken.seconds / CORES)]
    notes += [f"{grouped(taken.runs)} of {plural(planned, 'run')}"] if taken.runs < planned else []
    notes += [f"{plural(taken.untimed, 'run')} not timed"] if taken.untimed else []
    return f"`{part}` {_hours(taken.seconds)} ({'; '.join(notes)})"


def _hours(seconds: float) -> str:
    hours = seconds / 3600
    return f"{hours:.1f}" if hours >= 0.1 else "under 0.1"


def not_run_section(results: Results, judged: Sequence[Verdict], evaluations: int = EVALUATIONS) -> list[str]:
    """How much of the paper's experiments has not been run: of its numbers, and of what no table shows."""
    missing = count_outcomes(judged)["not run"]
    numbers = f"{grouped(missing)} of {plural(len(judged), 'published number')} have not been run, see the tables."
    untabled = untabled_cases(results, evaluations)
    rows = [
        (one.name, grouped(len(one.absent)), grouped(len(one.cases)), f"`{one.command}`")
        for one in untabled
        if one.absent
    ]
    head = ("what no table shows", "settings not run", "of", "command")
    shown = [markdown_table("lrrl", head, rows)] if rows else ["Nor is anything missing that no table shows."]
    return ["## Not run", numbers if missing else "Every published number has been run.", *shown]
