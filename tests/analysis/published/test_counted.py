"""What explains differences, counted."""

from derl.analysis.published.counted import Grounds, grounds_of
from derl.analysis.published.explanations import Explanation
from derl.analysis.published.reason_tests import BY_LUCK, LUCK
from derl.analysis.published.verdicts import Outcome, Verdict
from derl.experiments.paper import cells


def verdict(*explanations: Explanation, outcome: Outcome = "differs") -> Verdict:
    return Verdict(cells()[0], outcome, explanations=explanations)


def test_each_difference_is_explained_once():
    lucky, unlucky = (Explanation(LUCK, BY_LUCK, "possible", "further seeds", told) for told in (True, False))
    option = Explanation("an option", "", "known", "a=1", True)
    paper = Explanation("another number", "The paper has 0.5.", "paper")
    judged = [
        verdict(lucky, option, paper),
        verdict(lucky),
        verdict(option, paper),
        verdict(paper, unlucky),
        verdict(unlucky),
        verdict(),
        verdict(outcome="consistent"),
    ]
    assert grounds_of(judged) == Grounds(luck=2, option=1, paper=1)
    assert str(grounds_of(judged)) == (
        "2 can be the luck of five runs, 1 appears with another setting and 1 has another number in the paper"
    )
    assert str(grounds_of(judged[1:2])) == "1 can be the luck of five runs"
    assert str(grounds_of([])) == "none yet"
