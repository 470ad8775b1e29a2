"""Section 7 of the paper: what constraints on the divergence of the two policies do, coefficient by coefficient."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from derl.analysis.claims.divergence import Variant, groups, variant_of
from derl.analysis.measures.aggregates import optimal_return_or_none
from derl.analysis.measures.frames import EVALUATIONS, Results
from derl.analysis.measures.numbers import grouped, plural
from derl.analysis.measures.statistics import average_return, mean_without_nan, std_without_nan
from derl.analysis.report.heat import Cell, heat_table, shade
from derl.analysis.report.html import Html, h, number
from derl.analysis.report.names import VALUES
from derl.experiments.builtin import experiment
from derl.experiments.cases import Case
from derl.experiments.paper import REWARDS, cells, column_name

VIEWS = ("Average return", "Spread between seeds", "KL divergence")

Alphas = tuple[float, float]
"""The coefficients of explorer and exploiter."""


class Constrained(NamedTuple):
    """What came out for one pair of coefficients."""

    case: Case
    alphas: Alphas
    average: float
    spread: float
    divergence: float | None
    seeds: int


class Grid(NamedTuple):
    """All pairs of coefficients that were run on a task, with one reward for the explorer."""

    task: str
    reward: str
    episodes: int
    pairs: Mapping[Alphas, Constrained]


@cache
def planned() -> Mapping[tuple[str, int], frozenset[Alphas]]:
    """The paper's grids: the coefficients of each task and length of training. They are those cases of its experiment
    with constraints that stand in no table."""
    shown = {cell.case for cell in cells()}
    found: dict[tuple[str, int], set[Alphas]] = {}
    for case in experiment("kl").cases:
        if case not in shown:
            episodes = int(case.config().protocol.episodes)
            found.setdefault((case.task, episodes), set()).add(_alphas(variant_of(case)))
    return {grid: frozenset(alphas) for grid, alphas in found.items()}


def kl_grids(results: Results, evaluations: int = EVALUATIONS) -> list[Grid]:
    """The paper's grids of which something was run, of the runs with so many evaluations.

    Elsewhere a few pairs of coefficients would look like the rest of a grid that nobody planned.
    """
    found = []
    for group in groups(results):
        if (group.task, group.episodes) not in planned():
            continue
        for reward in REWARDS:
            variants = [(v, case) for v, case in group.cases.items() if v.reward == reward]
            outcomes = [_outcome(results, variant, case, evaluations) for variant, case in variants]
            pairs = {one.alphas: one for one in outcomes if one is not None}
            if pairs:
                found.append(Grid(group.task, reward, group.episodes, pairs))
    return found


def _alphas(variant: Variant) -> Alphas:
    """Its coefficients. Traced numbers come as arrays of 32 bits; six digits bring back what was written."""
    return float(f"{variant.alpha_explorer:.6g}"), float(f"{variant.alpha_exploiter:.6g}")


def _outcome(results: Results, variant: Variant, case: Case, evaluations: int) -> Constrained | None:
    returns = results.finished(case, evaluations=evaluations)
    if returns is None or not np.isfinite(returns).any():
        return None
    kl = results.finished(case, "kl", evaluations)
    divergence = None if kl is None else float(mean_without_nan(kl.ravel()))
    spread = float(std_without_nan(mean_without_nan(returns, axis=1)))
    return Constrained(case, _alphas(variant), average_return(returns).value, spread, divergence, len(returns))


class Scales(NamedTuple):
    """Where the shades of spreads and divergences end: the same for all grids, so that they can be compared."""

    spread: float
    divergence: float

    @staticmethod
    def of(grids: Sequence[Grid]) -> "Scales":
        """The largest there are."""
        every = [one for grid in grids for one in grid.pairs.values()]
        return Scales(max(one.spread for one in every) or 1.0, max(one.divergence or 0.0 for one in every) or 1.0)


def legend(scales: Scales) -> Html:
    """What shades mean in each view."""
    steps = [h("i", class_=f"swatch h{level}") for level in range(0, 11, 2)]
    ends = ("best possible return", number(scales.spread), number(scales.divergence))
    views = zip(VIEWS, ends, strict=True)
    spans = [h("span", f"{view} 0 ", *steps, f" {end}", class_=f"legend-{i}") for i, (view, end) in enumerate(views)]
    absent = h("span", h("i", class_="swatch none"), " hatched: not run", class_="always")
    return h("p", spans, absent, class_="legend views")


def grid_section(grid: Grid, scales: Scales, places: Mapping[Case, int]) -> Html:
    """A grid as a heat map: all pairs of the paper, and those of a reader's own."""
    pairs = {*grid.pairs, *planned().get((grid.task, grid.episodes), ())}
    explorer, exploiter = (sorted({alphas[i] for alphas in pairs}) for i in (0, 1))
    empty = Cell([("", "")] * len(VIEWS), ["not run"], "not run")
    rows = []
    for a in explorer:
        there = [grid.pairs.get((a, b)) for b in exploiter]
        rows.append((f"αᵦ = {a:g}", [_cell(one, scales, places) if one else empty for one in there]))
    reward = VALUES.get(grid.reward, grid.reward)
    title = f"{column_name(grid.task)}, explorer's reward {reward}, {grouped(grid.episodes)} episodes"
    identity = "kl-" + "".join(c if c.isalnum() else "-" for c in f"{grid.task}-{grid.reward}-{grid.episodes}")
    table = heat_table(identity, title, "Coefficients", [f"αₑ = {b:g}" for b in exploiter], rows)
    return h("section", h("h3", title), table, class_="kl-grid")


def _cell(one: Constrained, scales: Scales, places: Mapping[Case, int]) -> Cell:
    views = [
        (number(one.average), shade(one.average, optimal_return_or_none(one.case.task) or 1.0)),
        (number(one.spread, 3), shade(one.spread, scales.spread)),
        (number(one.divergence, 3), shade(one.divergence, scales.divergence)),
    ]
    tip = [
        f"DeA2C Count on {column_name(one.case.task)}, αᵦ = {one.alphas[0]:g}, αₑ = {one.alphas[1]:g}",
        f"average return {number(one.average, 3)}, {plural(one.seeds, 'seed')}",
        f"spread between seeds {number(one.spread, 3)}",
        f"mean KL divergence {number(one.divergence, 3)}",
    ]
    return Cell(views, tip, None, places.get(one.case))
