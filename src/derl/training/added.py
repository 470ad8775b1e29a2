"""Settings that came later: a run that was made before them is still the run it was."""

import json
from typing import Any

from derl.training.config import Config
from derl.training.written import to_json

ADDED = {
    "updates_per_step": 0.0,
    "adam_beta2": 0.999,
    "average_share": 0.0,
    "entropy_steps": 0.0,
    "recompute_bonus": False,
    "output_gain": 2**0.5,
    "capped": True,
    "mixture": 0.0,
    "stale_segments": False,
    "evaluation_statistics": "training",
    "bonus_observations": "raw",
    "mixture_floor": -3.0,
    "mixture_weight": 1.0,
    "memory": "all",
}
"""Settings that parts got after results had been stored, and the values with which nothing changes."""


def as_before(data: dict[str, Any]) -> dict[str, Any]:
    """A configuration as data, without added settings that change nothing."""
    # A task's options are its own business: one of them may have the name of such a setting.
    return _without({name: part if name == "env_options" else _without(part) for name, part in data.items()})


def _without(part: Any) -> Any:
    if not isinstance(part, dict):
        return part
    return {name: value for name, value in part.items() if name not in ADDED or value != ADDED[name]}


def first_written(config: Config) -> str:
    """A configuration as the text it would have been before settings were added that change nothing in it."""
    return json.dumps(as_before(json.loads(to_json(config))), sort_keys=True)
