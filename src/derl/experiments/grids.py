"""Appendix A as data: the grids of hyper-parameters the paper searched, and its rule for choosing among them."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from derl.experiments.cases import Case, Setting, normal_form
from derl.experiments.experiment import product

Grid = Mapping[str, Sequence[Setting]]

PREDICTOR_RATES = (1e-7, 5e-7, 1e-6, 5e-6, 1e-5)
PREDICTION_COEFS = (0.5, 1.0, 5.0, 10.0)

BASELINE: Grid = {
    "explorer.learning_rate": (3e-4, 1e-3),
    "explorer.activation": ("tanh", "relu"),
    "explorer.max_grad_norm": (0.5, 10.0, 40.0),
    "explorer.entropy_coef": (1e-4, 3e-4, 7e-4, 1e-3),
    "normalise_observations": (False, True),
    "normalise_rewards": (False, True),
}
PREDICTOR: Grid = {
    "bonus.learning_rate": PREDICTOR_RATES,
    "bonus.forward_coef": PREDICTION_COEFS,
    "bonus.inverse_coef": PREDICTION_COEFS,
}
RND: Grid = {"bonus.learning_rate": PREDICTOR_RATES}
HASH: Grid = {"bonus.key_bits": (16, 32, 64, 128)}
EXPLOITER: Grid = {
    "exploiter.learning_rate": (3e-4, 1e-3),
    "exploiter.activation": ("tanh", "relu"),
    "exploiter.entropy_coef": (0.0, 1e-6, 1e-5, 1e-4),
}
DQN: Grid = {
    "exploiter.learning_rate": (1e-4, 3e-4, 1e-3),
    "exploiter.target_rate": (0.01, 0.001),
    "exploiter.batch_size": (128, 256, 512),
    "exploiter.activation": ("tanh", "relu"),
    "exploiter.prioritised": (False, True),
}

GRIDS: Mapping[str, Grid] = {
    "a2c-count": BASELINE,
    "ppo-count": BASELINE,
    "a2c-hash-count": HASH,
    "ppo-hash-count": HASH,
    "a2c-icm": PREDICTOR,
    "ppo-icm": PREDICTOR,
    "a2c-rnd": RND,
    "ppo-rnd": RND,
    "a2c-ride": PREDICTOR,
    "ppo-ride": PREDICTOR,
    # "Retrace(lambda)" of the paper's table is the clipped weight; see docs/algorithms.
    "dea2c-count": {"exploiter.correction": ("importance", "clipped"), **EXPLOITER},
    "deppo-count": EXPLOITER,
    "dedqn-count": DQN,
    "dea2c-icm": PREDICTOR,
    "deppo-icm": PREDICTOR,
    "dedqn-icm": PREDICTOR,
}
"""The grid searched for each recipe; every other setting is as in the recipe."""

Values = tuple[Setting, ...]
ICM_WITH_A2C: tuple[Values, Values] = ((1e-5, 5.0, 1.0), (1e-6, 5.0, 0.5))
ICM_WITH_PPO: tuple[Values, Values] = ((1e-5, 5.0, 1.0), (1e-5, 0.5, 10.0))
CHOSEN: Mapping[str, tuple[Values, Values]] = {
    "a2c-count": ((1e-3, "relu", 0.5, 1e-4, True, True), (3e-4, "tanh", 0.5, 1e-4, False, False)),
    "ppo-count": ((1e-3, "tanh", 0.5, 1e-4, False, False), (3e-4, "relu", 0.5, 7e-4, False, False)),
    "a2c-hash-count": ((16,), (16,)),
    "ppo-hash-count": ((16,), (16,)),
    "a2c-icm": ICM_WITH_A2C,
    "ppo-icm": ICM_WITH_PPO,
    "a2c-rnd": ((1e-7,), (1e-5,)),
    "ppo-rnd": ((1e-7,), (5e-7,)),
    "a2c-ride": ((1e-5, 0.5, 10.0), (1e-5, 10.0, 0.5)),
    "ppo-ride": ((5e-6, 10.0, 1.0), (1e-7, 1.0, 1.0)),
    "dea2c-count": (("importance", 1e-3, "relu", 1e-6), ("clipped", 3e-4, "tanh", 1e-5)),
    "deppo-count": ((1e-3, "relu", 1e-4), (3e-4, "relu", 1e-6)),
    "dedqn-count": ((1e-3, 0.01, 256, "tanh", False), (1e-4, 0.001, 512, "relu", False)),
    "dea2c-icm": ICM_WITH_A2C,
    "deppo-icm": ICM_WITH_PPO,
    "dedqn-icm": ICM_WITH_PPO,
}
"""What appendix A prints in bold, in the order of the grid's settings: in DeepSea and in Hallway. Recipes have other
values where the code that was published has."""


def papers_choice(recipe: str, task: str) -> Case:
    """The configuration that the paper chose of a grid."""
    values = CHOSEN[recipe][task.startswith("Hallway")]
    return Case.of(recipe, task, dict(zip(GRIDS[recipe], values, strict=True)))


def unlike_the_recipe(recipe: str, task: str) -> dict[str, Setting]:
    """What the paper chose where the recipe has something else."""
    config = Case.of(recipe, task).config()
    return {
        path: value for path, value in papers_choice(recipe, task).changes if config.with_value(path, value) != config
    }


def grid_cases(tasks: Iterable[str]) -> tuple[Case, ...]:
    """Every configuration of every grid, in normal form."""
    return tuple(case for task in tasks for name in GRIDS for case in _grid_of(name, task))


def _grid_of(recipe: str, task: str) -> Iterator[Case]:
    grid = GRIDS[recipe]
    # Which values are the recipe's own is asked once for each, not for each of their thousands of combinations.
    pairs = [(path, value) for path, values in grid.items() for value in values]
    own = {(path, value) for path, value in pairs if not normal_form(recipe, task, {path: value}).changes}
    for case in product([task], [recipe], vary=grid):
        yield Case.of(recipe, case.task, dict(change for change in case.changes if change not in own))


def best_configuration(scores: Mapping[Case, tuple[float, float]]) -> Case:
    """The paper's selection rule: the highest maximum return; among equals the highest average return.

    `scores` holds (maximum, average) of each configuration. Returns are compared as the paper prints them, to two
    digits: else equals would hardly ever occur and the average never count.
    """
    return max(scores, key=lambda case: standing_in_grid(scores[case]))


def standing_in_grid(score: tuple[float, float]) -> tuple[float, float]:
    """What configurations are sorted by. One whose runs all failed has no score, and comes last."""
    maximum, average = (-math.inf if math.isnan(x) else x for x in score)
    return (round(maximum, 2) if math.isfinite(maximum) else maximum), average
