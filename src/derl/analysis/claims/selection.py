"""Which hyper-parameters the paper's rule chooses from its grids, beside those the paper chose."""

import dataclasses
from collections.abc import Sequence

import polars as pl

from derl.analysis.measures.curves import summarise
from derl.experiments.cases import Case, case_of
from derl.experiments.grids import GRIDS, best_configuration, standing_in_grid
from derl.experiments.paper import row_name


@dataclasses.dataclass(frozen=True)
class Choice:
    """The best configuration of a grid, and how the paper's fares in it."""

    recipe: str
    task: str
    configurations: int
    """How many of the grid have been run."""
    best: Case
    maximum: float
    average: float
    rank: int | None
    """The place of the paper's configuration, 1 being the best; None if it is not among those run."""
    paper_maximum: float | None = None
    paper_average: float | None = None


def choices(frame: pl.DataFrame) -> list[Choice]:
    """The choice of every grid that has results."""
    found = []
    for (recipe, task), part in frame.group_by(["recipe", "task"], maintain_order=True):
        rows = summarise(part, ["setting"]).iter_rows(named=True)
        scores = {case_of(str(recipe), str(task), r["setting"]): (r["maximum"], r["average"]) for r in rows}
        if str(recipe) in GRIDS:
            found.append(_choice(str(recipe), str(task), scores))
    return found


def _choice(recipe: str, task: str, scores: dict[Case, tuple[float, float]]) -> Choice:
    best = best_configuration(scores)
    own = Case.of(recipe, task).config()
    papers = [case for case in scores if case.config() == own]
    ranked = sorted(map(standing_in_grid, scores.values()), reverse=True)
    if not papers:
        return Choice(recipe, task, len(scores), best, *scores[best], None)
    score = scores[papers[0]]
    return Choice(recipe, task, len(scores), best, *scores[best], 1 + ranked.index(standing_in_grid(score)), *score)


def selection_page(chosen: Sequence[Choice]) -> str:
    """The choices as a page in Markdown."""
    lines = [
        "# Hyper-parameters chosen by the paper's rule",
        "",
        "`derl reproduce grid-search` regenerates these numbers. The rule takes the highest maximum return, among "
        "equals the highest average. The place is that of the paper's own choice among the configurations run.",
        "",
        "| algorithm | task | run | chosen here | maximum | average | the paper's: place | maximum | average |",
        "|---|---|---:|---|---:|---:|---:|---:|---:|",
    ]
    for c in chosen:
        paper = ("–", "–", "–")
        if c.rank is not None and c.paper_maximum is not None and c.paper_average is not None:
            paper = (str(c.rank), f"{c.paper_maximum:.2f}", f"{c.paper_average:.2f}")
        cells = (row_name(c.recipe), c.task, str(c.configurations), c.best.setting or "as the recipe")
        lines.append("| " + " | ".join([*cells, f"{c.maximum:.2f}", f"{c.average:.2f}", *paper]) + " |")
    return "\n".join(lines) + "\n"
