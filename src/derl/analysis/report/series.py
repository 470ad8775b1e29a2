"""The curves of every case and metric, packed small: floats of 24 bits in byte planes, compressed, as text.

Twenty-four bits keep four significant digits, which is what is read off a curve. Byte planes put the slowly changing
bytes next to each other, which is what makes them compress well.
"""

import base64
import gzip
from collections.abc import Sequence
from typing import Any

import numpy as np

from derl.analysis.frames import Results
from derl.analysis.report.bands import band
from derl.analysis.report.names import METRICS, recipe_label, setting_key, setting_label, task_label
from derl.analysis.report.numbers import best_return
from derl.envs.registry import PAPER_TASKS
from derl.experiments.cases import Case
from derl.training.recipes import RECIPES

SWEPT = ("bonus.scale", "bonus.increment", "bonus.learning_rate")
OF_SWEEPS = ("return",)
OF_CONSTRAINTS = ("return", "explorer_return", "log_importance_weight", "kl")
"""What is kept of cases with changed settings, of which there are several times as many as recipes and tasks."""


def pack_series(results: Results) -> dict[str, Any]:
    """All curves as one JSON-able value; assets/data.js reads it."""
    tasks = _in_order({case.task for case in results.cases}, PAPER_TASKS)
    recipes = _in_order({case.recipe for case in results.cases}, RECIPES)
    settings = sorted({case.setting for case in results.cases}, key=setting_key)
    episodes: dict[tuple[int, ...], int] = {}
    listed, arrays = [], []
    order = {name: i for names in (tasks, recipes, settings) for i, name in enumerate(names)}
    for case in sorted(results.cases, key=lambda c: (order[c.task], order[c.recipe], order[c.setting])):
        metrics = {name: results.values(case, name) for name in _metrics(case)}
        known = {name: values for name, values in metrics.items() if values is not None}
        listed.append(
            {
                "r": order[case.recipe],
                "t": order[case.task],
                "s": order[case.setting],
                "x": episodes.setdefault(_episodes(results, case), len(episodes)),
                "seeds": _seeds(results, case),
                "m": [list(METRICS).index(name) for name in known],
            }
        )
        for values in known.values():
            arrays += [values, *band(values)]
    return {
        "tasks": [{"name": t, "label": task_label(t), "best": best_return(t)} for t in tasks],
        "recipes": [{"name": r, "label": recipe_label(r)} for r in recipes],
        "settings": [{"name": s, "label": setting_label(s)} for s in settings],
        "metrics": [{"name": name, "label": label} for name, label in METRICS.items()],
        "episodes": [list(axis) for axis in episodes],
        "cases": listed,
        "values": pack(np.concatenate([a.ravel() for a in arrays]) if arrays else np.zeros(0)),
    }


def pack(values: np.ndarray) -> str:
    """Floats as text; NaN stays NaN."""
    bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
    rounded = np.where(np.isnan(values), 0x7FC000, (bits + 0x80) >> 8)
    planes = b"".join(((rounded >> shift) & 0xFF).astype(np.uint8).tobytes() for shift in (16, 8, 0))
    return base64.b64encode(gzip.compress(planes, 9, mtime=0)).decode("ascii")


def unpack(text: str) -> np.ndarray:
    """The floats `pack` was given, to four digits."""
    planes = np.frombuffer(gzip.decompress(base64.b64decode(text)), np.uint8).reshape(3, -1).astype(np.uint32)
    return (((planes[0] << 16) | (planes[1] << 8) | planes[2]) << 8).astype(np.uint32).view(np.float32)


def _in_order(names: set[str], known: tuple[str, ...]) -> list[str]:
    """The paper's names in its order, then everything else by the alphabet."""
    return [n for n in known if n in names] + sorted(n for n in names if n not in known)


def _metrics(case: Case) -> Sequence[str]:
    """The metrics kept of a case."""
    if not case.changes:
        return tuple(METRICS)
    constrained = case.recipe.endswith("-kl") or any(name not in SWEPT for name, _ in case.changes)
    return OF_CONSTRAINTS if constrained else OF_SWEEPS


def _episodes(results: Results, case: Case) -> tuple[int, ...]:
    return tuple(int(x) if x == x else 0 for x in np.round(results.episodes(case)))


def _seeds(results: Results, case: Case) -> list[int]:
    """The seed of every run, in the order of their rows."""
    seeds = results.frame["seed"][results.rows[case]].to_numpy()
    lengths = results.lengths(case)
    return [int(seed) for seed in seeds[np.cumsum(lengths) - lengths]]
