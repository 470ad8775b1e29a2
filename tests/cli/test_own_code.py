"""A user's module that is edited between two sweeps: what is in the store is used again, and that is said."""

import pytest

import derl
from cli.commanding import run
from derl.experiments.store import Store
from derl.training.version import code_version

MODULE = """
import derl
from derl.envs.deep_sea import DeepSea


class Shoal(DeepSea):
    @property
    def name(self):
        return f"Shoal-{self.size}"


derl.register("Shoal-3", Shoal)
"""
SPEC = """
tasks = ["Shoal-3", "DeepSea-3"]
recipes = ["a2c"]
seeds = 2
protocol = { episodes = 40, evaluate_every = 20 }
"""
TOLD = "2 results were made by other code of the module shoals: if that gives other numbers now, raise its class's"


def test_results_of_edited_code_are_told(tmp_path, capsys, monkeypatch):
    """They were used again without a word, as if they were the edited code's."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "shoals.py").write_text(MODULE)
    (tmp_path / "spec.toml").write_text(SPEC)
    sweep = ("--import", "shoals", "sweep", "spec.toml", "--store", "store")
    code, out = run(capsys, *sweep, "--workers", "1")
    assert (code, "other code" in out) == (0, False)
    code, out = run(capsys, *sweep)
    assert (code, "4 were in store, none made now" in out, "other code" in out) == (0, True, False)
    (tmp_path / "shoals.py").write_text(MODULE + "# edited\n")
    code, out = run(capsys, *sweep)
    assert (code, out.count(f"{TOLD} version, or use another store\n")) == (0, 1)
    assert TOLD in run(capsys, *sweep, "--dry-run")[1]
    with pytest.warns(UserWarning, match=TOLD) as told:
        derl.sweep(tmp_path / "spec.toml", tmp_path / "store", modules=["shoals"])
    assert [warning.filename for warning in told] == [__file__]
    # Results of a derl that did not note it may be of any code.
    with Store("store").transaction() as db:
        db.execute("UPDATE made_by SET version = ?", (code_version(),))
    assert "other code" not in run(capsys, *sweep)[1]
