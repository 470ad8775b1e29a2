"""Refusals say whose setting it is, what it must be, and what it is."""

import dataclasses
from typing import Literal

import pytest

from derl.core.checks import (
    check_choices,
    naming,
    require_at_least,
    require_below,
    require_positive,
    require_share,
    require_widths,
)
from derl.core.errors import DerlError, UnknownNameError


@dataclasses.dataclass
class Part:
    number: float = 0.5
    widths: tuple[int, ...] = ()
    kind: Literal["fast", "slow"] = "fast"


@pytest.mark.parametrize(
    ("requirement", "number", "message"),
    [
        (lambda part: require_at_least(part, 1, "number"), 0, "Part: number must be at least 1, not 0"),
        (lambda part: require_below(part, 1, "number"), 1.0, "Part: number must be less than 1, not 1.0"),
        (lambda part: require_positive(part, "number"), 0.0, "Part: number must be greater than 0, not 0.0"),
        (lambda part: require_share(part, "number"), 1.5, "Part: number must be between 0 and 1, not 1.5"),
        (lambda part: require_share(part, "number"), -0.5, "Part: number must be between 0 and 1, not -0.5"),
    ],
)
def test_a_number_out_of_range_is_refused(requirement, number, message):
    for value, text in ((number, message), (float("nan"), message.replace(f"not {number}", "not nan"))):
        with pytest.raises(DerlError) as error:
            requirement(Part(value))
        assert str(error.value) == text


def test_the_ends_of_a_range_belong_to_it():
    require_at_least(Part(1), 1, "number")
    require_share(Part(0), "number")
    require_share(Part(1), "number")


def test_layers_have_widths():
    require_widths(Part(widths=()), "widths")
    require_widths(Part(widths=(1, 64)), "widths")
    with pytest.raises(DerlError) as error:
        require_widths(Part(widths=(64, 0)), "widths")
    assert str(error.value) == "Part: widths must be layer widths of at least 1, not (64, 0)"


def test_choices_are_read_from_types():
    check_choices(Part(kind="slow"))
    with pytest.raises(UnknownNameError, match="unknown kind 'slov'; known: fast, slow"):
        check_choices(Part(kind="slov"))  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("place", "message", "told"),
    [
        ("explorer", "Part: number must be at least 1", "explorer.number must be at least 1"),
        (
            "explorer",
            "Part: number, widths and kind are not for this",
            "explorer.number, widths and kind are not for this",
        ),
        ("explorer", "Part: too few samples", "explorer: too few samples"),
        ("", "Part: number must be at least 1", "number must be at least 1"),
        ("explorer", "Other: number must be at least 1", "Other: number must be at least 1"),
        ("explorer", "number must be at least 1", "number must be at least 1"),
    ],
)
def test_a_part_is_called_by_its_place(place, message, told):
    with pytest.raises(DerlError) as error, naming(place, Part()):
        raise DerlError(message)
    assert str(error.value) == told
