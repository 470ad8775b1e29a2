"""Made-up results in the form of a frame of results: curves that rise to some height, with noise, as real ones do."""

from collections.abc import Iterable

import numpy as np
import polars as pl

from derl.experiments.cases import Case, normal_form
from derl.experiments.paper import ALPHAS, KL_TASKS, REWARDS, cells

NASTY = "</script><script>window.pwned=1</script><!--"
"""A name that would run as a script on a page that does not escape it."""


def made_up(cases: Iterable[Case], seeds: int = 5, evaluations: int = 100, seed: int = 0) -> pl.DataFrame:
    """A frame with every metric for recipes that have it, and one failed run in each hundred."""
    rng = np.random.default_rng(seed)
    parts, run = [], 0
    for case in cases:
        height, speed = rng.uniform(0.0, 0.99), rng.uniform(2, 30)
        for number in range(seeds):
            parts.append(_run(rng, case, run, number, evaluations, height, speed))
            run += 1
    return pl.concat(parts, how="diagonal_relaxed")


def _run(rng, case: Case, run: int, seed: int, evaluations: int, height: float, speed: float) -> pl.DataFrame:
    n = np.arange(1, evaluations + 1)
    rise = height / (1 + np.exp(-(n - speed * rng.uniform(0.7, 1.4)) / 2))
    # Eight greedy episodes take few distinct values, so real evaluation returns are coarse.
    returns = np.round(8 * np.clip(rise + rng.normal(0, 0.03, evaluations), -0.2, 1)) / 8
    columns = {
        "run": np.full(evaluations, run),
        "seed": np.full(evaluations, seed),
        "evaluation": n,
        "steps": n * 10_000,
        "episodes": n * 1000,
        "return": returns,
        "return_std": np.zeros(evaluations),
        "explorer_return": rise + rng.normal(0, 0.02, evaluations),
        "bonus": 1 / np.sqrt(n) * rng.uniform(0.5, 2, evaluations),
        "coverage": np.minimum(100, 10 + n),
    }
    if case.recipe.startswith("de"):
        log_weight = rng.normal(-0.3, 0.2, evaluations)
        columns |= {"log_importance_weight": log_weight, "importance_weight": np.exp(log_weight + 0.1)}
        columns |= {"kl": np.abs(rng.normal(0.2, 0.1, evaluations))}
    failed = pl.Series("failed_at_step", [None] * evaluations, dtype=pl.Int64)
    if run % 100 == 99:
        half = evaluations // 2
        failed = pl.Series(
            "failed_at_step", [None] * half + [half * 10_000 + 40] * (evaluations - half), dtype=pl.Int64
        )
    names = [
        pl.lit(text).alias(name)
        for name, text in (("recipe", case.recipe), ("task", case.task), ("setting", case.setting))
    ]
    return pl.DataFrame(columns).with_columns(failed, *names)


def whole_paper() -> list[Case]:
    """Every case behind a published number, and the grids of coefficients of section 7."""
    cases = [cell.case for cell in cells()]
    for task in KL_TASKS:
        for reward in REWARDS:
            for alpha in ALPHAS:
                for beta in ALPHAS:
                    changes = {
                        "decoupling.alpha_explorer": alpha,
                        "decoupling.alpha_exploiter": beta,
                        "explorer_reward": reward,
                    }
                    cases.append(normal_form("dea2c-count-kl", task, changes))
    return list(dict.fromkeys(cases))
