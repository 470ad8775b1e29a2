"""Numbers as they are printed."""

import pytest

from derl.analysis.measures.numbers import signed


@pytest.mark.parametrize(
    ("value", "form", "text"),
    [
        (0.981, ".2f", "0.98"),
        (-0.25, ".2f", "−0.25"),
        (-0.004, ".2f", "0.00"),
        (-0.004, ".3f", "−0.004"),
        (-0.05, "g", "−0.05"),
        (-0.0, "g", "0"),
        (-1e-9, "g", "−1e−09"),
        (float("nan"), ".2f", "nan"),
    ],
)
def test_a_true_minus_sign_and_none_before_a_zero(value, form, text):
    assert signed(value, form) == text
