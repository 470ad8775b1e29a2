"""The whole description of an experiment as data, checked before anything is done with it."""

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal

import equinox as eqx
import jax

from derl.agents import AnyAgent
from derl.bonuses.base import AnyBonus
from derl.core.checks import check_choices, naming, require_at_least
from derl.core.errors import DerlError, require
from derl.envs import make
from derl.envs.base import AnyEnvironment
from derl.training.algorithm import Algorithm, Decoupling
from derl.training.idle import check_idle
from derl.training.settings import NO_SETTING, check_finite, replaced, settings_of
from derl.training.state import blank_run

MOST_EVALUATIONS = 1_000_000
"""More are a slip of the finger; their times alone would fill the memory."""
MOST_EPISODES = 1_000_000
"""Of one evaluation: all are played at once."""
MOST_STEPS = 1_000_000_000
"""Of one iteration: no machine has room for more, and programs count no further than twice as many."""
MOST_ROLLOUTS = 1_000
"""That an exploiter learns from at once: each is a part of the program."""


NORMALISED = "by other statistics than today's; turn normalise_observations off (--no-normalise-observations)"
"""Why what is remembered cannot be normalised observations, and what to do."""


def require_episodes(episodes: int, name: str) -> None:
    """Raise unless an evaluation can be of so many episodes."""
    require(1 <= episodes <= MOST_EPISODES, f"{name} must be from 1 to {MOST_EPISODES:,}, not {episodes}")


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
    evaluation_statistics: Literal["training", "own"] = "training"
    """Which statistics normalise observations in evaluations: training's, or those of all evaluations so far, as in the
    paper's code."""

    def check(self) -> None:
        """Raise a `DerlError` if a setting makes no sense."""
        check_choices(self)
        for name in ("episodes", "steps", "evaluate_every", "evaluation_episodes"):
            value = getattr(self, name)
            if value is not None:
                require(type(value) is int, f"Protocol: {name} takes a whole number, not {value!r}")
                require_at_least(self, 1, name)
        require_episodes(self.evaluation_episodes, "Protocol: evaluation_episodes")

    def idle(self) -> dict[str, str]:
        """Settings that cannot change anything, each with the rest of "it changes nothing ..."."""
        return {} if self.steps is None else {"episodes": "where the budget is in steps (change protocol.steps)"}

    def budget(self, env: AnyEnvironment) -> tuple[int, int]:
        """Training steps, and steps between evaluations."""
        evaluations = (self.episodes if self.steps is None else self.steps) // self.evaluate_every
        require(
            evaluations <= MOST_EVALUATIONS,
            f"Protocol: more than {MOST_EVALUATIONS:,} evaluations: raise evaluate_every, or train for less",
        )
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
    bonus_observations: Literal["raw", "normalised"] = "raw"
    """What the bonus sees: the environment's observations, or what agents see, as in the paper's code."""
    normalise_rewards: bool = False
    """Whether extrinsic rewards are divided by the running deviation of their discounted sums."""
    env: AnyEnvironment | None = None
    """An environment object, in place of one made from `task` and `env_options`."""
    origin: Mapping[str, Any] = dataclasses.field(default_factory=dict, compare=False, repr=False, metadata=NO_SETTING)
    """Parts and settings as they came, before anybody changed one: a recipe's values are nobody's choice, even where
    one does nothing."""

    def make_env(self) -> AnyEnvironment:
        """The environment."""
        return make(self.task, **self.env_options) if self.env is None else self.env

    def check(self, shapes: bool = True, idle: bool = True) -> "Config":
        """Raise a `DerlError` if anything makes no sense; else give the configuration itself.

        Without `shapes` it takes a millisecond, but does not ask the parts whether they fit each other. Without `idle`
        settings may do nothing: for one of several runs, in some of which they may (see `check_idle`).
        """
        with naming("", self):
            require_at_least(self, 1, "num_envs")
        check_choices(self)
        for place in ("explorer", "bonus", "exploiter", "decoupling", "protocol"):
            part = getattr(self, place)
            if part is not None:
                with naming(place, part):
                    part.check()
                    check_finite(part)
        with naming("decoupling", self.decoupling):
            self._check_together()
        if idle:
            check_idle([self])
        env = self.make_env()
        with naming("protocol", self.protocol):
            self.protocol.budget(env)
        self._check_size(self.algorithm())
        if shapes:
            # What only the parts themselves can tell (a bonus that needs discrete observations, a memory too small).
            eqx.filter_eval_shape(lambda k: blank_run(self.algorithm(), k), jax.random.key(0))
        return self

    def _check_size(self, algorithm: Algorithm) -> None:
        """Raise if rollouts are of a size that nobody means: to ask for their shapes would take for ever, or fail."""
        steps, window = algorithm.steps_per_iteration, algorithm.window
        fewer = "set num_envs or the length of rollouts (explorer.n_steps) lower"
        require(steps <= MOST_STEPS, f"rollouts of {steps:,} steps, and at most {MOST_STEPS:,} can be: {fewer}")
        fewer = "set decoupling.period lower"
        require(
            window <= MOST_ROLLOUTS, f"{window:,} rollouts to learn from, and at most {MOST_ROLLOUTS:,} can be: {fewer}"
        )

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
        require(
            not alone or decoupling.period == 1, "Decoupling: period is how often an exploiter learns; there is none"
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
            "turn it off (--decoupling.no-stale-segments)",
        )
        require(
            not self.explorer.recomputes or self.bonus.recomputable,
            f"{type(self.bonus).__name__} cannot be recomputed for remembered steps: use count, hash-count or rnd, or "
            "switch explorer.recompute_bonus off (--explorer.no-recompute-bonus)",
        )
        require(
            not (self.explorer.recomputes and self.bonus.needs_resets),
            "an explorer that recomputes its bonus keeps no successor after a reset: set bonus.looks to successor or "
            "state",
        )
        require(
            not (self.explorer.recomputes and self.normalise_observations),
            "an explorer that recomputes its bonus needs observations as they are: turn normalise_observations off",
        )
        for seat, agent in (("explorer", self.explorer), ("exploiter", self.exploiter)):
            if agent is not None:
                self._check_agent(seat, agent)
        require(
            not (decoupling.replay_segments and self.normalise_observations),
            f"Decoupling: replay_segments keeps observations as they were normalised when they were seen: {NORMALISED}",
        )
        require(
            self.env is None or not self.env_options,
            f"{self.task} is an environment object: give it its options where you make it, not as env_options",
        )

    def _check_agent(self, seat: str, agent: AnyAgent) -> None:
        """Raise if an agent makes no sense in its seat, with data as they come here."""
        require(
            not (agent.remembered_steps and self.normalise_observations),
            f"the memory of {seat} {type(agent).__name__} keeps observations as they were normalised when they were "
            f"seen: {NORMALISED}",
        )
        if agent.updates_per_step:
            steps = self.algorithm().steps_per_iteration * (self.decoupling.period if seat == "exploiter" else 1)
            seldom = "longer rollouts, or decoupling.period" if seat == "exploiter" else "longer rollouts"
            require(
                round(agent.updates_per_step * steps) >= 1,
                f"{seat}.updates_per_step {agent.updates_per_step:g} is no whole update for {steps} steps, and one "
                f"at least is made whenever it learns: to learn more seldom use {seldom}",
            )

    def algorithm(self) -> Algorithm:
        """The compiled loop's view of this configuration."""
        return Algorithm(
            env=self.make_env(),
            explorer=self.explorer,
            bonus=self.bonus,
            exploiter=self.exploiter,
            decoupling=self.decoupling,
            num_envs=self.num_envs,
            explorer_reward=self.explorer_reward,
            normalise_observations=self.normalise_observations,
            normalise_rewards=self.normalise_rewards,
            explorer_constrained=self.decoupling.alpha_explorer != 0,
            exploiter_constrained=self.decoupling.alpha_exploiter != 0,
            mixes=self.decoupling.mixture != 0,
            own_statistics=self.normalise_observations and self.protocol.evaluation_statistics == "own",
            normalised_bonus=self.normalise_observations and self.bonus_observations == "normalised",
        )

    def as_origin(self) -> "Config":
        """Itself as what later changes start from."""
        return dataclasses.replace(self, origin={f.name: getattr(self, f.name) for f in settings_of(self)})

    def in_proportion(self) -> "Config":
        """With as many evaluations as a recipe's budget in steps has, if nothing of that but the steps was changed."""
        before, now = self.origin.get("protocol"), self.protocol
        if not isinstance(before, Protocol) or before.steps is None or type(now.steps) is not int:
            return self
        if now.steps == before.steps or now.evaluate_every != before.evaluate_every:
            return self
        every = max(1, now.steps * before.evaluate_every // before.steps)
        return dataclasses.replace(self, protocol=dataclasses.replace(now, evaluate_every=every))

    def with_value(self, path: str, value: Any) -> "Config":
        """A copy with one setting changed, named as on the command line: `bonus.scale`, `explorer.learning_rate`."""
        return replaced(self, path, value)
