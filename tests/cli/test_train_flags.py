"""Flags that decide which other flags exist: however they are spelt, they are heeded."""

import pytest

import derl
from derl.cli.train import one_spelling, parse, parse_vary
from derl.core.errors import DerlError
from derl.training.members import expand
from derl.training.seeds import seeds_named


@pytest.mark.parametrize(
    "args",
    [
        ["--env-option", "stochastic=true", "mapping_seed=3"],
        ["--env_option", "stochastic=true", "--env-option=mapping_seed=3"],
        ["--env-option=stochastic=true", "--env_option", "mapping_seed=3"],
    ],
)
def test_options_of_a_task_in_every_spelling(args):
    config = parse(["DeepSea-5", *args, "--recipe", "a2c-count"])[1]
    assert config.env_options == {"stochastic": True, "mapping_seed": 3}


@pytest.mark.parametrize("flag", ["--bonus-kind", "--bonus_kind"])
def test_kinds_in_every_spelling(flag):
    assert type(parse(["DeepSea-5", "--recipe", "a2c-count", flag, "rnd"])[1].bonus).__name__ == "RND"
    assert type(parse(["DeepSea-5", "--recipe", "a2c-count", f"{flag}=rnd"])[1].bonus).__name__ == "RND"


def test_a_recomputed_bonus_looks_at_what_memory_keeps():
    assert parse(["DeepSea-5", "--bonus-kind", "rnd"])[1].bonus.looks == "state"
    assert parse(["DeepSea-5", "--recipe", "a2c", "--bonus-kind", "rnd"])[1].bonus.looks == "successor_after_reset"


@pytest.mark.parametrize(
    ("args", "recipe", "parts"),
    [
        (["--bonus-kind", "hash-count"], "derl-hash-count", ("explorer", "bonus")),
        (["--bonus-kind", "rnd"], "derl-rnd", ("explorer", "bonus")),
        (["--recipe", "dea2c-count", "--exploiter-kind", "episodic-a2c"], "derl", ("exploiter",)),
        (["--recipe", "dea2c-count", "--explorer-kind", "optimistic-dqn"], "derl", ("explorer",)),
        (["--recipe", "dea2c-count", "--exploiter-kind", "ppo"], "deppo-count", ("exploiter",)),
    ],
)
def test_a_kind_is_the_part_of_the_recipe_that_has_it(args, recipe, parts):
    config, known = parse(["DeepSea-5", *args])[1].check(), derl.recipe(recipe, "DeepSea-5")
    assert all(getattr(config, part) == getattr(known, part) for part in parts)


def test_a_bonus_the_own_recipe_is_not_made_for_is_measured_like_its_own():
    with pytest.raises(DerlError, match="ICM cannot be recomputed"):
        parse(["DeepSea-5", "--bonus-kind", "icm"])[1].check()
    config = parse(["DeepSea-5", "--bonus-kind", "icm", "--explorer.no-recompute-bonus"])[1].check()
    assert (type(config.bonus).__name__, config.bonus.normalise) == ("ICM", "recent")


def test_varied_settings_add_up():
    command = parse(["DeepSea-5", "--recipe", "a2c-count", "--vary", "bonus.scale=1,2", "--vary=explorer.gamma=0.9"])[0]
    assert command.vary == ("bonus.scale=1,2", "explorer.gamma=0.9")


def test_the_last_recipe_counts_and_is_called_by_its_name():
    config = parse(["DeepSea-5", "--recipe", "a2c", "--recipe", "DEA2C-Count"])[1]
    assert config == derl.recipe("dea2c-count", "DeepSea-5")


def test_a_recipe_and_a_run_are_one_too_many(tmp_path):
    with pytest.raises(DerlError, match="leave one out"):
        parse(["DeepSea-5", "--recipe", "a2c", "--config", str(tmp_path)])


def test_more_seeds_than_anybody_means_are_refused():
    for text in ("1000000000000", "0-1000000", "0-999999,1000000-1999999"):
        with pytest.raises(DerlError, match="at most 1,000,000 seeds, not"):
            seeds_named(text)


def test_seeds_are_a_number_of_them_or_which():
    assert seeds_named("3") == [0, 1, 2]
    assert seeds_named("3,") == [3]
    assert seeds_named("7, 3,11") == [7, 3, 11]
    assert seeds_named("10-12") == [10, 11, 12]
    assert seeds_named("8-9, 2 - 3,5-5") == [8, 9, 2, 3, 5]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no seeds"),
        ("0", "at least one seed"),
        ("-3", "at least one seed"),
        ("9-7", "7-9, not 9-7"),
        ("1-3,2", "seed 2 is listed twice"),
        ("1-3-5", "commas and ranges"),
        ("1,x", "commas and ranges.*'1,x'"),
        ("-1,2", "none negative"),
        ("0-99999999999999999999", "from 0 to 4294967295, none negative; got 99999999999999999999"),
    ],
)
def test_wrong_seeds_are_told_in_one_line(text, said):
    with pytest.raises(DerlError, match=said) as error:
        seeds_named(text)
    assert "\n" not in str(error.value)


def test_other_flags_are_left_alone():
    assert one_spelling(["DeepSea-5", "--seeds=3,7", "-h"]) == ["DeepSea-5", "--seeds=3,7", "-h"]


def test_a_budget_in_steps_is_a_whole_number():
    config = derl.recipe("a2c-count", "DeepSea-5").with_value("protocol.steps", 600.0)
    assert type(config.protocol.steps) is int
    assert expand(config, [0])[0].config.check()


@pytest.mark.parametrize("task", ["deepsea-10", "Deep_Sea-10", "DeepSea-010"])
def test_a_task_is_called_by_its_name_however_it_is_spelt(task):
    config = parse([task, "--recipe", "a2c-count"])[1]
    assert config == derl.recipe("a2c-count", "DeepSea-10")
    assert config.task == "DeepSea-10"


def test_another_task_for_an_earlier_run(tmp_path):
    """Its own options, and an environment object, are of its own task."""
    short = {"protocol__episodes": 20, "protocol__evaluate_every": 20, "seeds": 1}
    derl.train("Hallway-3-1", "a2c", out=tmp_path / "named", env_options={"stay_duration": 2}, **short)
    derl.train(derl.Hallway(3, 1, stay_duration=2), "a2c", out=tmp_path / "object", **short)
    same = parse(["--config", str(tmp_path / "named")])[1]
    assert (same.task, same.env_options) == ("Hallway-3-1", {"stay_duration": 2})
    larger = parse(["hallway-4-1", "--config", str(tmp_path / "named")])[1]
    assert (larger.task, larger.env_options) == ("Hallway-4-1", {"stay_duration": 2})
    with pytest.raises(DerlError, match="the task comes first: derl train DeepSea-5 --config"):
        parse(["--config", str(tmp_path / "named"), "DeepSea-5"])
    other = parse(["DeepSea-5", "--config", str(tmp_path / "named")])[1]
    assert (other.task, other.env_options, other.make_env().name) == ("DeepSea-5", {}, "DeepSea-5")
    assert parse(["--config", str(tmp_path / "object")])[1].make_env().stay_duration == 2
    other = parse(["DeepSea-5", "--config", str(tmp_path / "object")])[1]
    assert (other.task, other.env, other.make_env().name) == ("DeepSea-5", None, "DeepSea-5")


@pytest.mark.parametrize("flag", ["--vary", "--env-option"])
def test_a_name_given_twice_is_refused(flag):
    values = {"--vary": ["bonus.scale=1,2", "bonus.scale=5"], "--env-option": ["mapping_seed=1", "mapping_seed=2"]}
    first, second = values[flag]
    with pytest.raises(DerlError, match=f"{flag} has .* twice"):
        parse_vary(parse(["DeepSea-5", flag, first, flag, second])[0].vary)
