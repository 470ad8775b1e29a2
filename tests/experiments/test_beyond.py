"""The experiment on the library's own recipe, and that stored results survive what it added to the parts."""

import jax
import numpy as np
import pytest

from derl.experiments.beyond import ABLATIONS, ablations, beyond
from derl.experiments.cases import case_of
from derl.experiments.identity import config_key, description
from derl.training.added import ADDED
from derl.training.loop import bonus_weight
from derl.training.population import Population
from derl.training.recipes import recipe


def test_every_case_can_be_read_back_from_its_text():
    for case in beyond().cases:
        assert case_of(case.recipe, case.task, case.setting).config() == case.config(), case


def test_options_of_a_task_are_settings():
    cases = {case.setting: case.config() for case in beyond().cases}
    assert cases["env_options.mapping_seed=1001"].make_env().mapping_seed == 1001
    assert cases["env_options.horizon=50"].make_env().episode_length == 50
    noisy = [config for setting, config in cases.items() if "env_options.stochastic=true" in setting]
    assert len(noisy) == 2
    assert all(config.make_env().stochastic for config in noisy)


def test_every_ablation_changes_something():
    plain = config_key(recipe("derl", "DeepSea-20"))
    keys = [config_key(case.config()) for case in ablations() if case.task == "DeepSea-20"]
    assert len(keys) == len(ABLATIONS)
    assert len({plain, *keys}) == len(keys) + 1
    assert set(ablations()) <= set(beyond().cases)


@pytest.mark.parametrize("name", ["a2c-hash-count", "dea2c-count", "dedqn-count"])
def test_added_settings_count_only_where_they_change_something(name):
    config = recipe(name, "DeepSea-10")
    parts = [part for part in description(config).values() if isinstance(part, dict)]
    assert not any(name in part for part in parts for name in ADDED)
    changed = config.with_value("decoupling.mixture_weight", 0.5)
    assert description(changed)["decoupling"]["mixture_weight"] == 0.5
    assert config_key(changed) != config_key(config)


def test_memories_that_are_never_full_are_the_same_memory():
    config = recipe("derl", "DeepSea-10")
    smaller = config.with_value("exploiter.capacity", 100_000)
    assert config_key(smaller) == config_key(config)
    assert config_key(config.with_value("exploiter.capacity", 10_000)) != config_key(config), "20,000 steps fill it"
    assert config_key(config.with_value("exploiter.capacity", 20_000)) == config_key(config), "and no more than fill it"
    assert config_key(config.with_value("explorer.capacity", 50_000)) == config_key(config)
    assert config_key(config.with_value("explorer.capacity", 10_000)) != config_key(config)
    # 120,000 steps.
    config = recipe("derl", "Hallway-30-30")
    assert config_key(config.with_value("exploiter.capacity", 100_000)) != config_key(config)
    # Blocks of priorities are as large as the memory's root.
    dqn = recipe("dedqn-count", "DeepSea-5").with_value("protocol.episodes", 1_000)
    assert config_key(dqn.with_value("exploiter.capacity", 200_000)) == config_key(dqn)
    dqn = dqn.with_value("exploiter.prioritised", True)
    assert config_key(dqn.with_value("exploiter.capacity", 200_000)) != config_key(dqn)


def test_lambda_is_part_of_a_run_only_where_it_is_read():
    config = recipe("derl", "DeepSea-10")
    assert config_key(config.with_value("bonus.scale", 100.0)) == config_key(config)
    assert config_key(config.with_value("bonus.increment", 100.0)) != config_key(config)
    both = config.with_value("explorer_reward", "both")
    assert config_key(both.with_value("bonus.scale", 100.0)) != config_key(both)
    paper = recipe("a2c-count", "DeepSea-10").with_value("explorer_reward", "intrinsic")
    assert config_key(paper.with_value("bonus.scale", 100.0)) != config_key(paper)


@pytest.mark.parametrize(
    ("name", "reward", "weight"), [("derl", "intrinsic", 1.0), ("derl", "both", 7.0), ("a2c-count", "intrinsic", 7.0)]
)
def test_lambda_is_read_where_it_weighs_something(name, reward, weight):
    config = recipe(name, "DeepSea-4").with_value("explorer_reward", reward).with_value("bonus.scale", 7.0)
    assert bonus_weight(config.algorithm()) == weight


@pytest.mark.slow
@pytest.mark.parametrize(("reward", "same"), [("intrinsic", True), ("both", False)])
def test_lambda_changes_a_run_where_it_is_read(reward, same):
    config = recipe("derl", "DeepSea-4").with_value("explorer_reward", reward)
    runs = [config.with_value("bonus.scale", scale).algorithm() for scale in (0.01, 100.0)]
    population = Population(runs, [1, 1])
    learnt = population.advance(population.init(), 0, 60).explorer.learner.network
    assert all((np.asarray(leaf[0]) == np.asarray(leaf[1])).all() for leaf in jax.tree.leaves(learnt)) == same


@pytest.mark.slow
def test_a_memory_that_is_never_full_gives_the_same_numbers():
    runs = []
    for capacity in (400, 4_000):
        config = recipe("derl", "DeepSea-5").with_value("exploiter.capacity", capacity)
        population = Population([config.algorithm()], [1])
        state = population.advance(population.init(), 0, 70)
        runs.append(jax.tree.leaves((state.explorer.learner, state.exploiter.learner)))
    for a, b in zip(*runs, strict=True):
        np.testing.assert_array_equal(a, b)
