"""Why numbers differ: every reason with what came of its test, and every difference with its reasons."""

from collections.abc import Sequence

from derl.analysis.measures.numbers import grouped
from derl.analysis.published.counted import CountedReason
from derl.analysis.published.explanations import STANDINGS, Standing
from derl.analysis.published.verdicts import Outcome
from derl.analysis.report.html import Html, h, join, number
from derl.analysis.report.model import Number, Table
from derl.analysis.report.plain import plain_table

HEADS = {
    "explained": "explained",
    "possible": "not explained yet",
    "refuted": "not explained, though all reasons were tested",
    "none": "not explained, and no reason known",
}
REASON_COLUMNS = (
    "Reason",
    "Tested by",
    "Differences it concerns",
    "It is the reason",
    "It is not",
    "Too few runs to tell",
    "Not tested",
)
"""As on the other pages. On a phone a column's name stands alone before its number."""


def differences_section(tables: Sequence[Table], reasons: Sequence[CountedReason], luck: str) -> Html:
    """The reasons, and the differences by how well they are explained. `luck` says how many luck alone would make."""
    found = [(table, row, column, n) for table in tables for (row, column), n in table.numbers.items() if n.standing]
    if not found:
        return h("p", _why_none({n.verdict for table in tables for n in table.numbers.values()}))
    folds = []
    for standing in STANDINGS:
        there = [one for one in found if one[3].standing == standing]
        if there:
            summary = h("summary", h("b", grouped(len(there))), f" {HEADS[standing]}")
            folds.append(h("details", summary, h("p", _meaning(standing), class_="note"), _listed(there, standing)))
    shown = [reason for reason in reasons if reason.concerned]
    return join(
        h("p", luck) if luck else None,
        h("div", folds, class_="folds"),
        shown and join(h("h3", "What the reasons are worth"), _reasons(shown)),
    )


def _why_none(verdicts: set[Outcome]) -> str:
    """Why no difference is listed."""
    if "differs" in verdicts:
        return "Training was shorter than the paper's, which is a reason by itself."
    return "None differs." if "consistent" in verdicts else "No published number was run."


def _meaning(standing: Standing) -> str:
    text = STANDINGS[standing]
    return text[0].upper() + text[1:] + "."


def _listed(found: Sequence[tuple[Table, str, str, Number]], standing: str) -> Html:
    rows = [
        (
            _where(table, row, column),
            number(n.ours),
            number(n.published),
            [h("div", line) for line in n.reason.split("\n")],
        )
        for table, row, column, n in found
    ]
    places = [table.place(row, column) for table, row, column, _ in found]
    head = ("Where", "Ours", "Published", "Why")
    return plain_table(f"Differences {HEADS[standing]}", head, rows, "differences", places)


def _where(table: Table, row: str, column: str) -> Html:
    value = f"{table.swept} = {column}" if table.swept else column
    title = table.title.removesuffix(" (Table 1)")
    return join(f"{row}, {value}", h("div", title, class_="note"))


def _reasons(reasons: Sequence[CountedReason]) -> Html:
    rows = [
        (
            join(reason.name, h("div", reason.text, class_="note")),
            h("code", reason.option) if "=" in reason.option else reason.option or "–",
            *reason[3:],
        )
        for reason in reasons
    ]
    return plain_table("Reasons for differences", REASON_COLUMNS, rows, "reasons")
