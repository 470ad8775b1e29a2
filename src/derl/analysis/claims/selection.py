"""Which hyper-parameters the paper's rule chooses from its grids, beside those of the recipes."""

import dataclasses
from collections.abc import Sequence

import polars as pl

from derl.analysis.measures.curves import summarise
from derl.experiments.cases import Case, case_of
from derl.experiments.grids import GRIDS, best_configuration, standing_in_grid
from derl.experiments.paper import row_name


@dataclasses.dataclass(frozen=True)
class Choice:
    """The best configuration of a grid, and how the recipe's fares in it."""

    recipe: str
    task: str
    configurations: int
    """How many of the grid have been run."""
    best: Case
    maximum: float
    average: float
    rank: int | None
    """The place of the recipe's configuration, 1 being the best; None if it is not among those run."""
    recipe_maximum: float | None = None
    recipe_average: float | None = None


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
    recipes = Case.of(recipe, task).config()
    same = [case for case in scores if case.config() == recipes]
    ranked = sorted(map(standing_in_grid, scores.values()), reverse=True)
    if not same:
        return Choice(recipe, task, len(scores), best, *scores[best], None)
    score = scores[same[0]]
    return Choice(recipe, task, len(scores), best, *scores[best], 1 + ranked.index(standing_in_grid(score)), *score)


def selection_page(chosen: Sequence[Choice]) -> str:
    """The choices as a page in Markdown."""
    lines = [
        "# Hyper-parameters chosen by the paper's rule",
        "",
        "`derl reproduce grid-search` regenerates these numbers. The rule takes the highest maximum return, among "
        "equals (to two digits) the highest average. The place is that of the recipe's configuration among those run: "
        "the paper's choice, except where the code that was published has other values and the recipe follows it "
        "(PPO's normalisation in Hallway, ICM of the decoupled algorithms; in DeepSea normalisation does nothing).",
        "",
        "| algorithm | task | run | chosen here | maximum | average | the recipe's: place | maximum | average |",
        "|---|---|---:|---|---:|---:|---:|---:|---:|",
    ]
    for c in chosen:
        own = ("–", "–", "–")
        if c.rank is not None and c.recipe_maximum is not None and c.recipe_average is not None:
            own = (str(c.rank), f"{c.recipe_maximum:.2f}", f"{c.recipe_average:.2f}")
        cells = (row_name(c.recipe), c.task, str(c.configurations), c.best.setting or "as the recipe")
        lines.append("| " + " | ".join([*cells, f"{c.maximum:.2f}", f"{c.average:.2f}", *own]) + " |")
    return "\n".join(lines) + "\n"
