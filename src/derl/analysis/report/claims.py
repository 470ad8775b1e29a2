"""The paper's claims on the page: outcome, effect and interval, in words and as a small picture."""

from collections.abc import Sequence

from derl.analysis.claims import STATEMENTS, claims
from derl.analysis.frames import EVALUATIONS, Results
from derl.analysis.report.html import Html, h, join, number, plural
from derl.analysis.report.model import Claim, Outcome

CLASSES: dict[Outcome, str] = {"holds": "ok", "does not hold": "off", "not enough data": "none"}
MARKS: dict[Outcome, str] = {"holds": "✓", "does not hold": "✗", "not enough data": "–"}


def paper_claims(results: Results, evaluations: int = EVALUATIONS) -> list[Claim]:
    """Every test of every claim of the paper, as plain data."""
    found = []
    for test in claims(results, evaluations=evaluations):
        effect, low, high = test.effect or (None, None, None)
        found.append(
            Claim(
                claim=STATEMENTS[test.number],
                outcome=test.outcome,
                effect=effect,
                low=low,
                high=high,
                text=test.words,
                measure=test.measure,
                subject=test.subject,
                bound=test.bound,
                published=test.published,
                overall=test.overall,
            )
        )
    return found


def claims_section(tests: Sequence[Claim]) -> Html:
    """Claim by claim: the tests of the whole, each with its single cases folded away."""
    if not tests:
        return h("p", "No claim has been tested with these results.", class_="note")
    items = []
    for statement in dict.fromkeys(test.claim for test in tests):
        measures: list[list[Claim]] = []
        for test in (test for test in tests if test.claim == statement):
            if test.overall or not measures:
                measures.append([])
            measures[-1].append(test)
        items.append(h("li", h("h3", statement), [_measure(group) for group in measures]))
    return h("ol", items, class_="claims")


def _measure(group: Sequence[Claim]) -> Html:
    whole, *cases = group
    badge = h("span", f"{MARKS[whole.outcome]} {whole.outcome}", class_=f"badge {CLASSES[whole.outcome]}")
    parts = [h("p", badge, h("span", _sentence_case(whole.measure)), class_="measure")]
    if whole.effect is not None:
        parts.append(h("p", h("span", effect_text(whole)), forest(whole), class_="effect"))
    if whole.text:
        parts.append(h("p", _sentence_case(whole.text), class_="note"))
    known = [case for case in cases if case.effect is not None]
    if known:
        parts.append(_cases(known, whole.measure))
    return h("div", parts, class_="test")


def effect_text(test: Claim) -> str:
    """An effect in numbers, with the paper's own beside it."""
    text = number(test.effect, 3)
    if test.low is not None and test.high is not None:
        text += f", 95 % interval {number(test.low, 3)} to {number(test.high, 3)}"
    return text + (f"; in the paper {number(test.published, 3)}" if test.published is not None else "")


def _cases(cases: Sequence[Claim], measure: str) -> Html:
    head = [h("th", name, scope="col") for name in ("Where", "Effect", "95 % interval", "In the paper", "Outcome")]
    rows = [
        h(
            "tr",
            h("th", case.subject, scope="row"),
            h("td", number(case.effect, 3)),
            h("td", f"{number(case.low, 3)} to {number(case.high, 3)}"),
            h("td", number(case.published, 3)),
            h("td", f"{MARKS[case.outcome]} {case.outcome}"),
        )
        for case in cases
    ]
    caption = h("caption", f"Case by case: {measure}", class_="sr")
    table = h("table", caption, h("thead", h("tr", head)), h("tbody", rows), class_="plain")
    box = h("div", table, class_="scroll", role="region", aria_label=f"Case by case: {measure}", tabindex="0")
    return h("details", h("summary", plural(len(cases), "single case")), box)


def _sentence_case(text: str) -> str:
    return text[:1].upper() + text[1:]


def forest(test: Claim) -> Html:
    """The interval of an effect as a line with a dot, the paper's own as a ring, and a dashed line at the bound."""
    if test.effect is None or test.low is None or test.high is None:
        return join()
    published = test.effect if test.published is None else test.published
    shown = (test.low, test.effect, test.high, test.bound, published)
    left, width = min(shown), (max(shown) - min(shown)) or 1.0
    low, effect, high, bound, ring = (f"{10 + 180 * (x - left) / width:.1f}" for x in shown)
    return h(
        "svg",
        h("line", x1=bound, x2=bound, y1="2", y2="22", class_="null"),
        h("line", x1=low, x2=high, y1="12", y2="12", class_="range"),
        h("circle", cx=effect, cy="12", r="4.5"),
        test.published is not None and h("circle", cx=ring, cy="12", r="4.5", class_="ring"),
        class_="forest",
        viewBox="0 0 200 24",
        aria_hidden="true",
    )
