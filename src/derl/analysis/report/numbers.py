"""From results to the tables and claims of a report: what `verdicts` and `claims` found, as plain data."""

from collections.abc import Callable, Iterable

import polars as pl

from derl.analysis.measures.aggregates import optimal_return_or_none
from derl.analysis.measures.frames import Results
from derl.analysis.measures.numbers import plural, signed
from derl.analysis.pages.tables import plain_row
from derl.analysis.published.explanations import Explanation, Standing, reasons_told
from derl.analysis.published.reason_tests import LUCK
from derl.analysis.published.tables import table_of
from derl.analysis.published.verdicts import ENOUGH_RUNS, Verdict
from derl.analysis.report.model import Number, Table
from derl.analysis.report.names import METRICS
from derl.core.errors import require
from derl.envs.registry import PAPER_TASKS
from derl.experiments.exchange import in_normal_form
from derl.experiments.paper import TASK_OF, Cell, cells

EXPLAINED: dict[Standing, str] = {
    "explained": "Explained",
    "possible": "Not explained yet",
    "refuted": "Not explained, though tested",
    "none": "Not explained",
}
"""What a standing means in a sentence about one number."""
NEEDED = ("run", "recipe", "task", "setting", "seed", "evaluation", "steps", "episodes", "return", "failed_at_step")


def grouped_results(frame: pl.DataFrame) -> Results:
    """The frame by case, without anything a run said after its failure.

    The order in which files were read is lost on the way, so it cannot be seen on the page.
    """
    missing = [name for name in NEEDED if name not in frame.columns]
    require(not missing, f"a frame of results needs the columns {', '.join(NEEDED)}; missing: {', '.join(missing)}")
    if "key" in frame.columns:
        frame = in_normal_form(frame)
    metrics = [name for name in METRICS if name in frame.columns]
    sound = pl.when(pl.col("failed_at_step").is_null()).then(pl.col(metrics).cast(pl.Float64))
    return Results(frame.with_columns(sound).sort("recipe", "task", "setting", "seed", "run", "evaluation"))


def of_the_paper(results: Results) -> Results:
    """The results of the paper's recipes and tasks. What a user adds is drawn, but proves nothing about the paper."""
    ours = pl.col("task").is_in(PAPER_TASKS) & pl.col("recipe").is_in({cell.case.recipe for cell in cells()})
    kept = results.frame.filter(ours)
    return results if len(kept) == len(results.frame) else Results(kept)


def tables_of(judged: Iterable[Verdict]) -> list[Table]:
    """Verdicts as the tables they belong to, in the paper's order."""
    by_cell = {verdict.cell: verdict for verdict in judged}
    tables: dict[str, list[Cell]] = {}
    for cell in cells():
        if cell in by_cell:
            tables.setdefault(cell.table, []).append(cell)
    return [_table(label, members, lambda cell: _number(by_cell[cell])) for label, members in tables.items()]


def _number(verdict: Verdict) -> Number:
    cell, ours = verdict.cell, verdict.ours
    enough = ours is not None and verdict.seeds >= ENOUGH_RUNS
    return Number(
        published=cell.mean,
        published_std=cell.std,
        bold=cell.bold,
        ours=None if ours is None else ours.value,
        std=None if ours is None else ours.std,
        low=verdict.low if enough else None,
        high=verdict.high if enough else None,
        seeds=verdict.seeds,
        verdict=verdict.outcome,
        reason=_reason(verdict),
        best_reason=_best_reason(verdict),
        standing=verdict.standing,
        recipe=cell.case.recipe,
        task=cell.case.task,
        setting=cell.case.setting,
    )


def _reason(verdict: Verdict) -> str:
    """What is missing; of a difference how well it is explained, and below that every reason, a line for each kind.

    The best one is told in full, unless it was refuted: what is not so need not be explained.
    """
    lines = [_sentence_case(verdict.note)] if verdict.note else []
    if verdict.standing is not None:
        lines.append(EXPLAINED[verdict.standing] + ("" if verdict.explanations else ": no reason known"))
        best = [e for e in verdict.explanations[:1] if not e.about_paper and e.confirmed is not False]
        lines += reasons_told(verdict.explanations)
        lines += [e.text + (f" Option: {e.option}." if e.confirmed and e.name != LUCK else "") for e in best]
    return "\n".join(lines)


def _best_reason(verdict: Verdict) -> str:
    """What is missing, and of a difference the reason that is worth most, in a few words."""
    sentences = [f"{_sentence_case(verdict.note)}."] if verdict.note else []
    standing, reasons = verdict.standing, verdict.explanations
    if standing is None:
        return " ".join(sentences)
    tested = plural(sum(e.standing == "refuted" for e in reasons), "reason was", "reasons were")
    # They are ranked already, but of those that may be it one with which the published number appears is worth more.
    appearing = ("appears", "", "does not appear")
    best = min((e for e in reasons if e.standing == standing), key=lambda e: appearing.index(e.undecided), default=None)
    told = {
        "explained": best and (f"Explained: {best.text}" if best.about_paper else f"Explained by {_with_runs(best)}."),
        "possible": best and f"Not explained yet, perhaps by {_with_runs(best)}.",
        "refuted": f"Not explained: {tested} tested, and none is it.",
        "none": "Not explained: no reason that can be tested is known.",
    }
    return " ".join([*sentences, told[standing] or ""])


def _with_runs(reason: Explanation) -> str:
    """A reason, and what the runs that test it have made."""
    found = reason.evidence
    made = "not tested" if found is None else f"{plural(found.runs, 'run')}: {signed(found.value)}"
    return f"{reason.name} ({made})"


def _sentence_case(text: str) -> str:
    return text[:1].upper() + text[1:]


def _table(label: str, members: list[Cell], number: Callable[[Cell], Number]) -> Table:
    paper = table_of(label)
    optima = {cell.column: optimal_return_or_none(cell.case.task) for cell in members}
    return Table(
        label=label,
        title=paper.title,
        rows=tuple(dict.fromkeys(plain_row(c.row) for c in members)),
        columns=tuple(dict.fromkeys(c.column for c in members)),
        numbers={(plain_row(c.row), c.column): number(c) for c in members},
        part=paper.experiment,
        best={column: best for column, best in optima.items() if best is not None},
        swept=paper.swept,
        task="" if members[0].column in TASK_OF else members[0].case.task,
        statistic=members[0].statistic,
    )
