"""Which cases of an experiment a few words mean."""

import pytest

from derl.core.errors import DerlError
from derl.experiments.builtin import experiment
from derl.experiments.experiment import Experiment, from_data

SPEC = {"tasks": ["DeepSea-5"], "recipes": ["a2c-count"], "seeds": 2}


def test_only_names_tasks_recipes_and_settings():
    whole = experiment("lambda")
    part = whole.narrowed(only=["DeepSea-10", "a2c-count", "dea2c-count", "bonus.scale=0.1"], seeds=[1])
    assert [(c.recipe, c.task, c.setting) for c in part.cases] == [
        ("a2c-count", "DeepSea-10", "bonus.scale=0.1"),
        ("dea2c-count", "DeepSea-10", "bonus.scale=0.1"),
    ]
    assert whole.narrowed(only=["deepsea-10", "A2C-Count", "bonus.scale=0.1"]).cases == part.cases[:1]
    with pytest.raises(DerlError, match="did you mean DeepSea-10"):
        whole.narrowed(only=["DeepSea-100"])


def settings(whole: Experiment, *only: str) -> set[str]:
    return {case.setting for case in whole.narrowed(only=only).cases}


def test_a_setting_names_every_case_that_has_it():
    """Whatever else is changed in a case, and whether the value is a change or the recipe's own."""
    data = {**SPEC, "vary": {"bonus.scale": [0.1, 1], "explorer.n_steps": [5, 8]}, "protocol": {"episodes": 100}}
    mine = from_data(data, "x")
    rest = "protocol.episodes=100"
    five, eight = ({f"bonus.scale={s}, explorer.n_steps={n}, {rest}" for s in ("0.1", "1")} for n in (5, 8))
    assert settings(mine, "explorer.n_steps=5") == five
    assert settings(mine, "explorer.n_steps=5", "explorer.n_steps=8") == five | eight
    assert settings(mine, "bonus.scale=0.1,explorer.n_steps=8") == {f"bonus.scale=0.1, explorer.n_steps=8, {rest}"}
    assert settings(mine, "explorer_reward=both", "DeepSea-5") == five | eight
    with pytest.raises(DerlError, match=r"unknown task, recipe or setting 'bonus.scale=0.2'; known: .*bonus.scale=0.1"):
        mine.narrowed(only=["bonus.scale=0.2"])


def test_a_setting_of_a_grid_names_all_of_it():
    rewards = {dict(case.changes).get("explorer_reward") for case in experiment("kl").cases}
    assert rewards == {None, "intrinsic"}
    chosen = experiment("kl").narrowed(only=["explorer_reward=intrinsic"]).cases
    assert set(chosen) == {c for c in experiment("kl").cases if dict(c.changes).get("explorer_reward") == "intrinsic"}
    assert len([case for case in chosen if "protocol.episodes" in case.setting]) == 2 * 25


def test_the_recipe_as_it_is_can_be_named():
    data = {**SPEC, "protocol": {"episodes": 100}, "parts": [{}, {"set": {"bonus.scale": 2}}]}
    assert settings(from_data(data, "x"), "as-is") == {"protocol.episodes=100"}
    assert (
        settings(experiment("lambda"), "as-is", "DeepSea-10")
        == {""}
        == settings(experiment("lambda"), "bonus.scale=1", "DeepSea-10")
    )
