"""The parts of the page that are text and tables. Charts are drawn by the scripts in assets/ from the embedded data."""

from collections.abc import Mapping, Sequence

import polars as pl

from derl.analysis.report.heat import CLASSES, MARKS, paper_table
from derl.analysis.report.html import Html, grouped, h, join, number, plural
from derl.analysis.report.model import VERDICTS, Claim, Facts, Table, Verdict
from derl.analysis.report.names import recipe_label, setting_label, task_label
from derl.experiments.cases import Case

PARTS = {
    "table-1": "Table 1 and the maxima of appendix B",
    "lambda": "sensitivity to the scale λ (section 5.4, appendix C)",
    "decay": "sensitivity to the rate of decay (section 5.4, appendix C)",
    "pure-exploration": "exploration by intrinsic reward alone (section 6)",
    "kl": "divergence constraints (section 7, appendix D)",
}
MOST_FAILURES = 200


def total_counts(tables: Sequence[Table]) -> dict[Verdict, int]:
    """Verdicts over all tables."""
    each = [table.counts() for table in tables]
    return {verdict: sum(counts[verdict] for counts in each) for verdict in VERDICTS}


def headline(tables: Sequence[Table]) -> Html:
    """The three counts, large, and a bar of their shares."""
    counts = total_counts(tables)
    total = sum(counts.values())
    tiles = [
        h(
            "li",
            h("span", MARKS[verdict] or "–", class_="tile-mark", aria_hidden="true"),
            h("strong", grouped(counts[verdict])),
            h("span", verdict),
            class_=f"tile {CLASSES[verdict]}",
        )
        for verdict in VERDICTS
    ]
    note = f"of {grouped(total)} numbers published in {plural(len(tables), 'table')}"
    return join(h("ul", tiles, class_="tiles"), share_bar(counts), h("p", note, class_="note"))


def share_bar(counts: Mapping[Verdict, int], small: bool = False) -> Html:
    """A bar of the shares of verdicts; the text beside it says the same."""
    total = max(1, sum(counts.values()))
    parts, start = [], 0.0
    for verdict in VERDICTS:
        width = 1000 * counts[verdict] / total
        parts.append(h("rect", x=f"{start:.1f}", y="0", width=f"{width:.1f}", height="10", class_=CLASSES[verdict]))
        start += width
    kind = "shares small" if small else "shares"
    return h("svg", parts, class_=kind, viewBox="0 0 1000 10", preserveAspectRatio="none", aria_hidden="true")


def facts_list(frame: pl.DataFrame, facts: Facts) -> Html:
    """How much was run, how long it took, when and by what."""
    runs = frame.group_by("run").agg(pl.col("steps").max(), pl.col("failed_at_step").is_not_null().any())
    failed = int(runs["failed_at_step"].sum()) if len(runs) else 0
    lines = {"Runs": grouped(len(runs)), "Environment steps": grouped(runs["steps"].sum() or 0)}
    if facts.seconds is not None:
        lines["Time taken"] = long_duration(facts.seconds)
    lines |= {"Finished": facts.finished, "Machine": facts.machine, "Engine": facts.version and f"derl {facts.version}"}
    lines |= {"Failed runs": grouped(failed)} | dict(facts.more)
    pairs = [h("div", h("dt", name), h("dd", value)) for name, value in lines.items() if value]
    return h("dl", pairs, class_="facts")


def long_duration(seconds: float) -> str:
    """Seconds in the two largest units that matter: 7 h 12 min."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    units = [(days, "d"), (hours, "h"), (minutes, "min"), (rest, "s")]
    shown = [f"{count} {unit}" for count, unit in units if count][:2]
    return " ".join(shown) or "0 s"


def command(text: str) -> Html:
    """A command with a button that copies it."""
    button = h("button", "Copy", type="button", class_="copy", data_copy=text, aria_label=f"Copy {text}")
    return h("span", h("code", text), button, class_="command")


def tables_section(tables: Sequence[Table], cases: Mapping[Case, int]) -> Html:
    """Every table; the script shows one at a time, paper and readers without scripts get all."""
    options, panels = [], []
    for i, table in enumerate(tables):
        counts = table.counts()
        run = counts["consistent"] + counts["differs"]
        options.append(h("option", f"{table.title} – {run} of {sum(counts.values())} run", value=i))
        words = ", ".join(f"{MARKS[v]} {counts[v]} {v}".strip() for v in VERDICTS)
        panels.append(
            h(
                "section",
                h("h3", table.title),
                share_bar(counts, small=True),
                h("p", words, table.part and join(" · make it again: ", command(f"derl reproduce {table.part}")), class_="note"),
                paper_table(table, cases),
                class_="panel",
                data_panel=i,
            )
        )
    chooser = h("label", h("span", "Table"), h("select", options, id="table-choice"), class_="field script")
    views = segmented("table-view", "Cells show", ("Ours", "Published", "Difference"))
    return join(h("div", chooser, views, class_="controls script"), heat_legend(), h("div", panels, id="tables-box"))


def segmented(name: str, legend: str, choices: Sequence[str]) -> Html:
    """A row of radio buttons; the value of each is its place."""
    radios = [
        h("label", h("input", type="radio", name=name, value=i, checked=i == 0), h("span", choice))
        for i, choice in enumerate(choices)
    ]
    return h("fieldset", h("legend", legend), h("div", radios, class_="choices"), class_="segmented script")


def heat_legend() -> Html:
    """What shades and marks mean."""
    steps = [h("i", class_=f"swatch h{level}") for level in range(0, 11, 2)]
    less, more = [h("i", class_=f"swatch n{i}") for i in (9, 5)], [h("i", class_=f"swatch p{i}") for i in (5, 9)]
    return h(
        "p",
        h("span", "return 0 ", *steps, " best possible", class_="legend-returns"),
        h("span", "ours lower ", *less, h("i", class_="swatch h0"), *more, " ours higher", class_="legend-difference"),
        h("span", h("b", "✓"), " consistent"),
        h("span", h("b", "≠"), " differs"),
        h("span", h("i", class_="swatch none"), " not run"),
        class_="legend",
    )


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


def missing_section(tables: Sequence[Table]) -> Html:
    """What has not been run, table by table, and within a table by row."""
    items = []
    for table in tables:
        count = table.counts()["not run"]
        if not count:
            continue
        lines = []
        for row in table.rows:
            absent = [c for c in table.columns if table.numbers.get((row, c)) and table.numbers[row, c].verdict == "not run"]
            if absent:
                every = len(absent) == len(table.columns)
                lines.append(h("li", h("b", f"{row}: "), "all" if every else ", ".join(absent)))
        summary = h("summary", f"{table.title}: {count} of {len(table.numbers)}")
        items.append(h("details", summary, h("ul", lines)))
    if not items:
        return h("p", "Every published number has been run.")
    return h("div", items, class_="folds")


def few_seeds(tables: Sequence[Table], usual: int = 5) -> Html:
    """A sentence on numbers that rest on fewer seeds than the paper's."""
    count = sum(0 < n.seeds < usual for table in tables for n in table.numbers.values())
    return h("p", f"{plural(count, 'number rests', 'numbers rest')} on fewer than {usual} seeds so far.") if count else Html()


def failures_section(frame: pl.DataFrame) -> Html:
    """Runs whose numbers ceased to be finite."""
    columns = ["recipe", "task", "setting", "seed"]
    failed = frame.filter(pl.col("failed_at_step").is_not_null())
    rows = failed.group_by("run", *columns).agg(pl.col("failed_at_step").min()).sort(*columns, "run")
    if rows.is_empty():
        return h("p", "No run failed: all numbers stayed finite.")
    body = [
        h("tr", h("th", recipe_label(r["recipe"]), scope="row"), h("td", task_label(r["task"])),
          h("td", setting_label(r["setting"]) or "as in the recipe"), h("td", r["seed"]),
          h("td", grouped(r["failed_at_step"])))
        for r in rows.head(MOST_FAILURES).iter_rows(named=True)
    ]  # fmt: skip
    head = h("tr", [h("th", n, scope="col") for n in ("Recipe", "Task", "Setting", "Seed", "Failed at step")])
    text = f"{plural(len(rows), 'run')} ended with numbers that were not finite. What they did before counts; what came after does not."
    more = len(rows) > MOST_FAILURES and h("p", f"The first {MOST_FAILURES} are listed.", class_="note")
    caption = h("caption", "Failed runs", class_="sr")
    table = h("table", caption, h("thead", head), h("tbody", body), class_="plain")
    return join(h("p", text), h("div", table, class_="scroll", role="region", aria_label="Failed runs", tabindex="0"), more)


def commands_section() -> Html:
    """How to make each part again."""
    rows = [
        h("tr", h("th", what[0].upper() + what[1:], scope="row"), h("td", command(f"derl reproduce {part}")))
        for part, what in PARTS.items()
    ]
    rows.append(h("tr", h("th", "This page", scope="row"), h("td", command("derl report"))))
    head = h("tr", h("th", "Part", scope="col"), h("th", "Command", scope="col"))
    table = h("table", h("caption", "Commands", class_="sr"), h("thead", head), h("tbody", rows), class_="plain commands")
    return h("div", table, class_="scroll", role="region", aria_label="Commands", tabindex="0")
