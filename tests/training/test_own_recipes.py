"""The library's own recipes solve small tasks to the optimum and stay there; without optimism they do not."""

import numpy as np
import pytest

import derl
from derl.core.errors import DerlError
from derl.training.own import BONUSES, OWN

SOLVED = 0.99


def late_returns(task: str, recipe: str, episodes: int, vary=None, **settings) -> dict[tuple, np.ndarray]:
    """Returns of the last quarter of the evaluations, for each seed and varied value."""
    result = derl.train(
        task, recipe, seeds=2, vary=vary, protocol__episodes=episodes, protocol__evaluation_episodes=1, **settings
    )
    late = result.frame.filter(result.frame["episodes"] > 0.75 * episodes)
    keys = ["seed", *(vary or {})]
    return {key: np.asarray(group["return"]) for key, group in late.group_by(keys)}


def test_deep_sea_is_solved_because_of_optimism():
    weights = [3.3, 0.0]
    returns = late_returns("DeepSea-10", "derl", 120, vary={"explorer.optimism_weight": weights})
    for (seed, weight), late in returns.items():
        solved = (late >= SOLVED - 1e-3).all()
        assert solved == (weight > 0), f"seed {seed}, optimism {weight}: {late}"


def test_hallway_is_solved_whatever_the_count_increment():
    returns = late_returns("Hallway-10-2", "derl", 200, vary={"bonus.increment": [0.01, 100.0]})
    assert all((late >= 1.8 - 1e-3).all() for late in returns.values()), returns


def test_bootstrapped_dqn_solves_a_small_sea():
    returns = late_returns("DeepSea-5", "bootdqn", 160, explorer__heads=6)
    assert all((late >= SOLVED - 1e-3).all() for late in returns.values()), returns


@pytest.mark.slow
@pytest.mark.parametrize("recipe", ["derl-hash-count", "derl-rnd"])
def test_other_bonuses_solve_deep_sea(recipe):
    returns = late_returns("DeepSea-8", recipe, 300)
    assert all((late >= SOLVED - 1e-3).all() for late in returns.values()), returns


@pytest.mark.parametrize("name", [name for name in OWN if name != "bootdqn"])
def test_recipes_fit_every_task(name):
    config = derl.configure("Hallway-5-5", name, num_envs=3).check()
    algorithm = config.algorithm()
    assert algorithm.rollout_length == 10, "one episode"
    assert algorithm.explorer.updates(algorithm.steps_per_iteration) == 60, "two updates per step"
    assert type(config.bonus) is type(BONUSES[name.removeprefix("derl-") if name != "derl" else "count"][0])


def test_a_bonus_that_cannot_be_recomputed_is_refused():
    with pytest.raises(DerlError, match="recomputed"):
        derl.train("DeepSea-5", "derl", bonus=derl.bonuses.ICM(), seeds=1, protocol__episodes=10)


def test_normalised_observations_are_refused():
    with pytest.raises(DerlError, match="normalise_observations"):
        derl.configure("DeepSea-5", "derl", normalise_observations=True).check()
