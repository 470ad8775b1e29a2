"""What Python users meet: mistakes that are told in one line, and results that show themselves in one."""

import dataclasses

import numpy as np
import pytest
from analysis.trained import tiny_run

import derl
from derl.api import plain_seeds
from derl.core.errors import DerlError


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"seeds": "3"}, "a number of seeds or a list of them; got '3'"),
        ({"seeds": 2.0}, "a number of seeds or a list"),
        ({"seeds": 0}, "at least one seed"),
        ({"seeds": -1}, "at least one seed"),
        ({"vary": {"bonus.scale": 3}}, "bonus.scale needs a list of numbers, not 3"),
        ({"vary": {"bonus.scale": ["x"]}}, "bonus.scale needs a list of numbers"),
        ({"task": 5}, "a task is a name such as 'DeepSea-10'"),
    ],
)
def test_mistakes_of_type_are_errors_of_one_line(given, message):
    with pytest.raises(DerlError, match=message):
        derl.train(**{"task": "DeepSea-5", "recipe": "dea2c-count"} | given)


def test_seeds_may_come_out_of_an_array():
    assert plain_seeds(np.int64(2)) == [0, 1]  # pyright: ignore[reportArgumentType]
    assert plain_seeds(np.array([3, 7])) == [3, 7]  # pyright: ignore[reportArgumentType]


def test_a_result_shows_itself_in_one_line():
    result = tiny_run()
    assert result.folder is not None
    text = repr(result)
    assert text == f"<Result of dea2c-count on DeepSea-5: 4 runs, 3 evaluations, in {result.folder.path}>"
    assert repr(dataclasses.replace(result, folder=None)).endswith("3 evaluations>")
