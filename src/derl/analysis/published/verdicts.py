"""Every published number beside ours: consistent, different (with the reason, if one is known), or not run.

A published mean is *consistent* with ours if it lies within the 95 % bootstrap interval of the mean of five runs drawn
from ours, widened by 0.02. Ours are the five with the first seeds. The published mean is one of five runs as well, so
this is strict: of two experiments that are the same in everything but their seeds, and whose runs vary by much more
than 0.02, three numbers in ten are called different. So what differs is run with further seeds before another reason is
looked for. They do not change the verdict, for then what differs would have two chances to agree and what agrees by
luck none to differ. They test a reason: the luck of five runs.
"""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Literal, get_args

import numpy as np
import polars as pl

from derl.analysis.measures.frames import EVALUATIONS, Results, as_results
from derl.analysis.measures.numbers import signed
from derl.analysis.measures.statistics import Score, sound_runs
from derl.analysis.published.cautions import trained_for_less
from derl.analysis.published.chance import chance_of_difference
from derl.analysis.published.explanations import OTHER_NUMBER, STANDINGS, Explanation, Standing, ranked, standing_of
from derl.analysis.published.first_runs import engines_behind
from derl.analysis.published.ours import DRAWN, OurNumbers, Ours, our_numbers
from derl.analysis.published.reason_tests import ReasonTests
from derl.analysis.published.reasons import reasons_for
from derl.analysis.published.runs_behind import impossible_pair, not_of_five_runs
from derl.analysis.published.tables import table_of
from derl.experiments.cases import Case
from derl.experiments.paper import Cell, Statistic, cells

Outcome = Literal["consistent", "differs", "not run"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
FURTHER = 10
"""With so many further seeds a number that differs is run, to see whether it does by the luck of five.

They cannot refute that one run in five is unlike all of them (see `widest_interval`): that takes more.
"""
ENOUGH_RUNS = 3
"""Below so many runs an interval says little: that of one run has no width at all."""


@dataclasses.dataclass(frozen=True)
class Verdict:
    """A published number and ours."""

    cell: Cell
    outcome: Outcome
    seeds: int = 0
    """Finished runs behind our number."""
    ours: Score | None = None
    low: float = np.nan
    """The interval's ends, before it is widened."""
    high: float = np.nan
    explanations: tuple[Explanation, ...] = ()
    """Of a difference alone: all reasons there are, the best first, and those that were tested and failed."""
    note: str = ""
    """What is missing, and whether there are too few runs to go by."""

    chance: float | None = None
    """How probable a difference would be by luck alone; of averages of five runs."""

    asked: bool = True
    """Whether reasons were looked for. They are not for training of another length, which is a reason by itself."""

    engines: tuple[int, ...] = ()
    """The engines that made the runs behind our number, as far as they are known."""

    @property
    def standing(self) -> Standing | None:
        """How well a difference is explained; None if there is none, or nobody asked."""
        return standing_of(self.explanations) if self.outcome == "differs" and self.asked else None


def verdicts(
    frame: pl.DataFrame | Results, published: Sequence[Cell] | None = None, *, evaluations: int = EVALUATIONS
) -> list[Verdict]:
    """The verdict on every published number. Only runs with so many evaluations count."""
    results = as_results(frame)
    published = cells() if published is None else published
    wanted: set[tuple[Case, Statistic]] = {(cell.case, cell.statistic) for cell in published}
    ours = our_numbers(results, wanted, evaluations, DRAWN)
    judge = _Judge(results, ours, published, evaluations, asks=not trained_for_less(results))
    return [judge(cell) for cell in published]


class _Judge:
    """Applies the rule to one number after the other."""

    def __init__(self, results: Results, ours: OurNumbers, published: Sequence[Cell], evaluations: int, asks: bool):
        self.results, self.ours, self.evaluations, self.asks = results, ours, evaluations, asks
        self.notes: dict[Case, str] = {}
        self.tests = ReasonTests(results, ours, published, evaluations)

    def __call__(self, cell: Cell) -> Verdict:
        ours = self.ours.get((cell.case, cell.statistic))
        if cell.case not in self.notes:
            self.notes[cell.case] = self.missing(cell.case)
        note = self.notes[cell.case]
        if ours is None:
            return Verdict(cell, "not run", note=note, asked=self.asks)
        consistent = ours.agrees_with(cell.mean)
        explanations = self.explain(cell, ours) if self.asks and not consistent else ()
        outcome = "consistent" if consistent else "differs"
        low, high = map(float, ours.interval)
        few = f"from {ours.seeds} {'run' if ours.seeds == 1 else 'runs'} only" if ours.seeds < ENOUGH_RUNS else ""
        note = "; ".join(filter(None, (note, few)))
        chance = self.chance(cell) if self.asks else None
        engines = engines_behind(self.results, cell.case, self.evaluations)
        return Verdict(cell, outcome, ours.seeds, ours.score, low, high, explanations, note, chance, self.asks, engines)

    def chance(self, cell: Cell) -> float | None:
        """How probable a difference in this number is if the published runs are other seeds of ours."""
        returns = self.results.finished(cell.case, evaluations=self.evaluations)
        if cell.statistic != "average" or returns is None or len(sound_runs(returns[:DRAWN])) < DRAWN:
            return None
        return chance_of_difference(returns[:DRAWN])

    def missing(self, case: Case) -> str:
        """What a number lacks."""
        if case not in self.results:
            return ""
        lengths = self.results.lengths(case)
        unfinished = int((lengths < self.evaluations).sum())
        if unfinished:
            return f"{unfinished} of {len(lengths)} runs unfinished (at evaluation {lengths.min()})"
        returns = self.results.finished(case, evaluations=self.evaluations)
        failed = 0 if returns is None else int((~np.isfinite(returns)).any(1).sum())
        return f"{failed} of {len(lengths)} runs failed" if failed else ""

    def explain(self, cell: Cell, ours: Ours) -> tuple[Explanation, ...]:
        """Everything that could be the reason for a difference, tested as far as its option was run."""
        found = [self.tests.luck(cell), *(self.tests.explanation(reason, cell) for reason in reasons_for(cell))]
        others = [c for c in self.tests.same[cell.case, cell.statistic] if c is not cell and ours.agrees_with(c.mean)]
        if others:
            table = table_of(others[0].table).title
            text = f"The paper has {signed(others[0].mean)} for the same setting in “{table}”; ours agrees with it."
            found.append(Explanation(OTHER_NUMBER, text, "paper"))
        contradiction = not_of_five_runs(cell)
        if contradiction is not None:
            found.append(Explanation("not of five runs", contradiction.text, "runs"))
        pair = impossible_pair(cell)
        if pair is not None:
            found.append(Explanation("a maximum below its average", pair.text, "runs"))
        return ranked(found)


def count_outcomes(judged: Iterable[Verdict]) -> dict[Outcome, int]:
    """How many numbers have each outcome."""
    counts: dict[Outcome, int] = dict.fromkeys(OUTCOMES, 0)
    for verdict in judged:
        counts[verdict.outcome] += 1
    return counts


def count_standings(judged: Iterable[Verdict]) -> dict[Standing, int]:
    """How many differences are explained, how many may be, and so on."""
    counts: dict[Standing, int] = dict.fromkeys(STANDINGS, 0)
    for verdict in judged:
        if verdict.standing is not None:
            counts[verdict.standing] += 1
    return counts


def verdict_frame(judged: Iterable[Verdict]) -> pl.DataFrame:
    """Verdicts as a table, one row per published number."""
    rows = []
    for v in judged:
        first = v.explanations[0] if v.explanations else None
        rows.append(
            {
                "table": v.cell.table,
                "row": v.cell.row,
                "column": v.cell.column,
                "recipe": v.cell.case.recipe,
                "task": v.cell.case.task,
                "setting": v.cell.case.setting,
                "statistic": v.cell.statistic,
                "published": v.cell.mean,
                "published_std": v.cell.std,
                "ours": None if v.ours is None else v.ours.value,
                "ours_std": None if v.ours is None else v.ours.std,
                "low": None if v.ours is None else v.low,
                "high": None if v.ours is None else v.high,
                "seeds": v.seeds,
                "engine": ", ".join(map(str, v.engines)) or None,
                "verdict": v.outcome,
                "chance": None if v.chance is None else round(v.chance, 6),
                "standing": v.standing,
                "reason": first.text if first else None,
                "reason_kind": first.kind if first else None,
                "option": first.option or None if first else None,
                "confirmed": first.confirmed if first else None,
                "note": v.note or None,
            }
        )
    return pl.DataFrame(rows, infer_schema_length=None)
