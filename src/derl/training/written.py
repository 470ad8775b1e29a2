"""A configuration as text: written to a run folder, hashed for the store, and read back."""

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from derl.agents import AGENTS
from derl.bonuses import BONUSES
from derl.core.errors import DerlError, UnknownNameError
from derl.training.algorithm import Decoupling
from derl.training.config import Config, Protocol
from derl.training.settings import settings_of

KINDS: dict[str, Mapping[str, type]] = {"explorer": AGENTS, "exploiter": AGENTS, "bonus": BONUSES}
"""Where the class of each part of a configuration is looked up by name."""


def to_json(config: Config) -> str:
    """A configuration as text; `from_json` reads it back. Raises for parts that are not registered by name."""
    data: dict[str, Any] = {}
    for field in settings_of(config):
        value = getattr(config, field.name)
        if field.name in KINDS and value is not None:
            kinds = [name for name, kind in KINDS[field.name].items() if kind is type(value)]
            kind = kinds[0] if kinds else f"custom:{type(value).__name__}"
            data[field.name] = {"kind": kind, **_fields(value)}
        elif field.name == "env":
            if value is not None:
                data["env"] = f"custom:{type(value).__name__}"
        else:
            data[field.name] = _fields(value) if dataclasses.is_dataclass(value) else value
    # Options of a task may be NumPy's numbers.
    return json.dumps(data, indent=2, default=lambda number: number.item())


def _fields(obj: Any) -> dict[str, Any]:
    return {f.name: getattr(obj, f.name) for f in dataclasses.fields(obj)}


def from_json(text: str) -> Config:
    """A configuration from `to_json`'s text."""
    try:
        data = json.loads(text)
        values = {name: _part(name, value) for name, value in data.items()}
        # Whatever does nothing in it was accepted, or came with a recipe, when it was written.
        return Config(**values).as_origin()
    except (TypeError, KeyError, AttributeError, json.JSONDecodeError) as error:
        raise DerlError(f"the configuration cannot be read ({error}); it may be from another version of derl") from None


def _part(name: str, value: Any) -> Any:
    if name == "decoupling":
        return Decoupling(**value)
    if name == "protocol":
        return Protocol(**value)
    kind = str(value.get("kind") if isinstance(value, dict) else value)
    if kind.startswith("custom:"):
        raise DerlError(f"this run uses your own {kind.removeprefix('custom:')}; continue it from Python (derl.resume)")
    if name in KINDS and value is not None:
        settings = {k: tuple(v) if isinstance(v, list) else v for k, v in value.items() if k != "kind"}
        if value["kind"] not in KINDS[name]:
            raise UnknownNameError(name, value["kind"], KINDS[name])
        return KINDS[name][value["kind"]](**settings)
    return value
