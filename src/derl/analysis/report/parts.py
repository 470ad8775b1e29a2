"""The sections of the page: of results of the paper, and, in another order, of a sweep of a user's own."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from derl.analysis.measures.frames import Results
from derl.analysis.published.not_run import untabled_cases
from derl.analysis.report import closing, sections
from derl.analysis.report.claims import claims_section
from derl.analysis.report.differences import differences_section
from derl.analysis.report.html import Html, asset, h, join
from derl.analysis.report.intros import INTROS, NO_NUMBER
from derl.analysis.report.kl import VIEWS, Scales, grid_section, kl_grids, legend
from derl.analysis.report.missing import few_seeds, missing_section
from derl.analysis.report.model import Comparison, Facts
from derl.analysis.report.own import OwnCase, returns_table
from derl.analysis.report.sections import command
from derl.experiments.cases import Case

PAPER = (
    "about",
    "tables",
    "curves",
    "sensitivity",
    "kl",
    "claims",
    "differences",
    "missing",
    "failures",
    "again",
    "reading",
)
OWN = ("returns", "curves", "sensitivity", "kl", "failures", "again", "about", "tables", "claims", "missing", "reading")
"""In a sweep of a user's own its results come first, and nothing differs from the paper."""


class Part(NamedTuple):
    """A section of the page."""

    name: str
    link: str
    """What it is called among the links at the top."""
    title: str
    children: Sequence[Any]


@dataclasses.dataclass(frozen=True)
class Parts:
    """Makes the sections. `paper` are those of the results that the paper has as well."""

    results: Results
    paper: Results
    comparison: Comparison
    facts: Facts
    places: Mapping[Case, int]
    """Where each case stands among the page's curves."""
    own: Sequence[OwnCase] = ()
    """The cases of a sweep of a user's own; empty if any of the paper's numbers was run."""

    def listed(self) -> list[Part]:
        """All sections, in order."""
        made = [getattr(self, f"_{name}")() for name in (OWN if self.own else PAPER)]
        return [part for part in made if part.children]

    def _returns(self) -> Part:
        facts = h("div", sections.facts_list(self.results.frame, self.facts), class_="headline")
        table = returns_table(self.own)
        return Part("returns", "Returns", "Returns of these runs", [_intro("returns"), table, facts])

    def _about(self) -> Part:
        figure = h("figure", Html(asset("loop.svg")), class_="loop")
        opening = h("div", h("div", Html(asset("about.html"))), figure, class_="opening")
        return Part("about", "About", "What this is", [opening, self._headlines()])

    def _headlines(self) -> Html:
        if self.own:
            return h("p", NO_NUMBER)
        counts = h("p", NO_NUMBER) if self.comparison.no_number_run else sections.headline(self.comparison.tables)
        return h("div", h("div", counts), sections.facts_list(self.results.frame, self.facts), class_="headline")

    def _tables(self) -> Part:
        parts = [_intro("tables"), sections.tables_section(self.comparison.tables, self.places)]
        summary = "Nothing in them was run: show the published numbers"
        return Part("tables", "Tables", "The paper's tables", self._folded(summary, parts))

    def _curves(self) -> Part:
        return Part("curves", "Curves", "Learning curves", [_intro("curves"), _charts("curve")])

    def _sensitivity(self) -> Part:
        if self.own:
            return Part(
                "sensitivity", "Sensitivity", "Sensitivity", [_intro("own-sensitivity"), _charts("sensitivity")]
            )
        parts = [_intro("sensitivity"), _again("lambda", "decay"), _charts("sensitivity")]
        return Part("sensitivity", "Sensitivity", "Sensitivity to scale and decay", parts)

    def _kl(self) -> Part:
        found = kl_grids(self.paper, self.comparison.evaluations)
        parts: list[Html] = []
        if found:
            scales = Scales.of(found)
            grids = [grid_section(grid, scales, self.places) for grid in found]
            controls = h("div", sections.segmented("kl-view", "Cells show", VIEWS), class_="controls script")
            box = h("div", grids, id="kl-box", class_="grids")
            parts = [_intro("kl"), _again("kl", "pure-exploration"), controls, legend(scales), box]
        elif not self.own:
            none = "None of the paper's pairs of coefficients has been run yet."
            parts = [_intro("kl"), h("p", none, class_="note")]
        return Part("kl", "KL", "Divergence constraints", parts)

    def _claims(self) -> Part:
        parts = [_intro("claims"), claims_section(self.comparison.claims)]
        summary = "Nothing they are about was run: show them all the same"
        folded = self._folded(summary, parts) if self.comparison.no_claim_tested else parts
        return Part("claims", "Claims", "The paper's claims", folded)

    def _differences(self) -> Part:
        comparison = self.comparison
        made = differences_section(comparison.tables, comparison.reasons, comparison.luck)
        return Part("differences", "Differences", "Why numbers differ", [_intro("differences"), made])

    def _missing(self) -> Part:
        untabled = untabled_cases(self.paper, self.comparison.evaluations)
        parts = [few_seeds(self.comparison.tables), missing_section(self.comparison.tables, untabled)]
        folded = self._folded("No published number was run: show the whole list", parts)
        return Part("missing", "Not run", "Not run yet", folded)

    def _failures(self) -> Part:
        made = closing.failures_section(self.results.frame, self.facts.failures)
        return Part("failures", "Failures", "Failures", [made])

    def _again(self) -> Part:
        own = bool(self.own)
        made = closing.commands_section(self.results.frame, self.comparison.tables, self.facts.command, own)
        return Part("again", "Commands", "Make it again", [_intro("own-again" if own else "again"), made])

    def _reading(self) -> Part:
        return Part("reading", "Reading", "How to read the numbers", [Html(asset("reading.html"))])

    def _folded(self, summary: str, parts: list[Html]) -> list[Html]:
        """Parts about the paper, in one fold if nothing of it was run: what was is not to be sought between them."""
        if not self.comparison.no_number_run:
            return parts
        return [h("div", h("details", h("summary", summary), *parts), class_="folds")]


def _again(*parts: str) -> Html:
    """The commands behind a section."""
    return h("p", "Make it again: ", [join(command(f"derl reproduce {part}"), " ") for part in parts], class_="note")


def _intro(name: str) -> Html:
    """A paragraph that says what a section shows."""
    return h("p", Html(INTROS[name]))


def _charts(name: str) -> Html:
    needs = h(
        "noscript", h("p", "The charts are drawn by a script; the tables above hold the same results.", class_="note")
    )
    return join(
        h("div", id=f"{name}-controls", class_="controls"), h("div", id=f"{name}-panels", class_="charts"), needs
    )
