"""Tables of words. On a narrow screen style.css makes each row a block, in which every value has its column's name."""

from collections.abc import Iterable, Sequence
from typing import Any

from derl.analysis.report.html import Html, h


def plain_table(
    caption: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], kind: str = "", places: Sequence[str] = ()
) -> Html:
    """A table in a box that scrolls if it is too wide. The first value of a row is its name. With `places`, by which
    each row can be found, rows can be given the focus."""
    head = h("tr", [h("th", column, scope="col") for column in columns])
    body = [
        h(
            "tr",
            h("th", name, scope="row"),
            [h("td", value, data_label=column) for column, value in zip(columns[1:], values, strict=True)],
            id=places[i] if places else None,
            tabindex="-1" if places else None,
        )
        for i, (name, *values) in enumerate(rows)
    ]
    table = h(
        "table",
        h("caption", caption, class_="sr"),
        h("thead", head),
        h("tbody", body),
        class_=f"plain stacked {kind}".strip(),
    )
    return h("div", table, class_="scroll", role="region", aria_label=caption, tabindex="0")
