"""The whole description of an experiment as data: checked, written to a run folder, and read back."""

import dataclasses
import itertools
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import equinox as eqx
import jax

from derl.agents import AGENTS, AnyAgent
from derl.bonuses import BONUSES
from derl.bonuses.base import AnyBonus
from derl.core.checks import check_choices, require_at_least
from derl.core.errors import DerlError, UnknownNameError, require
from derl.envs import make
from derl.envs.base import AnyEnvironment
from derl.training.algorithm import Algorithm, Decoupling
from derl.training.loop import blank_run
from derl.training.seeds import check_seeds


@dataclasses.dataclass(frozen=True)
class Protocol:
    """How long to train and how to evaluate. Budgets in episodes need episodes of equal length; else use steps."""

    episodes: int = 100_000
    """Training episodes, over all parallel environments together."""
    steps: int | None = None
    """Training steps instead of episodes."""
    evaluate_every: int = 1_000
    """Episodes between evaluations (steps, if the budget is in steps)."""
    evaluation_episodes: int = 8
    """Episodes in each evaluation."""
    evaluation: Literal["greedy", "sampled"] = "greedy"
    """Whether the evaluated policy takes its most valued action or samples."""

    def check(self) -> None:
        """Raise a `DerlError` if a setting makes no sense."""
        check_choices(self)
        for name in ("episodes", "steps", "evaluate_every", "evaluation_episodes"):
            value = getattr(self, name)
            if value is not None:
                require(type(value) is int, f"Protocol: {name} takes a whole number, not {value!r}")
                require_at_least(self, 1, name)

    def budget(self, env: AnyEnvironment) -> tuple[int, int]:
        """Training steps, and steps between evaluations."""
        if self.steps is not None:
            return self.steps, self.evaluate_every
        length = env.episode_length
        if length is None:
            raise DerlError(f"{env.name} has episodes of different lengths: give the budget in steps (protocol.steps)")
        return self.episodes * length, self.evaluate_every * length


@dataclasses.dataclass(frozen=True)
class Config:
    """Everything that decides a run's numbers, except its seed."""

    task: str
    explorer: AnyAgent
    bonus: AnyBonus
    exploiter: AnyAgent | None = None
    decoupling: Decoupling = dataclasses.field(default_factory=Decoupling)
    protocol: Protocol = dataclasses.field(default_factory=Protocol)
    recipe: str = "custom"
    """A label."""
    env_options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """Options of the task, such as DeepSea's mapping_seed."""
    num_envs: int = 4
    """Parallel environments of each run."""
    explorer_reward: Literal["both", "intrinsic"] = "both"
    """Whether the explorer learns from r_e + lambda r_i or from lambda r_i alone."""
    normalise_observations: bool = False
    """Whether agents see observations with running mean and variance taken out."""
    normalise_rewards: bool = False
    """Whether extrinsic rewards are divided by the running deviation of their discounted sums."""
    env: AnyEnvironment | None = None
    """An environment object, in place of one made from `task` and `env_options`."""

    def make_env(self) -> AnyEnvironment:
        """The environment."""
        return make(self.task, **self.env_options) if self.env is None else self.env

    def check(self, shapes: bool = True) -> "Config":
        """Raise a `DerlError` if anything makes no sense; else give the configuration itself.

        Without `shapes` it takes a millisecond, but does not ask the parts whether they fit each other.
        """
        require_at_least(self, 1, "num_envs")
        check_choices(self)
        for part in (self.explorer, self.bonus, self.exploiter, self.decoupling, self.protocol):
            if part is not None:
                part.check()
                _check_finite(part)
        self._check_together()
        env = self.make_env()
        self.protocol.budget(env)
        if shapes:
            # What only the parts themselves can tell (a bonus that needs discrete observations, a memory too small).
            eqx.filter_eval_shape(lambda k: blank_run(self.algorithm(), k), jax.random.key(0))
        return self

    def _check_together(self) -> None:
        """Raise if parts that make sense alone do not make sense together."""
        decoupling, alone = self.decoupling, self.exploiter is None
        alphas = (decoupling.alpha_explorer, decoupling.alpha_exploiter)
        require(
            not (alone and any(alphas)), "Decoupling: a divergence constraint needs an exploiter; this recipe has none"
        )
        for seat, agent, alpha in zip(("explorer", "exploiter"), (self.explorer, self.exploiter), alphas, strict=True):
            require(
                not alpha or agent is None or agent.constrainable,
                f"Decoupling: {type(agent).__name__} heeds no divergence constraint; set alpha_{seat} to 0",
            )
        require(not (alone and decoupling.mixture), "Decoupling: a mixture needs an exploiter; set mixture to 0")
        require(
            not decoupling.mixture or decoupling.denominator == "collected",
            "Decoupling: in a mixture importance weights divide by who acted: set denominator to collected",
        )
        require(
            not decoupling.replay_segments or (self.exploiter is not None and self.exploiter.uses_rollout),
            "Decoupling: replay_segments is for an exploiter that learns from rollouts (a2c, ppo); set it to 0",
        )
        require(
            not decoupling.stale_segments or self.algorithm().window == 2,
            "Decoupling: stale_segments is for an exploiter that learns from the last two rollouts (as deppo-count's); "
            "turn it off",
        )
        require(
            not (self.explorer.recomputes and getattr(self.bonus, "looks", "") == "successor_after_reset"),
            "an explorer that recomputes its bonus keeps no successor after a reset: set bonus.looks to successor or "
            "state",
        )
        require(
            not (self.explorer.recomputes and self.normalise_observations),
            "an explorer that recomputes its bonus needs observations as they are: turn normalise_observations off",
        )
        require(
            self.env is None or not self.env_options,
            f"{self.task} is an environment object: give it its options where you make it, not as env_options",
        )

    def algorithm(self) -> Algorithm:
        """The compiled loop's view of this configuration."""
        alphas = (self.decoupling.alpha_explorer, self.decoupling.alpha_exploiter)
        return Algorithm(
            self.make_env(),
            self.explorer,
            self.bonus,
            self.exploiter,
            self.decoupling,
            self.num_envs,
            self.explorer_reward,
            self.normalise_observations,
            self.normalise_rewards,
            (alphas[0] != 0, alphas[1] != 0),
            self.decoupling.mixture != 0,
        )

    def with_value(self, path: str, value: Any) -> "Config":
        """A copy with one setting changed, named as on the command line: `bonus.scale`, `explorer.learning_rate`."""
        try:
            return _replace(self, path.replace("-", "_").split("."), value, path)
        except UnknownNameError:
            raise UnknownNameError("setting", path, setting_paths(self)) from None


def _replace(obj: Any, names: Sequence[str], value: Any, path: str) -> Any:
    if isinstance(obj, Mapping):
        # Options of a task: any name, which the task itself will check. Whole numbers may come as text or floats.
        return {**obj, names[0]: int(value) if isinstance(value, float) and value.is_integer() else value}
    fields = {f.name: f for f in dataclasses.fields(obj)} if dataclasses.is_dataclass(obj) else {}
    if names[0] not in fields:
        raise UnknownNameError("setting", path, ())
    old = getattr(obj, names[0])
    if len(names) > 1:
        value = _replace(old, names[1:], value, path)
    elif isinstance(old, float) and not isinstance(value, float):
        value = _number(value, path)
    elif (type(old) is int or old is None) and isinstance(value, float) and value.is_integer():
        value = int(value)
    _check_type(old, value, path)
    return dataclasses.replace(obj, **{names[0]: value})  # pyright: ignore[reportArgumentType]


def _check_type(old: Any, value: Any, path: str) -> None:
    """Raise if a value cannot stand where another stood."""
    if isinstance(old, bool):
        require(isinstance(value, bool), f"{path} takes true or false, not {value!r}")
    elif type(old) is int:
        require(type(value) is int, f"{path} takes a whole number, not {value!r}")
    elif isinstance(old, str):
        require(isinstance(value, str), f"{path} takes text, not {value!r}")
    elif isinstance(old, tuple):
        sizes = isinstance(value, tuple) and all(type(size) is int for size in value)
        require(sizes, f"{path} takes whole numbers in a list, not {value!r}")
    elif isinstance(old, Mapping):
        require(isinstance(value, Mapping), f"{path} is a group of settings; name one of them")
    elif dataclasses.is_dataclass(old):
        require(dataclasses.is_dataclass(value), f"{path} is a group of settings; name one of them")


def _check_finite(part: Any) -> None:
    """Raise if a number of a part is none, or has no end: every such run would fail, or learn nothing, in silence."""
    for field in dataclasses.fields(part):
        value = getattr(part, field.name)
        if isinstance(value, float):
            require(math.isfinite(value), f"{type(part).__name__}: {field.name} must be a finite number, not {value}")


def _number(value: Any, path: str) -> float:
    try:
        # True would be 1.
        require(not isinstance(value, bool), f"{path} takes a number, not {value!r}")
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise DerlError(f"{path} takes a number, not {value!r}") from None


def setting_paths(obj: Any, prefix: str = "") -> list[str]:
    """Every setting below a configuration, as dotted paths."""
    paths: list[str] = []
    for field in dataclasses.fields(obj):
        value = getattr(obj, field.name)
        nested = dataclasses.is_dataclass(value) and not isinstance(value, type)
        paths += setting_paths(value, f"{prefix}{field.name}.") if nested else [f"{prefix}{field.name}"]
    return paths


@dataclasses.dataclass(frozen=True)
class Run:
    """One member of a population: its seed and what is varied in it."""

    seed: int
    values: Mapping[str, float]
    config: Config


def expand(config: Config, seeds: Sequence[int], vary: Mapping[str, Sequence[float]] | None = None) -> list[Run]:
    """Every combination of the varied numbers, with every seed."""
    vary = vary or {}
    check_seeds(seeds)
    for path, values in vary.items():
        require(len(values) > 0, f"vary: no values for {path}")
        old, traced = _value_at(config, path)
        require(
            isinstance(old, float) and traced,
            f"vary: {path} is not a number that runs of one population can differ in (it shapes the program); "
            "start a separate run for each value",
        )
    runs = []
    for combination in itertools.product(*vary.values()):
        varied = config
        for path, value in zip(vary, combination, strict=True):
            varied = varied.with_value(path, float(value))
        varied.check()
        values = dict(zip(vary, map(float, combination), strict=True))
        runs += [Run(seed, values, varied) for seed in seeds]
    return runs


def _value_at(obj: Any, path: str) -> tuple[Any, bool]:
    """A setting's value, and whether programs take it as an input (rather than being shaped by it)."""
    value, traced = obj, True
    for name in path.replace("-", "_").split("."):
        if not hasattr(value, name):
            raise UnknownNameError("setting", path, setting_paths(obj))
        fields = getattr(type(value), "__dataclass_fields__", {})
        traced = traced and not (name in fields and fields[name].metadata.get("static", False))
        value = getattr(value, name)
    return value, traced


KINDS: dict[str, Mapping[str, type]] = {"explorer": AGENTS, "exploiter": AGENTS, "bonus": BONUSES}
"""Where the class of each part of a configuration is looked up by name."""


def to_json(config: Config) -> str:
    """A configuration as text; `from_json` reads it back. Raises for parts that are not registered by name."""
    data: dict[str, Any] = {}
    for field in dataclasses.fields(config):
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
        return Config(**values)
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
