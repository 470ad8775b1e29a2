"""Run folders of environment objects: who has the class has the run."""

import json
import subprocess
import sys
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import derl
from derl.bonuses import NoBonus
from derl.cli.main import main
from derl.cli.returns import is_published
from derl.core.errors import DerlError
from derl.envs import DeepSea, Environment, Hallway
from derl.training.folder import RunFolder
from derl.training.objects import described, loaded_class, made_again

MODULE = '''
import derl
from derl import Hallway, NoBonus

class Corridor(Hallway):
    """A hallway of one's own."""

class Silence(NoBonus):
    """A bonus of one's own, which is registered nowhere."""

if __name__ == "__main__":
    short = {"protocol__episodes": 40, "protocol__evaluate_every": 20, "seeds": 1}
    derl.train(Corridor(3, 1, goal_reward=2.5), "a2c", bonus=Silence(), out="run", **short)
'''


class Unwritable(DeepSea):
    """A task with something in it that is no number."""

    rule: object = eqx.field(static=True)

    def __init__(self):
        super().__init__(3)
        self.rule = print


@pytest.mark.parametrize(
    "env", [DeepSea(4, mapping_seed=3, stochastic=True), Hallway(3, 2, move_cost=0.5, random_start=True)]
)
def test_an_environment_is_made_again_as_it_was(env):
    again = made_again(json.loads(json.dumps(described(env))))
    assert jax.tree.structure(again) == jax.tree.structure(env)
    for a, b in zip(jax.tree.leaves(again), jax.tree.leaves(env), strict=True):
        np.testing.assert_array_equal(a, b)
    steps = [e.step(jax.random.key(0), e.reset(jax.random.key(1))[0], jnp.asarray(1)) for e in (again, env)]
    for a, b in zip(*map(jax.tree.leaves, steps), strict=True):
        np.testing.assert_array_equal(a, b)


class Weighted(NoBonus):
    """A bonus with an array, and perhaps with something that has no text."""

    weights: jax.Array = eqx.field(default_factory=lambda: jnp.asarray([[1, 2], [3, 4]]))
    rule: object = eqx.field(default=None, static=True)


def test_a_part_with_an_array_is_read_as_it_was_written(tmp_path):
    weights = jnp.asarray([[0.1, 2.0, 1e-30]])
    config = derl.configure("DeepSea-4", "a2c", bonus=Weighted(weights=weights))
    folder = RunFolder(tmp_path / "run")
    folder.create(config, [0], {}, 1)
    folder.unlock()
    again = folder.open()[0].bonus
    assert (type(again), again.weights.dtype) == (Weighted, weights.dtype)
    np.testing.assert_array_equal(again.weights, weights)
    assert isinstance(folder.open()[0].explorer.learning_rate, float)


def test_a_part_that_has_no_text_leaves_no_folder(tmp_path):
    config = derl.configure("DeepSea-4", "a2c", bonus=Weighted(rule=print))
    words = "^bonus.rule is of the kind builtin_function_or_method, which a run folder and a store cannot hold; numbers"
    with pytest.raises(DerlError, match=words):
        RunFolder(tmp_path / "run").create(config, [0], {}, 1)
    assert not (tmp_path / "run").exists()


def test_what_cannot_be_written_down_or_found_is_not_made():
    assert described(Unwritable()) is None
    data = described(DeepSea(4))
    assert made_again(data | {"class": "Nobodys"}) is None
    with pytest.raises(DerlError, match=r"not as it was when this run was made.*size"):
        made_again(data | {"fields": {k: v for k, v in data["fields"].items() if k != "size"}})
    with pytest.raises(DerlError, match="cannot be read"):
        made_again(data | {"fields": 3})


def test_of_classes_with_one_name_that_of_the_run_is_meant():
    def make(module):
        return type("Twin", (Hallway,), {"__module__": module, "__qualname__": "Twin"})

    one, other = make("one"), make("other")
    assert loaded_class(Environment, "Twin", "one") is one
    assert loaded_class(Environment, "Twin", "other") is other
    with pytest.raises(DerlError, match="several classes Twin: one, other"):
        loaded_class(Environment, "Twin", "__main__")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a script and the run it made, of a task and a bonus that are nowhere registered."""
    place = tmp_path_factory.mktemp("own")
    (place / "corridors.py").write_text(MODULE)
    source = str(Path(derl.__file__).parents[1])
    subprocess.run([sys.executable, "corridors.py"], cwd=place, check=True, env={"PYTHONPATH": source, "PATH": ""})
    return place


def test_a_run_of_ones_own_objects_is_used_where_their_module_is_loaded(place, monkeypatch, capsys):
    monkeypatch.chdir(place)
    for command in ("evaluate", "plot", "watch", "resume"):
        assert main([command, "run"]) == 2
        assert "this run uses your own Silence: load the module that has it (derl --import" in capsys.readouterr().err
    with pytest.raises(DerlError, match="your own Silence"):
        derl.load("run")
    for command in (["evaluate", "--episodes", "2"], ["plot", "--episodes", "2"], ["watch", "--no-gif"], ["resume"]):
        assert main(["--import", "corridors", command[0], "run", *command[1:]]) == 0, command
    result = derl.load("run")
    assert (type(result.config.env).__name__, result.config.env.goal_reward) == ("Corridor", 2.5)


def test_an_environment_can_be_given(tmp_path):
    class Local(Hallway):
        """Without a description, as of an object that cannot be written down."""

    short = {"protocol__episodes": 40, "protocol__evaluate_every": 20, "seeds": 1}
    out = tmp_path / "run"
    whole = derl.train(Local(3, 1), "a2c", out=out, **short)
    file = out / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"env": None}))
    with pytest.raises(DerlError, match=r"object of the class Local: .*derl.load\(folder, env=...\)"):
        derl.load(out)
    given = Local(3, 1)
    assert derl.load(out, env=given).config.env is given
    assert derl.resume(out, env=given).frame.equals(whole.frame)
    for wrong, words in (
        (Local(4, 1), "is Hallway-3-1, an object of Local, and not Hallway-4-1"),
        (Hallway(3, 1), "and not Hallway-3-1 of Hallway"),
        (Local(3, 1, goal_reward=2.0), "is of other runs than these"),
        (Local(3, 1, stay_duration=1, horizon=7), "is of other runs than these"),
    ):
        with pytest.raises(DerlError, match=words):
            derl.load(out, env=wrong)
    with pytest.raises(DerlError, match="leave env out"):
        derl.load(out, env=given, config=whole.config)
    # No row of a table, though its recipe is one: to ask for that of a task without a name was an error.
    assert not is_published(whole)


def test_a_task_with_a_name_needs_no_object(tmp_path):
    short = {"protocol__episodes": 20, "protocol__evaluate_every": 20, "seeds": 1}
    derl.train("Hallway-3-1", "a2c", out=tmp_path / "run", **short)
    with pytest.raises(DerlError, match="has a name: leave env out"):
        derl.load(tmp_path / "run", env=Hallway(3, 1))
