"""The experiments that are built in: those of the paper, each by the name of the command that runs it."""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from derl.core.errors import UnknownNameError, require
from derl.envs.registry import PAPER_TASKS
from derl.experiments.beyond import beyond
from derl.experiments.cases import Case, Setting, normal_form
from derl.experiments.experiment import Experiment, Part, product, read_experiment
from derl.experiments.grids import grid_cases
from derl.experiments.paper import (
    ALPHAS,
    GRID_TASKS,
    INCREMENTS,
    KL_TASKS,
    LAMBDAS,
    REWARDS,
    Cell,
    cells,
    constraint,
)
from derl.training.recipes import TABLE_1

FIVE, THREE = tuple(range(5)), tuple(range(3))
QUICK_TASKS = ("DeepSea-10", "Hallway-10-10")
QUICK_EPISODES = 2_000
DESCRIPTIONS = {
    "table-1": "Table 1, and the maxima of appendix B",
    "lambda": "Sensitivity to the scale λ of intrinsic rewards (section 5.5, appendix C)",
    "decay": "Sensitivity to the decay of intrinsic rewards (section 5.5, appendix C)",
    "pure-exploration": "Exploration by intrinsic rewards alone (section 6)",
    "kl": "Divergence constraints (section 7, appendix D)",
    "grid-search": "The grids of appendix A (no published numbers)",
}
"""The paper's experiments, and what each makes again."""


def table_1() -> Experiment:
    """Average and maximum returns of 18 algorithms on 11 tasks."""
    cases = product(PAPER_TASKS, TABLE_1)
    return Experiment("table-1", (Part(cases, FIVE),), DESCRIPTIONS["table-1"])


def _from_cells(wanted: Callable[[Cell], bool]) -> tuple[Case, ...]:
    return tuple(dict.fromkeys(cell.case for cell in cells() if wanted(cell)))


def lambda_sensitivity() -> Experiment:
    """Every algorithm at nine scales of the intrinsic reward."""
    cases = _from_cells(lambda c: "intrinsic_coef" in c.table and not c.table.endswith("_kl"))
    return Experiment("lambda", (Part(cases, FIVE),), DESCRIPTIONS["lambda"])


def decay_sensitivity() -> Experiment:
    """Every algorithm at several rates of decay of the intrinsic reward."""
    cases = _from_cells(lambda c: "decay_sensitivity" in c.table and not c.table.endswith("_kl"))
    return Experiment("decay", (Part(cases, FIVE),), DESCRIPTIONS["decay"])


def _constrained(alpha_explorer: float, alpha_exploiter: float, reward: str, task: str) -> Case:
    changes: dict[str, Setting] = {
        "decoupling.alpha_explorer": alpha_explorer,
        "decoupling.alpha_exploiter": alpha_exploiter,
        "explorer_reward": reward,
        "protocol.episodes": 20_000,
        "protocol.evaluate_every": 200,
    }
    return normal_form("dea2c-count", task, changes)


def pure_exploration() -> Experiment:
    """Exploration by intrinsic reward alone, or by both rewards, without constraints."""
    cases = tuple(_constrained(0.0, 0.0, reward, task) for task in KL_TASKS for reward in REWARDS)
    return Experiment("pure-exploration", (Part(cases, THREE),), DESCRIPTIONS["pure-exploration"])


def kl() -> Experiment:
    """25 pairs of constraint coefficients with two rewards, and the sensitivity of constrained DeA2C."""
    pairs = tuple(
        _constrained(a, b, reward, task) for task in KL_TASKS for reward in REWARDS for a in ALPHAS for b in ALPHAS
    )
    sensitivity = _from_cells(lambda c: c.table.endswith("_kl"))
    parts = (Part(pairs, THREE), Part(sensitivity, FIVE))
    return Experiment("kl", parts, DESCRIPTIONS["kl"])


def grid_search() -> Experiment:
    """Every configuration the paper's hyper-parameters were chosen from."""
    return Experiment("grid-search", (Part(grid_cases(GRID_TASKS), THREE),), DESCRIPTIONS["grid-search"])


EXPERIMENTS: dict[str, Callable[[], Experiment]] = {
    "table-1": table_1,
    "lambda": lambda_sensitivity,
    "decay": decay_sensitivity,
    "pure-exploration": pure_exploration,
    "kl": kl,
    "grid-search": grid_search,
    "beyond": beyond,
}


@cache
def experiment(name: str) -> Experiment:
    """A built-in experiment."""
    if name not in EXPERIMENTS:
        raise UnknownNameError("experiment", name, EXPERIMENTS)
    return EXPERIMENTS[name]()


def find_experiment(name: str) -> Experiment:
    """A built-in experiment by its name, or one in a TOML file."""
    if name in EXPERIMENTS or not (Path(name).suffix == ".toml" or Path(name).exists()):
        return experiment(name)
    found = read_experiment(name)
    taken = f"{name}: {found.name} is the name of an experiment of the paper; give it another (name = ...)"
    require(found.name not in EXPERIMENTS, taken)
    return found


def quick(whole: Experiment, episodes: int = QUICK_EPISODES) -> Experiment:
    """A small version that keeps what an experiment compares: every algorithm, fewer values, seeds and episodes.

    Of several values of a setting the first, middle and last are kept. Most of its time is compilation, so the second
    task is for algorithms with the simplest bonus or none: still every kind of agent.
    """
    if not whole.cases:
        return whole
    named = {case.task for case in whole.cases}
    tasks = [task for task in QUICK_TASKS if task in named] or [whole.cases[0].task]
    kept = (_compared(tasks) if whole.name == "kl" else set()) & set(whole.cases) or _few(whole, tasks)
    return whole.narrowed(seeds=(0, 1), episodes=episodes, where=lambda case: case in kept)


def _few(whole: Experiment, tasks: Sequence[str]) -> set[Case]:
    """Up to three values of every algorithm in the first task, and of those with the simplest bonus in the others."""
    kept: set[Case] = set()
    for task in tasks:
        for name in dict.fromkeys(case.recipe for case in whole.cases):
            cases = [case for case in whole.cases if (case.task, case.recipe) == (task, name)]
            if task == tasks[0] or name.partition("-")[2] in ("", "count"):
                kept |= set(_ends_and_middle(cases))
    return kept


def _ends_and_middle(values: Sequence[Any]) -> Sequence[Any]:
    return values if len(values) <= 3 else (values[0], values[len(values) // 2], values[-1])


def _compared(tasks: Sequence[str]) -> set[Case]:
    """What the claims about constraints compare: the paper's coefficients and none, each with both kinds of reward.

    The coefficients are numbers, so all of these cases are one program per task.
    """
    pairs = {
        _constrained(*alphas, reward, task)
        for task in KL_TASKS
        if task in tasks
        for alphas in ((0.0, 0.0), constraint(task))
        for reward in REWARDS
    }
    few = {*_ends_and_middle(LAMBDAS), *_ends_and_middle(INCREMENTS)}
    return pairs | set(
        _from_cells(lambda c: c.table.endswith("_kl") and c.case.task in tasks and float(c.column) in few)
    )
