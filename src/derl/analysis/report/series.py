"""The curves of every case and metric, packed small: floats of 24 bits in byte planes, compressed, as text.

Twenty-four bits keep four significant digits, which is what is read off a curve. Byte planes put the slowly changing
bytes next to each other, which is what makes them compress well.
"""

import base64
import gzip
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from derl.analysis.measures.aggregates import normalised, optimal_return_or_none
from derl.analysis.measures.frames import EVALUATIONS, Results
from derl.analysis.measures.statistics import Interval, bootstrap_interval, mean_without_nan
from derl.analysis.published.first_runs import in_order_of_counting
from derl.analysis.published.ours import DRAWN
from derl.analysis.published.verdicts import ENOUGH_RUNS
from derl.analysis.report.names import METRICS, setting_key, setting_label
from derl.envs.registry import PAPER_TASKS
from derl.experiments.cases import Case
from derl.experiments.paper import cells, column_name, row_name
from derl.training.recipes import RECIPES

FAMILIES = {"DeepSea": "DeepSea, all (normalised)", "Hallway": "Hallway, all (normalised)"}
SWEPT = ("bonus.scale", "bonus.increment", "bonus.learning_rate")
OF_SWEEPS = ("return",)
OF_CONSTRAINTS = ("return", "explorer_return", "log_importance_weight", "kl")
"""What is kept of cases with changed settings, of which there are several times as many as recipes and tasks."""


MOST_POINTS = 1000
"""Of a longer curve so many evaluations are drawn, evenly spread: a screen has no more."""


class Curves(NamedTuple):
    """The curves of a case, by metric: runs x evaluations, and the ends of the band of their mean.

    Where the tables count only the first seeds, the band is theirs, and that of all seeds comes after it.
    """

    recipe: str
    task: str
    setting: str
    seeds: list[int]
    counted: int
    """How many of the seeds, from the first, the tables count."""
    episodes: tuple[int, ...]
    metrics: Mapping[str, Sequence[np.ndarray]]


def pack_series(
    results: Results, evaluations: int = EVALUATIONS, called: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """All curves as one JSON-able value; assets/data.js reads it. Of runs with so many evaluations are the tables.

    `called` has settings that are to be listed as others, by whose order as well.
    """
    shown = called or {}
    found = [_curves(results, case, evaluations) for case in results.cases] + whole_families(results)
    recipes = _in_order({one.recipe for one in found}, RECIPES)
    tasks = _in_order({one.task for one in found}, (*PAPER_TASKS, *FAMILIES.values()))
    settings = sorted({one.setting for one in found}, key=lambda name: setting_key(shown.get(name, name)))
    r, t, s = ({name: i for i, name in enumerate(names)} for names in (recipes, tasks, settings))
    found.sort(key=lambda one: (t[one.task], r[one.recipe], s[one.setting]))
    episodes: dict[tuple[int, ...], int] = {}
    listed = [
        {
            "r": r[one.recipe],
            "t": t[one.task],
            "s": s[one.setting],
            "x": episodes.setdefault(one.episodes, len(episodes)),
            "seeds": one.seeds,
            "n": one.counted,
            "m": [list(METRICS).index(name) for name in one.metrics],
        }
        for one in found
    ]
    arrays = [array.ravel() for one in found for curve in one.metrics.values() for array in curve]
    return {
        "tasks": [{"name": name, "label": _task_label(name), "best": _best(name)} for name in tasks],
        "recipes": [{"name": name, "label": row_name(name)} for name in recipes],
        "settings": [{"name": name, "label": setting_label(shown.get(name, name))} for name in settings],
        "metrics": [{"name": name, "label": label} for name, label in METRICS.items()],
        "episodes": [list(axis) for axis in episodes],
        "enough": ENOUGH_RUNS,
        "cases": listed,
        "values": pack(np.concatenate(arrays) if arrays else np.zeros(0)),
    }


def _curves(results: Results, case: Case, evaluations: int) -> Curves:
    metrics = {name: _drawn(results, case, name) for name in _metrics(case)}
    order = in_order_of_counting(results, case, evaluations)
    seeds = results.seeds(case)[order].tolist()
    counted = min(len(seeds), DRAWN) if case in _published() else len(seeds)
    known = {name: _with_bands(values[order], counted) for name, values in metrics.items() if values is not None}
    return Curves(case.recipe, case.task, case.setting, seeds, counted, _episodes(results, case), known)


@cache
def _published() -> frozenset[Case]:
    return frozenset(cell.case for cell in cells())


def _with_bands(values: np.ndarray, counted: int) -> list[np.ndarray]:
    """Curves, the band of those that count, and, where they are not all, the band of all."""
    bands = [*bootstrap_interval(values[:counted])]
    return [values, *bands, *(bootstrap_interval(values) if counted < len(values) else ())]


def _drawn(results: Results, case: Case, column: str = "return") -> np.ndarray | None:
    values = results.values(case, column)
    return None if values is None else values[:, places(values.shape[1])]


def places(evaluations: int) -> np.ndarray:
    """Which of so many evaluations are drawn: the first, the last, and what lies evenly between."""
    most = min(evaluations, MOST_POINTS)
    return np.unique(np.linspace(0, evaluations - 1, most).round().astype(int))


def whole_families(results: Results) -> list[Curves]:
    """Returns over all tasks of a family, each divided by the best possible one: the paper's normalised returns.

    Only for recipes that have had all of its tasks, and of the seeds only those that all of them have: else one would
    compare apples with pears. A seed's curve is its mean over tasks; the band draws runs within each task.
    """
    found = []
    for family, name in FAMILIES.items():
        tasks = [task for task in PAPER_TASKS if task.startswith(family)]
        for recipe in sorted({case.recipe for case in results.cases}):
            cases = [Case.of(recipe, task) for task in tasks]
            if not all(case in results for case in cases):
                continue
            episodes, seeds = _episodes(results, cases[0]), _shared_seeds(results, cases)
            if not seeds or not all(_episodes(results, case) == episodes for case in cases):
                continue
            returns = [_drawn(results, case) for case in cases]
            rows = [np.isin(results.seeds(case), seeds) for case in cases]
            stacked = [normalised(v[r], t) for v, r, t in zip(returns, rows, tasks, strict=True) if v is not None]
            counted = min(len(seeds), DRAWN)
            bands = [*_band(stacked, counted), *(_band(stacked, len(seeds)) if counted < len(seeds) else ())]
            curve = [mean_without_nan(np.stack(stacked)), *bands]
            found.append(Curves(recipe, name, "", seeds, counted, episodes, {"return": curve}))
    return found


def _band(tasks: Sequence[np.ndarray], runs: int) -> Interval:
    """The band of the mean over tasks of the first so many runs of each."""
    strata = np.repeat(np.arange(len(tasks)), runs)
    return bootstrap_interval(np.concatenate([values[:runs] for values in tasks]), strata=strata)


def _shared_seeds(results: Results, cases: Sequence[Case]) -> list[int]:
    """The seeds that all of these cases have, each once; none if a case has one twice."""
    every = [results.seeds(case).tolist() for case in cases]
    twice = any(len(set(seeds)) < len(seeds) for seeds in every)
    return [] if twice else sorted(set.intersection(*map(set, every)))


def _task_label(task: str) -> str:
    return task if task in FAMILIES.values() else column_name(task)


def _best(task: str) -> float | None:
    return 1.0 if task in FAMILIES.values() else optimal_return_or_none(task)


def pack(values: np.ndarray) -> str:
    """Floats as text; NaN stays NaN."""
    with np.errstate(over="ignore"):  # Importance weights can be beyond what 32 bits hold.
        bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
    rounded = np.where(np.isnan(values), 0x7FC000, (bits + 0x80) >> 8)
    planes = b"".join(((rounded >> shift) & 0xFF).astype(np.uint8).tobytes() for shift in (16, 8, 0))
    return base64.b64encode(gzip.compress(planes, 9, mtime=0)).decode("ascii")


def _in_order(names: set[str], known: tuple[str, ...]) -> list[str]:
    """The paper's names in its order, then everything else by the alphabet."""
    return [n for n in known if n in names] + sorted(n for n in names if n not in known)


def _metrics(case: Case) -> tuple[str, ...]:
    """The metrics kept of a case."""
    if not case.changes:
        return tuple(METRICS)
    constrained = case.recipe.endswith("-kl") or any(name not in SWEPT for name, _ in case.changes)
    return OF_CONSTRAINTS if constrained else OF_SWEEPS


def _episodes(results: Results, case: Case) -> tuple[int, ...]:
    episodes = np.round(results.episodes(case))
    return tuple(int(x) if x == x else 0 for x in episodes[places(len(episodes))])
