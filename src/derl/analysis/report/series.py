"""The curves of every case and metric, packed small: floats of 24 bits in byte planes, compressed, as text.

Twenty-four bits keep five significant digits, more than anybody reads off a curve. Byte planes put the slowly changing
bytes next to each other, which is what makes them compress well.
"""

import base64
import gzip
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from derl.analysis.curves import PREFIXES, matrix
from derl.analysis.report.bands import band
from derl.analysis.report.names import recipe_label, setting_key, setting_label, task_label
from derl.analysis.report.numbers import Key, best_return
from derl.envs.registry import PAPER_TASKS
from derl.training.recipes import RECIPES

METRICS = {
    "return": "Evaluation return",
    "explorer_return": "Explorer's return",
    "log_importance_weight": "Log importance weight",
    "importance_weight": "Importance weight",
    "kl": "KL divergence",
    "bonus": "Intrinsic reward",
    "coverage": "States visited",
}
OF_VARIATIONS = ("return", "explorer_return", "log_importance_weight", "kl")
"""What is kept of cases with changed settings, of which there are several times as many as recipes and tasks."""


def pack_series(cases: Mapping[Key, pl.DataFrame]) -> dict[str, Any]:
    """All curves as one JSON-able value; assets/data.js reads it."""
    tasks = _in_order({key[1] for key in cases}, PAPER_TASKS)
    recipes = _in_order({key[0] for key in cases}, RECIPES)
    settings = sorted({key[2] for key in cases}, key=setting_key)
    episodes: dict[tuple[int, ...], int] = {}
    listed, arrays = [], []
    order = {name: i for names in (tasks, recipes) for i, name in enumerate(names)}
    for recipe, task, setting in sorted(cases, key=lambda k: (order[k[1]], order[k[0]], setting_key(k[2]))):
        group = cases[recipe, task, setting]
        metrics = _metrics(group, OF_VARIATIONS if setting else tuple(METRICS))
        axis = _episodes(group)
        listed.append(
            {
                "r": recipes.index(recipe),
                "t": tasks.index(task),
                "s": settings.index(setting),
                "x": episodes.setdefault(axis, len(episodes)),
                "seeds": group.unique("run").sort("run")["seed"].to_list(),
                "m": [list(METRICS).index(name) for name in metrics],
            }
        )
        for values in metrics.values():
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
    """The floats `pack` was given, to five digits."""
    planes = np.frombuffer(gzip.decompress(base64.b64decode(text)), np.uint8).reshape(3, -1).astype(np.uint32)
    return (((planes[0] << 16) | (planes[1] << 8) | planes[2]) << 8).astype(np.uint32).view(np.float32)


def _in_order(names: set[str], known: tuple[str, ...]) -> list[str]:
    """The paper's names in its order, then everything else by the alphabet."""
    return [n for n in known if n in names] + sorted(n for n in names if n not in known)


def _metrics(group: pl.DataFrame, names: tuple[str, ...]) -> dict[str, np.ndarray]:
    """The metrics a case has any number of, as runs x evaluations."""
    failed = pl.col("failed_at_step").is_not_null()
    found = {}
    for name in names:
        if name in group.columns:
            column = pl.col(name).cast(pl.Float64).fill_null(np.nan)
            if name not in PREFIXES:  # Those were already taken out of the returns.
                column = pl.when(failed).then(np.nan).otherwise(column).alias(name)
            values = matrix(group.with_columns(column), name)
            if np.isfinite(values).any():
                found[name] = np.where(np.isfinite(values), values, np.nan)
    return found


def _episodes(group: pl.DataFrame) -> tuple[int, ...]:
    table = group.group_by("evaluation").agg(pl.col("episodes").mean()).sort("evaluation")
    return tuple(round(x) for x in table["episodes"].to_list())
