"""Every published number beside ours: consistent, different (with the reason, if one is known), or not run.

A published mean is *consistent* with ours if it lies within the 95 % bootstrap interval of the mean of five runs drawn
from ours, widened by 0.02. Ours are the five with the first seeds. The published mean is one of five runs as well, so
this is strict: of two experiments that are the same in everything but their seeds, and whose runs vary by much more
than 0.02, three numbers in ten are called different. So what differs is run with further seeds before another reason is
looked for. They do not change the verdict, for then what differs would have two chances to agree and what agrees by
luck none to differ. They test a reason: the luck of five runs.
"""

import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Literal, get_args

import numpy as np
import polars as pl
from jaxtyping import Float

from derl.analysis.measures.frames import EVALUATIONS, Results, as_results
from derl.analysis.measures.numbers import signed
from derl.analysis.measures.statistics import Interval, Score, sound_runs
from derl.analysis.published.cautions import trained_for_less
from derl.analysis.published.chance import chance_of_difference
from derl.analysis.published.explanations import (
    OTHER_NUMBER,
    STANDINGS,
    Evidence,
    Explanation,
    Standing,
    ranked,
    standing_of,
)
from derl.analysis.published.ours import (
    DRAWN,
    Ours,
    changes,
    contains,
    number_from,
    our_numbers,
    widest_interval_of_five,
)
from derl.analysis.published.reasons import Reason, reasons_for
from derl.analysis.published.runs_behind import not_of_five_runs
from derl.analysis.published.tables import of_the_same_runs, table_of
from derl.envs.registry import make
from derl.experiments.cases import Case
from derl.experiments.paper import Cell, Statistic, cells

Outcome = Literal["consistent", "differs", "not run"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
FURTHER = 10
"""With so many further seeds a number that differs is run, to see whether it does by the luck of five.

They cannot refute that one run in five is unlike all of them (see `widest_interval_of_five`): that takes more.
"""
LUCK = "the luck of five runs"
BY_LUCK = "Where some runs learn and others do not, five may differ from five others by luck alone."
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

    def __init__(self, results: Results, ours: dict, published: Sequence[Cell], evaluations: int, asks: bool):
        self.results, self.ours, self.evaluations, self.asks = results, ours, evaluations, asks
        self.notes: dict[Case, str] = {}
        self.same: dict[tuple[Case, Statistic], list[Cell]] = defaultdict(list)
        self.rows: dict[tuple[str, str], list[Cell]] = defaultdict(list)
        self.outcomes: dict[tuple[str, Cell], bool | None] = {}
        self.tested: dict[tuple[Case, Statistic], Ours | None] = {}
        for cell in published:
            self.same[cell.case, cell.statistic].append(cell)
            self.rows[cell.table, cell.row].append(cell)

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
        return Verdict(cell, outcome, ours.seeds, ours.score, low, high, explanations, note, chance, self.asks)

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
        found = [self.luck(cell), *(self.explanation(reason, cell, ours) for reason in reasons_for(cell))]
        others = [c for c in self.same[cell.case, cell.statistic] if c is not cell and ours.agrees_with(c.mean)]
        if others:
            table = table_of(others[0].table).title
            text = f"The paper has {signed(others[0].mean)} for the same setting in “{table}”; ours agrees with it."
            found.append(Explanation(OTHER_NUMBER, text, "paper"))
        contradiction = not_of_five_runs(cell)
        if contradiction is not None:
            found.append(Explanation("not of five runs", contradiction.text, "runs"))
        return ranked(found)

    def luck(self, cell: Cell) -> Explanation:
        """That a number differs by the luck of five runs: further ones, alone, can tell.

        It is luck if five drawn from them agree, and it is not if five that may be like none of them do not either.
        """
        returns = self.results.finished(cell.case, evaluations=self.evaluations)
        further = np.empty((0, self.evaluations)) if returns is None else returns[DRAWN:]
        further = sound_runs(further)
        if len(further) < DRAWN:
            return Explanation(LUCK, BY_LUCK, "possible", "further seeds")
        found = number_from(further, cell.statistic)
        agrees = found.agrees_with(cell.mean)
        undecided = not agrees and contains(_widest(further, cell), cell.mean)
        evidence, confirmed = _evidence(found), None if undecided else agrees
        return Explanation(LUCK, BY_LUCK, "possible", "further seeds", confirmed, undecided, evidence)

    def explanation(self, reason: Reason, cell: Cell, ours: Ours) -> Explanation:
        """A reason, and whether the published number appears with its option switched on, and because of it.

        An option that changes nothing has seeds of its own, with which a number may appear as well as with others. The
        average and the maximum of a case are of the same runs: an option with which only one of them appears is not
        how they were made. And a row of a table was made by one code: an option that is refuted in more of its numbers
        than it is confirmed in was confirmed by luck.
        """
        tested, confirmed = reason.test(cell.case), self.outcome(reason, cell, ours)
        if confirmed:
            row = [(c, self.ours.get((c.case, c.statistic))) for c in self.rows[cell.table, cell.row]]
            differing = [(c, o) for c, o in row if o is not None and not o.agrees_with(c.mean) and reason.concerns(c)]
            outcomes = [self.outcome(reason, c, o) for c, o in differing]
            confirmed = outcomes.count(True) >= outcomes.count(False)
        text = reason.option_text if tested is not None else ""
        found = None if tested is None else self.number_of(tested, cell.statistic)
        undecided = confirmed is None and found is not None
        evidence = None if found is None else _evidence(found)
        return Explanation(reason.name, reason.text, reason.kind, text, confirmed, undecided, evidence)

    def outcome(self, reason: Reason, cell: Cell, ours: Ours) -> bool | None:
        """What an option says about one number by itself."""
        tested = reason.test(cell.case)
        if (reason.name, cell) not in self.outcomes:
            self.outcomes[reason.name, cell] = None if tested is None else self.confirms(tested, cell, ours)
        return self.outcomes[reason.name, cell]

    def twins(self, cell: Cell) -> list[Cell]:
        """The other number of the same published runs: of an average their maximum, of a maximum their average."""
        other: Statistic = "maximum" if cell.statistic == "average" else "average"
        return [twin for twin in self.same[cell.case, other] if of_the_same_runs(cell.table, twin.table)]

    def appears(self, tested: Case, cell: Cell) -> bool:
        """Whether a published number agrees with the runs of a case that tests a reason."""
        found = self.number_of(tested, cell.statistic)
        return found is not None and found.agrees_with(cell.mean)

    def number_of(self, case: Case, statistic: Statistic) -> Ours | None:
        """Our number for a case, of all its runs; None if it was not run."""
        if (case, statistic) not in self.tested:
            found = our_numbers(self.results, [(case, statistic)], self.evaluations)
            self.tested[case, statistic] = found.get((case, statistic))
        return self.tested[case, statistic]

    def confirms(self, tested: Case, cell: Cell, ours: Ours) -> bool | None:
        """Whether a case that tests a reason has the published number, and another one than ours; None if nobody can
        say: it was not run, or where the two are as close as seeds make them (more of them might show a change)."""
        option = self.number_of(tested, cell.statistic)
        if option is None:
            return None
        if not option.agrees_with(cell.mean) or not all(self.appears(tested, twin) for twin in self.twins(cell)):
            return False
        if ours.agrees_with(option.score.value):
            return None
        sides = [self.results.finished(case, evaluations=self.evaluations) for case in (cell.case, tested)]
        assert sides[0] is not None
        assert sides[1] is not None
        return changes(sides[0], sides[1], cell.statistic) or None


def _evidence(found: Ours) -> Evidence:
    return Evidence(found.seeds, found.score.value, float(found.interval.low), float(found.interval.high))


def _widest(returns: Float[np.ndarray, "runs evaluations"], cell: Cell) -> Interval:
    env = make(cell.case.task)
    low, high = env.lowest_return, env.optimal_return
    assert low is not None
    assert high is not None
    return widest_interval_of_five(returns, cell.statistic, low, high)


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
                "verdict": v.outcome,
                "chance": v.chance,
                "standing": v.standing,
                "reason": first.text if first else None,
                "reason_kind": first.kind if first else None,
                "option": first.option or None if first else None,
                "confirmed": first.confirmed if first else None,
                "note": v.note or None,
            }
        )
    return pl.DataFrame(rows, infer_schema_length=None)
