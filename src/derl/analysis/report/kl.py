"""Section 7 of the paper: what constraints on the divergence of the two policies do, coefficient by coefficient."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import polars as pl

from derl.analysis.curves import matrix
from derl.analysis.report.heat import Cell, heat_table, shade
from derl.analysis.report.html import Html, h, number, plural
from derl.analysis.report.names import VALUES, task_label
from derl.analysis.report.numbers import Key, best_return
from derl.analysis.statistics import average_return, mean_without_nan, std_without_nan
from derl.core.errors import DerlError
from derl.experiments.cases import case_of

VIEWS = ("Average return", "Spread between seeds", "KL divergence")


class Constrained(NamedTuple):
    """A case of a grid of coefficients: where it stands, and what came out."""

    task: str
    reward: str
    alphas: tuple[float, float]
    average: float
    spread: float
    divergence: float | None
    seeds: int
    key: Key


def constrained(cases: Mapping[Key, pl.DataFrame]) -> list[Constrained]:
    """The cases of DeA2C with Count that differ in nothing but coefficients and the explorer's reward."""
    found = []
    for key, group in cases.items():
        place = _place(key)
        if place is None:
            continue
        returns = matrix(group, "return")
        if not np.isfinite(returns).any():
            continue
        runs = mean_without_nan(returns, axis=1)
        kl = group["kl"].drop_nulls().drop_nans() if "kl" in group.columns else pl.Series([])
        divergence = float(kl.to_numpy().mean()) if len(kl) else None
        spread = float(std_without_nan(runs))
        found.append(Constrained(key[1], *place, average_return(returns).value, spread, divergence, len(runs), key))
    return found


def _place(key: Key) -> tuple[str, tuple[float, float]] | None:
    recipe, task, setting = key
    if recipe not in ("dea2c-count", "dea2c-count-kl"):
        return None
    try:
        case = case_of(*key)
        decoupling = case.config().decoupling
    except DerlError:
        return None
    allowed = {"decoupling.alpha_explorer", "decoupling.alpha_exploiter", "explorer_reward"}
    if not {name for name, _ in case.changes} <= allowed:
        return None
    reward = str(dict(case.changes).get("explorer_reward", "both"))
    # Traced numbers come as arrays of 32 bits; six digits bring back what was written.
    alphas = [float(f"{float(a):.6g}") for a in (decoupling.alpha_explorer, decoupling.alpha_exploiter)]
    return reward, (alphas[0], alphas[1])


def kl_grids(cases: Mapping[Key, pl.DataFrame], places: Mapping[Key, int]) -> list[Html]:
    """A heat map of both coefficients for each task and reward of the explorer that has any constrained runs."""
    grids: dict[tuple[str, str], dict[tuple[float, float], Constrained]] = {}
    for one in constrained(cases):
        grids.setdefault((one.task, one.reward), {})[one.alphas] = one
    return [
        _grid(task, reward, grid, places)
        for (task, reward), grid in sorted(grids.items())
        if any(alphas != (0.0, 0.0) for alphas in grid)
    ]


def _grid(task: str, reward: str, grid: dict[tuple[float, float], Constrained], places: Mapping[Key, int]) -> Html:
    explorer, exploiter = (sorted({alphas[i] for alphas in grid}) for i in (0, 1))
    widest = max(one.spread for one in grid.values()) or 1.0
    farthest = max((one.divergence or 0.0 for one in grid.values()), default=0.0) or 1.0
    rows = []
    for a in explorer:
        cells = []
        for b in exploiter:
            one = grid.get((a, b))
            cells.append(Cell([("", "")] * 3, ["not run"], "not run") if one is None else _cell(one, widest, farthest, places))
        rows.append((f"α_β = {a:g}", cells))
    title = f"{task_label(task)}, explorer's reward {VALUES.get(reward, reward)}"
    identity = "kl-" + "".join(c if c.isalnum() else "-" for c in f"{task}-{reward}")
    table = heat_table(identity, title, "", [f"α_e = {b:g}" for b in exploiter], rows)
    return h("section", h("h3", title), table, class_="kl-grid")


def _cell(one: Constrained, widest: float, farthest: float, places: Mapping[Key, int]) -> Cell:
    views = [
        (number(one.average), shade(one.average, best_return(one.task) or 1.0)),
        (number(one.spread), shade(one.spread, widest)),
        (number(one.divergence), shade(one.divergence, farthest)),
    ]
    tip = [
        f"DeA2C Count on {task_label(one.task)}, α_β = {one.alphas[0]:g}, α_e = {one.alphas[1]:g}",
        f"average return {number(one.average, 3)}, {plural(one.seeds, 'seed')}",
        f"spread between seeds {number(one.spread, 3)}",
        f"mean KL divergence {number(one.divergence, 3)}",
    ]
    return Cell(views, tip, None, places.get(one.key))
