"""Whether a reason explains a number: what the runs say that test it."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from derl.analysis.measures.frames import Results
from derl.analysis.measures.statistics import Interval, sound_runs
from derl.analysis.published.explanations import Evidence, Explanation
from derl.analysis.published.ours import (
    DRAWN,
    OurNumbers,
    Ours,
    chance_of_reaching,
    changes,
    contains,
    number_from,
    our_numbers,
    widest_interval,
)
from derl.analysis.published.reasons import Reason
from derl.analysis.published.runs_behind import possible_numbers_of_runs
from derl.analysis.published.tables import of_the_same_runs
from derl.envs.registry import make
from derl.experiments.cases import Case
from derl.experiments.paper import Cell, Statistic

LUCK = "the luck of five runs"
BY_LUCK = "Where some runs learn and others do not, five may differ from five others by luck alone."


class ReasonTests:
    """Looks for every reason of a difference at the runs that would tell, and remembers what they say."""

    def __init__(self, results: Results, ours: OurNumbers, published: Sequence[Cell], evaluations: int):
        self.results, self.ours, self.evaluations = results, ours, evaluations
        self.same: dict[tuple[Case, Statistic], list[Cell]] = defaultdict(list)
        """The published numbers of a case; the paper may have several."""
        self.rows: dict[tuple[str, str], list[Cell]] = defaultdict(list)
        self.outcomes: dict[tuple[str, Cell], bool | None] = {}
        self.tested: dict[tuple[Case, Statistic, int], Ours | None] = {}
        for cell in published:
            self.same[cell.case, cell.statistic].append(cell)
            self.rows[cell.table, cell.row].append(cell)

    def luck(self, cell: Cell) -> Explanation:
        """That a number differs by the luck of five runs: further ones, alone, can tell.

        It can be luck if five drawn from them agree, and it is not if five that may be like none of them do not either.
        The average and the maximum of a case are of the same runs: the luck of these has to make both. A number that
        cannot be of five is that of as many runs as it can be of.
        """
        returns = self.results.finished(cell.case, evaluations=self.evaluations)
        further = np.empty((0, self.evaluations)) if returns is None else returns[DRAWN:]
        further = sound_runs(further)
        if len(further) < DRAWN:
            return Explanation(LUCK, BY_LUCK, "possible", "further seeds")
        numbers = (cell, *self.twins(cell))
        outcomes = {drawn: _by_luck(further, numbers, drawn) for drawn in possible_numbers_of_runs(cell)}
        # Any of the numbers of runs may be the one: the best outcome counts.
        drawn = max(outcomes, key=lambda n: (outcomes[n] is True, outcomes[n] is None))
        chance = chance_of_reaching(further, cell.statistic, cell.mean, drawn)
        evidence = _evidence(number_from(further, cell.statistic, drawn), drawn)._replace(chance=chance)
        confirmed = outcomes[drawn]
        return Explanation(LUCK, BY_LUCK, "possible", "further seeds", confirmed, confirmed is None, evidence)

    def explanation(self, reason: Reason, cell: Cell, ours: Ours) -> Explanation:
        """A reason, and whether the published number appears with its option switched on, and because of it.

        An option that changes nothing has seeds of its own, with which a number may appear as well as with others. The
        average and the maximum of a case are of the same runs: an option with which only one of them appears is not
        how they were made. And a row of a table was made by one code: an option that is not confirmed in more of its
        numbers than it is refuted in was confirmed by luck.
        """
        tested, confirmed = reason.test(cell.case), self.outcome(reason, cell, ours)
        if confirmed:
            row = [(c, self.ours.get((c.case, c.statistic))) for c in self.rows[cell.table, cell.row]]
            differing = [(c, o) for c, o in row if o is not None and not o.agrees_with(c.mean) and reason.concerns(c)]
            outcomes = [self.outcome(reason, c, o) for c, o in differing]
            confirmed = outcomes.count(True) > outcomes.count(False)
        text = reason.option_text if tested is not None else ""
        drawn = DRAWN if tested is None else self.runs_with_which(tested, cell) or possible_numbers_of_runs(cell)[0]
        found = None if tested is None else self.number_of(tested, cell.statistic, drawn)
        undecided = confirmed is None and found is not None
        evidence = None if found is None else _evidence(found, drawn)
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

    def runs_with_which(self, tested: Case, cell: Cell) -> int | None:
        """With how many runs of a case that tests a reason the published numbers appear, the average and the maximum;
        None if with none of those they can be of."""

        def appears(number: Cell, drawn: int) -> bool:
            found = self.number_of(tested, number.statistic, drawn)
            return found is not None and found.agrees_with(number.mean)

        numbers = (cell, *self.twins(cell))
        return next((n for n in possible_numbers_of_runs(cell) if all(appears(number, n) for number in numbers)), None)

    def number_of(self, case: Case, statistic: Statistic, drawn: int) -> Ours | None:
        """Our number for a case, of all its runs, with the interval of so many; None if it was not run."""
        if (case, statistic, drawn) not in self.tested:
            found = our_numbers(self.results, [(case, statistic)], self.evaluations, drawn=drawn)
            self.tested[case, statistic, drawn] = found.get((case, statistic))
        return self.tested[case, statistic, drawn]

    def confirms(self, tested: Case, cell: Cell, ours: Ours) -> bool | None:
        """Whether a case that tests a reason has the published number, and another one than ours; None if nobody can
        say: it was not run, or where the two are as close as seeds make them (more of them might show a change)."""
        option = self.number_of(tested, cell.statistic, DRAWN)
        if option is None:
            return None
        if self.runs_with_which(tested, cell) is None:
            return False
        if ours.agrees_with(option.score.value):
            return None
        sides = [self.results.finished(case, evaluations=self.evaluations) for case in (cell.case, tested)]
        assert sides[0] is not None
        assert sides[1] is not None
        return changes(sides[0], sides[1], cell.statistic) or None


def _by_luck(further: Float[np.ndarray, "runs evaluations"], numbers: Sequence[Cell], drawn: int) -> bool | None:
    """Whether so many further runs may make all of these published numbers; None if there are too few to tell."""
    short = [n for n in numbers if not number_from(further, n.statistic, drawn).agrees_with(n.mean)]
    if not short:
        return True
    return None if all(contains(_widest(further, number, drawn), number.mean) for number in short) else False


def _evidence(found: Ours, drawn: int) -> Evidence:
    low, high = map(float, found.interval)
    return Evidence(found.seeds, found.score.value, low, high, drawn=drawn)


def _widest(returns: Float[np.ndarray, "runs evaluations"], cell: Cell, drawn: int) -> Interval:
    env = make(cell.case.task)
    low, high = env.lowest_return, env.optimal_return
    assert low is not None
    assert high is not None
    return widest_interval(returns, cell.statistic, low, high, drawn)
