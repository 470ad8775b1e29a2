"""Section 7 of the paper: what constraints on the divergence of the two policies do, coefficient by coefficient."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from derl.analysis.frames import Results
from derl.analysis.report.heat import Cell, heat_table, shade
from derl.analysis.report.html import Html, h, number, plural
from derl.analysis.report.names import VALUES, task_label
from derl.analysis.report.numbers import best_return
from derl.analysis.statistics import average_return, mean_without_nan, std_without_nan
from derl.core.errors import DerlError
from derl.experiments.cases import Case

VIEWS = ("Average return", "Spread between seeds", "KL divergence")


class Constrained(NamedTuple):
    """A case of a grid of coefficients: where it stands, and what came out."""

    case: Case
    reward: str
    alphas: tuple[float, float]
    average: float
    spread: float
    divergence: float | None
    seeds: int


def constrained(results: Results) -> list[Constrained]:
    """The cases of DeA2C with Count that differ in nothing but coefficients and the explorer's reward."""
    found = []
    for case in results.cases:
        place, returns = _place(case), results.values(case)
        if place is None or returns is None or not np.isfinite(returns).any():
            continue
        kl = results.values(case, "kl")
        divergence = None if kl is None else float(mean_without_nan(kl.ravel()))
        spread = float(std_without_nan(mean_without_nan(returns, axis=1)))
        found.append(Constrained(case, *place, average_return(returns).value, spread, divergence, len(returns)))
    return found


def _place(case: Case) -> tuple[str, tuple[float, float]] | None:
    """The explorer's reward and the coefficients of a case; None if it is about something else."""
    allowed = {"decoupling.alpha_explorer", "decoupling.alpha_exploiter", "explorer_reward"}
    if case.recipe not in ("dea2c-count", "dea2c-count-kl") or not {name for name, _ in case.changes} <= allowed:
        return None
    try:
        decoupling = case.config().decoupling
    except DerlError:
        return None
    reward = str(dict(case.changes).get("explorer_reward", "both"))
    # Traced numbers come as arrays of 32 bits; six digits bring back what was written.
    alphas = [float(f"{float(a):.6g}") for a in (decoupling.alpha_explorer, decoupling.alpha_exploiter)]
    return reward, (alphas[0], alphas[1])


def kl_grids(results: Results, places: Mapping[Case, int]) -> list[Html]:
    """A heat map of both coefficients for each task and reward of the explorer that has several."""
    grids: dict[tuple[str, str], dict[tuple[float, float], Constrained]] = {}
    for one in constrained(results):
        grids.setdefault((one.case.task, one.reward), {})[one.alphas] = one
    return [_grid(task, reward, grid, places) for (task, reward), grid in sorted(grids.items()) if len(grid) > 1]


def _grid(task: str, reward: str, grid: dict[tuple[float, float], Constrained], places: Mapping[Case, int]) -> Html:
    explorer, exploiter = (sorted({alphas[i] for alphas in grid}) for i in (0, 1))
    widest = max(one.spread for one in grid.values()) or 1.0
    farthest = max((one.divergence or 0.0 for one in grid.values()), default=0.0) or 1.0
    rows = []
    for a in explorer:
        cells = []
        for b in exploiter:
            one = grid.get((a, b))
            cells.append(
                Cell([("", "")] * 3, ["not run"], "not run") if one is None else _cell(one, widest, farthest, places)
            )
        rows.append((f"αᵦ = {a:g}", cells))
    title = f"{task_label(task)}, explorer's reward {VALUES.get(reward, reward)}"
    identity = "kl-" + "".join(c if c.isalnum() else "-" for c in f"{task}-{reward}")
    table = heat_table(identity, title, "", [f"αₑ = {b:g}" for b in exploiter], rows)
    return h("section", h("h3", title), table, class_="kl-grid")


def _cell(one: Constrained, widest: float, farthest: float, places: Mapping[Case, int]) -> Cell:
    views = [
        (number(one.average), shade(one.average, best_return(one.case.task) or 1.0)),
        (number(one.spread), shade(one.spread, widest)),
        (number(one.divergence), shade(one.divergence, farthest)),
    ]
    tip = [
        f"DeA2C Count on {task_label(one.case.task)}, αᵦ = {one.alphas[0]:g}, αₑ = {one.alphas[1]:g}",
        f"average return {number(one.average, 3)}, {plural(one.seeds, 'seed')}",
        f"spread between seeds {number(one.spread, 3)}",
        f"mean KL divergence {number(one.divergence, 3)}",
    ]
    return Cell(views, tip, None, places.get(one.case))
