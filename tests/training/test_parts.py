"""What parts of a user's own may not give back: it would be broadcast in silence, or fail deep inside JAX."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from derl.agents import A2C
from derl.bonuses import Count
from derl.core.errors import DerlError
from derl.envs import DeepSea
from derl.training.loop import metric_names
from derl.training.population import means
from derl.training.recipes import recipe

STEPS, ENVS = 5, 4
CONFIG = recipe("dea2c-count", "DeepSea-4")
KEEPS = "a loop needs the same every time"


class OddBonus(Count):
    """Gives rewards of any shape, or another state."""

    shape: tuple[int, ...] = eqx.field(default=(), static=True)
    after: float | None = eqx.field(default=None, static=True)

    def step(self, state, rollout):
        state, rewards = super().step(state, rollout)
        state = state if self.after is None else jax.tree.map(lambda x: x + self.after, state)
        return state, jnp.ones(self.shape) if self.after is None else rewards


class OddAgent(A2C):
    """Does one of its duties wrongly."""

    odd: str = eqx.field(default="", static=True)

    def logits(self, state, obs, clock):
        logits = super().logits(state, obs, clock)
        return logits[0] if self.odd == "logits" else logits

    def greedy(self, state, obs):
        actions = super().greedy(state, obs)
        return actions[None] if self.odd == "greedy" else actions

    def observe(self, state, clock, experience):
        return (state, clock) if self.odd == "observe" else state

    def learn(self, state, key, spec, clock, experience):
        state, metrics = super().learn(state, key, spec, clock, experience)
        if self.odd == "learn":
            state = eqx.tree_at(
                lambda s: s.network, state, jax.tree.map(lambda x: x.astype(jnp.float16), state.network)
            )
        return state, metrics | ({"rows": jnp.zeros(3)} if self.odd == "metrics" else {})


class OddSea(DeepSea):
    """A task that does not give what its space promises, or whose state changes its form."""

    odd: str = eqx.field(static=True)

    def __init__(self, odd: str):
        super().__init__(4)
        self.odd = odd

    def reset(self, key):
        state, obs = super().reset(key)
        return state, obs[None] if self.odd == "reset" else obs

    def step(self, key, state, action):
        following, answer = super().step(key, state, action)
        if self.odd == "reward":
            answer = answer._replace(reward=answer.reward[None])
        if self.odd == "state":
            following = following._replace(row=following.row.astype(jnp.float32))
        return following, answer


@pytest.mark.parametrize("shape", [(ENVS,), (1, 1), (), (STEPS, 1)])
def test_a_bonus_rewards_each_step_of_each_environment(shape):
    config = dataclasses.replace(CONFIG, bonus=OddBonus(shape=shape))
    with pytest.raises(DerlError) as told:
        metric_names(config.algorithm())
    wanted = f"OddBonus.step gives rewards of shape {shape}, not (5, 4): one for each step and environment"
    assert str(told.value) == wanted
    assert metric_names(dataclasses.replace(CONFIG, bonus=OddBonus(shape=(STEPS, ENVS))).algorithm())


@pytest.mark.parametrize(
    ("odd", "words"),
    [
        ("logits", r"OddAgent.logits gives numbers of shape \(2,\), not \(4, 2\): one for each observation and action"),
        ("greedy", r"OddAgent.greedy gives actions of shape \(1, 4\), not \(4,\)"),
        ("observe", "OddAgent.observe gives a state of another structure"),
        ("learn", rf"OddAgent.learn gives float16\[16,64\] as state.network.actor.weights\[0\], .*{KEEPS}"),
        ("metrics", r"OddAgent.learn gives a metric 'rows' of shape \(3,\), not \(\): each is one number"),
    ],
)
@pytest.mark.parametrize("seat", ["explorer", "exploiter"])
def test_an_agent_gives_what_is_asked_for(seat, odd, words):
    config = dataclasses.replace(CONFIG, **{seat: dataclasses.replace(OddAgent(), odd=odd)})
    if (seat, odd) == ("exploiter", "logits"):
        # Nobody asks for an exploiter's in training, unless the other policy is to stay near it.
        config = config.with_value("decoupling.alpha_explorer", 0.1)
        words = r"OddAgent.settled_log_probs gives numbers of shape \(4, 2\), not \(5, 4, 2\)"
    with pytest.raises(DerlError, match=words):
        metric_names(config.algorithm())


def test_a_state_keeps_its_form():
    words = rf"^OddBonus.step gives float32\[17\] as state.visits, where int32\[17\] was: {KEEPS}"
    with pytest.raises(DerlError, match=words):
        metric_names(dataclasses.replace(CONFIG, bonus=OddBonus(after=0.5)).algorithm())


@pytest.mark.parametrize(
    ("odd", "words"),
    [
        ("reset", r"^OddSea: the observation of reset is int32\[1\], and its spec says Discrete\(size=16\)"),
        ("reward", r"^OddSea: reward in what step returns must be one number, not float32\[1\]"),
        ("state", r"^OddSea: state.row is int32\[\] after reset and float32\[\] after step"),
    ],
)
def test_an_environment_gives_what_its_space_promises(odd, words):
    with pytest.raises(DerlError, match=words):
        metric_names(recipe("a2c-count", OddSea(odd)).algorithm())
    assert metric_names(recipe("a2c-count", OddSea("")).algorithm())


class Remembering(Count):
    """Rewards all remembered steps alike."""

    def current(self, state, obs, action, next_obs):
        return jnp.asarray(1.0)


def test_remembered_steps_are_rewarded_one_by_one():
    config = dataclasses.replace(recipe("derl", "DeepSea-4"), bonus=Remembering())
    with pytest.raises(DerlError, match=r"^Remembering.current gives rewards of shape \(\), not \(128,\)"):
        metric_names(config.algorithm())


class Telling(A2C):
    """Tells a metric of any name."""

    name: str = eqx.field(default="", static=True)

    def learn(self, state, key, spec, clock, experience):
        state, metrics = super().learn(state, key, spec, clock, experience)
        return state, metrics | {self.name: jnp.asarray(6.0)}


def test_an_exploiters_metrics_are_not_taken_for_the_explorers():
    """Else they would be divided by how often that one learnt."""
    config = dataclasses.replace(CONFIG, exploiter=Telling(name="explorer_gap"))
    with pytest.raises(DerlError, match="metric called 'explorer_gap' would be taken for the explorer's"):
        metric_names(config.algorithm())
    assert "explorer_gap" in metric_names(dataclasses.replace(CONFIG, explorer=Telling(name="gap")).algorithm())


def test_metrics_are_kept_whatever_their_names_end_in():
    totals = {"updated": 2.0, "explorer_updated": 4.0, "rows_updated": 6.0, "explorer_rows_updated": 8.0, "bonus": 10.0}
    assert means(totals, 5) == {"rows_updated": 3.0, "explorer_rows_updated": 2.0, "bonus": 2.0}
