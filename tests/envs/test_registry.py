"""Environments by name."""

import pytest

from derl.core.errors import DerlError, UnknownNameError
from derl.envs import PAPER_TASKS, DeepSea, Hallway, families, family, make, register, registry


@pytest.fixture
def own_families(monkeypatch):
    """Registrations that do not outlive the test."""
    monkeypatch.setattr(registry, "_FAMILIES", dict(registry._FAMILIES))


class Pond(DeepSea):
    """A user's own environment."""


@pytest.mark.parametrize("name", ["DeepSea-12", "deepsea-12", "deep_sea-12", "DEEP_SEA-12", " DeepSea-12 "])
def test_spelling_does_not_matter_for_deep_sea(name):
    env = make(name)
    assert type(env) is DeepSea
    assert env.size == 12


@pytest.mark.parametrize("name", ["Hallway-7-3", "hallway-7-3", "HALLWAY-7-3"])
def test_spelling_does_not_matter_for_hallway(name):
    env = make(name)
    assert type(env) is Hallway
    assert (env.length_left, env.length_right) == (7, 3)


def test_the_papers_tasks():
    envs = [make(name) for name in PAPER_TASKS]
    assert [env.name for env in envs] == list(PAPER_TASKS)
    assert [env.episode_length for env in envs] == [10, 14, 20, 24, 30, 20, 20, 40, 40, 60, 60]
    assert [family(env) for env in envs] == ["DeepSea"] * 5 + ["Hallway"] * 6


def test_options_reach_the_constructor():
    sea = make("DeepSea-5", mapping_seed=3, stochastic=True, randomize_actions=False)
    assert (sea.mapping_seed, sea.stochastic, sea.randomize_actions) == (3, True, False)
    hall = make("Hallway-5-2", horizon=9, random_start=True, goal_reward=2.0)
    assert (hall.horizon, hall.random_start, hall.goal_reward) == (9, True, 2.0)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("DeepSee-10", "DeepSea-10"),
        ("deepse-17", "DeepSea-17"),
        ("Halway-10-3", "Hallway-10-3"),
        ("Hallwey", "Hallway-10-10"),
        ("deepsee-x", "DeepSea-10"),
    ],
)
def test_a_near_miss_gets_a_suggestion(name, meant):
    with pytest.raises(UnknownNameError, match=f"unknown task '{name}'; did you mean {meant}\\?$"):
        make(name)


def test_anything_else_gets_the_known_names():
    with pytest.raises(UnknownNameError, match=r"known: DeepSea-10, Hallway-10-10 \(Gymnasium's ids are not; .*"):
        make("CartPole-v1")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("DeepSea", "DeepSea needs a size, for instance DeepSea-10"),
        ("DeepSea-", "DeepSea needs a size, for instance DeepSea-10"),
        ("DeepSea--3", "DeepSea needs a size, for instance DeepSea-10"),
        ("DeepSea-10-10", "DeepSea needs a size, for instance DeepSea-10"),
        ("Hallway", "Hallway needs two sizes, for instance Hallway-10-10"),
        ("Hallway-10", "Hallway needs two sizes, for instance Hallway-10-10"),
        ("DeepSea-1.5", "'1.5' in 'DeepSea-1.5' is not a whole number"),
        ("DeepSea-ten", "'ten' in 'DeepSea-ten' is not a whole number"),
        ("DeepSea-1_0", "'1_0' in 'DeepSea-1_0' is not a whole number"),
        ("DeepSea-²", "is not a whole number"),
        ("DeepSea-0", "the size of DeepSea must be a whole number from 1 to 1000, not 0"),
        ("DeepSea-1001", "the size of DeepSea must be a whole number from 1 to 1000, not 1001"),
        ("Hallway-0-5", "left of the goal must be a whole number from 1 to 1000, not 0"),
        ("Hallway-5-99999", "right of the goal must be a whole number from 0 to 1000, not 99999"),
    ],
)
def test_wrong_sizes_are_explained(name, message):
    with pytest.raises(DerlError, match=message) as error:
        make(name)
    assert "\n" not in str(error.value)


def test_a_misspelt_option_gets_a_suggestion():
    with pytest.raises(UnknownNameError, match="option of DeepSea 'mapping_sed'; known: mapping_seed"):
        make("DeepSea-10", mapping_sed=1)
    with pytest.raises(UnknownNameError, match="option of Hallway 'random_strat'; did you mean random_start"):
        make("Hallway-10-10", random_strat=True)


def test_a_size_is_no_option():
    with pytest.raises(UnknownNameError, match="option of DeepSea 'size'"):
        make("DeepSea-10", size=3)


@pytest.mark.usefixtures("own_families")
def test_own_environments_can_be_made_by_name():
    register("Pond-4", Pond)
    pond = make("pond-6", mapping_seed=1)
    assert type(pond) is Pond
    assert (pond.size, pond.mapping_seed) == (6, 1)
    assert family(pond) == "Pond"
    assert families() == ("DeepSea", "Hallway", "Pond")
    with pytest.raises(DerlError, match="Pond needs a size, for instance Pond-4"):
        make("Pond")


@pytest.mark.usefixtures("own_families")
def test_own_environments_need_no_size_and_may_take_any_option():
    def tiny(**options):
        return Hallway(2, 0, **options)

    register("Tiny", tiny)
    assert make("tiny", horizon=3).episode_length == 3
    with pytest.raises(DerlError, match="Tiny takes no size, for instance Tiny"):
        make("Tiny-3")


@pytest.mark.usefixtures("own_families")
def test_a_taken_name_is_kept():
    register("DeepSea-10", DeepSea)
    with pytest.raises(DerlError, match="the name deep_sea is taken"):
        register("deep_sea-3", Pond)
    assert type(make("DeepSea-3")) is DeepSea


@pytest.mark.usefixtures("own_families")
@pytest.mark.parametrize("example", ["", "-3", "Pond-x", "Pond-", "Po.nd-3"])
def test_an_unusable_name_is_refused(example):
    with pytest.raises(DerlError, match="cannot register"):
        register(example, Pond)
