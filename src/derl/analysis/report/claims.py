"""The paper's claims on the page: outcome, effect and interval, in words and as a small picture."""

from collections.abc import Sequence

from derl.analysis.report.html import Html, h, number
from derl.analysis.report.model import Claim


def claims_section(claims: Sequence[Claim]) -> Html:
    """Each claim, its outcome, and its effect with interval, also as a small picture."""
    if not claims:
        return h("p", "No claim has been tested with these results.", class_="note")
    return h("ol", [h("li", *_claim(claim)) for claim in claims], class_="claims")


def _claim(claim: Claim) -> list[Html]:
    kind = {"supported": "ok", "not supported": "off"}.get(claim.outcome, "none")
    mark = {"ok": "✓ ", "off": "≠ ", "none": "– "}[kind]
    parts = [h("p", h("span", mark + claim.outcome, class_=f"badge {kind}"), h("strong", claim.claim))]
    if claim.effect is not None:
        known = claim.low is not None and claim.high is not None
        interval = f", 95 % interval {number(claim.low)} to {number(claim.high)}" if known else ""
        parts.append(h("p", f"Effect {number(claim.effect)}{interval}", known and forest(claim), class_="effect"))
    return parts + ([h("p", claim.text, class_="note")] if claim.text else [])


def forest(claim: Claim) -> Html:
    """The interval of an effect as a line with a dot, and where it would be if nothing were true."""
    effect, low, high = (float(x) for x in (claim.effect or 0.0, claim.low or 0.0, claim.high or 0.0))
    left, right = min(low, effect, claim.null), max(high, effect, claim.null)
    width = (right - left) or 1.0
    a, e, b, null = (f"{10 + 180 * (x - left) / width:.1f}" for x in (low, effect, high, claim.null))
    return h(
        "svg",
        h("line", x1=null, x2=null, y1="2", y2="22", class_="null"),
        h("line", x1=a, x2=b, y1="12", y2="12", class_="range"),
        h("circle", cx=e, cy="12", r="4.5"),
        class_="forest",
        viewBox="0 0 200 24",
        aria_hidden="true",
    )
