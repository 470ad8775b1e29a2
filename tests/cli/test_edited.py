"""A run folder whose description somebody has edited: one line, an exit code, and nothing changed."""

import json
import shutil

import pytest

import derl
from derl.cli.main import main

COMMANDS = ("resume", "evaluate", "plot", "watch")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    out = tmp_path_factory.mktemp("edited") / "run"
    settings = {"protocol__episodes": 40, "protocol__evaluate_every": 20, "vary": {"bonus.scale": [0.5, 1.0]}}
    derl.train("DeepSea-4", "dedqn-count", seeds=1, out=out, **settings)
    return out


def put(*path):
    """An edit that replaces the value at a path."""
    *way, last, value = path

    def edit(data):
        for name in way:
            data = data[name]
        data[last] = value

    return edit


def drop(*path):
    """An edit that removes the value at a path."""
    *way, last = path

    def edit(data):
        for name in way:
            data = data[name]
        del data[last]

    return edit


ODD = (None, "much", True, float("nan"), float("inf"), -1, 10**400, [], [1], {}, {"kind": "dqn"})
PLACES = [
    *[("config", name) for name in ("task", "explorer", "bonus", "exploiter", "decoupling", "protocol", "num_envs")],
    *[("config", "explorer", name) for name in ("kind", "learning_rate", "n_steps", "hidden", "correction")],
    *[("config", "exploiter", name) for name in ("capacity", "double", "target_rate")],
    *[("config", "decoupling", name) for name in ("period", "alpha_explorer", "denominator")],
    *[("config", "protocol", name) for name in ("episodes", "evaluation", "evaluate_every")],
    *[("config", name) for name in ("env_options", "explorer_reward", "normalise_rewards", "env")],
    *[(name,) for name in ("seeds", "vary", "group_size", "config")],
    ("vary", "bonus.scale"),
]
# Values that may stand where they are put: they say the same, or nothing.
HARMLESS = {"config.decoupling": ({},), "config.env_options": ({},), "config.env": (None,)}
HARMLESS["config.exploiter.double"] = (True,)
EDITS = {
    **{
        f"{'.'.join(place)}={str(value)[:9]}": put(*place, value)
        for place in PLACES
        for value in ODD
        if value not in HARMLESS.get(".".join(place), ())
    },
    **{f"no {'.'.join(place)}": drop(*place) for place in [("config",), ("seeds",), ("vary",), ("group_size",)]},
    **{f"no {name}": drop("config", name) for name in ("task", "explorer", "bonus", "protocol")},
    "no kind": drop("config", "bonus", "kind"),
    "unknown kind": put("config", "explorer", "kind", "a3c"),
    "another kind": put("config", "explorer", "kind", "ppo"),
    "own kind": put("config", "explorer", "kind", "custom:Nobodys"),
    "unknown setting": put("config", "explorer", "colour", 1),
    "unknown entry": put("config", "colour", 1),
    "inner entry": put("config", "origin", {}),
    "own environment": put("config", "env", "custom:Nobodys"),
    "described environment": put("env", {"class": "DeepSea", "module": "derl.envs.deep_sea", "fields": []}),
    "unknown option": put("config", "env_options", {"depth": 3}),
    "odd option": put("config", "env_options", {"mapping_seed": [1]}),
    "larger task": put("config", "task", "DeepSea-5"),
    "other seeds": put("seeds", [7]),
    "more seeds": put("seeds", [0, 0]),
    "large groups": put("group_size", 10**9),
    "endless": put("config", "protocol", "episodes", 10**18),
    "other number": put("config", "explorer", "learning_rate", 0.5),
}
TEXTS = {
    "empty": lambda text: "",
    "half": lambda text: text[: len(text) // 2],
    "a list": lambda text: "[]",
    "a list of names": lambda text: '["config", "seeds", "vary", "group_size"]',
    "null": lambda text: "null",
    "a number": lambda text: "3",
    "deep": lambda text: "[" * 100_000,
    "no text": lambda text: "\x00" + text,
}


def as_text(edit):
    """An edit of the data as one of the text."""

    def apply(text):
        data = json.loads(text)
        edit(data)
        return json.dumps(data)

    return apply


@pytest.mark.parametrize("change", [*map(as_text, EDITS.values()), *TEXTS.values()], ids=[*EDITS, *TEXTS])
def test_an_edited_description_is_told_in_one_line(change, trained, tmp_path, capsys):
    folder = tmp_path / "run"
    shutil.copytree(trained, folder)
    description = folder / "config.json"
    description.write_text(change(description.read_text()))
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for command in COMMANDS:
        assert main([command, str(folder)]) == 2, command
        told = capsys.readouterr().err.strip().splitlines()
        assert len(told) == 1, told
        assert told[0].startswith("derl: error: ")
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
