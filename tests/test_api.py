"""What Python users meet: mistakes that are told in one line, and results that show themselves in one."""

import dataclasses
import importlib
import os

import numpy as np
import pytest
from analysis.trained import tiny_run
from envs.broken import BROKEN
from polars.testing import assert_frame_equal

import derl
from derl.api import plain_names, plain_seeds
from derl.core.errors import DerlError
from derl.experiments.experiment import from_data


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"seeds": "3;4"}, "commas and ranges"),
        ({"seeds": 2.0}, "a number of seeds or a list"),
        ({"seeds": 0}, "at least one seed"),
        ({"seeds": -1}, "at least one seed"),
        ({"vary": {"bonus.scale": 3}}, "bonus.scale needs a list of numbers, not 3"),
        ({"vary": {"bonus.scale": ["x"]}}, "bonus.scale needs a list of numbers"),
        ({"vary": {"bonus.scale": ["0.1"]}}, "bonus.scale needs a list of numbers"),
        ({"vary": {"bonus.scale": "12"}}, "bonus.scale needs a list of numbers, not '12'"),
        ({"vary": {"bonus.scale": b"12"}}, "bonus.scale needs a list of numbers"),
        ({"vary": ["bonus.scale"]}, r"vary is a dictionary such as .*, not \['bonus.scale'\]"),
        ({"env_options": ["mapping_seed"]}, "env_options is a dictionary"),
        ({"task": 5}, "a task is a name such as 'DeepSea-10'"),
        ({"recipe": 3}, "a recipe is a name such as 'dea2c-count', not 3"),
        ({"explorer": 3}, r"explorer is a name such as 'a2c' or an object such as A2C\(\), not 3"),
        ({"bonus": derl.RND}, r"bonus is a name .*, not the class RND: write RND\(...\)"),
        ({"exploiter": derl.Count()}, "exploiter is a name .*, not Count"),
    ],
)
def test_mistakes_of_type_are_errors_of_one_line(given, message):
    with pytest.raises(DerlError, match=message):
        derl.train(**{"task": "DeepSea-5", "recipe": "dea2c-count"} | given)


def test_seeds_may_come_as_text_or_out_of_an_array():
    assert plain_seeds(np.int64(2)) == [0, 1]  # pyright: ignore[reportArgumentType]
    assert plain_seeds("3-5,9") == [3, 4, 5, 9]
    assert plain_seeds(np.array([3, 7])) == [3, 7]  # pyright: ignore[reportArgumentType]


def test_an_environment_object_is_tried_out_before_anything_is_made_of_it(tmp_path):
    env, message = BROKEN["too long"]
    with pytest.raises(DerlError, match=message):
        derl.train(env, "a2c", out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    config = derl.configure(env, "a2c")
    with pytest.raises(DerlError, match=message):
        derl.train(config)


def test_a_result_shows_itself_in_one_line():
    result = tiny_run()
    assert result.folder is not None
    text = repr(result)
    assert text == f"<Result of dea2c-count on DeepSea-5: 4 runs, 3 evaluations, in {result.folder.path}>"
    assert repr(dataclasses.replace(result, folder=None)).endswith("3 evaluations>")
    one = dataclasses.replace(result, runs=result.runs[:1], frame=result.frame.filter(evaluation=1))
    assert "1 run, 1 evaluation," in repr(one)
    assert repr(result.policy()) == "<Policy of the exploiter on DeepSea-5>"
    assert repr(result.policy(seat="explorer")) == "<Policy of the explorer on DeepSea-5>"


def test_a_sweep_in_python_has_as_many_workers_as_it_is_told(tmp_path, monkeypatch):
    asked = []

    def begin(*args, **options):
        asked.append(options["workers"])
        raise DerlError("enough")

    monkeypatch.setattr("derl.api.Sweep", begin)
    for workers in (None, 3):
        with pytest.raises(DerlError, match="enough"):
            derl.sweep({"tasks": ["DeepSea-4"], "recipes": ["a2c"], "seeds": 1}, tmp_path, workers=workers)
    assert asked == [None, 3]


def test_a_sweep_in_python_is_run_once(tmp_path):
    """From a dictionary, a file or an object: the same runs, and what is in the store is not run again."""
    spec = {"tasks": ["DeepSea-4"], "recipes": ["a2c"], "seeds": 2, "protocol": {"episodes": 40, "evaluate_every": 20}}
    shown = []
    first = derl.sweep(spec, tmp_path / "store", workers=1, show=shown.append)
    assert (first["seed"].unique().to_list(), first["evaluation"].max()) == ([0, 1], 2)
    assert shown
    assert (shown[-1].done, shown[-1].runs) == (2, 2)
    (tmp_path / "spec.toml").write_text(
        'tasks = ["DeepSea-4"]\nrecipes = ["a2c"]\nseeds = 2\n[protocol]\nepisodes = 40\nevaluate_every = 20\n'
    )
    for same in (spec, tmp_path / "spec.toml", from_data(spec, "mine")):
        assert_frame_equal(derl.sweep(same, tmp_path / "store", show=lambda p: pytest.fail("run again")), first)
    with pytest.raises(DerlError, match="a2c-cuont"):
        derl.sweep({**spec, "recipes": ["a2c-cuont"]}, tmp_path / "store")


def test_workers_of_a_sweep_load_modules(tmp_path, monkeypatch):
    (tmp_path / "shallow.py").write_text(
        "import derl\nfrom derl.envs.deep_sea import DeepSea\n"
        "class Shallow(DeepSea):\n"
        "    @property\n    def name(self):\n        return f'Shallow-{self.size}'\n"
        "derl.register('Shallow-3', Shallow)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    importlib.import_module("shallow")
    spec = {"tasks": ["Shallow-3"], "recipes": ["a2c"], "seeds": 1, "protocol": {"episodes": 20, "evaluate_every": 20}}
    frame = derl.sweep(spec, tmp_path / "store", workers=1, modules=["shallow"])
    assert frame["task"].unique().to_list() == ["Shallow-3"]


def test_a_sweep_is_narrowed_as_by_the_flags(tmp_path):
    spec = {**SMALL, "tasks": ["DeepSea-4", "DeepSea-5"]}
    frame = derl.sweep(spec, tmp_path / "store", only="deepsea-4", seeds=[3], episodes=20, workers=1)
    assert frame.select("task", "seed").unique().rows() == [("DeepSea-4", 3)]
    assert frame["episodes"].max() == 20
    assert len(frame) == 2


def test_a_sweep_in_python_warns_of_runs_that_failed(tmp_path, monkeypatch):
    """They were missing in its frame, and nothing was said."""
    (tmp_path / "booming.py").write_text(
        "import derl\nfrom derl.envs.deep_sea import DeepSea\n"
        "class Boom(DeepSea):\n"
        "    @property\n    def name(self):\n        return f'Boom-{self.size}'\n"
        "    def step(self, key, state, action):\n        raise RuntimeError('no more')\n"
        "derl.register('Boom-3', Boom)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    importlib.import_module("booming")
    spec = {"tasks": ["DeepSea-3", "Boom-3"], "recipes": ["a2c"], "seeds": 2}
    spec |= {"protocol": {"episodes": 20, "evaluate_every": 20}}
    with pytest.warns(UserWarning, match="2 of 4 runs failed and are not in the results; the first, a2c") as told:
        frame = derl.sweep(spec, tmp_path / "sto re", workers=1, modules=["booming"])
    assert frame["task"].unique().to_list() == ["DeepSea-3"]
    (warning,) = told
    # Where it was called, not where it is written.
    assert warning.filename == __file__
    message, _, command = str(warning.message).partition("; to see all: ")
    short = "(protocol.episodes=20, protocol.evaluate_every=20)"
    assert message.endswith(
        f"; the first, a2c on Boom-3 {short} with seed 0: RuntimeError: no more (booming.py, line 8)"
    )
    assert command == f"derl --import booming status --store '{tmp_path}/sto re'"


SMALL = {"tasks": ["DeepSea-4"], "recipes": ["a2c"], "seeds": 1, "protocol": {"episodes": 40, "evaluate_every": 20}}


@pytest.mark.parametrize(
    ("experiment", "given", "message"),
    [
        ({1: 2}, {}, "1 is no name"),
        ({**SMALL, "set": {1: 2}}, {}, "1 is no name"),
        ({**SMALL, "parts": [{1: 2}]}, {}, "1 is no name"),
        (None, {}, "an experiment is a name such as 'table-1'.*, not None"),
        ("", {}, "an experiment is a name"),
        ({**SMALL, "vary": {"explorer.entropy_coef": b"12"}}, {}, "explorer.entropy_coef needs a list of values"),
        ({**SMALL, "vary": {"explorer.entropy_coef": ["0.1"]}}, {}, "entropy_coef takes a number, not '0.1'"),
        (SMALL, {"store": None}, "store is the folder of results"),
        (SMALL, {"store": 5}, "store is the folder of results"),
        (SMALL, {"store": ""}, "store is the folder of results"),
        (SMALL, {"show": 5}, "show is a function"),
        (SMALL, {"workers": 1.5}, "workers is a number of processes, not 1.5"),
        (SMALL, {"workers": True}, "workers is a number of processes, not True"),
        (SMALL, {"workers": 0}, "workers is a number of processes, not 0"),
        (SMALL, {"modules": 5}, "modules is a list of names, not 5"),
        (SMALL, {"modules": [5]}, "modules is a list of names"),
        (SMALL, {"only": [5]}, "only is a list of names"),
        (SMALL, {"only": "DeepSea-5"}, "unknown task, recipe or setting 'DeepSea-5'"),
        (SMALL, {"episodes": 0}, "episodes is a number of training episodes, not 0"),
        (SMALL, {"seeds": 1.5}, "seeds is a number of seeds or a list"),
        (SMALL, {"modules": "no_such_module"}, "there is no module 'no_such_module'"),
        (SMALL, {"modules": ["json", "no.such.module"]}, "there is no module 'no.such.module'"),
    ],
)
def test_mistakes_in_a_sweep_are_errors_of_one_line_and_leave_nothing(
    experiment, given, message, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("derl.experiments.pool.Worker.__init__", lambda *args: pytest.fail("a worker was started"))
    with pytest.raises(DerlError, match=message):
        derl.sweep(experiment, **given)
    assert not list(tmp_path.iterdir())


def test_one_module_may_be_named_alone():
    assert plain_names("modules", "mymodule") == plain_names("modules", ["mymodule"]) == ("mymodule",)
