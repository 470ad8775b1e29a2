"""Folders and runs of other machines and earlier times, and what they would need."""

import dataclasses
import sys

import pytest

import derl
from derl.core.errors import DerlError
from derl.training.added import ADDED, first_written
from derl.training.members import expand, fingerprint
from derl.training.sizes import replay_bytes


def test_reading_a_folder_needs_nothing_that_writes(tmp_path, monkeypatch):
    """TensorBoard files may have been made on another machine."""
    short = {"protocol__episodes": 20, "protocol__evaluate_every": 20, "seeds": 1}
    result = derl.train("DeepSea-3", "a2c", out=tmp_path / "run", **short)
    (tmp_path / "run" / "tensorboard").mkdir()
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    assert derl.load(tmp_path / "run").frame.equals(result.frame)
    with pytest.raises(DerlError, match="tensorboardX"):
        derl.resume(tmp_path / "run")


def test_what_a_run_is_does_not_depend_on_settings_that_came_later(monkeypatch):
    """A checkpoint from before a setting was added is still of these runs."""
    config = derl.recipe("dedqn-count", "DeepSea-5")
    text = first_written(config)
    assert not any(f'"{name}"' in text for name in ADDED)
    assert '"bonus_observations"' in first_written(dataclasses.replace(config, bonus_observations="normalised"))
    changed = config.with_value("exploiter.adam_beta2", 0.99)
    assert fingerprint(expand(config, [0])) != fingerprint(expand(changed, [0]))
    # And by nothing else of a configuration is it known.
    monkeypatch.setattr("derl.training.members.first_written", lambda config: "")
    assert fingerprint(expand(config, [0])) == fingerprint(expand(changed, [0]))


def test_memory_is_counted_as_agents_see_observations():
    config = derl.configure("DeepSea-30", "dedqn-count", exploiter__frozen_targets=False)
    plain = replay_bytes(config)
    # Two vectors of 900 numbers a step instead of two integers.
    assert replay_bytes(config.with_value("normalise_observations", True)) > 300 * plain
    rollouts = derl.configure("DeepSea-30", "dea2c-count")
    kept = rollouts.with_value("decoupling.replay_segments", 1000)
    assert replay_bytes(rollouts) == 0
    assert replay_bytes(kept) == 1000 * rollouts.algorithm().steps_per_iteration * 20
