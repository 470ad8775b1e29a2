"""The code behind a result where a part is a user's own: which modules it is, and as they were when."""

import importlib
import sys

import pytest

import derl
from derl.training import version
from derl.training.version import code_behind, code_version, keep_own_code, own_code, own_code_in, versions


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """A module of a user's with a bonus, in a file."""
    file = tmp_path / "my_bonus.py"
    file.write_text("import derl\n\n\nclass Mine(derl.Count):\n    version = 2\n\n\nclass Twice(Mine):\n    pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "my_bonus", raising=False)
    monkeypatch.setattr(version, "_kept", {})
    return file, importlib.import_module("my_bonus")


def test_the_code_of_parts_of_ones_own_is_told(mine):
    file, module = mine
    config = derl.configure("DeepSea-4", "dea2c-count")
    assert (own_code(config), code_behind(config)) == ({}, code_version())
    config = derl.configure(config, bonus=module.Twice())
    assert versions(config.bonus)["Twice"] == 2
    before = own_code(config)
    assert list(before) == ["my_bonus"]
    assert code_behind(config) == f"{code_version()}, my_bonus+{before['my_bonus']}"
    assert own_code_in(code_behind(config)) == before
    assert own_code_in(code_version()) == own_code_in("") == {}
    file.write_text(file.read_text() + "# edited\n")
    assert own_code(config) != before


def test_a_worker_tells_the_code_that_it_has_loaded(mine):
    """Somebody edits the module while it runs."""
    file, module = mine
    config = derl.configure("DeepSea-4", "dea2c-count", bonus=module.Mine())
    before = own_code(config)
    keep_own_code()
    file.write_text("")
    assert own_code(config) == before


def test_a_class_without_a_file_has_no_code_to_tell(mine, monkeypatch):
    """One of a notebook."""
    config = derl.configure("DeepSea-4", "dea2c-count", bonus=mine[1].Mine())
    monkeypatch.delattr(mine[1], "__file__")
    assert own_code(config) == {}
