"""Whether a reason explains a number: what the runs say that test it."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from derl.analysis.measures.frames import Results
from derl.analysis.measures.statistics import Interval, sound_runs
from derl.analysis.published.explanations import Evidence, Explanation, Undecided
from derl.analysis.published.ours import (
    DRAWN,
    OurNumbers,
    chance_of_reaching,
    changes,
    contains,
    number_from,
    widest_interval,
)
from derl.analysis.published.reasons import Reason, reasons_for
from derl.analysis.published.runs_behind import fewest_runs
from derl.analysis.published.tables import of_the_same_runs
from derl.envs.registry import make
from derl.experiments.cases import Case
from derl.experiments.paper import Cell, Statistic

Returns = Float[np.ndarray, "runs evaluations"]

LUCK = "the luck of a few runs"
BY_LUCK = "Where some runs learn and others do not, five may differ from five others by luck alone."


class ReasonTests:
    """Looks for every reason of a difference at the runs that would tell, and remembers what they say."""

    def __init__(self, results: Results, ours: OurNumbers, published: Sequence[Cell], evaluations: int):
        self.results, self.ours, self.evaluations = results, ours, evaluations
        self.same: dict[tuple[Case, Statistic], list[Cell]] = defaultdict(list)
        """The published numbers of a case; the paper may have several."""
        self.rows: dict[tuple[str, str], list[Cell]] = defaultdict(list)
        self.outcomes: dict[tuple[str, Cell], bool | None] = {}
        for cell in published:
            self.same[cell.case, cell.statistic].append(cell)
            self.rows[cell.table, cell.row].append(cell)

    def luck(self, cell: Cell) -> Explanation:
        """That a number differs by the luck of five runs: further ones, alone, can tell."""
        further = self.runs_of(cell.case, beyond=DRAWN)
        if len(further) < DRAWN:
            return Explanation(LUCK, BY_LUCK, "possible", "further seeds")
        confirmed = self.appears(further, cell)
        chance = chance_of_reaching(further, cell.statistic, cell.mean, fewest_runs(cell))
        evidence = _evidence(further, cell)._replace(chance=chance)
        undecided = "does not appear" if confirmed is None else ""
        return Explanation(LUCK, BY_LUCK, "possible", "further seeds", confirmed, undecided, evidence)

    def explanation(self, reason: Reason, cell: Cell) -> Explanation:
        """A reason, and whether the published number appears with its option switched on, and because of it.

        An option that changes nothing has seeds of its own, with which a number may appear as well as with others. And
        a row of a table was made by one code: an option that is not confirmed in more of its numbers than do not appear
        with it, though more runs might make them, was confirmed by luck. It may be the reason, but that is not shown.
        """
        tested, confirmed = reason.test(cell.case), self.outcome(reason, cell)
        if confirmed:
            row = [(c, self.ours.get((c.case, c.statistic))) for c in self.rows[cell.table, cell.row]]
            differing = [c for c, o in row if o is not None and not o.agrees_with(c.mean) and reason.concerns(c)]
            outcomes = [self.outcome(reason, c) for c in differing]
            if outcomes.count(True) <= sum(self.is_missing(reason, c) for c in differing):
                confirmed = False if False in outcomes else None
        text = reason.option_text if tested is not None else ""
        option = np.empty((0, self.evaluations)) if tested is None else self.runs_of(tested)
        if tested is None or len(option) == 0:
            return Explanation(reason.name, reason.text, reason.kind, text, confirmed)
        undecided: Undecided = ""
        if confirmed is None:
            undecided = "appears" if self.appears(option, cell) else "does not appear"
        evidence = _evidence(option, cell)
        return Explanation(reason.name, reason.text, reason.kind, text, confirmed, undecided, evidence)

    def outcome(self, reason: Reason, cell: Cell) -> bool | None:
        """What an option says about one number by itself."""
        tested = reason.test(cell.case)
        if (reason.name, cell) not in self.outcomes:
            self.outcomes[reason.name, cell] = None if tested is None else self.confirms(tested, cell)
        return self.outcomes[reason.name, cell]

    def is_missing(self, reason: Reason, cell: Cell) -> bool:
        """Whether an option was run and a published number did not appear, be it for want of runs."""
        tested = reason.test(cell.case)
        option = None if tested is None else self.runs_of(tested)
        return option is not None and len(option) > 0 and not self.appears(option, cell)

    def twins(self, cell: Cell) -> list[Cell]:
        """The other number of the same published runs: of an average their maximum, of a maximum their average."""
        other: Statistic = "maximum" if cell.statistic == "average" else "average"
        return [twin for twin in self.same[cell.case, other] if of_the_same_runs(cell.table, twin.table)]

    def runs_of(self, case: Case, beyond: int = 0) -> Returns:
        """The returns of finished runs of a case, beyond the first few, but of those that failed at once."""
        returns = self.results.finished(case, evaluations=self.evaluations)
        return np.empty((0, self.evaluations)) if returns is None else sound_runs(returns[beyond:])

    def appears(self, returns: Returns, cell: Cell) -> bool | None:
        """Whether a few of these runs can have made a published number; None if there are too few to tell.

        They can if as many drawn from them agree, and they cannot if as many that may be like none of them do not
        either. The average and the maximum of a case are of the same runs: these have to make both.
        """
        numbers, drawn = (cell, *self.twins(cell)), fewest_runs(cell)
        short = [n for n in numbers if not number_from(returns, n.statistic, drawn).agrees_with(n.mean)]
        if not short:
            return True
        return None if all(contains(_widest(returns, number, drawn), number.mean) for number in short) else False

    def confirms(self, tested: Case, cell: Cell) -> bool | None:
        """Whether a case that tests a reason has the published number, and differs from all of our runs by more than
        seeds make; None if nobody can say: it was not run, or in too few runs."""
        ours, option = (self.runs_of(case) for case in (cell.case, tested))
        appears = self.appears(option, cell) if len(option) else None
        return (changes(ours, option, cell.statistic, self.options_run(cell)) or None) if appears else appears

    def options_run(self, cell: Cell) -> int:
        """How many options were tried on a number."""
        tested = {reason.test(cell.case) for reason in reasons_for(cell)} - {None}
        return sum(case in self.results for case in tested if case is not None)


def _evidence(returns: Returns, cell: Cell) -> Evidence:
    drawn = fewest_runs(cell)
    found = number_from(returns, cell.statistic, drawn)
    low, high = map(float, found.interval)
    return Evidence(found.seeds, found.score.value, low, high, drawn=drawn)


def _widest(returns: Returns, cell: Cell, drawn: int) -> Interval:
    env = make(cell.case.task)
    low, high = env.lowest_return, env.optimal_return
    assert low is not None
    assert high is not None
    return widest_interval(returns, cell.statistic, low, high, drawn)
