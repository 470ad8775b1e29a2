"""`derl train`: train a recipe on a task. Every setting of every part is a flag."""

import dataclasses
import inspect
import itertools
import time
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from derl.agents import AnyAgent
from derl.api import DEFAULT_RECIPE, train
from derl.bonuses.base import AnyBonus
from derl.cli.display import say, showing
from derl.cli.flags import Task, check_filled, parsed
from derl.cli.returns import report
from derl.core.errors import DerlError, require
from derl.envs.base import AnyEnvironment
from derl.envs.registry import family, make
from derl.training import recipes
from derl.training.algorithm import Decoupling
from derl.training.config import Config, Protocol
from derl.training.folder import RunFolder
from derl.training.loop import ignores_lambda
from derl.training.seeds import seeds_named
from derl.training.settings import settings_of


@dataclasses.dataclass(frozen=True)
class Train:
    """Train a recipe on a task, with several seeds at once."""

    task: Task
    """The task: DeepSea-N, Hallway-Nl-Nr, or one you registered."""
    explorer: AnyAgent
    bonus: AnyBonus
    exploiter: AnyAgent | None
    decoupling: Decoupling
    protocol: Protocol
    explorer_reward: str = "both"
    """What the explorer learns from: both (r_e + lambda r_i) or intrinsic (lambda r_i alone)."""
    num_envs: int = 4
    """Parallel environments of each run."""
    normalise_observations: bool = False
    """Give agents observations with running mean and variance taken out."""
    bonus_observations: Literal["raw", "normalised"] = "raw"
    """What the bonus sees: the environment's observations, or with normalised ones what agents see."""
    normalise_rewards: bool = False
    """Divide extrinsic rewards by the running deviation of their discounted sums."""
    recipe: str = DEFAULT_RECIPE
    """Where all other settings come from; see derl list."""
    explorer_kind: str | None = None
    """Explore with another agent than the recipe's: a2c, ppo, dqn, optimistic-dqn, episodic-a2c or bootstrapped-dqn."""
    exploiter_kind: str | None = None
    """Exploit with another agent than the recipe's: one of the same, or none."""
    bonus_kind: str | None = None
    """Another bonus than the recipe's: none, count, hash-count, icm, rnd or ride."""
    config: Path | None = None
    """Repeat the run of this folder, or a variant of it: settings, seeds and what is varied come from there."""
    seeds: str = "5"
    """How many seeds (0, 1, ...), or which: 3,7,11 or 10-19 (a single one with a comma: 3,)."""
    vary: tuple[str, ...] = ()
    """Numbers to vary within the population, each as setting=value,value: bonus.scale=0.1,1,10."""
    env_option: tuple[str, ...] = ()
    """Options of the task, each as name=value: mapping_seed=7 stochastic=true."""
    out: Path | None = None
    """The run folder; by default one named after task, recipe and time, below runs/."""
    tensorboard: bool = False
    """Also write TensorBoard files, to the run folder."""
    checkpoint_seconds: float = 30.0
    """Save everything this often."""
    cores: int | None = None
    """Cores to use; by default all."""
    population_size: int | None = None
    """At most this many runs in one compiled program; by default as many as fit into a core's caches, 16 at most."""

    def to_config(self, base: Config) -> Config:
        """The experiment these flags describe, which change `base`. What does nothing depends on what is varied too."""
        names = {f.name for f in settings_of(base)} & {f.name for f in dataclasses.fields(type(self))}
        # The names of recipe and task as they are spelt, whatever the case of the letters typed.
        values = {name: getattr(self, name) for name in names - {"recipe", "task"}}
        return dataclasses.replace(base, **values).check(idle=False)


MANY = ("--env-option", "--vary")
"""Flags that take several values, and may be given several times."""


def one_spelling(args: list[str]) -> list[str]:
    """Flags as they are looked for: `--env_option=a=1 --env-option b=2` is `--env-option a=1 b=2`."""
    words: list[str] = []
    many: dict[str, list[str]] = {}
    flag = ""
    for arg in args:
        if not arg.startswith("--"):
            (many[flag] if flag in MANY and not arg.startswith("-") else words).append(arg)
            continue
        name, equals, value = arg.partition("=")
        flag = name.replace("_", "-")
        if flag not in MANY:
            words.append(f"{flag}{equals}{value}")
            continue
        many.setdefault(flag, []).extend([value] if equals else [])
    return words + [word for flag, values in many.items() for word in (flag, *values)]


def peek(args: list[str], flag: str) -> str | None:
    """The value of a flag, before the real parsing (which needs to know it). The last one counts, as there."""
    found = None
    for i, arg in enumerate(args):
        if arg == flag and i + 1 < len(args):
            found = args[i + 1]
        elif arg.startswith(flag + "="):
            found = arg.partition("=")[2]
    return found


def peek_many(args: list[str], flag: str) -> list[str]:
    """All values that follow a flag, before the real parsing."""
    rest = args[args.index(flag) + 1 :] if flag in args else []
    return list(itertools.takewhile(lambda arg: not arg.startswith("-"), rest))


def option_value(text: str) -> Any:
    """true, 7, 0.5 or text."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def pairs(texts: tuple[str, ...] | list[str], flag: str) -> dict[str, str]:
    """name=value, as a dictionary."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        require(bool(equals), f"{flag} takes name=value, not {text!r}")
        require(name not in found, f"{flag} has {name} twice: only one of them could count")
        found[name] = value
    return found


def parse_vary(texts: tuple[str, ...]) -> dict[str, list[float]]:
    """Settings and their values."""
    try:
        return {
            name.replace("-", "_"): [float(v) for v in values.split(",") if v]
            for name, values in pairs(texts, "--vary").items()
        }
    except ValueError:
        raise DerlError(f"--vary takes setting=number,number, not {' '.join(texts)!r}") from None


def base_config(args: list[str], task: str, env_options: dict[str, Any]) -> Config:
    """The recipe (or earlier run) and the kinds of parts the flags name: these decide which other flags exist."""
    folder = earlier_run(args)
    if folder is not None:
        require(peek(args, "--recipe") is None, "--config and --recipe both say what to train: leave one out")
        config = folder.open()[0]
        if task:
            # Its own options belong to its own task, and so does an environment object.
            same = config.env is None and family(make(task)) == family(config.make_env())
            options = {**(config.env_options if same else {}), **env_options}
            config = dataclasses.replace(config, task=make(task, **options).name, env_options=options, env=None)
        else:
            config = dataclasses.replace(config, env_options={**config.env_options, **env_options})
    else:
        named = peek(args, "--recipe")
        config = recipes.recipe(DEFAULT_RECIPE if named is None else named, task, **env_options)
    explorer, exploiter, bonus = (peek(args, f"--{part}-kind") for part in ("explorer", "exploiter", "bonus"))
    return recipes.with_parts(config, explorer, exploiter, bonus)


def earlier_run(args: list[str]) -> RunFolder | None:
    """The run that --config names, by its folder or the file in it."""
    source = peek(args, "--config")
    return None if source is None else RunFolder(Path(source).parent if Path(source).is_file() else source)


def flags_of(folder: RunFolder | None) -> dict[str, Any]:
    """An earlier run's seeds, varied numbers and size of populations, as flags."""
    if folder is None:
        return {}
    seeds, vary = folder.members()
    texts = tuple(f"{name}={','.join(map(repr, values))}" for name, values in vary.items())
    written = "".join(f"{seed}," for seed in seeds)
    return {"seeds": written, "vary": texts, "population_size": folder.group_size()}


def flags_for(config: Config) -> type[Train]:
    """`Train` with the flags of just these parts, whose classes may be a user's own."""
    parts: list[Any] = [(name, type(getattr(config, name))) for name in ("explorer", "bonus", "exploiter")]
    told = tyro.conf.arg(help=f"Options of the task, each as name=value. {options_of(config.make_env())}")
    options = ("env_option", Annotated[tuple[str, ...], told], dataclasses.field(default=()))
    namespace = {"__doc__": Train.__doc__}
    return dataclasses.make_dataclass("Train", [*parts, options], bases=(Train,), frozen=True, namespace=namespace)


def options_of(env: AnyEnvironment) -> str:
    """What can be chosen in a task, and what it is now."""
    names = [p.name for p in inspect.signature(type(env)).parameters.values() if p.kind == p.KEYWORD_ONLY]
    chosen = " ".join(f"{name}={str(getattr(env, name)).lower()}" for name in names if hasattr(env, name))
    return f"{family(env)} has: {chosen}." if chosen else f"{family(env)} has none."


def parse(args: list[str]) -> tuple[Train, Config]:
    """The command, and the experiment it describes."""
    args = one_spelling(args)
    asked = any(flag in args for flag in ("-h", "--help"))
    positional = args[0] if args and not args[0].startswith("-") else ""
    require(
        bool(positional) or asked or peek(args, "--config") is not None,
        "derl train needs a task first, for instance: derl train DeepSea-10 (see derl list)",
    )
    env_options = {k: option_value(v) for k, v in pairs(peek_many(args, "--env-option"), "--env-option").items()}
    config = base_config(args, positional or ("DeepSea-10" if asked and "--config" not in args else ""), env_options)
    shared = {f.name: getattr(config, f.name) for f in dataclasses.fields(Train) if hasattr(config, f.name)}
    shared = {name: value for name, value in shared.items() if name in {f.name for f in dataclasses.fields(Config)}}
    shared |= flags_of(earlier_run(args))
    command = parsed(flags_for(config), args, "derl train", default=flags_for(config)(**shared))
    check_filled(command, args)
    # It decides which flags there are, so it was looked for before they were read.
    late = not positional and command.task != config.task
    require(not late, f"the task comes first: derl train {command.task} --config ...")
    return command, command.to_config(config)


def default_folder(config: Config) -> Path:
    """A folder named after what runs in it and when."""
    return Path("runs") / f"{config.task}_{config.recipe}_{time.strftime('%Y%m%d-%H%M%S')}"


def notes(config: Config, vary: dict[str, list[float]]) -> list[str]:
    """What can be done but may not be meant."""
    found, protocol = [], config.protocol
    if ignores_lambda(config.explorer_reward, config.bonus) and (config.bonus.scale != 1 or "bonus.scale" in vary):
        found += ["bonus.scale changes nothing here: the explorer's bonus is divided by its own recent size"]
    budget, unit = (protocol.episodes, "episodes") if protocol.steps is None else (protocol.steps, "steps")
    if budget < protocol.evaluate_every:
        each = f"protocol.evaluate_every is {protocol.evaluate_every:,} {unit}, and training ends after {budget:,}"
        found += [f"there will be one evaluation, at the end: {each}"]
    return found


def main(args: list[str]) -> None:
    """Train, and report."""
    command, config = parse(args)
    vary = parse_vary(command.vary)
    for note in notes(config, vary):
        say(note)
    out = command.out or default_folder(config)
    with showing(f"{config.task} {config.recipe}", config.exploiter is not None) as show:
        result = train(
            config,
            seeds=seeds_named(command.seeds),
            vary=vary,
            out=out,
            show=show,
            cores=command.cores,
            population_size=command.population_size,
            tensorboard=command.tensorboard,
            checkpoint_seconds=command.checkpoint_seconds,
        )
    report(result)
