"""One named recipe for each row of the paper's Table 1, for both families of tasks.

Numbers are those of the paper's appendix A. Where the configuration behind the published numbers differs from the
paper's text, the recipe follows the configuration, and a comment says so: a recipe exists to reproduce its row.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import equinox as eqx

from derl.agents import A2C, AGENTS, DQN, PPO, Agent, AnyAgent, OptimisticDQN, make_agent
from derl.bonuses import ICM, RIDE, RND, Count, HashCount, NoBonus, make_bonus
from derl.bonuses.base import AnyBonus, Bonus
from derl.core.errors import UnknownNameError, require
from derl.envs import Hallway, make
from derl.envs.base import AnyEnvironment
from derl.training.algorithm import Decoupling
from derl.training.config import Config, Protocol
from derl.training.idle import role_of, without_idle
from derl.training.own import AGENTS as OWN_AGENTS
from derl.training.own import BONUSES as OWN_BONUSES
from derl.training.own import OWN, own_recipe


def a2c(hallway: bool) -> A2C:
    """The A2C baseline, which is also the explorer of every decoupled recipe."""
    if hallway:
        return A2C(learning_rate=3e-4, activation="tanh", entropy_coef=1e-4)
    return A2C(learning_rate=1e-3, activation="relu", entropy_coef=1e-4)


def ppo(hallway: bool) -> PPO:
    """The PPO baseline."""
    if hallway:
        return PPO(learning_rate=3e-4, activation="relu", entropy_coef=7e-4)
    return PPO(learning_rate=1e-3, activation="tanh", entropy_coef=1e-4)


def dea2c(hallway: bool) -> A2C:
    """DeA2C's exploiter. What the paper's table calls Retrace(lambda) in Hallway clips the importance weights at 1."""
    if hallway:
        return A2C(learning_rate=3e-4, activation="tanh", entropy_coef=1e-5, correction="clipped")
    return A2C(learning_rate=1e-3, activation="relu", entropy_coef=1e-6, correction="importance")


def deppo(hallway: bool) -> PPO:
    """DePPO's exploiter; its 10 steps are the explorer's last two rollouts."""
    if hallway:
        return PPO(learning_rate=3e-4, activation="relu", entropy_coef=1e-6)
    return PPO(learning_rate=1e-3, activation="relu", entropy_coef=1e-4)


def dedqn(hallway: bool) -> DQN:
    """DeDQN's exploiter. The published numbers were made with targets frozen at insertion."""
    if hallway:
        return DQN(learning_rate=1e-4, target_rate=0.001, batch_size=512, activation="relu", frozen_targets=True)
    return DQN(learning_rate=1e-3, target_rate=0.01, batch_size=256, activation="tanh", frozen_targets=True)


# The published numbers come from environments that reset themselves: where an episode ends, every bonus that looks at
# the next state saw the next episode's first one. Count also divided by its increment (which is 1 here), Hash-Count
# counted the parallel environments at once, and RIDE counted the state acted in.
COUNT = Count(divide_by_increment=True)
HASH_COUNT = HashCount(key_bits=16, simultaneous=True)


def icm(learning_rate: float, forward: float, inverse: float) -> ICM:
    """ICM with one row of the tables of hyper-parameters."""
    return ICM(
        learning_rate=learning_rate, forward_coef=forward, inverse_coef=inverse, successor="successor_after_reset"
    )


def ride(learning_rate: float, forward: float, inverse: float) -> RIDE:
    """RIDE with one row of the tables of hyper-parameters."""
    return RIDE(
        learning_rate=learning_rate,
        forward_coef=forward,
        inverse_coef=inverse,
        successor="successor_after_reset",
        counts="state",
    )


def rnd(learning_rate: float) -> RND:
    """RND with one row of the table of hyper-parameters."""
    return RND(learning_rate=learning_rate, looks="successor_after_reset")


BONUS_OF: dict[tuple[str, str], tuple[AnyBonus, AnyBonus]] = {
    ("a2c", "icm"): (icm(1e-5, 5.0, 1.0), icm(1e-6, 5.0, 0.5)),
    ("a2c", "rnd"): (rnd(1e-7), rnd(1e-5)),
    ("a2c", "ride"): (ride(1e-5, 0.5, 10.0), ride(1e-5, 10.0, 0.5)),
    ("ppo", "icm"): (icm(1e-5, 5.0, 1.0), icm(1e-5, 0.5, 10.0)),
    ("ppo", "rnd"): (rnd(1e-7), rnd(5e-7)),
    ("ppo", "ride"): (ride(5e-6, 10.0, 1.0), ride(1e-7, 1.0, 1.0)),
    # The paper's table for decoupled ICM repeats the baselines' columns; these are the values that were run.
    ("dea2c", "icm"): (icm(1e-5, 10.0, 1.0), icm(1e-6, 5.0, 1.0)),
    ("deppo", "icm"): (icm(5e-6, 5.0, 5.0), icm(5e-6, 10.0, 0.5)),
    ("dedqn", "icm"): (icm(1e-5, 10.0, 1.0), icm(5e-7, 10.0, 5.0)),
}
"""The bonuses whose settings depend on the algorithm and the family: (DeepSea, Hallway)."""


def bonus_of(algorithm: str, bonus: str, hallway: bool) -> AnyBonus:
    """The bonus of a recipe."""
    plain: dict[str, AnyBonus] = {"none": NoBonus(), "count": COUNT, "hash-count": HASH_COUNT}
    if (algorithm, bonus) in BONUS_OF:
        return BONUS_OF[algorithm, bonus][hallway]
    return plain[bonus] if bonus in plain else make_bonus(bonus)


def with_bonus(config: Config, bonus: str, hallway: bool) -> Config:
    """A configuration with the bonus of another recipe: of the library's own, if its present one is measured so."""
    optimistic = isinstance(config.explorer, OptimisticDQN)
    if bonus in OWN_BONUSES and (optimistic or config.bonus.normalise == "recent"):
        made, optimism = OWN_BONUSES[bonus]
        explorer = replace(config.explorer, optimism=optimism) if optimistic else config.explorer
        return replace(config, bonus=made, explorer=explorer)
    # Whatever the explorer weighs its bonus against (what is untried, say), the new one is to be as large.
    made = replace(bonus_of("a2c", bonus, hallway), normalise=config.bonus.normalise)
    if config.explorer.recomputes and made.needs_resets and isinstance(made, Count | HashCount | RND):
        # The paper's choice needs what follows a reset, which a memory of steps does not have.
        made = replace(made, looks="state")
    return replace(config, bonus=made)


def agent_of(kind: str, hallway: bool, exploits: bool = False) -> AnyAgent:
    """An agent as the recipes that have it have it; of other kinds, with the defaults of its class."""
    known = EXPLOITERS.get(f"de{kind}") if exploits else BASELINES.get(kind)
    if known is not None:
        return known(hallway)
    if exploits and kind.lower() not in AGENTS:
        raise UnknownNameError("exploiter", kind, (*AGENTS, "none"))
    return OWN_AGENTS[kind] if kind in OWN_AGENTS else make_agent(kind)


EXPLOITERS: dict[str, Callable[[bool], AnyAgent]] = {"dea2c": dea2c, "deppo": deppo, "dedqn": dedqn}
BASELINES: dict[str, Callable[[bool], AnyAgent]] = {"a2c": a2c, "ppo": ppo}
BASELINE_BONUSES = ("none", "count", "hash-count", "icm", "rnd", "ride")

TABLE_1 = (
    *[name if bonus == "none" else f"{name}-{bonus}" for name in BASELINES for bonus in BASELINE_BONUSES],
    *[f"{name}-{bonus}" for name in EXPLOITERS for bonus in ("count", "icm")],
)
"""The 18 rows of Table 1, in its order."""
DESCRIPTIONS = {"dea2c-count-kl": "DeA2C Count with the KL constraints of section 7", **OWN}
"""What the recipes beyond Table 1 are."""
RECIPES = (*TABLE_1, *DESCRIPTIONS)
"""Every recipe."""
CUSTOM = "custom"
"""What a configuration is called that has parts of other kinds than the recipe it was made from."""


def with_parts(
    config: Config,
    explorer: AnyAgent | str | None = None,
    exploiter: AnyAgent | str | None = None,
    bonus: AnyBonus | str | None = None,
) -> Config:
    """A configuration with other parts: objects, or the names of kinds, which come with their recipes' settings.

    None leaves a part as it is, and so does the name of the kind it has; the exploiter "none" leaves it out.
    """
    for seat, part in {"explorer": explorer, "exploiter": exploiter, "bonus": bonus}.items():
        _check_part(seat, part)
    before, hallway = config, isinstance(config.make_env(), Hallway)
    given = {seat: agent for seat, agent in (("explorer", explorer), ("exploiter", exploiter)) if agent is not None}
    config = replace(config, **{seat: _agent_for(config, seat, agent, hallway) for seat, agent in given.items()})
    if type(config.explorer) is not type(before.explorer):
        # Only a policy that samples can be asked after its update: a greedy one may give what it did no chance at all.
        config = replace(config, decoupling=replace(config.decoupling, denominator="collected"))
    if _kinds(config) != _kinds(before):
        # The paper's order of steps is that of its own DePPO alone.
        decoupling = Decoupling() if config.exploiter is None else replace(config.decoupling, stale_segments=False)
        config = replace(config, decoupling=decoupling)
    if isinstance(bonus, str) and type(make_bonus(bonus)) is type(config.bonus):
        bonus = None
    elif bonus is not None:
        # Not every bonus can make do with vectors.
        sees = config.bonus_observations if type(bonus) is type(config.bonus) else "raw"
        config = replace(config, bonus_observations=sees)
        config = with_bonus(config, bonus, hallway) if isinstance(bonus, str) else replace(config, bonus=bonus)
    named = [s for s, part in given.items() if isinstance(part, str) and getattr(config, s) is not getattr(before, s)]
    config = as_in_seats(config, named)
    parts = {seat: getattr(config, seat) for seat in named}
    if isinstance(bonus, str):
        # A bonus may bring the optimism that goes with it.
        parts |= {"bonus": config.bonus} | ({} if config.explorer == before.explorer else {"explorer": config.explorer})
    config = replace(config, origin={**config.origin, **parts})
    # It is not that recipe any more if a part is of another kind.
    return config if _kinds(before) == _kinds(config) else replace(config, recipe=CUSTOM)


def _check_part(seat: str, part: Any) -> None:
    """Raise if what was given for a part is neither a name nor an object of its sort."""
    sort, example = (Bonus, "Count") if seat == "bonus" else (Agent, "A2C")
    hint = f"the class {part.__name__}: write {part.__name__}(...)" if isinstance(part, type) else repr(part)
    words = f"{seat} is a name such as {example.lower()!r} or an object such as {example}(), not {hint}"
    require(part is None or isinstance(part, str | sort), words)


def _agent_for(config: Config, seat: str, agent: AnyAgent | str, hallway: bool) -> AnyAgent | None:
    """What was asked for in a seat: the present agent, if that is of the kind that was named."""
    if not isinstance(agent, str):
        return agent
    if seat == "exploiter" and agent == "none":
        return None
    made, present = agent_of(agent, hallway, exploits=seat == "exploiter"), getattr(config, seat)
    return present if type(made) is type(present) else made


def as_in_seats(config: Config, seats: Iterable[str]) -> Config:
    """A configuration whose agents in these seats are without settings that mean something in the other seat alone."""
    for seat in seats:
        agent = getattr(config, seat)
        if agent is not None:
            config = replace(config, **{seat: without_idle(agent, role_of(config, seat))})
    return config


def _kinds(config: Config) -> tuple[type, ...]:
    return type(config.explorer), type(config.exploiter), type(config.bonus)


def normalised(config: Config) -> Config:
    """PPO in Hallway. The paper's table says that nothing is normalised; its numbers appear with what its code does:
    both observations and rewards, with the bonus seeing what the agent sees, and statistics of their own in
    evaluations. That makes keys of counts drift, so that nothing is ever found again. Count counts states here, with
    which its numbers of Table 1 agree all the same (not those of a lambda of 2 and more); RIDE's appear only where
    nothing is counted (its page in docs/bonuses).
    """
    bonus = replace(config.bonus, counts="none") if isinstance(config.bonus, RIDE) else config.bonus
    sees = "raw" if isinstance(bonus, NoBonus | Count) else "normalised"
    protocol = replace(config.protocol, evaluation_statistics="own")
    config = replace(config, normalise_observations=True, normalise_rewards=True, protocol=protocol)
    return replace(config, bonus=bonus, bonus_observations=sees)


def recipe(name: str, task: str | AnyEnvironment, **env_options) -> Config:
    """The named recipe for a task. Tasks other than Hallways, also your own, have DeepSea's settings."""
    require(isinstance(name, str), f"a recipe is a name such as 'dea2c-count', not {name!r}")
    key = name.lower()
    if key not in RECIPES:
        raise UnknownNameError("recipe", name, RECIPES)
    if isinstance(task, str):
        env = make(task, **env_options)
        # However the task was written: deepsea-10 is DeepSea-10.
        config = _recipe(key, env.name, isinstance(env, Hallway), env_options)
    else:
        require(not env_options, f"{task.name} is already made: give it its options where you make it")
        env, config = task, replace(_recipe(key, task.name, isinstance(task, Hallway), {}), env=task)
    return replace(config, protocol=_countable(config.protocol, env)).as_origin()


def _countable(protocol: Protocol, env: AnyEnvironment) -> Protocol:
    """The same budget in steps where episodes differ in length: as if all were as long as the longest."""
    if env.episode_length is not None:
        return protocol
    # It may be a number of NumPy's.
    length = int(env.max_episode_steps)
    return replace(protocol, steps=protocol.episodes * length, evaluate_every=protocol.evaluate_every * length)


def _recipe(key: str, task: str, hallway: bool, env_options: Mapping[str, Any]) -> Config:
    if key in OWN:
        return own_recipe(key, task, **env_options)
    algorithm, _, bonus = key.removesuffix("-kl").partition("-")
    config = Config(task, a2c(hallway), bonus_of(algorithm, bonus or "none", hallway), recipe=key)
    config = replace(config, env_options=env_options)
    if algorithm in BASELINES:
        # Evaluations are greedy, as the paper says. Its code samples, but its numbers appear with greedy ones alone
        # (the pages of A2C and PPO in docs/algorithms show them).
        config = replace(config, explorer=BASELINES[algorithm](hallway))
        return normalised(config) if algorithm == "ppo" and hallway else config
    # DeA2C's weights divided by the explorer's policy after its update; DePPO's ratio by the one that acted. DePPO's
    # published numbers appear only with the mistake that every other time puts older steps after newer ones (its page
    # in docs/algorithms shows them).
    denominator = "updated" if algorithm == "dea2c" else "collected"
    decoupling = Decoupling(denominator=denominator, stale_segments=algorithm == "deppo")
    if key.endswith("-kl"):
        alphas = (0.01, 1e-4) if hallway else (0.1, 0.1)
        decoupling = eqx.tree_at(lambda d: (d.alpha_explorer, d.alpha_exploiter), decoupling, alphas)
    return replace(config, exploiter=EXPLOITERS[algorithm](hallway), decoupling=decoupling)
