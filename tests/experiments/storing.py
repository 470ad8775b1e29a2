"""Runs as they go into a store."""

import polars as pl

from derl.experiments.packing import Entry


def entry(key: str = "k", seed: int = 0, recipe: str = "a2c", setting: str = "") -> Entry:
    return Entry(key, recipe, "DeepSea-5", setting, seed, 1, 2.5)


def frame(returns: list[float], extra: dict | None = None, failed_at: int | None = None) -> pl.DataFrame:
    count = len(returns)
    data = {"run": [7] * count, "seed": [0] * count, "evaluation": range(1, count + 1), "steps": range(10, 10 + count)}
    data |= {"episodes": range(count), "return": returns, "failed_at_step": [failed_at] * count}
    return pl.DataFrame({**data, **(extra or {})}, schema_overrides={"failed_at_step": pl.Int64})
