"""The headline and the paper's tables. Charts are drawn by the scripts in assets/ from the embedded data."""

from collections.abc import Mapping, Sequence

import polars as pl

from derl.analysis.measures.numbers import grouped, plural
from derl.analysis.published.experiments_run import each_once
from derl.analysis.published.explanations import Standing
from derl.analysis.published.verdicts import OUTCOMES, Outcome
from derl.analysis.report.heat import CLASSES, MARKS, paper_table
from derl.analysis.report.html import Html, h, join, large, long_duration
from derl.analysis.report.model import Facts, Table
from derl.experiments.cases import Case

PLURAL: dict[Outcome, str] = {"consistent": "consistent", "differs": "differ", "not run": "not run"}
IN_A_SENTENCE: dict[Standing, str] = {
    "explained": "explained",
    "possible": "not explained yet",
    "refuted": "not explained by any reason that was tested",
    "none": "without a known reason",
}
"""What a standing is called after a number of differences."""


def total_counts(tables: Sequence[Table]) -> dict[Outcome, int]:
    """Verdicts over all tables."""
    each = [table.counts() for table in tables]
    return {verdict: sum(counts[verdict] for counts in each) for verdict in OUTCOMES}


def headline(tables: Sequence[Table]) -> Html:
    """The three counts, large, and a bar of their shares."""
    counts = total_counts(tables)
    total = sum(counts.values())
    tiles = [
        h(
            "li",
            h("span", MARKS[verdict] or "–", class_="tile-mark", aria_hidden="true"),
            h("strong", grouped(counts[verdict])),
            h("span", PLURAL[verdict]),
            class_=f"tile {CLASSES[verdict]}",
        )
        for verdict in OUTCOMES
    ]
    note = f"of {grouped(total)} numbers published in {plural(len(tables), 'table')}"
    return join(h("ul", tiles, class_="tiles"), share_bar(counts), h("p", note, class_="note"), explained(tables))


def explained(tables: Sequence[Table]) -> Html:
    """How many differences are explained, in one sentence: what that takes is said where they are listed."""
    found = [number.standing for table in tables for number in table.numbers.values() if number.standing]
    if not found:
        return Html()
    told: list[Standing] = [name for name in IN_A_SENTENCE if name in found or name == "explained"]
    counts = [join(h("b", grouped(found.count(name))), f" {IN_A_SENTENCE[name]}") for name in told]
    listed = [count if i == 0 else join(", ", count) for i, count in enumerate(counts)]
    more = h("a", "why numbers differ", href="#differences")
    return h("p", f"Of {plural(len(found), 'difference')}: ", listed, ". See ", more, ".", class_="note")


def share_bar(counts: Mapping[Outcome, int], small: bool = False) -> Html:
    """A bar of the shares of verdicts; the text beside it says the same."""
    total = max(1, sum(counts.values()))
    parts, start = [], 0.0
    for verdict in OUTCOMES:
        width = 1000 * counts[verdict] / total
        parts.append(h("rect", x=f"{start:.1f}", y="0", width=f"{width:.1f}", height="10", class_=CLASSES[verdict]))
        start += width
    kind = "shares small" if small else "shares"
    return h("svg", parts, class_=kind, viewBox="0 0 1000 10", preserveAspectRatio="none", aria_hidden="true")


def facts_list(frame: pl.DataFrame, facts: Facts) -> Html:
    """How much was run, how long it took, when and by what."""
    frame = each_once(frame)
    runs = frame.group_by("run").agg(pl.col("steps").max(), pl.col("failed_at_step").is_not_null().any())
    failed = int(runs["failed_at_step"].sum()) if len(runs) else 0
    lines = {"Runs": grouped(len(runs)), "Environment steps": large(float(runs["steps"].sum() or 0))}
    if facts.seconds is not None:
        lines["Time taken"] = long_duration(facts.seconds)
    lines |= stored_facts(frame)
    lines |= {
        "Finished": facts.finished,
        "Machine": facts.machine,
        "Version": facts.version and f"derl {facts.version}",
    }
    lines |= {"Failed runs": failures_told(failed, len(facts.failures))} | dict(facts.more)
    pairs = [h("div", h("dt", name), h("dd", value)) for name, value in lines.items() if value]
    return h("dl", pairs, class_="facts")


def failures_told(diverged: int, unfinished: int) -> str:
    """How many runs failed, and of how many there are no numbers."""
    return grouped(diverged + unfinished) + (f" ({grouped(unfinished)} could not be finished)" if unfinished else "")


def stored_facts(frame: pl.DataFrame) -> dict[str, str]:
    """What results from a store say of themselves: the time of each run, and the engine that made it."""
    lines = {}
    if "seconds" in frame.columns:
        times = frame.group_by("run").agg(pl.col("seconds").first()).filter(pl.col("seconds") > 0)["seconds"]
        total = long_duration(float(times.sum()))
        if len(times):
            untimed = frame["run"].n_unique() - len(times)
            lines["Time on one core"] = total + (f" ({plural(untimed, 'run')} were not timed)" if untimed else "")
    if "engine" in frame.columns:
        engines = sorted(map(str, frame["engine"].drop_nulls().unique()))
        lines["Version of the engine"] = ", ".join(engines)
    return lines


def command(text: str) -> Html:
    """A command with a button that copies it."""
    button = h("button", "Copy", h("span", f" {text}", class_="sr"), type="button", class_="copy", data_copy=text)
    return h("span", h("code", text), button, class_="command")


def tables_section(tables: Sequence[Table], cases: Mapping[Case, int]) -> Html:
    """Every table; the script shows one at a time, paper and readers without scripts get all."""
    options, panels = [], []
    for i, table in enumerate(tables):
        counts = table.counts()
        run = counts["consistent"] + counts["differs"]
        options.append(h("option", f"{table.title} – {run} of {sum(counts.values())} run", value=i))
        words = ", ".join(f"{MARKS[v]} {counts[v]} {PLURAL[v]}".strip() for v in OUTCOMES)
        panels.append(
            h(
                "section",
                h("h3", table.title),
                share_bar(counts, small=True),
                h(
                    "p",
                    words,
                    table.part and join(" · make it again: ", command(f"derl reproduce {table.part}")),
                    class_="note",
                ),
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
        h("span", h("b", MARKS["differs"]), " differs"),
        h("span", h("i", class_="swatch none"), " not run"),
        h("span", h("b", "✓₂"), " of two runs instead of the paper's five"),
        class_="legend",
    )
