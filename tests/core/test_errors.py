"""Messages a user sees."""

import pytest

from derl.core.errors import DerlError, UnknownNameError, require
from derl.core.naming import add_kind


def test_a_near_miss_gets_a_suggestion():
    error = UnknownNameError("agent", "A2D", ["a2c", *"bcefghij"])
    assert str(error) == "unknown agent 'A2D'; did you mean a2c?"
    assert isinstance(error, DerlError)
    assert str(UnknownNameError("agent", "A2D", ["a2c"], few=0)) == "unknown agent 'A2D'; did you mean a2c?"


def test_of_a_few_names_all_are_told():
    """The one that looks most like extrinsic is its opposite."""
    error = UnknownNameError("explorer_reward", "extrinsic", ["intrinsic", "both"])
    assert str(error) == "unknown explorer_reward 'extrinsic'; known: both, intrinsic"


def test_a_far_miss_gets_the_list():
    error = UnknownNameError("agent", "zzzzzz", ["ppo", "a2c"])
    assert str(error) == "unknown agent 'zzzzzz'; known: a2c, ppo"


def test_require_raises_only_if_it_must():
    require(True, "fine")
    with pytest.raises(DerlError, match="not fine"):
        require(False, "not fine")


def test_a_name_belongs_to_one_class():
    class First:
        """Whatever."""

    class Other:
        """Something else."""

    def again():
        class First:
            """The same cell of a notebook, run a second time."""

        return First

    kinds = {}
    add_kind(kinds, "Mine", First)
    add_kind(kinds, "mine", First)
    assert kinds == {"mine": First}
    with pytest.raises(DerlError, match="cannot register 'mine': the name is taken by First"):
        add_kind(kinds, "mine", Other)
    newer = again()
    newer.__qualname__ = First.__qualname__
    add_kind(kinds, "mine", newer)
    assert kinds == {"mine": newer}
