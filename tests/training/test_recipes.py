"""Recipes carry the numbers of the paper's appendix A, and of its code where the two differ."""

import pytest

from derl import A2C, DQN, ICM, PPO, RIDE, RND, Count, HashCount, NoBonus, recipe
from derl.envs import PAPER_TASKS
from derl.training.config import Protocol
from derl.training.recipes import RECIPES, TABLE_1
from derl.training.written import from_json, to_json


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("task", ["DeepSea-10", "Hallway-10-10"])
def test_every_recipe_survives_being_written_down(name, task):
    config = recipe(name, task).check()
    assert from_json(to_json(config)) == config


def test_table_1_has_the_papers_18_rows_in_order():
    assert (
        *("a2c", "a2c-count", "a2c-hash-count", "a2c-icm", "a2c-rnd", "a2c-ride"),
        *("ppo", "ppo-count", "ppo-hash-count", "ppo-icm", "ppo-rnd", "ppo-ride"),
        *("dea2c-count", "dea2c-icm", "deppo-count", "deppo-icm", "dedqn-count", "dedqn-icm"),
    ) == TABLE_1


# Typed from the paper's appendix A: (recipe, family) -> what its tables print in bold.
EXPLORERS = {
    ("a2c", "DeepSea"): (A2C, {"learning_rate": 1e-3, "activation": "relu", "entropy_coef": 1e-4, "n_steps": 5}),
    ("a2c", "Hallway"): (A2C, {"learning_rate": 3e-4, "activation": "tanh", "entropy_coef": 1e-4, "n_steps": 5}),
    ("ppo", "DeepSea"): (PPO, {"learning_rate": 1e-3, "activation": "tanh", "entropy_coef": 1e-4, "n_steps": 10}),
    ("ppo", "Hallway"): (PPO, {"learning_rate": 3e-4, "activation": "relu", "entropy_coef": 7e-4, "n_steps": 10}),
}
EXPLOITERS = {
    ("dea2c", "DeepSea"): (A2C, {"learning_rate": 1e-3, "activation": "relu", "entropy_coef": 1e-6, "n_steps": 5}),
    ("dea2c", "Hallway"): (A2C, {"learning_rate": 3e-4, "activation": "tanh", "entropy_coef": 1e-5, "n_steps": 5}),
    ("deppo", "DeepSea"): (PPO, {"learning_rate": 1e-3, "activation": "relu", "entropy_coef": 1e-4, "n_steps": 10}),
    ("deppo", "Hallway"): (PPO, {"learning_rate": 3e-4, "activation": "relu", "entropy_coef": 1e-6, "n_steps": 10}),
    ("dedqn", "DeepSea"): (DQN, {"learning_rate": 1e-3, "target_rate": 0.01, "batch_size": 256, "activation": "tanh"}),
    ("dedqn", "Hallway"): (DQN, {"learning_rate": 1e-4, "target_rate": 0.001, "batch_size": 512, "activation": "relu"}),
}
SHARED = {"gamma": 0.99, "adam_epsilon": 1e-3, "max_grad_norm": 0.5, "hidden": (64, 64)}
PPO_ONLY = {"epochs": 10, "minibatches": 4, "clip": 0.1, "clip_value_loss": True}
BONUSES = {"": NoBonus, "count": Count, "hash-count": HashCount, "icm": ICM, "rnd": RND, "ride": RIDE}


def assert_fields(agent, kind, expected):
    assert type(agent) is kind
    expected = expected | SHARED | (PPO_ONLY if kind is PPO else {})
    if kind is not DQN:
        expected = expected | {"value_coef": 0.5}
    else:
        expected = expected | {"n_steps": 5, "capacity": 100_000, "double": True, "prioritised": False}
    for field, value in expected.items():
        assert getattr(agent, field) == value, field


@pytest.mark.parametrize("name", TABLE_1)
@pytest.mark.parametrize("task", PAPER_TASKS)
def test_recipes_carry_the_papers_numbers(name, task):
    family = task.split("-")[0]
    algorithm, _, bonus = name.partition("-")
    config = recipe(name, task)
    assert isinstance(config.bonus, BONUSES[bonus])
    assert config.bonus.scale == 1.0
    assert config.num_envs == 4
    statistics = "own" if algorithm == "ppo" and family == "Hallway" else "training"
    assert config.protocol == Protocol(evaluation="greedy", evaluation_statistics=statistics)
    if algorithm in ("a2c", "ppo"):
        assert config.exploiter is None
        assert_fields(config.explorer, *EXPLORERS[algorithm, family])
    else:
        assert_fields(config.explorer, *EXPLORERS["a2c", family])
        assert_fields(config.exploiter, *EXPLOITERS[algorithm, family])


# From the tables of hyper-parameters of appendix A; of decoupled recipes, from the configurations that were run.
# Learning rate, and coefficients of the forward and the inverse loss: (DeepSea, Hallway).
LEARNED = {
    "a2c-icm": ((1e-5, 5.0, 1.0), (1e-6, 5.0, 0.5)),
    "ppo-icm": ((1e-5, 5.0, 1.0), (1e-5, 0.5, 10.0)),
    "a2c-ride": ((1e-5, 0.5, 10.0), (1e-5, 10.0, 0.5)),
    "ppo-ride": ((5e-6, 10.0, 1.0), (1e-7, 1.0, 1.0)),
    "dea2c-icm": ((1e-5, 10.0, 1.0), (1e-6, 5.0, 1.0)),
    "deppo-icm": ((5e-6, 5.0, 5.0), (5e-6, 10.0, 0.5)),
    "dedqn-icm": ((1e-5, 10.0, 1.0), (5e-7, 10.0, 5.0)),
}
DISTILLED = {"a2c-rnd": (1e-7, 1e-5), "ppo-rnd": (1e-7, 5e-7)}


@pytest.mark.parametrize("hallway", [False, True])
def test_bonuses_carry_the_numbers_that_were_run(hallway):
    task = "Hallway-20-20" if hallway else "DeepSea-14"
    for name, columns in LEARNED.items():
        bonus = recipe(name, task).bonus
        assert (bonus.learning_rate, bonus.forward_coef, bonus.inverse_coef) == columns[hallway], name
        # Environments reset themselves: the last step of an episode was followed by the next one's first state.
        assert bonus.successor == "successor_after_reset"
        assert bonus.halve
        if isinstance(bonus, RIDE):
            # PPO's observations are normalised in Hallway, which made keys of episodic counts drift.
            assert bonus.counts == ("none" if name == "ppo-ride" and hallway else "state")
    for name, rates in DISTILLED.items():
        bonus = recipe(name, task).bonus
        assert (bonus.learning_rate, bonus.looks) == (rates[hallway], "successor_after_reset")
    for name in ("a2c-count", "ppo-count", "dea2c-count", "dedqn-count"):
        bonus = recipe(name, task).bonus
        assert (bonus.increment, bonus.divide_by_increment) == (1.0, True)
    for name in ("a2c-hash-count", "ppo-hash-count"):
        bonus = recipe(name, task).bonus
        assert (bonus.key_bits, bonus.simultaneous) == (16, True)


@pytest.mark.parametrize("hallway", [False, True])
def test_recipes_follow_the_code_where_it_differs_from_the_text(hallway):
    task = "Hallway-10-0" if hallway else "DeepSea-30"
    for name in TABLE_1:
        config = recipe(name, task)
        # Observations and rewards were normalised for PPO in Hallway alone, for the bonus and the evaluations too.
        normalised = hallway and name.startswith("ppo")
        assert (config.normalise_observations, config.normalise_rewards) == (normalised, normalised), name
        assert config.protocol.evaluation_statistics == ("own" if normalised else "training"), name
        sees = normalised and name in ("ppo-hash-count", "ppo-icm", "ppo-rnd", "ppo-ride")
        assert config.bonus_observations == ("normalised" if sees else "raw"), name
    dea2c, deppo, dedqn = (recipe(f"{name}-count", task) for name in ("dea2c", "deppo", "dedqn"))
    assert dea2c.exploiter.correction == ("clipped" if hallway else "importance")
    assert dea2c.decoupling.denominator == "updated"
    assert deppo.decoupling.denominator == "collected"
    assert dedqn.exploiter.frozen_targets
    assert (dea2c.decoupling.alpha_explorer, dea2c.decoupling.alpha_exploiter) == (0.0, 0.0)
    held = recipe("dea2c-count-kl", task).decoupling
    assert (held.alpha_explorer, held.alpha_exploiter) == ((0.01, 1e-4) if hallway else (0.1, 0.1))
