"""The whole page: sections in order, styles and scripts inline, and a policy that forbids everything else."""

import base64
import hashlib
from collections.abc import Sequence
from typing import Any

from derl.analysis.measures.frames import Results
from derl.analysis.report import swept
from derl.analysis.report.html import Html, asset, embed_json, h, join
from derl.analysis.report.model import Comparison, Facts
from derl.analysis.report.own import names_of_settings, own_cases
from derl.analysis.report.parts import Part, Parts
from derl.analysis.report.series import pack_series
from derl.experiments.cases import Case, case_of

SCRIPTS = ("data.js", "chart.js", "lines.js", "curves.js", "presets.js", "sensitivity.js", "tables.js", "page.js")


def build_page(
    results: Results,
    paper: Results,
    comparison: Comparison,
    title: str,
    facts: Facts,
    notes: Sequence[str] = (),
) -> str:
    """The page as text. `paper` are those of the results that the paper has as well, `notes` come before everything."""
    sweep = comparison.no_number_run and bool(results.cases)
    series = pack_series(results, comparison.evaluations, names_of_settings(results.cases) if sweep else None)
    places = case_places(series)
    own = own_cases(results, places) if sweep else []
    plots = swept.of_sweep(own) if sweep else swept.of_tables(comparison.tables)
    data = {**series, "sensitivity": plots, "own": sweep}
    parts = Parts(results, paper, comparison, facts, places, own).listed()
    body = join(
        _header(title, parts),
        h(
            "main",
            [h("p", note, class_="caution", role="note") for note in notes],
            [_section(part) for part in parts],
            id="main",
        ),
        h("div", id="tip", role="tooltip", hidden=True),
        # Always there, since screen readers overlook text that appears together with its element.
        h("div", id="said", role="status", aria_live="polite", class_="sr"),
        embed_json("report-data", data),
    )
    return _document(title, body)


def case_places(series: dict[str, Any]) -> dict[Case, int]:
    """Where each case stands among the page's curves."""
    names = {kind: [one["name"] for one in series[kind]] for kind in ("recipes", "tasks", "settings")}
    return {
        case_of(names["recipes"][case["r"]], names["tasks"][case["t"]], names["settings"][case["s"]]): i
        for i, case in enumerate(series["cases"])
    }


def _header(title: str, parts: Sequence[Part]) -> Html:
    nav = h("nav", [h("a", part.link, href=f"#{part.name}") for part in parts], aria_label="Sections")
    theme = h("button", "Dark theme", type="button", id="theme", class_="script")
    skip = h("a", "Skip to the content", href="#main", class_="skip")
    return join(skip, h("header", h("h1", title), theme, nav))


def _section(part: Part) -> Html:
    title = f"{part.name}-title"
    return h("section", h("h2", part.title, id=title), *part.children, id=part.name, aria_labelledby=title)


def _document(title: str, body: Html) -> str:
    style = asset("style.css")
    script = "(() => {\n'use strict';\n" + "\n".join(asset(name) for name in SCRIPTS) + "\n})();"
    # Only this style and this script may run, and nothing may be fetched: escaping is the first wall, this the second.
    policy = "; ".join(
        (
            "default-src 'none'",
            "img-src data:",
            f"style-src {_hash(style)}",
            f"script-src {_hash(script)}",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    head = h(
        "head",
        h("meta", charset="utf-8"),
        h("meta", http_equiv="Content-Security-Policy", content=policy),
        h("meta", name="viewport", content="width=device-width, initial-scale=1"),
        h("meta", name="color-scheme", content="light dark"),
        h("title", title),
        h("link", rel="icon", href="data:,"),
        h("style", Html(style)),
    )
    script_element = h("script", Html(script))
    return "<!doctype html>\n" + h("html", head, h("body", body, script_element), lang="en") + "\n"


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
