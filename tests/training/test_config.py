"""Configurations as data: settings, what can be varied, and what is refused."""

import dataclasses
from functools import reduce

import numpy as np
import pytest

import derl
from derl import DQN, RND, recipe
from derl.core.errors import DerlError, UnknownNameError
from derl.envs import DeepSea, Hallway
from derl.training.algorithm import Decoupling
from derl.training.members import expand
from derl.training.recipes import with_parts
from derl.training.settings import setting_paths


def test_settings_by_path():
    config = recipe("dea2c-count", "DeepSea-10")
    assert config.with_value("bonus.scale", 3).bonus.scale == 3.0
    assert config.with_value("exploiter.learning-rate", 0.5).exploiter.learning_rate == 0.5
    with pytest.raises(DerlError, match=r"unknown setting 'bonus.scal'; did you mean .*scale"):
        config.with_value("bonus.scal", 1.0)
    with pytest.raises(DerlError, match="takes a number"):
        config.with_value("bonus.scale", "much")


def test_expand_makes_every_combination_with_every_seed():
    config = recipe("dea2c-count", "DeepSea-10")
    runs = expand(config, [4, 7], {"bonus.scale": [0.1, 1], "bonus.increment": [2.0]})
    assert [(r.seed, r.values) for r in runs] == [
        (seed, {"bonus.scale": scale, "bonus.increment": 2.0}) for scale in (0.1, 1.0) for seed in (4, 7)
    ]
    assert runs[0].config.bonus.scale == 0.1
    assert runs[0].config.bonus.increment == 2.0


@pytest.mark.parametrize(
    ("vary", "message"),
    [
        ({"explorer.n_steps": [5, 10]}, "shapes the program"),
        ({"explorer.adam_beta2": [0.9, 0.99]}, "shapes the program"),
        ({"bonus.scale": []}, "no values"),
        ({"bonus.scale": [-1]}, "scale"),
        ({"bonus.nothing": [1]}, "unknown number to vary"),
        ({"env_options.mapping_seed": [1, 2]}, "shapes the program.*derl sweep"),
        ({"env_options.randomize_actions": [0, 1]}, "shapes the program.*derl sweep"),
        ({"env_options.maping_seed": [1]}, "unknown option of DeepSea 'maping_seed'; known: mapping_seed"),
        ({"env_options.mapping_seed.more": [1]}, "a single value"),
        ({"env_options": [1]}, "name one of them"),
    ],
)
def test_expand_refuses(vary, message):
    with pytest.raises(DerlError, match=message):
        expand(recipe("a2c-count", "DeepSea-10"), [0], vary)


def test_numbers_of_a_task_can_be_varied():
    named, made = recipe("a2c-count", "Hallway-4-4"), recipe("a2c-count", Hallway(4, 4))
    for config, path in ((named, "env_options.stay_reward"), (made, "env.stay_reward")):
        runs = expand(config, [0, 1], {path: [2.0, 0.5]})
        assert [run.config.make_env().stay_reward for run in runs] == [2.0, 2.0, 0.5, 0.5]
        assert [run.values for run in runs[::2]] == [{path: 2.0}, {path: 0.5}]
    with pytest.raises(DerlError, match="costs must not be negative"):
        expand(named, [0], {"env_options.move_cost": [0.1, -0.1]})
    with pytest.raises(DerlError, match=r"did you mean env.stay_reward"):
        expand(made, [0], {"env_options.stay_reward": [1.0]})


def test_what_an_environment_makes_of_its_options_is_not_changed_behind_its_back():
    config = recipe("a2c-count", DeepSea(4))
    with pytest.raises(DerlError, match=r"env.mapping_seed is decided where DeepSea is made"):
        config.with_value("env.mapping_seed", 7)


def test_checks_before_any_work():
    config = recipe("a2c-count", "DeepSea-10")
    bad = {
        "num_envs": dataclasses.replace(config, num_envs=0),
        "episodes": config.with_value("protocol.episodes", 0),
        "raise evaluate_every, or train for less": config.with_value("protocol.episodes", 10**18),
        "needs an exploiter": config.with_value("decoupling.alpha_explorer", 0.1),
        "gamma": config.with_value("explorer.gamma", 1.5),
        "learning_rate": config.with_value("explorer.learning_rate", -1.0),
    }
    for message, broken in bad.items():
        with pytest.raises(DerlError, match=message):
            broken.check()


def test_a_recipe_with_parts_of_other_kinds_has_not_its_name():
    config = recipe("dea2c-count", "DeepSea-5")
    assert with_parts(config, bonus="count", exploiter="a2c").recipe == "dea2c-count"
    assert with_parts(config, bonus="rnd").recipe == with_parts(config, exploiter="ppo").recipe == "custom"
    alone = with_parts(config, exploiter="none")
    assert (alone.recipe, alone.decoupling) == ("custom", Decoupling())


def test_widths_may_come_in_a_list():
    assert recipe("a2c", "DeepSea-5").with_value("explorer.hidden", [8, 8]).explorer.hidden == (8, 8)
    with pytest.raises(DerlError, match="whole numbers in a list"):
        recipe("a2c", "DeepSea-5").with_value("explorer.hidden", [8, 0.5])


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan")])
@pytest.mark.parametrize("name", ["dea2c-count", "dedqn-icm", "deppo-icm", "a2c-rnd", "derl", "bootdqn"])
def test_every_number_of_every_part_is_finite(name, value):
    config = recipe(name, "DeepSea-10")
    numbers = [path for path in setting_paths(config) if isinstance(reduce(getattr, path.split("."), config), float)]
    assert len(numbers) > 10
    for path in numbers:
        with pytest.raises(DerlError, match=path.split(".")[1]):
            config.with_value(path, value).check(shapes=False)
    config.with_value("explorer.max_grad_norm", 1e30).check(shapes=False)


def test_what_would_have_no_effect_or_a_wrong_one_is_refused():
    own, ensemble = recipe("derl", "DeepSea-10"), recipe("bootdqn", "DeepSea-10")
    dea2c = recipe("dea2c-count", "DeepSea-10").with_value("decoupling.denominator", "updated")
    bad = {
        "BootstrappedDQN heeds no divergence": dataclasses.replace(
            own, explorer=ensemble.explorer, decoupling=Decoupling(alpha_explorer=0.1)
        ),
        "denominator": dea2c.with_value("decoupling.mixture", 0.5),
        "bonus.looks": own.with_value("bonus.looks", "successor_after_reset"),
    }
    for message, broken in bad.items():
        with pytest.raises(DerlError, match=message):
            broken.check()
    own.with_value("decoupling.alpha_exploiter", 0.1).check()


@pytest.mark.parametrize(
    ("name", "changes", "words"),
    [
        ("dedqn-count", {}, "memory of exploiter DQN keeps observations as they were normalised"),
        ("dea2c-count", {"exploiter": "episodic-a2c"}, "memory of exploiter EpisodicA2C keeps"),
        ("a2c-count", {"explorer": "dqn"}, "memory of explorer DQN keeps observations as .*no-normalise-observations"),
        ("dea2c-count", {"decoupling__replay_segments": 4}, "replay_segments keeps observations as they were normal"),
    ],
)
def test_what_is_remembered_is_not_normalised(name, changes, words):
    """It would stay as the statistics of its day made it, and the networks see what today's make."""
    config = derl.configure("DeepSea-4", name, **changes)
    config.check(shapes=False)
    with pytest.raises(DerlError, match=words):
        config.with_value("normalise_observations", True).check(shapes=False)
    recipe("dea2c-count", "DeepSea-4").with_value("normalise_observations", True).check(shapes=False)


def test_updates_that_round_to_none_are_refused():
    """One is made at least: 0.01 for each of 20 steps would have been 0.05 in silence."""
    config = recipe("dedqn-count", "DeepSea-4")
    with pytest.raises(
        DerlError, match=r"exploiter.updates_per_step 0.01 is no whole update for 20 .*decoupling.period"
    ):
        config.with_value("exploiter.updates_per_step", 0.01).check(shapes=False)
    slow = config.with_value("exploiter.updates_per_step", 0.01).with_value("decoupling.period", 5)
    slow.check(shapes=False)
    config.with_value("exploiter.updates_per_step", 0.04).check(shapes=False)
    with pytest.raises(DerlError, match=r"explorer.updates_per_step 0.01 is no whole update.*use longer rollouts$"):
        slow.with_value("explorer.updates_per_step", 0.01).check(shapes=False)


def test_numbers_may_come_out_of_arrays():
    config = derl.configure(
        "DeepSea-4",
        "dedqn-count",
        protocol__episodes=np.int64(400),
        bonus__scale=np.float32(0.5),
        num_envs=np.int32(2),
        exploiter__prioritised=np.bool_(True),
        exploiter__hidden=[np.int64(8)],
    )
    found = (config.protocol.episodes, config.bonus.scale, config.num_envs, config.exploiter.prioritised)
    assert [(type(value), value) for value in found] == [(int, 400), (float, 0.5), (int, 2), (bool, True)]
    assert [type(width) for width in config.exploiter.hidden] == [int]
    with pytest.raises(DerlError, match="takes a whole number"):
        config.with_value("protocol.episodes", np.float64(2.5))


def test_a_memory_of_episodes_has_room_for_one():
    config = derl.configure("DeepSea-4", "dea2c-count", exploiter="episodic-a2c", exploiter__capacity=16)
    config.check()
    with pytest.raises(DerlError, match=r"EpisodicA2C: capacity 15 has no room for an episode .* have 16 steps; raise"):
        config.with_value("exploiter.capacity", 15).check()


@pytest.mark.parametrize(
    ("path", "value", "near"),
    [
        ("explorer_reward", "intrinsik", "intrinsic"),
        ("decoupling.denominator", "colected", "collected"),
        ("protocol.evaluation", "greed", "greedy"),
        ("bonus.normalise", "return", "returns"),
        ("decoupling.divergence", "wassersteen", "wasserstein"),
        ("explorer.activation", "tan", "tanh"),
    ],
)
def test_a_misspelt_choice_is_named_with_the_right_ones(path, value, near):
    with pytest.raises(DerlError, match=f"'{value}'; known: .*{near}"):
        recipe("dea2c-count", "DeepSea-5").with_value(path, value).check()


def test_parts_by_name_or_object_and_none_at_all():
    plain = derl.configure("Hallway-5-5", "dea2c-count")
    assert derl.configure("Hallway-5-5", "dea2c-count", exploiter=None) == plain
    alone = derl.configure("Hallway-5-5", "dea2c-count", exploiter="none", bonus="rnd")
    assert alone.exploiter is None
    assert isinstance(alone.bonus, RND)
    # By its name a part has the settings of the recipe that has it; as an object, its own.
    named = derl.configure("Hallway-5-5", "dea2c-count", exploiter="dqn").exploiter
    assert named == recipe("dedqn-count", "Hallway-10-10").exploiter
    assert derl.configure("Hallway-5-5", "dea2c-count", exploiter=DQN()).exploiter == DQN() != named
    with pytest.raises(UnknownNameError, match=r"known: .*, dqn, .*, none,"):
        derl.configure("Hallway-5-5", "dea2c-count", exploiter="dqnn")


def test_a_configuration_can_be_changed_further():
    config = derl.configure("DeepSea-5", "a2c-count", bonus__scale=0.5)
    changed = derl.configure(config, bonus__increment=2.0, env_options__mapping_seed=7)
    assert (changed.bonus.scale, changed.bonus.increment, changed.make_env().mapping_seed) == (0.5, 2.0, 7)
    with pytest.raises(UnknownNameError, match="nonsense"):
        derl.train(config, nonsense=5)
    with pytest.raises(DerlError, match="leave the recipe out"):
        derl.train(config, "dea2c-count")
    with pytest.raises(DerlError, match="env_options__NAME"):
        derl.train(config, env_options={"mapping_seed": 7})


def test_an_environment_object_has_its_own_options():
    with pytest.raises(DerlError, match="where you make it"):
        derl.configure(DeepSea(5), "a2c-count", env_options={"mapping_seed": 7})
    with pytest.raises(DerlError, match="where you make it"):
        derl.configure(DeepSea(5), "a2c-count", env_options__mapping_seed=7).check()


def test_a_kind_of_hallway_has_hallways_settings():
    class LongHallway(Hallway):
        """Still a hallway."""

    assert derl.configure(LongHallway(5, 5), "a2c").explorer == recipe("a2c", "Hallway-10-10").explorer


def test_another_explorer_is_asked_for_the_policy_that_acted():
    # DeA2C's own weights divide by the explorer after its update; a greedy one may then give its action no chance.
    assert derl.configure("DeepSea-5", "dea2c-count").decoupling.denominator == "updated"
    assert derl.configure("DeepSea-5", "dea2c-count", explorer="optimistic-dqn").decoupling.denominator == "collected"


def test_a_bonus_by_name_is_measured_as_the_one_before_it():
    changed = derl.configure("DeepSea-5", "derl", explorer="a2c", bonus="rnd").bonus
    assert changed == recipe("derl-rnd", "DeepSea-5").bonus
    assert derl.configure("DeepSea-5", "derl", explorer="a2c", bonus="icm").bonus.normalise == "recent"
    assert derl.configure("DeepSea-5", "dea2c-count", bonus="icm").bonus == recipe("a2c-icm", "DeepSea-5").bonus


def test_rollouts_are_kept_only_for_who_learns_from_them():
    assert derl.configure("DeepSea-5", "dea2c-count", decoupling__replay_segments=4).check()
    for name in ("derl", "dedqn-count", "a2c-count"):
        with pytest.raises(DerlError, match="replay_segments is for an exploiter that learns from rollouts"):
            derl.configure("DeepSea-5", name, decoupling__replay_segments=4).check()


def test_a_floor_that_leaves_the_exploiter_no_say_is_refused():
    with pytest.raises(DerlError, match="mixture_floor must be less than 0, not 1"):
        derl.configure("DeepSea-5", "derl", decoupling__mixture_floor=1.0).check()


def test_no_bonus_is_a_bonus_of_nothing_for_remembered_steps_too():
    config = derl.configure("DeepSea-4", "derl", bonus="none", protocol__episodes=20)
    assert derl.train(config, seeds=1).frame["return"].is_finite().all()


def test_settings_that_would_change_nothing_or_count_twice_are_refused():
    for settings, words in (
        ({"decoupling__period": 7}, "period is how often an exploiter learns; there is none"),
        ({"bonus": "none", "bonus__scale": 7.0}, "bonus.scale changes nothing as there is no bonus"),
    ):
        with pytest.raises(DerlError, match=words):
            derl.configure("DeepSea-4", "a2c-count", **settings).check()
    config = derl.configure("DeepSea-4", "a2c-count")
    with pytest.raises(DerlError, match=r"bonus.scale has a value twice"):
        expand(config, [0], {"bonus.scale": [1.0, 2.0, 1.0]})


@pytest.mark.parametrize(("name", "value"), [("priority_exponent", -1.0), ("priority_correction", 1.5)])
def test_priorities_out_of_range_are_refused(name, value):
    with pytest.raises(DerlError, match=name):
        derl.configure("DeepSea-4", "dedqn-count", **{f"exploiter__{name}": value}).check()
