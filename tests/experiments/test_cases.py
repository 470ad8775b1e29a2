"""Cases: what a changed setting makes of a recipe."""

import json

import numpy as np
import pytest

from derl.agents import A2C, AGENTS, DQN, register_agent
from derl.bonuses import RND, Count
from derl.cli.reproduce import Reproduce
from derl.core.errors import DerlError
from derl.experiments.cases import Case, case_of, parse_setting
from derl.experiments.choosing import chooser
from derl.experiments.experiment import from_data
from derl.experiments.planner import members_of
from derl.training.recipes import recipe, with_parts


def test_a_case_may_have_parts_of_other_kinds():
    changes = {"bonus_kind": "rnd", "bonus.learning_rate": 1e-5, "exploiter_kind": "dqn"}
    case = Case.of("dea2c-count", "DeepSea-10", changes)
    config = case.config()
    assert isinstance(config.explorer, A2C)
    assert isinstance(config.exploiter, DQN)
    assert isinstance(config.bonus, RND)
    assert config.bonus.learning_rate == 1e-5
    # With the settings that derl train gives them.
    asked = with_parts(recipe("dea2c-count", "DeepSea-10"), exploiter="dqn", bonus="rnd")
    assert config == asked.with_value("bonus.learning_rate", 1e-5)
    # And it is found again by the text that results carry.
    assert case_of("dea2c-count", "DeepSea-10", case.setting) == case


def test_kinds_are_varied_like_any_setting():
    data = {"tasks": ["DeepSea-4"], "recipes": ["dea2c-count"], "seeds": 1}
    whole = from_data({**data, "vary": {"bonus_kind": ["count", "rnd"], "exploiter-kind": ["none", "dqn"]}}, "kinds")
    members = members_of(whole.members())
    parts = [(type(m.config.bonus), type(m.config.exploiter)) for m in members]
    assert parts == [(Count, type(None)), (Count, DQN), (RND, type(None)), (RND, DQN)]
    assert len({m.key for m in members}) == 4


def test_the_recipes_own_kind_is_the_recipe():
    """So that it is not run twice."""
    (named,) = members_of([(Case.of("dea2c-count", "DeepSea-4", {"bonus_kind": "count"}), 0)])
    (plain,) = members_of([(Case.of("dea2c-count", "DeepSea-4"), 0)])
    assert named.key == plain.key


def test_agents_of_a_users_own_take_part_in_sweeps():
    class Mine(A2C):
        """An agent of somebody's."""

    register_agent("mine", Mine)
    try:
        config = Case.of("a2c-count", "DeepSea-4", {"explorer_kind": "mine", "exploiter_kind": "mine"}).config()
        assert isinstance(config.explorer, Mine)
        assert isinstance(config.exploiter, Mine)
    finally:
        AGENTS.pop("mine")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"bonus_kind": "rdn"}, "unknown bonus 'rdn'; did you mean rnd"),
        ({"explorer_kind": 3}, "explorer_kind takes the name of one"),
        ({"exploiter_kind": "nune"}, "unknown exploiter 'nune'; did you mean none"),
        ({"decoupling_kind": "x"}, "unknown setting 'decoupling_kind'"),
        ({"bonus_kind": "none", "bonus.increment": 0.5}, "unknown setting 'bonus.increment'"),
    ],
)
def test_wrong_kinds_are_refused(changes, message):
    with pytest.raises(DerlError, match=message):
        Case.of("dea2c-count", "DeepSea-4", changes).config()


def test_values_out_of_numpy_are_plain():
    """They become names in tables and files, and lines to worker processes."""
    scales = np.logspace(-1, 0, 3)
    spec = {"tasks": ("DeepSea-5",), "recipes": ("a2c-count",), "seeds": np.arange(2), "vary": {"bonus.scale": scales}}
    whole = from_data(spec, "arrays")
    assert [case.setting for case in whole.cases] == [f"bonus.scale={v}" for v in ("0.1", "0.31622776601683794", "1")]
    assert json.loads(json.dumps([seed for _, seed in whole.members()[:2]])) == [0, 1]
    assert parse_setting(whole.cases[1].setting) == dict(whole.cases[1].changes)
    assert from_data({**spec, "seeds": np.int64(3)}, "count").parts[0].seeds == (0, 1, 2)
    sizes = Case.of("a2c", "DeepSea-5", {"explorer.hidden": np.array([32, 32])})  # pyright: ignore[reportArgumentType]
    assert sizes == Case.of("a2c", "DeepSea-5", {"explorer.hidden": (32, 32)})


def test_a_setting_has_one_name():
    dashed, plain = ({name: 0.1} for name in ("explorer.learning-rate", "explorer.learning_rate"))
    assert Case.of("a2c", "DeepSea-5", dashed) == Case.of("a2c", "DeepSea-5", plain)
    for name in ("explorer.learning-rate=0.1", "explorer.learning_rate=0.1"):
        assert chooser([name], [Case.of("a2c", "DeepSea-5", dashed)])(Case.of("a2c", "DeepSea-5", plain))


def test_a_setting_is_that_of_the_part_a_case_has():
    """RND has no increment, and a learning rate that the recipe's own bonus has not."""
    count, rnd = (Case.of("a2c-count", "DeepSea-5", {"bonus_kind": kind}) for kind in ("count", "rnd"))
    increment = chooser(["bonus.increment=1"], [count, rnd])
    rate = chooser(["bonus.learning_rate=1e-7"], [count, rnd])
    assert [increment(case) for case in (count, rnd)] == [True, False]
    assert [rate(case) for case in (count, rnd)] == [False, True]


def test_a_quick_version_of_nothing_is_refused_in_one_line():
    command = Reproduce(name="decay", quick=True, only=("ppo-icm", "bonus.increment=0.1"))
    with pytest.raises(DerlError, match="decay: nothing is left of it with these options"):
        command.chosen()
