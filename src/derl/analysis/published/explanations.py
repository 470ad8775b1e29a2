"""What is known about why a number differs, and how much that is worth: tested, only possible, refuted, or nothing.

A reason that nothing can test (an earlier version of a task, a bug that no option brings back) is worth telling, but it
explains nothing: it would fit any difference as well.
"""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from derl.analysis.measures.numbers import signed

OTHER_NUMBER = "another number in the paper"
Standing = Literal["explained", "possible", "refuted", "none"]
Undecided = Literal["", "does not appear", "appears"]
"""Why a test left it open: the published number did not appear, or it did and ours may not have changed."""
STANDINGS: dict[Standing, str] = {
    "explained": "with an option, a setting that the published runs may have had, the published average and maximum "
    "both appear, and ours changes (permutation test, 5 % divided by the number of options tried); or the paper has "
    "another number for the same setting, and ours agrees with that; or it can be luck: the published average and "
    "maximum both lie within the 95 % intervals of five further runs, widened by 0.02. Numbers that cannot be of five "
    "runs are compared with the fewest they can be of",
    "possible": "there is an option that may explain it, but it was not run, or in too few runs to tell",
    "refuted": "every option that may explain it was tested, and none does",
    "none": "there is no option that may explain it",
}
"""How well a difference is explained, best first, and what that means."""


IN_WORDS = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight", 9: "nine", 10: "ten"}
"""Small numbers of runs, as they are told."""


class Evidence(NamedTuple):
    """What the runs that test a reason have made."""

    runs: int
    value: float
    low: float
    """The 95 % interval of the same number of as many such runs as the published one is of."""
    high: float
    chance: float | None = None
    """Of further seeds: how probably so many of them are as far off as the published number."""
    drawn: int = 5
    """How many that is: five, unless the published number cannot be of five."""

    def __str__(self) -> str:
        runs = f"{self.runs} {'run' if self.runs == 1 else 'runs'}: {signed(self.value)}"
        low, high = signed(self.low), signed(self.high)
        drawn = IN_WORDS.get(self.drawn, str(self.drawn))
        words = runs if low == high else f"{runs}, {drawn} such {low} to {high}"
        return (
            words if self.chance is None else f"{words}; {_percent(self.chance)} of samples of {drawn} are as far off"
        )


def _percent(share: float) -> str:
    return "less than 0.1 %" if share < 0.001 else f"{100 * share:.1f} %" if share < 0.1 else f"{100 * share:.0f} %"


@dataclasses.dataclass(frozen=True)
class Explanation:
    """Why a number may differ, and whether that was tested."""

    name: str
    text: str
    kind: Literal["known", "possible", "paper", "runs"]
    """`paper`: the paper itself has another number for the same setting, with which ours agrees. `runs`: the published
    number is of another number of runs than the paper says, which is worth knowing and explains nothing by itself."""
    option: str = ""
    """The settings that test it, if any."""
    confirmed: bool | None = None
    """True if with that option the published number appears and ours changes, False if not; None if nobody can say."""
    undecided: Undecided = ""
    """What came out where nobody can say although it was run: there are too few runs."""
    evidence: Evidence | None = None
    """What came out where it was run."""

    @property
    def about_paper(self) -> bool:
        """Whether it is a fact about the paper, told in full, rather than a reason with a name."""
        return self.kind in ("paper", "runs")

    @property
    def standing(self) -> Standing:
        """What it alone is worth."""
        if self.confirmed or self.kind == "paper":
            return "explained"
        if self.confirmed is False:
            return "refuted"
        return "possible" if self.option else "none"


def standing_of(explanations: Iterable[Explanation]) -> Standing:
    """What all reasons of a difference are worth together."""
    order = list(STANDINGS)
    there: list[Standing] = ["none", *(explanation.standing for explanation in explanations)]
    return min(there, key=lambda standing: order.index(standing))


def ranked(explanations: Iterable[Explanation]) -> tuple[Explanation, ...]:
    """The best explanation first: confirmed, in the paper, to be tested, refuted, beyond test."""
    order = list(STANDINGS)
    return tuple(sorted(explanations, key=lambda e: (order.index(e.standing), not e.confirmed, e.kind == "possible")))


MEANINGS: dict[tuple[Standing, Undecided], str] = {
    ("explained", ""): "tested, the published number appears",
    ("possible", "appears"): "tested, the published number appears, but perhaps by luck",
    ("possible", "does not appear"): "tested, the published number does not appear, but more runs might make it",
    ("possible", ""): "possible, not tested",
    ("refuted", ""): "tested, not the reason",
    ("none", ""): "cannot be tested, explains nothing yet",
}
"""What a reason's standing, and what an undecided test found, means; in the order in which reasons are told."""


def reasons_told(explanations: Sequence[Explanation]) -> list[str]:
    """The reasons of a difference in a few words, those of the same standing together: what decides comes first."""
    words = []
    for (standing, undecided), meaning in MEANINGS.items():
        found = [e for e in explanations if (e.standing, e.undecided) == (standing, undecided)]
        words += [e.text.rstrip(".") for e in found if e.kind == "paper"]
        names = [e.name + ("" if e.evidence is None else f" ({e.evidence})") for e in found if not e.about_paper]
        words += [f"{', '.join(names)}: {meaning}"] if names else []
    return words + [e.text.rstrip(".") for e in explanations if e.kind == "runs"]


def why(explanations: Sequence[Explanation]) -> str:
    """The reasons of a difference as one line."""
    return "; ".join(reasons_told(explanations)) or "no reason known"
