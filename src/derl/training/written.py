"""A configuration as text: written to a run folder, hashed for the store, and read back."""

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from derl.agents import AGENTS, Agent
from derl.bonuses import BONUSES, Bonus
from derl.core.errors import DerlError, UnknownNameError, require
from derl.envs.base import AnyEnvironment
from derl.training.algorithm import Decoupling
from derl.training.config import Config, Protocol
from derl.training.objects import loaded_class, read_back, written
from derl.training.settings import check_type, settings_of

KINDS: dict[str, Mapping[str, type]] = {"explorer": AGENTS, "exploiter": AGENTS, "bonus": BONUSES}
"""Where the class of each part of a configuration is looked up by name."""
OWN = "custom:"
"""Before the name of a class that is not registered."""


def to_json(config: Config) -> str:
    """A configuration as text; `from_json` reads it back. A part that is not registered has a name after `custom:`."""
    data: dict[str, Any] = {}
    for field in settings_of(config):
        value = getattr(config, field.name)
        if field.name in KINDS and value is not None:
            kinds = [name for name, kind in KINDS[field.name].items() if kind is type(value)]
            kind = kinds[0] if kinds else f"{OWN}{type(value).__name__}"
            data[field.name] = {"kind": kind, **_fields(value)}
        elif field.name == "env":
            if value is not None:
                data["env"] = f"{OWN}{type(value).__name__}"
        else:
            data[field.name] = _fields(value) if dataclasses.is_dataclass(value) else value
    try:
        return json.dumps(data, indent=2, default=_encoded)
    except TypeError:
        raise DerlError(f"{_unwritable(data)}; numbers, text, tuples of these and arrays can") from None


def _encoded(value: Any) -> Any:
    """What JSON does not know. Options of a task may be NumPy's numbers, and fields of a part of your own arrays."""
    return value.item() if isinstance(value, np.generic) or getattr(value, "ndim", None) == 0 else written(value)


def _unwritable(data: Mapping[str, Any], path: str = "") -> str:
    """Which setting has no text, for an error."""
    for name, value in data.items():
        try:
            json.dumps(value, default=_encoded)
        except TypeError:
            if isinstance(value, dict):
                return _unwritable(value, f"{path}{name}.")
            return f"{path}{name} is of the kind {type(value).__name__}, which a run folder and a store cannot hold"
    raise AssertionError("everything can be written down")


def _fields(obj: Any) -> dict[str, Any]:
    return {f.name: getattr(obj, f.name) for f in dataclasses.fields(obj)}


def from_json(text: str, env: AnyEnvironment | None = None) -> Config:
    """A configuration from `to_json`'s text. `env` is the environment object, if it has one."""
    try:
        data = json.loads(text)
        own = data.pop("env", None)
        config = Config(**{name: _part(name, value) for name, value in data.items() if name not in INTERNAL})
        unknown = INTERNAL & set(data)
        require(not unknown, f"the configuration cannot be read (unknown setting {', '.join(unknown)})")
        _check_types(config)
        config = dataclasses.replace(config, env=_environment(config, own, env))
        # What makes no sense is told here: a number that is none, say, can come from an editor's hand alone.
        config.check(shapes=False, idle=False)
    except READING as error:
        what = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        raise DerlError(f"the configuration cannot be read ({what}); it may be from another version of derl") from None
    # Whatever does nothing in it was accepted, or came with a recipe, when it was written.
    return config.as_origin()


READING = (TypeError, KeyError, AttributeError, ValueError, OverflowError, RecursionError)
"""What a text that `to_json` did not write may end in."""
INTERNAL = {field.name for field in dataclasses.fields(Config)} - {field.name for field in settings_of(Config)}


def _part(name: str, value: Any) -> Any:
    if name == "decoupling":
        return Decoupling(**value)
    if name == "protocol":
        return Protocol(**value)
    if name not in KINDS or (value is None and name == "exploiter"):
        return value
    if not isinstance(value, dict):
        raise DerlError(f"{name} is a group of settings with its kind, not {value!r}")
    settings = {k: tuple(v) if isinstance(v, list) else read_back(v) for k, v in value.items() if k != "kind"}
    return _kind(name, str(value["kind"]))(**settings)


def _kind(part: str, name: str) -> type:
    """The class of a part: registered under a name, or one of your own that is loaded."""
    if not name.startswith(OWN):
        if name not in KINDS[part]:
            raise UnknownNameError(part, name, KINDS[part])
        return KINDS[part][name]
    own = name.removeprefix(OWN)
    found = loaded_class(Bonus if part == "bonus" else Agent, own)
    if found is None:
        raise DerlError(
            f"this run uses your own {own}: load the module that has it (derl --import MODULE ...), or give the "
            "configuration from Python (derl.load(folder, config=...), derl.resume)"
        )
    return found


def _environment(config: Config, own: Any, env: AnyEnvironment | None) -> AnyEnvironment | None:
    """The environment object of a configuration that has one: a text can only name its class."""
    if own is None:
        require(env is None, f"this run's task, {config.task}, has a name: leave env out")
        return None
    name = str(own).removeprefix(OWN)
    if env is None:
        raise DerlError(
            f"this run's task is an object of the class {name}: load the module that has it (derl --import MODULE "
            "...), or give the object from Python (derl.load(folder, env=...), derl.resume)"
        )
    require(
        type(env).__name__ == name and env.name == config.task,
        f"this run's task is {config.task}, an object of {name}, and not {env.name} of {type(env).__name__}",
    )
    return env


def _check_types(config: Config) -> None:
    """Raise if a value cannot stand where it does."""
    require(isinstance(config.task, str), f"task takes text, not {config.task!r}")
    for name in ("", *KINDS, "decoupling", "protocol"):
        part = getattr(config, name) if name else config
        for field in [] if part is None else settings_of(part):
            if field.default is not dataclasses.MISSING:
                check_type(field.default, getattr(part, field.name), f"{name}.{field.name}" if name else field.name)
    check_type({}, config.env_options, "env_options")
