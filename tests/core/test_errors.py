"""Messages a user sees."""

import pytest

from derl.core.errors import DerlError, UnknownNameError, require


def test_a_near_miss_gets_a_suggestion():
    error = UnknownNameError("agent", "A2D", ["a2c", "ppo", "dqn"])
    assert str(error) == "unknown agent 'A2D'; did you mean a2c?"
    assert isinstance(error, DerlError)


def test_a_far_miss_gets_the_list():
    error = UnknownNameError("agent", "zzzzzz", ["ppo", "a2c"])
    assert str(error) == "unknown agent 'zzzzzz'; known: a2c, ppo"
    assert error.known == ["a2c", "ppo"]


def test_require_raises_only_if_it_must():
    require(True, "fine")
    with pytest.raises(DerlError, match="not fine"):
        require(False, "not fine")
