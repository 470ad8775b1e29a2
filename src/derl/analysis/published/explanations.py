"""What is known about why a number differs, and how much that is worth: tested, only possible, refuted, or nothing.

A reason that nothing can test (an earlier version of a task, a bug that no option brings back) is worth telling, but it
explains nothing: it would fit any difference as well.
"""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Literal

Standing = Literal["explained", "possible", "refuted", "none"]
STANDINGS: dict[Standing, str] = {
    "explained": "the published number appears with a reason's option, and that option changes our number: its "
    "mean lies outside our interval, and by more than seeds would make (all runs dealt anew, 5 %); or the paper has "
    "another for the same setting and ours agrees with that; or it is the luck of five runs: further ones agree",
    "possible": "there is a reason whose option has not been run, or in too few runs to tell",
    "refuted": "every reason that has an option was tested, and none is it",
    "none": "there is no reason that could be tested",
}
"""How well a difference is explained, best first, and what that means."""


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
    undecided: bool = False
    """Whether nobody can say although it was run: there are too few runs."""

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


def why(explanations: Sequence[Explanation]) -> str:
    """The reasons of a difference in a few words, each with what is known about it."""
    words = [e.text.rstrip(".") for e in explanations if e.about_paper]
    said: list[tuple[Standing, bool, str]] = [
        ("explained", False, "tested, the published number appears"),
        ("possible", True, "tested, too few runs to tell"),
        ("possible", False, "possible, not tested"),
        ("refuted", False, "tested, not the reason"),
        ("none", False, "cannot be tested, explains nothing yet"),
    ]
    for standing, undecided, meaning in said:
        found = [e for e in explanations if (e.standing, e.undecided) == (standing, undecided)]
        names = [e.name for e in found if not e.about_paper]
        words += [f"{', '.join(names)}: {meaning}"] if names else []
    return "; ".join(words) or "no reason known"
