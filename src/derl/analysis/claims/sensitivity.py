"""The paper's sensitivity experiments in a frame of results: one recipe at all values of lambda, or of decay."""

import dataclasses
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Literal

import numpy as np

from derl.analysis.measures.effects import Effect, average_effect, exact, spread_effect
from derl.analysis.measures.frames import EVALUATIONS, Results
from derl.analysis.measures.spreads import Runs, run_averages, single_average, spread_of
from derl.experiments.cases import Case, normal_form
from derl.experiments.paper import (
    INCREMENTS,
    LAMBDAS,
    LEARNING_RATES,
    cells,
    decay_setting,
    row_name,
)

Kind = Literal["lambda", "decay"]
KINDS: tuple[Kind, ...] = ("lambda", "decay")
Key = tuple[Kind, str, str, float, str]


@dataclasses.dataclass(frozen=True)
class Sweep:
    """A recipe on a task at several values of one setting; only those with at least two finished runs."""

    recipe: str
    task: str
    kind: Kind
    reward: str
    """What the explorer learns from: `both` rewards or the `intrinsic` one."""
    effects: Mapping[float, Effect]
    """The average return at each value, normalised."""
    runs: Mapping[float, Runs]
    """The same of every run."""
    missing: tuple[float, ...]
    """The values that were not run."""
    once: Mapping[float, float]
    """The average return at the values with a single finished run, normalised. Nobody knows how sure it is."""

    @property
    def name(self) -> str:
        """Whose sensitivity it is, for tables."""
        return f"{row_name(self.recipe)} on {self.task}"

    def spread(self, values: Sequence[float]) -> Effect:
        """How much the average return differs between these values, beyond the noise of seeds."""
        return spread_of({swept_case(self.recipe, self.task, self.kind, v, self.reward): self.runs[v] for v in values})


def swept_setting(recipe: str, kind: Kind) -> str:
    """The setting a sweep varies."""
    return "bonus.scale" if kind == "lambda" else decay_setting(recipe.removesuffix("-kl"))


def swept_values(recipe: str, kind: Kind) -> Sequence[float]:
    """The paper's values."""
    if kind == "lambda":
        return LAMBDAS
    return INCREMENTS if swept_setting(recipe, kind) == "bonus.increment" else LEARNING_RATES


@cache
def _numbers() -> Mapping[Key, tuple[Case, float]]:
    """The case and the published average of every recipe, task, value and reward in the tables about sensitivity."""
    found: dict[Key, tuple[Case, float]] = {}
    # Backwards, so that the first table counts where several have a number.
    for cell in reversed(cells()):
        if cell.statistic == "average" and cell.table != "tab:mean_returns":
            kind: Kind = "lambda" if "intrinsic_coef" in cell.table else "decay"
            reward = str(dict(cell.case.changes).get("explorer_reward", "both"))
            key: Key = (kind, cell.case.recipe, cell.case.task, float(cell.column), reward)
            found[key] = cell.case, cell.mean
    return found


def swept_case(recipe: str, task: str, kind: Kind, value: float, reward: str = "both") -> Case:
    """The case of one value. `reward` is what the explorer learns from."""
    known = _numbers().get((kind, recipe, task, value, reward))
    if known is not None:
        return known[0]
    return normal_form(recipe, task, {swept_setting(recipe, kind): value, "explorer_reward": reward})


def sweep(
    results: Results, recipe: str, task: str, kind: Kind, reward: str = "both", evaluations: int = EVALUATIONS
) -> Sweep:
    """What there is of a recipe's sweep."""
    effects, runs, missing, once = {}, {}, [], {}
    for value in swept_values(recipe, kind):
        case = swept_case(recipe, task, kind, value, reward)
        effect, averages = average_effect(results, case, evaluations), run_averages(results, case, evaluations)
        if effect is not None and averages is not None:
            effects[value], runs[value] = effect, averages
        elif (only := single_average(results, case, evaluations)) is not None:
            once[value] = only
        else:
            missing.append(value)
    return Sweep(recipe, task, kind, reward, effects, runs, tuple(missing), once)


@cache
def published_averages() -> Mapping[Case, float]:
    """The paper's average return of each case. Where it has several, that of the first table (Table 1) counts."""
    return {cell.case: cell.mean for cell in reversed(cells()) if cell.statistic == "average"}


def published_values(swept: Sweep) -> dict[float, float]:
    """The paper's numbers for a sweep, as returns."""
    keys: list[Key] = [
        (swept.kind, swept.recipe, swept.task, v, swept.reward) for v in swept_values(swept.recipe, swept.kind)
    ]
    return {key[3]: _numbers()[key][1] for key in keys if key in _numbers()}


def published_spread(numbers: Mapping[float, float], best: float, values: Sequence[float]) -> Effect | None:
    """The spread of the paper's own numbers at these values, normalised by the best possible return.

    The noise of its seeds is in it: the paper does not say how much its runs differ.
    """
    chosen = [numbers[value] / best for value in values if value in numbers]
    return spread_effect(exact(float(np.var(chosen)))) if len(chosen) == len(values) else None
