"""Which hyper-parameters the paper's rule chooses from its grids, beside those of the recipes."""

import dataclasses

import polars as pl

from derl.analysis.measures.curves import summarise
from derl.experiments.cases import Case, case_of
from derl.experiments.grids import GRIDS, best_configuration, standing_in_grid


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
