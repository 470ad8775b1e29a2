"""The whole page: sections in order, styles and scripts inline, and a policy that forbids everything else."""

import base64
import hashlib
from collections.abc import Sequence
from importlib import resources
from typing import Any

from derl.analysis.measures.frames import Results
from derl.analysis.report import closing, sections
from derl.analysis.report.claims import claims_section
from derl.analysis.report.differences import differences_section
from derl.analysis.report.html import Html, embed_json, h, join
from derl.analysis.report.kl import VIEWS, Scales, grid_section, kl_grids, legend
from derl.analysis.report.missing import few_seeds, missing_section, untabled_cases
from derl.analysis.report.model import Comparison, Facts, Table
from derl.analysis.report.names import bonus_label
from derl.analysis.report.sections import command
from derl.analysis.report.series import pack_series
from derl.experiments.cases import Case, case_of
from derl.experiments.paper import row_name

SCRIPTS = ("data.js", "chart.js", "lines.js", "curves.js", "presets.js", "sensitivity.js", "tables.js", "page.js")


def asset(name: str) -> str:
    """A file of the assets folder."""
    return resources.files("derl.analysis.report").joinpath("assets", name).read_text("utf-8")


def build_page(
    results: Results,
    paper: Results,
    comparison: Comparison,
    title: str,
    facts: Facts,
    notes: Sequence[str] = (),
) -> str:
    """The page as text. `paper` are those of the results that the paper has as well, `notes` come before everything."""
    frame, tables = results.frame, comparison.tables
    series = pack_series(results, comparison.evaluations)
    places = case_places(series)
    data = {**series, "sensitivity": sensitivity(tables)}
    body = join(
        _header(title),
        h(
            "main",
            [h("p", note, class_="caution", role="note") for note in notes],
            _section("about", "What this is", _about(), _headlines(frame, comparison, facts)),
            _section("tables", "The paper's tables", *_tables(comparison, places)),
            _section("curves", "Learning curves", _intro("curves"), _charts("curve")),
            _section("sensitivity", "Sensitivity to scale and decay", _intro("sensitivity"), *_sensitivity()),
            _section("kl", "Divergence constraints", _intro("kl"), *_kl(paper, places, comparison.evaluations)),
            _section("claims", "The paper's claims", *_claims(comparison)),
            _section("differences", "Why numbers differ", _intro("differences"), _differences(comparison)),
            _section("missing", "Not run yet", *_missing(paper, comparison)),
            _section("failures", "Failures", closing.failures_section(frame)),
            _section("again", "Make it again", _intro("again"), _commands(paper, tables, facts)),
            _section("reading", "How to read the numbers", Html(asset("reading.html"))),
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


def sensitivity(tables: Sequence[Table]) -> list[dict[str, Any]]:
    """The tables over values of a setting, as lines: averages only, the maxima are in the tables."""
    found = []
    for table in tables:
        if not table.swept or table.statistic != "average":
            continue
        rows = []
        for row in table.rows:
            numbers = [table.numbers.get((row, column)) for column in table.columns]
            recipe = next((n.recipe for n in numbers if n), "")
            rows.append(
                {
                    "label": row or row_name(recipe),
                    "bonus": bonus_label(recipe) + (" with KL constraints" if table.label.endswith("_kl") else ""),
                    "ours": [_rounded(n and n.ours) for n in numbers],
                    "low": [_rounded(n and n.low) for n in numbers],
                    "high": [_rounded(n and n.high) for n in numbers],
                    "published": [_rounded(n and n.published) for n in numbers],
                }
            )
        best = next(iter(table.best.values()), None)
        columns = [float(column) for column in table.columns]
        found.append({"task": table.task, "swept": table.swept, "values": columns, "best": best, "rows": rows})
    return found


def _rounded(value: float | None) -> float | None:
    return None if value is None or value != value else float(f"{value:.5g}")


def _header(title: str) -> Html:
    links = {
        "about": "About", "tables": "Tables", "curves": "Curves", "sensitivity": "Sensitivity", "kl": "KL",
        "claims": "Claims", "differences": "Differences", "missing": "Not run", "failures": "Failures",
        "again": "Commands", "reading": "Reading",
    }  # fmt: skip
    nav = h("nav", [h("a", text, href=f"#{name}") for name, text in links.items()], aria_label="Sections")
    theme = h("button", "Dark theme", type="button", id="theme", class_="script")
    skip = h("a", "Skip to the content", href="#main", class_="skip")
    return join(skip, h("header", h("h1", title), theme, nav))


def _section(name: str, title: str, *children: Any) -> Html:
    return h("section", h("h2", title, id=f"{name}-title"), *children, id=name, aria_labelledby=f"{name}-title")


def _about() -> Html:
    figure = h("figure", Html(asset("loop.svg")), class_="loop")
    return h("div", h("div", Html(asset("about.html"))), figure, class_="opening")


def _differences(comparison: Comparison) -> Html:
    return differences_section(comparison.tables, comparison.reasons, comparison.luck)


def _missing(paper: Results, comparison: Comparison) -> list[Html]:
    untabled = untabled_cases(paper, comparison.evaluations)
    parts = [few_seeds(comparison.tables), missing_section(comparison.tables, untabled)]
    return _folded("No published number was run: show the whole list", parts) if comparison.no_number_run else parts


def _commands(paper: Results, tables: Sequence[Table], facts: Facts) -> Html:
    return closing.commands_section(paper.frame, tables, facts.command)


def _again(*parts: str) -> Html:
    """The commands behind a section."""
    return h("p", "Make it again: ", [join(command(f"derl reproduce {part}"), " ") for part in parts], class_="note")


def _headlines(frame: Any, comparison: Comparison, facts: Facts) -> Html:
    counts = h("p", NO_NUMBER) if comparison.no_number_run else sections.headline(comparison.tables)
    return h("div", h("div", counts), sections.facts_list(frame, facts), class_="headline")


def _tables(comparison: Comparison, places: dict[Case, int]) -> list[Html]:
    parts = [_intro("tables"), sections.tables_section(comparison.tables, places)]
    return _folded("Nothing in them was run: show the published numbers", parts) if comparison.no_number_run else parts


def _claims(comparison: Comparison) -> list[Html]:
    parts = [_intro("claims"), claims_section(comparison.claims)]
    nothing = comparison.no_number_run and comparison.no_claim_tested
    return _folded("Nothing they are about was run: show them all the same", parts) if nothing else parts


def _folded(summary: str, parts: Sequence[Html]) -> list[Html]:
    """A section about the paper in which nothing was run: what a user ran is not to be looked for between its parts."""
    return [h("div", h("details", h("summary", summary), *parts), class_="folds")]


def _intro(name: str) -> Html:
    """A paragraph that says what a section shows."""
    return h("p", Html(INTROS[name]))


NO_NUMBER = (
    "None of the published numbers is among these results, which have other tasks, recipes or settings, or are not "
    "finished. What was run is drawn below, as learning curves."
)
INTROS = {
    "tables": "Each cell is a published number and ours, of which it shows what you choose. Point at it, tap it or "
    "move with the arrow keys for both, the interval, the verdict and the best reason for a difference. Enter opens "
    "its learning curve, the space bar all reasons.",
    "curves": "Choose tasks and recipes. The values below a chart belong to the vertical line: move it with the "
    "pointer or, with the chart in focus, the arrow keys. The dashed line is the best possible return.",
    "sensitivity": "Average evaluation returns over values of the bonus's scale λ, or of how fast it decays: the "
    "increment of counts, the learning rate of predictors. Hollow marks are the published numbers. A robust method "
    "stays high all the way.",
    "kl": "DeA2C with Count, and penalties α<sub>β</sub> on the explorer and α<sub>e</sub> on the exploiter for "
    "diverging from each other. The grids are the paper's, in DeepSea 10 and Hallway 20-20; of one without any "
    "run nothing is shown. In each view all grids have one scale.",
    "claims": "Each claim is tested by an effect that has to lie above or below a bound. It is undecided if the "
    "interval contains the bound; there is not enough data if too little was run to judge it. Returns and their "
    "spreads are shares of the best possible return. In the pictures the dot and line are our effect with its 95 % "
    "interval, the ring is the paper's own, and the dashed line the bound. From our spreads the noise of seeds is "
    "subtracted; the paper's own contain it, for it does not say how much its runs differ. A whole can be decided "
    "where its parts are not: it rests on more runs than each of them.",
    "differences": "The tables count the first five seeds, like the paper. What differs is run with further ones, and "
    "with the options in which the paper and its code are known to disagree: if the published number appears, and not "
    "by luck, that is the reason.",
    "again": "Each part is one command. What has been run already is kept in a store, so a command goes on where the "
    "last one stopped. The times are those of the runs on this page, on one core. Parts share runs, and a run counts "
    "in each part that has it, so that the counts do not add up.",
}


def _charts(name: str) -> Html:
    needs = h(
        "noscript", h("p", "The charts are drawn by a script; the tables above hold the same results.", class_="note")
    )
    return join(
        h("div", id=f"{name}-controls", class_="controls"), h("div", id=f"{name}-panels", class_="charts"), needs
    )


def _sensitivity() -> list[Html]:
    return [_again("lambda", "decay"), _charts("sensitivity")]


def _kl(results: Results, places: dict[Case, int], evaluations: int) -> list[Html]:
    found = kl_grids(results, evaluations)
    if not found:
        return [h("p", "None of the paper's pairs of coefficients has been run yet.", class_="note")]
    scales = Scales.of(found)
    grids = [grid_section(grid, scales, places) for grid in found]
    controls = h("div", sections.segmented("kl-view", "Cells show", VIEWS), class_="controls script")
    return [_again("kl", "pure-exploration"), controls, legend(scales), h("div", grids, id="kl-box", class_="grids")]


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
