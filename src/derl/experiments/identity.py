"""What makes two runs the same run: their configuration, seed, and the version of the code behind their numbers."""

import hashlib
import json
from functools import lru_cache
from typing import Any

from derl.core.errors import DerlError
from derl.envs.base import AnyEnvironment
from derl.training.added import as_before
from derl.training.config import Config
from derl.training.loop import ignores_lambda
from derl.training.members import Run
from derl.training.seeds import check_seeds
from derl.training.version import versions
from derl.training.written import to_json


def never_full(config: Config, env: AnyEnvironment) -> dict[str, int]:
    """The agents whose memory the training does not fill, and how large a memory their class has by default.

    One that is never full is like any other such, so it is described as that one. (Priorities are kept in blocks whose
    size follows from the memory's, and short episodes may fill it sooner: these are described as they are.)
    """
    if env.episode_length is None:
        return {}
    steps, found = config.protocol.budget(env)[0], {}
    for seat in ("explorer", "exploiter"):
        agent = getattr(config, seat)
        usual = getattr(type(agent), "capacity", 0)
        if min(getattr(agent, "capacity", 0), usual) >= steps and not getattr(agent, "prioritised", False):
            found[seat] = usual
    return found


def description(config: Config) -> dict[str, Any]:
    """Everything that decides a run's numbers, except its seed. The recipe's name is a label and does not count."""
    data, env = json.loads(to_json(config)), config.make_env()
    for seat, capacity in never_full(config, env).items():
        data[seat]["capacity"] = capacity
    if ignores_lambda(config.explorer_reward, config.bonus):
        data["bonus"]["scale"] = 1.0
    if not config.normalise_observations:
        data |= {"bonus_observations": "raw", "protocol": data["protocol"] | {"evaluation_statistics": "training"}}
    data = as_before(data)
    data.pop("recipe")
    custom = [str(v) for v in (*(p.get("kind") for p in data.values() if isinstance(p, dict)), data.get("env")) if v]
    for name in custom:
        if name.startswith("custom:"):
            raise DerlError(
                f"{name.removeprefix('custom:')} has no name to be found by in a worker process; "
                "register it, in a module loaded with 'derl --import MODULE'"
            )
    return {**data, "versions": versions(env, config.explorer, config.bonus, config.exploiter)}


@lru_cache(maxsize=100_000)
def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def config_key(config: Config) -> str:
    """The content address of a configuration."""
    return _digest(json.dumps(description(config), sort_keys=True))


def run_key(run: Run) -> str:
    """The content address of a run."""
    check_seeds([run.seed])
    return seed_key(config_key(run.config), run.seed)


def seed_key(config: str, seed: int) -> str:
    """The content address of one seed of a configuration, given the configuration's."""
    return _digest(f"{config}/{seed}")
