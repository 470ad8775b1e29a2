"""The paper's claims on the page: outcome, effect and interval, in words and as a small picture."""

from collections.abc import Sequence

from derl.analysis.claims.findings import Outcome
from derl.analysis.claims.paper import STATEMENTS, Claim
from derl.analysis.measures.aggregates import Estimate
from derl.analysis.measures.numbers import plural
from derl.analysis.report.html import Html, h, number
from derl.analysis.report.plain import plain_table

CLASSES: dict[Outcome, str] = {
    "holds": "ok",
    "does not hold": "off",
    "mixed": "off",
    "undecided": "open",
    "not enough data": "none",
}
MARKS: dict[Outcome, str] = {
    "holds": "✓",
    "does not hold": "✗",
    "mixed": "±",
    "undecided": "?",
    "not enough data": "–",
}


def claims_section(tests: Sequence[Claim]) -> Html:
    """Claim by claim: the tests of the whole, each with its parts folded away: cases, and means of some of them."""
    if not tests:
        return h("p", "No claim has been tested with these results.", class_="note")
    items = []
    for claim in dict.fromkeys(test.number for test in tests):
        measures: list[list[Claim]] = []
        for test in (test for test in tests if test.number == claim):
            if test.overall or not measures:
                measures.append([])
            measures[-1].append(test)
        items.append(h("li", h("h3", STATEMENTS[claim]), [_measure(group) for group in measures]))
    return h("ol", items, class_="claims")


def _measure(group: Sequence[Claim]) -> Html:
    whole, *cases = group
    badge = h("span", f"{MARKS[whole.outcome]} {whole.outcome}", class_=f"badge {CLASSES[whole.outcome]}")
    measure = h("span", _sentence_case(whole.measure), ", wanted ", h("b", whole.wanted))
    parts = [h("p", badge, measure, class_="measure")]
    if whole.effect is not None:
        where = "" if whole.subject == "all" else f"{_sentence_case(whole.subject)}: "
        text = where + effect_text(whole.effect, whole.published)
        parts.append(h("p", h("span", text), forest(whole.effect, whole.bound, whole.published), class_="effect"))
    note = " ".join(filter(None, (_sentence_case(whole.note), of_the_paper_too(whole))))
    if note:
        parts.append(h("p", note, class_="note"))
    known = [(case, case.effect) for case in cases if case.effect is not None]
    if known:
        parts.append(_cases(known, whole.measure))
    return h("div", parts, class_="test")


def of_the_paper_too(claim: Claim) -> str:
    """Said where a claim is not what the paper's own numbers say either."""
    return "" if claim.holds_in_paper in (None, True) else "The paper's own numbers do not pass this test."


def effect_text(effect: Estimate, published: float | None) -> str:
    """An effect in numbers, with the paper's own beside it."""
    value, low, high = (number(x, 3) for x in effect)
    beside = "" if published is None else f"; in the paper {number(published, 3)}"
    return f"{value}, 95 % interval {low} to {high}{beside}"


def _cases(cases: Sequence[tuple[Claim, Estimate]], measure: str) -> Html:
    rows = [
        (
            case.subject,
            number(effect.value, 3),
            f"{number(effect.low, 3)} to {number(effect.high, 3)}",
            number(case.published, 3),
            f"{MARKS[case.outcome]} {case.outcome}" + (f" ({case.because})" if case.because else ""),
        )
        for case, effect in cases
    ]
    columns = ("Where", "Effect", "95 % interval", "In the paper", "Outcome")
    # The largest of all cases may have to do better than each of them.
    wanted = " or ".join(dict.fromkeys(case.wanted for case, _ in cases))
    box = plain_table(f"Case by case: {measure}, wanted {wanted}", columns, rows)
    return h("details", h("summary", plural(len(cases), "part")), box)


def _sentence_case(text: str) -> str:
    return text[:1].upper() + text[1:]


def forest(effect: Estimate, bound: float, published: float | None) -> Html:
    """The interval of an effect as a line with a dot, the paper's own as a ring, and a dashed line at the bound."""
    shown = (effect.low, effect.value, effect.high, bound, effect.value if published is None else published)
    left, width = min(shown), (max(shown) - min(shown)) or 1.0
    low, dot, high, dashed, ring = (f"{10 + 180 * (x - left) / width:.1f}" for x in shown)
    return h(
        "svg",
        h("line", x1=dashed, x2=dashed, y1="2", y2="22", class_="null"),
        h("line", x1=low, x2=high, y1="12", y2="12", class_="range"),
        h("circle", cx=dot, cy="12", r="4.5"),
        published is not None and h("circle", cx=ring, cy="12", r="4.5", class_="ring"),
        class_="forest",
        viewBox="0 0 200 24",
        aria_hidden="true",
    )
