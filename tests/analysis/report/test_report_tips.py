"""What the tip of a cell says, where it stands, and the way from there to all reasons for a difference."""

import polars as pl
import pytest

from analysis.report.reading import EVALUATIONS, needs_chromium
from analysis.synthetic import made_up
from derl.analysis.published.explanations import Evidence, Explanation
from derl.analysis.published.verdicts import Verdict
from derl.analysis.report import write_report
from derl.analysis.report.numbers import tables_of
from derl.experiments.cases import Case
from derl.experiments.paper import cells

CASES = [Case.of("dedqn-count", task) for task in ("DeepSea-10", "DeepSea-30", "Hallway-10-10", "Hallway-30-30")]
CASES.append(Case.of("dedqn-count", "DeepSea-10", {"exploiter.frozen_targets": False}))
CELL = ".panel:not(.away) td[data-tip^='DeDQN Count on %s']"
BOXES = """(() => {
  const sides = ({ left, top, right, bottom }) => [left, top, right, bottom];
  const box = (element) => sides(element.getBoundingClientRect());
  return [box(document.getElementById("tip")), box(document.querySelector("%s"))];
})()"""


def told(*explanations: Explanation, note: str = "") -> str:
    """The sentence on a difference with these reasons."""
    (table,) = tables_of([Verdict(cells()[0], "differs", 5, explanations=explanations, note=note)])
    return next(iter(table.numbers.values())).best_reason


def test_the_best_reason_is_one_short_sentence():
    """Ten lines stood in a tip of 572 pixels, all reasons among them."""
    found = Evidence(45, 0.37, 0.1, 0.6)
    half = Explanation("a lambda of one half", "Long.", "possible", "x=1", True, evidence=found)
    paper = Explanation("another number", "The paper has 0.98 as well; ours agrees with it.", "paper")
    luck = Explanation("luck", "Long.", "possible", "further seeds", None, "does not appear", found)
    maybe = Explanation("half its error", "Long.", "possible", "y=1", None, "appears", found)
    never = Explanation("sampling", "Long.", "possible", "z=1", False, evidence=found)
    assert told(half, luck, never) == "Explained by a lambda of one half (45 runs: 0.37)."
    assert told(paper) == "Explained: The paper has 0.98 as well; ours agrees with it."
    # Of what may be the reason that with which the published number appears.
    assert told(luck, maybe, never) == "Not explained yet, perhaps by half its error (45 runs: 0.37)."
    assert told(Explanation("ICM", "Long.", "possible", "a=1")) == "Not explained yet, perhaps by ICM (not tested)."
    assert told(never) == "Not explained: 1 reason was tested, and none is it."
    assert told(note="from 2 runs only") == ("From 2 runs only. Not explained: no reason that can be tested is known.")


@pytest.fixture
def differing(started, tmp_path):
    """A page of which every number differs, and has reasons that were tested."""
    frame = made_up(CASES, seeds=15, evaluations=EVALUATIONS).with_columns(pl.lit(-0.5).alias("return"))
    started.open(write_report(frame, tmp_path / "r.html", claims=(), evaluations=EVALUATIONS))
    started.run("document.documentElement.style.scrollBehavior = 'auto'")
    yield started
    assert started.problems() == []


@needs_chromium
@pytest.mark.parametrize(("width", "height"), [(1280, 900), (390, 800), (800, 330), (390, 230)])
@pytest.mark.parametrize("task", ["DeepSea 10", "Hallway 30-30"])
def test_a_tip_leaves_its_cell_free(differing, width, height, task):
    """Below it, above it or beside it; in the smallest window it is cut."""
    differing.size(width, height)
    differing.point(*differing.middle(CELL % task), click=True)
    differing.wait("document.querySelectorAll('#tip button').length === 2")
    tip, cell = differing.run(BOXES % (CELL % task))
    apart = tip[2] <= cell[0] or cell[2] <= tip[0] or tip[3] <= cell[1] or cell[3] <= tip[1]
    assert apart, (tip, cell)
    assert tip[0] >= 0
    assert tip[1] >= 0
    assert tip[2] <= width
    assert tip[3] <= height
    assert tip[3] - tip[1] < 250


@needs_chromium
def test_all_reasons_are_a_button_or_the_space_bar_away_and_lead_back(differing):
    text = "document.activeElement.innerText"
    differing.point(*differing.middle(CELL % "DeepSea 10"), click=True)
    differing.wait("document.querySelectorAll('#tip button').length === 2")
    assert "the luck of a few runs" not in differing.run("document.getElementById('tip').innerText")
    box = "document.querySelectorAll('#tip button')[1].getBoundingClientRect()"
    differing.point(*differing.run(f"(({{ left, top }}) => [left + 10, top + 10])({box})"), click=True)
    first = differing.run(text)
    assert first.startswith("DeDQN Count, DeepSea 10")
    assert "luck of a few runs (10 runs: −0.50" in first
    assert differing.run("document.activeElement.checkVisibility()")
    differing.press("Tab")
    differing.press("Enter")
    assert differing.run("document.activeElement.dataset.tip").startswith("DeDQN Count on DeepSea 10\n")
    differing.press("ArrowRight", 4)
    differing.press(" ")
    assert differing.run(text).startswith("DeDQN Count, DeepSea 30")
    top, bottom = differing.run(
        f"(({{ top, bottom }}) => [top, bottom])({'document.activeElement'}.getBoundingClientRect())"
    )
    assert 0 <= top < bottom <= 900
    assert differing.run("document.querySelectorAll('#differences .back').length") == 1
