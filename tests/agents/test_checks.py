"""Hyper-parameters that make no sense are refused by name."""

import dataclasses

import pytest

from derl.agents import A2C, AGENTS, DQN, PPO, OptimisticDQN, make_agent
from derl.core.errors import DerlError, UnknownNameError

EVERY = [
    ("gamma", -0.1),
    ("gamma", 1.1),
    ("gamma", float("nan")),
    ("learning_rate", -1e-3),
    ("adam_epsilon", 0.0),
    ("max_grad_norm", 0.0),
    ("hidden", (64, 0)),
    ("updates_per_rollout", 0),
]
ACTOR_CRITIC = [
    ("n_steps", 0),
    ("entropy_coef", -1.0),
    ("value_coef", -1.0),
    ("gae_lambda", -0.1),
    ("gae_lambda", 1.1),
    ("correction", "retrase"),
]
OWN = {
    A2C: ACTOR_CRITIC,
    PPO: [*ACTOR_CRITIC, ("epochs", 0), ("minibatches", 0), ("clip", 0.0)],
    DQN: [
        ("n_steps", 0),
        ("batch_size", 0),
        ("capacity", 10),
        ("target_rate", 0.0),
        ("target_rate", 1.1),
        ("epsilon_start", -0.1),
        ("epsilon_start", 1.1),
        ("epsilon_end", -0.1),
        ("epsilon_end", 1.1),
        ("epsilon_steps", 0.0),
        ("temperature", 0.0),
        ("collect_steps", -1),
    ],
}
CASES = [(kind, name, value) for kind, own in OWN.items() for name, value in EVERY + own]


@pytest.mark.parametrize(("kind", "name", "value"), CASES, ids=lambda x: getattr(x, "__name__", str(x)))
def test_a_bad_value_is_refused_by_name(kind, name, value):
    with pytest.raises(DerlError, match=name):
        dataclasses.replace(kind(), **{name: value}).check()


@pytest.mark.parametrize("kind", OWN)
def test_good_values_pass(kind):
    kind().check()
    dataclasses.replace(kind(), gamma=0.0, learning_rate=0.0, hidden=()).check()
    dataclasses.replace(kind(), gamma=1.0).check()


def test_a_refusal_names_the_agent_that_was_asked_for():
    """Not the class that its settings were inherited from."""
    with pytest.raises(DerlError, match=r"^OptimisticDQN: n_steps must be at least 1, not 0$"):
        OptimisticDQN(n_steps=0).check()


def test_agents_by_name():
    assert [type(make_agent(name)) for name in ("a2c", "PPO", "Dqn")] == [A2C, PPO, DQN]
    assert set(AGENTS) == {"a2c", "ppo", "dqn", "optimistic-dqn", "episodic-a2c", "bootstrapped-dqn"}
    with pytest.raises(UnknownNameError, match="unknown agent 'a3c'; known: a2c"):
        make_agent("a3c")
