"""A report of results beside the paper's as one HTML page that needs nothing else: no server, no network."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from derl.analysis.claims.paper import Claim
from derl.analysis.claims.paper import claims as paper_claims
from derl.analysis.measures.frames import EVALUATIONS
from derl.analysis.pages.reproduction import luck_alone, write_numbers
from derl.analysis.published.cautions import cautions, sweep_caution
from derl.analysis.published.counted import counted_reasons
from derl.analysis.published.verdicts import Verdict, verdicts
from derl.analysis.report.model import Comparison, Facts, Number, Table
from derl.analysis.report.numbers import grouped_results, of_the_paper, tables_of
from derl.analysis.report.page import build_page
from derl.core.errors import require
from derl.core.files import write_atomically, writing

__all__ = ["Claim", "Facts", "Number", "Table", "write_report"]

TITLE = "Decoupled reinforcement learning, run again"


def write_report(
    frame: pl.DataFrame,
    path: Path | str,
    *,
    title: str = TITLE,
    facts: Facts | None = None,
    tables: Sequence[Table] | None = None,
    claims: Sequence[Claim] | None = None,
    judged: Sequence[Verdict] | None = None,
    evaluations: int = EVALUATIONS,
    csv: Path | None = None,
) -> Path:
    """Write the page and return its path. `frame` has one row per run and evaluation; see docs/report for its columns.

    `tables` and `claims` are the paper's by default, worked out from the runs that have had so many `evaluations`; a
    folder `csv` gets both for programs. `judged` are the verdicts on these runs, if they are known already. The same
    arguments give the same bytes.
    """
    require(csv is None or tables is None, "csv holds the paper's own tables: leave tables out, or csv")
    results = grouped_results(frame)
    paper = of_the_paper(results)
    judged = [] if tables is not None else verdicts(paper, evaluations=evaluations) if judged is None else judged
    comparison = Comparison(
        tables_of(judged) if tables is None else tables,
        paper_claims(paper, evaluations=evaluations) if claims is None else claims,
        counted_reasons(judged),
        luck_alone(judged),
        evaluations,
    )
    if csv is not None:
        write_numbers(judged, comparison.claims, csv)
    notes = cautions(paper, evaluations, results) + ([sweep_caution(paper)] if comparison.no_number_run else [])
    page = build_page(results, paper, comparison, title, facts or Facts(), [note for note in notes if note])
    path = Path(path)
    with writing(path):
        write_atomically(path, page.encode())
    return path
