"""Settings as text, which results are kept by: what is written is read back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from derl.core.errors import DerlError
from derl.experiments.cases import Case, case_of, parse_setting, setting_text


def test_settings_survive_being_text():
    changes = {"bonus.scale": 0.01, "explorer_reward": "intrinsic", "normalise_rewards": True, "bonus.increment": 1e-9}
    changes |= {"explorer.hidden": (64, 32), "exploiter.hidden": (8,), "bonus.scale": 0.1000001}
    assert parse_setting(setting_text(changes)) == changes
    case = Case.of("a2c-count", "DeepSea-5", changes)
    assert case_of("a2c-count", "DeepSea-5", case.setting) == case


@given(st.integers(-(10**12), 10**12))
def test_a_number_has_one_name_however_it_is_written(number):
    """2000000 from a file was another setting than 2e6, and than itself when it was read back."""
    assert setting_text({"protocol.steps": number}) == setting_text({"protocol.steps": float(number)})
    assert parse_setting(setting_text({"protocol.steps": number})) == {"protocol.steps": number}


@given(
    st.text(max_size=12) | st.sampled_from(["8x8", "7", "true", "nan", "1e3", "a, b=2", '"', 'x"', "\\u0022", "", " "])
)
def test_text_survives_whatever_it_looks_like(text):
    """A layout called 8x8 is not the sizes of two layers."""
    changes = {"env_options.layout": text, "zero": 0.0}
    assert parse_setting(setting_text(changes)) == changes


def test_quotes_that_do_not_end_are_refused():
    with pytest.raises(DerlError, match="begins with a quote"):
        parse_setting('env_options.layout="8x8, bonus.scale=1')
