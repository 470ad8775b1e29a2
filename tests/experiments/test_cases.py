"""Cases: what a changed setting makes of a recipe."""

import pytest

from derl.agents import A2C, AGENTS, DQN, register_agent
from derl.bonuses import RND, Count
from derl.core.errors import DerlError
from derl.experiments.cases import Case, case_of
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
