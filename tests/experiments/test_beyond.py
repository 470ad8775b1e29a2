"""The experiment on the library's own recipe, and that stored results survive what it added to the parts."""

import pytest

from derl.experiments.beyond import ABLATIONS, beyond
from derl.experiments.cases import case_of
from derl.experiments.identity import ADDED, config_key, description
from derl.training.recipes import recipe


def test_every_case_can_be_read_back_from_its_text():
    for case in beyond().cases:
        assert case_of(case.recipe, case.task, case.setting).config() == case.config(), case


def test_options_of_a_task_are_settings():
    cases = {case.setting: case.config() for case in beyond().cases}
    assert cases["env_options.mapping_seed=1001"].make_env().mapping_seed == 1001
    assert cases["env_options.horizon=50"].make_env().episode_length == 50
    (noisy,) = [config for setting, config in cases.items() if "env_options.stochastic=true" in setting]
    assert noisy.make_env().stochastic


def test_every_ablation_changes_something():
    plain = config_key(recipe("derl", "DeepSea-20"))
    keys = [config_key(case.config()) for case in beyond().parts[4].cases if case.task == "DeepSea-20"]
    assert len(keys) == len(ABLATIONS)
    assert len({plain, *keys}) == len(keys) + 1


@pytest.mark.parametrize("name", ["a2c-hash-count", "dea2c-count", "dedqn-count"])
def test_added_settings_count_only_where_they_change_something(name):
    config = recipe(name, "DeepSea-10")
    parts = [part for part in description(config).values() if isinstance(part, dict)]
    assert not any(name in part for part in parts for name in ADDED)
    changed = config.with_value("decoupling.mixture_weight", 0.5)
    assert description(changed)["decoupling"]["mixture_weight"] == 0.5
    assert config_key(changed) != config_key(config)
