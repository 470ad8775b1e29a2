"""Which hyper-parameters the paper's rule chooses from its grids, beside those of the paper and of the recipes."""

import dataclasses
from collections.abc import Mapping
from typing import NamedTuple

import polars as pl

from derl.analysis.measures.curves import summarise
from derl.experiments.cases import Case, case_of
from derl.experiments.grids import GRIDS, best_configuration, papers_choice, standing_in_grid

Scores = Mapping[Case, tuple[float, float]]
"""Maximum and average return of every configuration that was run."""


class Placed(NamedTuple):
    """How one configuration of a grid fares in it."""

    rank: int
    """1 is the best."""
    maximum: float
    average: float


@dataclasses.dataclass(frozen=True)
class Choice:
    """The best configuration of a grid, and how others fare in it."""

    recipe: str
    task: str
    configurations: int
    """How many of the grid have been run."""
    best: Case
    maximum: float
    average: float
    paper: Placed | None
    """The configuration that the paper chose; None if it is not among those run."""
    own: Placed | None
    """The recipe's."""


def choices(frame: pl.DataFrame) -> list[Choice]:
    """The choice of every grid that has results."""
    found = []
    for (recipe, task), part in frame.group_by(["recipe", "task"], maintain_order=True):
        rows = summarise(part, ["setting"]).iter_rows(named=True)
        scores = {case_of(str(recipe), str(task), r["setting"]): (r["maximum"], r["average"]) for r in rows}
        if str(recipe) in GRIDS:
            found.append(_choice(str(recipe), str(task), scores))
    return found


def _choice(recipe: str, task: str, scores: Scores) -> Choice:
    best = best_configuration(scores)
    paper, own = (_placed(case, scores) for case in (papers_choice(recipe, task), Case.of(recipe, task)))
    return Choice(recipe, task, len(scores), best, *scores[best], paper, own)


def _placed(wanted: Case, scores: Scores) -> Placed | None:
    """The place of a configuration, however it is written."""
    config = wanted.config()
    same = [case for case in scores if case.config() == config]
    if not same:
        return None
    ranked = sorted(map(standing_in_grid, scores.values()), reverse=True)
    return Placed(1 + ranked.index(standing_in_grid(scores[same[0]])), *scores[same[0]])
