"""What training gives back: policies are compiled once, and a result can be kept."""

import dataclasses

import numpy as np
import pytest
from polars.testing import assert_frame_equal

import derl
from analysis.trained import tiny_run
from derl.analysis.runs import result as module
from derl.core.errors import DerlError


def unsaved() -> module.Result:
    """As if it had been trained without `out`."""
    return dataclasses.replace(tiny_run(), folder=None)


def test_a_saved_result_is_loaded_as_it_was(tmp_path):
    result = unsaved()
    assert result.save(tmp_path / "deep" / "run") == tmp_path / "deep" / "run"
    loaded = derl.load(tmp_path / "deep" / "run")
    assert loaded.config == result.config
    assert [(run.seed, run.values) for run in loaded.runs] == [(run.seed, run.values) for run in result.runs]
    assert_frame_equal(loaded.frame, result.frame)
    states = np.arange(25)
    for run in range(len(result.runs)):
        for seat in ("exploiter", "explorer"):
            policies = [some.policy(run, seat) for some in (result, loaded)]
            np.testing.assert_array_equal(*(policy.predict(states) for policy in policies))
    options = {"episodes": 4, "deterministic": False, "seed": 3}
    np.testing.assert_array_equal(loaded.evaluate(**options), result.evaluate(**options))


def test_a_saved_result_has_nothing_left_to_train(tmp_path):
    result = unsaved()
    assert_frame_equal(derl.resume(result.save(tmp_path / "run")).frame, result.frame)


def test_what_cannot_be_saved_is_told(tmp_path):
    with pytest.raises(DerlError, match=f"kept in {tiny_run().folder.path}"):
        tiny_run().save(tmp_path / "copy")
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").write_text("")
    with pytest.raises(DerlError, match="not empty"):
        unsaved().save(tmp_path / "taken")
    part = dataclasses.replace(unsaved(), runs=tiny_run().runs[:3])
    with pytest.raises(DerlError, match="only a whole result"):
        part.save(tmp_path / "part")
    assert not (tmp_path / "part").exists()


def test_an_episode_is_compiled_once(monkeypatch):
    traced = []

    def counted(*args):
        traced.append(args)
        return play_episode(*args)

    play_episode = module.play_episode
    monkeypatch.setattr(module, "play_episode", counted)
    policy = tiny_run().policy(0)
    totals = {float(policy.play(seed, deterministic).total) for seed in range(3) for deterministic in (True, False)}
    assert len(traced) == 2
    assert max(totals) <= 0.991


def test_the_seed_decides_an_evaluation():
    returns = [tiny_run().evaluate("explorer", episodes=50, deterministic=False, seed=seed) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(returns[0], returns[1])
    assert (returns[0] != returns[2]).any()
