"""Settings that do nothing: each part says which of its own are idle where it stands, and here they are refused.

A value is refused if somebody chose it (it is neither its class's default nor what the recipe has) and it cannot change
anything in any of the runs that are made together: a weight that is varied from 0 on gives its companions a use.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

from derl.agents.base import AnyAgent, Role
from derl.bonuses import NoBonus
from derl.core.errors import DerlError
from derl.core.types import Spec
from derl.training.settings import settings_of


def idle_settings(config: Any) -> dict[str, dict[str, str]]:
    """For each part of a configuration, and "" for itself: what cannot change anything, and why."""
    alone = config.exploiter is None
    found: dict[str, dict[str, str]] = {
        "": {},
        "explorer": config.explorer.idle(role_of(config, "explorer")),
        "bonus": config.bonus.idle(seen_by_bonus(config), config.num_envs),
        "exploiter": {} if alone else config.exploiter.idle(role_of(config, "exploiter")),
        "decoupling": config.decoupling.idle(alone),
        "protocol": config.protocol.idle(),
    }
    if alone and config.explorer_reward == "intrinsic":
        found[""]["normalise_rewards"] = "where nobody learns from extrinsic rewards"
    if not config.normalise_observations:
        found[""]["bonus_observations"] = "without normalise_observations"
        found["protocol"] = found["protocol"] | {"evaluation_statistics": "without normalise_observations"}
    if isinstance(config.bonus, NoBonus):
        found["explorer"]["recompute_bonus"] = "as there is no bonus"
    if not alone and not config.exploiter.uses_rollout:
        found["decoupling"]["denominator"] = "but a metric, for an exploiter that learns from a memory"
    return found


def useless_settings(config: Any) -> dict[tuple[str, str], str]:
    """Settings that leave the explorer nothing to learn from, each with what to say about it."""
    if config.explorer_reward != "intrinsic" or config.explorer.curious:
        return {}
    nothing = "leaves the explorer nothing to learn from"
    if isinstance(config.bonus, NoBonus):
        remedy = "choose a bonus (another bonus_kind), or leave it at both"
        return {("", "explorer_reward"): f"explorer_reward intrinsic {nothing}, as there is no bonus; {remedy}"}
    if config.bonus.scale or config.bonus.normalise == "recent":
        return {}
    remedy = "raise it, or set explorer_reward to both"
    return {("bonus", "scale"): f"bonus.scale 0 {nothing}, with explorer_reward intrinsic; {remedy}"}


def seen_by_bonus(config: Any) -> Spec:
    """The environment as the bonus sees it."""
    algorithm = config.algorithm()
    return algorithm.agent_spec if algorithm.normalised_bonus else algorithm.env.spec


def role_of(config: Any, seat: str) -> Role:
    """What the agent in a seat is there for."""
    exploits, decoupling = seat == "exploiter", config.decoupling
    others_act = exploits or (config.exploiter is not None and decoupling.mixture != 0)
    if not exploits and config.explorer.needs_behaviour:
        # From its second update on a rollout an explorer is not who it was when it acted.
        length = config.explorer.rollout_length or config.make_env().max_episode_steps
        others_act |= config.explorer.updates(length * config.num_envs) > 1
    return Role(exploits, others_act, constrained=getattr(decoupling, f"alpha_{seat}") != 0)


def check_idle(configs: Sequence[Any]) -> None:
    """Raise if somebody chose a value that changes nothing, or leaves nothing to learn, in all these configurations."""
    refused: dict[tuple[str, str], str] = {}
    at_work: set[tuple[str, str]] = set()
    for config in configs:
        useless = useless_settings(config)
        for name, reasons in idle_settings(config).items():
            part = getattr(config, name) if name else config
            for field in [] if part is None else settings_of(part):
                place = (name, field.name)
                if field.name not in reasons and place not in useless:
                    at_work.add(place)
                elif is_chosen(config, name, field):
                    if place in useless:
                        refused[place] = useless[place]
                        continue
                    path = f"{name}.{field.name}" if name else field.name
                    before = value_before(config, name, field)
                    refused[place] = f"{path} changes nothing {reasons[field.name]}; leave it at {before}"
    for place, message in refused.items():
        if place not in at_work:
            raise DerlError(message)


def is_chosen(config: Any, name: str, field: dataclasses.Field) -> bool:
    """Whether a setting of a part has a value that is neither its default nor the one it came with."""
    value = getattr(getattr(config, name) if name else config, field.name)
    return field.default is not dataclasses.MISSING and value not in (field.default, value_before(config, name, field))


def value_before(config: Any, name: str, field: dataclasses.Field) -> Any:
    """What a setting of a part was before anybody changed it: in what it came with, or else in its class."""
    if not name:
        return config.origin.get(field.name, field.default)
    part, origin = getattr(config, name), config.origin.get(name)
    return getattr(origin, field.name) if type(origin) is type(part) else field.default


def without_idle(agent: AnyAgent, role: Role) -> AnyAgent:
    """An agent whose settings that do nothing in a role are as in its class: it comes from where they did something."""
    idle = agent.idle(role)
    defaults = {field.name: field.default for field in settings_of(agent) if field.name in idle}
    known: dict[str, Any] = {name: value for name, value in defaults.items() if value is not dataclasses.MISSING}
    return dataclasses.replace(agent, **known)
