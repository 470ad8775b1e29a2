"""Frames of results made of given returns, or of returns near the paper's numbers."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from derl.analysis.claims.paper import Claim
from derl.analysis.measures.aggregates import Estimate
from derl.experiments.cases import Case
from derl.experiments.paper import cells


def frame_of(returns: Mapping[Case, Sequence[Sequence[float]]], every: int = 1000) -> pl.DataFrame:
    """One run for each row of returns, evaluated every so many episodes."""
    frames, run = [], 0
    for case, rows in returns.items():
        for seed, row in enumerate(rows):
            evaluation = np.arange(1, len(row) + 1)
            columns = {"evaluation": evaluation, "episodes": every * evaluation, "return": np.asarray(row, float)}
            labels = {"recipe": case.recipe, "task": case.task, "setting": case.setting, "seed": seed, "run": run}
            frames.append(pl.DataFrame(columns).with_columns(**{k: pl.lit(v) for k, v in labels.items()}))
            run += 1
    return pl.concat(frames).with_columns(steps=pl.col("episodes") * 10, return_std=pl.lit(0.0))


def like_the_paper(cases: Iterable[Case] | None = None, runs: int = 5, seed: int = 0) -> pl.DataFrame:
    """Runs whose average is the published one up to a little noise, and whose curves rise."""
    averages = {cell.case: cell.mean for cell in reversed(cells()) if cell.statistic == "average"}
    rng = np.random.default_rng(seed)
    shape = np.clip(np.linspace(0, 4, 100), 0, 1)
    returns = {}
    for case in averages if cases is None else cases:
        level = averages[case] + rng.normal(0, 0.02, (runs, 1))
        returns[case] = level / shape.mean() * shape
    return frame_of(returns)


def variants_of(task: str, runs: int = 3, seed: int = 0, pairs: Sequence[tuple[float, float]] | None = None):
    """DeA2C Count with and without constraints and extrinsic rewards: closer where constrained."""
    rng = np.random.default_rng(seed)
    tied = (0.1, 0.1) if task.startswith("DeepSea") else (0.01, 1e-4)
    best = 0.99 if task.startswith("DeepSea") else 2.6
    returns, kl = {}, {}
    for alphas in pairs or ((0.0, 0.0), tied):
        for reward in ("both", "intrinsic"):
            changes = dict(zip(("decoupling.alpha_explorer", "decoupling.alpha_exploiter"), alphas, strict=True))
            changes = {name: value for name, value in changes.items() if value}
            if reward == "intrinsic":
                changes["explorer_reward"] = reward
            case = Case.of("dea2c-count", task, {**changes, "protocol.episodes": 20000})
            close = any(alphas)
            rise = 1 / (1 + np.exp(-(np.arange(20) - 5)))
            noise = rng.normal(0, 0.02 if close else 0.3, (runs, 1))
            returns[case] = best * np.clip(rise * (0.95 + noise) + rng.normal(0, 0.01, (runs, 20)), -0.1, 1)
            kl[case.setting] = (0.01 if close else 0.5) * (1 if reward == "both" else 3)
    frame = frame_of(returns)
    wobble = 1 + 0.2 * rng.random(len(frame))
    return frame.with_columns(
        kl=pl.col("setting").replace_strict(kl, return_dtype=pl.Float64) * wobble,
        explorer_return=pl.when(pl.col("setting").str.contains("intrinsic"))
        .then(pl.col("return") * 0.1)
        .otherwise(pl.col("return") * 0.8),
    ).with_columns(
        log_importance_weight=-pl.col("kl"), importance_weight=1 + pl.col("kl"), coverage=pl.lit(55, pl.Int64)
    )


def claim(**known: Any) -> Claim:
    """A test of the first claim, as it holds in a single case, but for what is given."""
    usual = {"measure": "difference of returns", "subject": "DeepSea-10", "effect": Estimate(1.0, 0.5, 2.0)}
    decided = {"bound": 0.0, "side": "above", "outcome": "holds", "words": ""}
    return Claim(number=1, **{**usual, **decided, **known})


def together(*frames: pl.DataFrame) -> pl.DataFrame:
    """Frames below each other, with runs numbered anew."""
    parts, runs = [], 0
    for frame in frames:
        parts.append(frame.with_columns(pl.col("run") + runs))
        runs += frame["run"].max() + 1
    return pl.concat(parts, how="diagonal_relaxed")
