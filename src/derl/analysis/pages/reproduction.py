"""The pages about the reproduction: one per table of the paper, and an index with counts and claims."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import polars as pl

from derl.analysis.claims.improvement import improvements
from derl.analysis.claims.paper import Claim, claim_frame, claims, overall
from derl.analysis.measures.frames import EVALUATIONS, Results, as_results
from derl.analysis.measures.numbers import grouped, plural, signed
from derl.analysis.pages.claims import claims_page, claims_table
from derl.analysis.pages.markdown import markdown_table
from derl.analysis.pages.plan import core_hours, not_run_section
from derl.analysis.pages.tables import LEGEND, grid_of, markdown, number, plain_row
from derl.analysis.published.cautions import cautions
from derl.analysis.published.counted import counted_reasons, grounds_of
from derl.analysis.published.explanations import STANDINGS, why
from derl.analysis.published.runs_behind import SMALLEST, contradictions, maxima_below_averages
from derl.analysis.published.tables import TABLES, PaperTable, table_of
from derl.analysis.published.verdicts import (
    ENOUGH_RUNS,
    Verdict,
    count_outcomes,
    count_standings,
    verdict_frame,
    verdicts,
)
from derl.core.files import write_atomically, writing
from derl.experiments.builtin import DESCRIPTIONS

TITLE = "Reproduction of the paper"
"""Of the page with all tables."""
RULE = (
    "A published mean is *consistent* with ours if it lies within the 95 % bootstrap interval of the mean of five runs "
    "drawn from ours (the first five seeds), widened by 0.02; otherwise it *differs*. The rule is strict: two "
    "experiments of five runs that differ in nothing but their seeds disagree in up to three of ten numbers. So what "
    "differs is run with further seeds (`--explain`). These do not change the verdict; they show whether it can be "
    "chance."
)

NOT_OF_FIVE = (
    "The paper says that all its results are of five runs. Its maxima come with the standard deviation over runs "
    "(divided by n: one of five that learns makes 0.19 ± 0.40). Those below deviate by more than five runs can "
    "(`derl.analysis.published.runs_behind`). Most are of DeepSea-20, where the paper searched for hyper-parameters: "
    "runs of the search may be among them. The paper's code names a configuration by a digest that has neither the "
    "seed nor the version of the code in it, so that runs of the search, and of older code, go by the same name as "
    "the five. The averages of Table 1 should be of the same runs. That is worth knowing where they differ from ours, "
    "but explains nothing by itself."
)


BELOW = (
    "The maximum of a curve is never below its average. Where the paper reports this, one of the two numbers is not "
    "from the runs it should be from."
)


def write_pages(
    frame: pl.DataFrame | Results,
    folder: Path | str,
    *,
    evaluations: int = EVALUATIONS,
    figures: str | None = None,
    judged: Sequence[Verdict] | None = None,
    tested: Sequence[Claim] | None = None,
) -> list[Path]:
    """Write all pages. The same results give the same pages. `figures` is the page of figures to link to.

    `judged` and `tested` are the verdicts and claims of these results, if they are known already.
    """
    results = as_results(frame)
    judged = verdicts(results, evaluations=evaluations) if judged is None else judged
    tested = claims(results, evaluations=evaluations) if tested is None else tested
    # The index first, for by this page the folder is known to be derl's if the rest is not written.
    texts = {"README.md": index_page(results, judged, tested, figures, evaluations)}
    texts |= {f"{table.page}.md": page(table, judged) for table in TABLES if any_run(table, judged)}
    if all(v.asked for v in judged):
        texts["claims.md"] = claims_page(tested, improvements(results, evaluations))
    notes = cautions(results, evaluations)
    pages = [write_text(Path(folder) / name, cautioned(text, notes)) for name, text in texts.items()]
    return [*pages, *write_numbers(judged, tested, folder)]


def any_run(table: PaperTable, judged: Iterable[Verdict]) -> bool:
    """Whether something of a table was run: there is no page about nothing."""
    return any(v.cell.table == table.label and v.outcome != "not run" for v in judged)


def write_numbers(judged: Iterable[Verdict], tested: Iterable[Claim], folder: Path | str) -> list[Path]:
    """What the pages say, for programs: a row for every published number, and one for every test of a claim."""
    tables = {"verdicts.csv": verdict_frame(judged), "claims.csv": claim_frame(tested)}
    return [write_text(Path(folder) / name, table.write_csv()) for name, table in tables.items()]


def cautioned(text: str, notes: Sequence[str]) -> str:
    """A page with what has to be known first, below its title."""
    title, _, rest = text.partition("\n\n")
    return "\n\n".join([title, *(f"> **{note}**" for note in notes), rest])


def write_text(path: Path, text: str) -> Path:
    """Write a file whole or not at all, and its folder if need be."""
    with writing(path):
        write_atomically(path, text.encode())
    return path


def page(table: PaperTable, judged: Iterable[Verdict]) -> str:
    """The page of one table."""
    grid = grid_of(judged, table.label)
    there = list(grid.verdicts.values())
    parts = [
        f"# {table.title}",
        _origin(table, there),
        f"Of {len(there)} published numbers {_counts(there)}. {luck_alone(there)}{LEGEND} "
        "Mean ± standard deviation as in the paper; **bold** is the best of ours in each "
        f"{'task' if table.best == 'column' else 'row'}, with all within its standard deviation.",
        markdown(grid),
        *_differences(there),
        *_notes(there),
        "[All tables](README.md)",
    ]
    return "\n\n".join(parts) + "\n"


def _origin(table: PaperTable, judged: Sequence[Verdict]) -> str:
    if all(v.asked for v in judged):
        return f"`{table.command}` regenerates these numbers; this page is generated from them."
    return f"These are shorter runs than `{table.command}` makes; this page is generated from them."


def _counts(judged: Sequence[Verdict]) -> str:
    counts = {outcome: grouped(count) for outcome, count in count_outcomes(judged).items()}
    return f"{counts['consistent']} are consistent, {counts['differs']} differ, {counts['not run']} have not been run"


def expected_by_luck(judged: Iterable[Verdict]) -> int | None:
    """About how many of the averages would differ by luck alone, at least; None if none is of five runs."""
    known = [v.chance for v in judged if v.chance is not None]
    return round(sum(known)) if known else None


def luck_alone(judged: Sequence[Verdict]) -> str:
    """How many averages would differ by luck alone, beside how many do; nothing if none is of five runs."""
    expected, known = expected_by_luck(judged), [v for v in judged if v.chance is not None]
    if expected is None:
        return ""
    differ = sum(v.outcome == "differs" for v in known)
    return (
        f"Averages of five runs: {len(known)}, of which {differ} {'differs' if differ == 1 else 'differ'}. If the "
        f"published runs were just other seeds of ours, about {expected} would differ by chance (probably more: the "
        "estimate redraws our own five runs, so that none is unlike all of them). "
    )


def _differences(judged: Sequence[Verdict]) -> list[str]:
    differing = [v for v in judged if v.outcome == "differs"]
    if not differing:
        return []
    head, rows = ("", "", "ours", "interval of five", "published", "runs", "explanation", "reasons"), []
    for v in differing:
        assert v.ours is not None
        # The ends of an interval of two runs are these runs.
        interval = f"{signed(v.low)} to {signed(v.high)}" if v.seeds >= ENOUGH_RUNS else "–"
        published = number(v.cell.mean, v.cell.std)
        words = [f"**{v.standing}**", why(v.explanations)] if v.asked else ["", ""]
        rows.append([plain_row(v.cell.row), v.cell.column, number(*v.ours), interval, published, v.seeds, *words])
    named = {e.name: e for v in differing for e in v.explanations if not e.about_paper}
    texts = [f"- *{e.name}*: {e.text} {_tests_it(e.option)}" for e in named.values()]
    return ["## Differences", markdown_table("llrrrrll", head, rows), *(["\n".join(texts)] if texts else [])]


def _tests_it(option: str) -> str:
    return f"Tested by {_as_code(option)}." if option else "No option tests it."


def _as_code(option: str) -> str:
    """An option as Markdown; further seeds are words, settings are code."""
    return f"`{option}`" if "=" in option else option


def _notes(judged: Sequence[Verdict]) -> list[str]:
    noted = [f"- {plain_row(v.cell.row)}, {v.cell.column}: {v.note}" for v in judged if v.note]
    return ["## Unfinished, failed, or of few runs", "\n".join(noted)] if noted else []


def index_page(
    results: Results,
    judged: Sequence[Verdict],
    tested: Sequence[Claim],
    figures: str | None = None,
    evaluations: int = EVALUATIONS,
) -> str:
    """What was reproduced, what differs, what has not been run."""
    runs, texts = sum(len(results.lengths(case)) for case in results.cases), DESCRIPTIONS.items()
    cases = f"{plural(runs, 'run')} of {plural(len(results.cases), 'case')} (a recipe, a task and its settings)"
    parts = [
        f"# {TITLE}",
        f"{plural(len(judged), 'published number')}: {_counts(judged)}. Ours come from {cases}. "
        f"{RULE} {luck_alone(judged)}".rstrip(),
        *([f"[All figures]({figures})"] if figures else []),
        *(_claims(tested) if all(v.asked for v in judged) else []),
        "## Tables",
        "The same for programs: [verdicts](verdicts.csv).",
        _tables_table(judged),
        "## Commands",
        markdown_table("ll", ("command", ""), [(f"`derl reproduce {name}`", text) for name, text in texts]),
    ]
    if all(v.asked for v in judged):
        parts += [text for text in [core_hours(results.frame)] if text]
    parts += not_run_section(results, judged, evaluations)
    if all(v.asked for v in judged):
        explained = f"What explains them: {grounds_of(judged)}."
        parts += ["## Why numbers differ", _standings_table(judged), explained, _reasons_table(judged)]
    parts += ["## Published numbers that are not of five runs", NOT_OF_FIVE, _contradictions_table()]
    parts += ["## Published maxima below their own average", BELOW, _pairs_table()]
    return "\n\n".join(parts) + "\n"


def _claims(tested: Sequence[Claim]) -> list[str]:
    """What came of the paper's claims; not where training was shorter, of which it claims nothing."""
    text = (
        "Effects are shares of the best possible return, except those on the KL divergence (in nats) and on episodes "
        "(a share of them); [all tests](claims.md), and [for programs](claims.csv)."
    )
    return ["## Claims", text, claims_table(overall(tested))]


def _tables_table(judged: Sequence[Verdict]) -> str:
    rows = []
    for table in TABLES:
        there = [v for v in judged if v.cell.table == table.label]
        name = f"[{table.title}]({table.page}.md)" if any_run(table, judged) else table.title
        rows.append((name, f"`{table.experiment}`", len(there), *count_outcomes(there).values()))
    return markdown_table("llrrrr", ("table", "command", "numbers", "consistent", "differ", "not run"), rows)


def _reasons_table(judged: Sequence[Verdict]) -> str:
    """Each reason, the differences it concerns, and what came out where its option was run."""
    head = ("reason", "", "option that tests it", "differences it concerns", "it is the reason", "it is not")
    head += ("too few runs to tell", "not tested")
    rows = [
        (name, text, _as_code(option) or "none", concerned, *counts)
        for name, text, option, concerned, *counts in counted_reasons(judged)
        if concerned
    ]
    return markdown_table("lllrrrrr", head, rows)


def _contradictions_table() -> str:
    rows = []
    for c in contradictions().values():
        runs = (
            f"{', '.join(map(str, c.possible[:SMALLEST]))}, ..."
            if len(c.possible) > SMALLEST
            else ", ".join(map(str, c.possible))
        )
        rows.append((c.maximum.row, c.maximum.column, number(c.maximum.mean, c.maximum.std), f"{c.most:.2f}", runs))
    head = ("", "", "published maximum", "largest deviation of five runs", "possible numbers of runs")
    return markdown_table("llrrr", head, rows)


def _pairs_table() -> str:
    pairs = maxima_below_averages()
    rows = [(plain_row(p.maximum.row), p.maximum.column, signed(p.average.mean), signed(p.maximum.mean)) for p in pairs]
    titles = dict.fromkeys(f"“{table_of(p.maximum.table).title}”" for p in pairs)
    table = markdown_table("llrr", ("", "", "published average", "published maximum"), rows)
    return f"{table}\n\nAll are of {' and '.join(titles)} and the averages beside it."


def _standings_table(judged: Sequence[Verdict]) -> str:
    """How many differences are explained, and by what right."""
    rows = [(name, STANDINGS[name], count) for name, count in count_standings(judged).items()]
    return markdown_table("llr", ("explanation", "", "differences"), rows)
