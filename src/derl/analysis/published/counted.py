"""What came of each reason, over all differences."""

from collections.abc import Iterable
from typing import NamedTuple

from derl.analysis.published.explanations import OTHER_NUMBER, Explanation
from derl.analysis.published.reason_tests import BY_LUCK, LUCK
from derl.analysis.published.reasons import REASONS
from derl.analysis.published.verdicts import Verdict


class CountedReason(NamedTuple):
    """A reason, the differences it concerns, and what came out where its option was run."""

    name: str
    text: str
    option: str
    """What tests it; nothing if nothing does."""
    concerned: int
    confirmed: int
    refuted: int
    undecided: int
    """Tested, in too few runs to tell."""
    untested: int


def counted_reasons(judged: Iterable[Verdict]) -> list[CountedReason]:
    """Every reason there is, whether it concerns a difference or not."""
    found = [e for v in judged if v.outcome == "differs" for e in v.explanations]
    known = [(reason.name, reason.text, reason.option_text) for reason in REASONS]
    rows = [
        _counted(name, text, option, [e for e in found if e.name == name])
        for name, text, option in ((LUCK, BY_LUCK, "further seeds"), *known)
    ]
    paper = sum(e.kind == "paper" for e in found)
    text = "The paper has two numbers for one setting, and ours agrees with the other."
    return [*rows, CountedReason(OTHER_NUMBER, text, "", paper, paper, 0, 0, 0)]


class Grounds(NamedTuple):
    """By what right differences are explained; each counts once, by the first that holds."""

    luck: int
    option: int
    paper: int

    def __str__(self) -> str:
        words = (
            f"{self.luck} can be the luck of five runs",
            f"{self.option} {'appears' if self.option == 1 else 'appear'} with another setting",
        )
        words += (f"{self.paper} {'has' if self.paper == 1 else 'have'} another number in the paper",)
        there = [text for count, text in zip(self, words, strict=True) if count]
        return " and ".join(filter(None, (", ".join(there[:-1]), *there[-1:]))) or "none yet"


def grounds_of(judged: Iterable[Verdict]) -> Grounds:
    """What explains the differences that are explained."""
    found = [v.explanations for v in judged if v.standing == "explained"]
    luck = [any(e.confirmed and e.name == LUCK for e in some) for some in found]
    option = [any(e.confirmed for e in some) and not lucky for some, lucky in zip(found, luck, strict=True)]
    return Grounds(sum(luck), sum(option), len(found) - sum(luck) - sum(option))


def _counted(name: str, text: str, option: str, found: list[Explanation]) -> CountedReason:
    outcomes = [(e.confirmed, bool(e.undecided)) for e in found]
    counts = [outcomes.count(one) for one in ((True, False), (False, False), (None, True), (None, False))]
    return CountedReason(name, text, option, len(found), *counts)
