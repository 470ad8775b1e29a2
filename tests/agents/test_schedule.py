"""Who learns when, and from what: recorded by agents that only write down what they are given."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agents.building import KEY
from agents.training import algorithm
from derl.agents import A2C, DQN
from derl.agents.base import Agent, Constraint, Experience
from derl.core.types import Box, Spec, empty_rollout
from derl.envs.base import Environment, Step
from derl.training.algorithm import Algorithm
from derl.training.loop import iterate, learn_repeatedly
from derl.training.state import blank_run

ENVS = 2


class Numbers(Environment):
    """Every observation is a number never seen before, so that steps can be told apart."""

    @property
    def name(self):
        return "Numbers"

    @property
    def spec(self):
        return Spec(Box((1,)), 2)

    @property
    def max_episode_steps(self):
        return 8

    def reset(self, key):
        state = jax.random.uniform(key)
        return state, state[None]

    def step(self, key, state, action):
        following = jax.random.uniform(key)
        return following, Step(following[None], state, state < 0.3, jnp.asarray(False))


class Record(NamedTuple):
    """What a recorder was given last, and how often."""

    data: Experience
    observed: jax.Array
    learnt: jax.Array
    constraint: jax.Array
    """The other's policy in the constraint, on the first step."""


class Recorder(Agent[Record]):
    """Its policy depends on how often it has learnt: with logits (0, number of updates)."""

    steps: int = eqx.field(default=2, static=True)
    data_shape: tuple[int, int] = eqx.field(default=(2, ENVS), static=True)

    @property
    def rollout_length(self):
        return self.steps

    def init(self, key, spec, num_envs, rollout_length):
        steps, envs = self.data_shape
        data = Experience(empty_rollout(spec, envs, steps), jnp.zeros((steps, envs, spec.num_actions)))
        zero = jnp.asarray(0)
        return Record(data, zero, zero, jnp.zeros(2))

    def logits(self, state, obs, clock):
        return jnp.broadcast_to(jnp.stack([0.0, state.learnt.astype(jnp.float32)]), (*obs.shape[:-1], 2))

    def greedy(self, state, obs):
        return jnp.zeros(obs.shape[:-1], jnp.int32)

    def observe(self, state, clock, experience):
        return state._replace(observed=state.observed + 1)

    def learn(self, state, key, spec, clock, experience):
        behaviour = state.data.behaviour if experience.behaviour is None else experience.behaviour
        constraint = jnp.zeros(2) if experience.constraint is None else experience.constraint.log_probs[0, 0]
        data = Experience(experience.rollout, behaviour)
        state = Record(data, state.observed, state.learnt + 1, constraint)
        return state, {"learnt": state.learnt.astype(jnp.float32)}


def play(algorithm: Algorithm, iterations: int) -> list[tuple[Record, Record]]:
    """What both agents had been given after each iteration."""
    state, records = jax.jit(lambda: blank_run(algorithm, KEY))(), []
    step = jax.jit(lambda state, clock: iterate(algorithm, state, clock)[0])
    for clock in range(iterations):
        state = step(state, jnp.asarray(clock))
        records.append(jax.tree.map(np.asarray, (state.explorer, state.exploiter)))
    return records


def assert_joined(joined: Experience, parts: list[Experience]) -> None:
    """The parts one after another, in this order."""
    for name in ("obs", "action", "reward", "next_obs", "terminated", "truncated"):
        expected = np.concatenate([getattr(part.rollout, name) for part in parts])
        np.testing.assert_array_equal(getattr(joined.rollout, name), expected, err_msg=name)
    np.testing.assert_array_equal(joined.rollout.last_obs, parts[-1].rollout.last_obs)


def log_policy(updates: int) -> np.ndarray:
    """The recorder's policy after so many updates."""
    return np.asarray([0.0, updates]) - np.logaddexp(0, updates)


@pytest.mark.parametrize(
    ("explorer", "exploiter", "window", "denominator"), [(5, 10, 2, "collected"), (2, 5, 3, "updated")]
)
def test_the_exploiter_learns_from_the_newest_rollouts_in_order(explorer, exploiter, window, denominator):
    agents = (
        Recorder(steps=explorer, data_shape=(explorer, ENVS)),
        Recorder(steps=exploiter, data_shape=(explorer * window, ENVS)),
    )
    setting = algorithm(Numbers(), *agents, num_envs=ENVS, denominator=denominator)
    assert setting.window == window
    records = play(setting, 6)
    for clock, (_, exploited) in enumerate(records):
        assert exploited.learnt == max(0, clock + 2 - window), "from the first full window on"
        if clock + 1 < window:
            continue
        newest = range(clock + 1 - window, clock + 1)
        assert_joined(exploited.data, [records[i][0].data for i in newest])
        # Each rollout is compared with the policy that acted in it, or all with the explorer as it is by now.
        updates = [clock + 1 if denominator == "updated" else i for i in newest]
        expected = np.repeat([log_policy(n) for n in updates], explorer, axis=0)[:, None]
        np.testing.assert_allclose(
            exploited.data.behaviour, np.broadcast_to(expected, (explorer * window, ENVS, 2)), atol=1e-6
        )
    numbers = records[-1][1].data.rollout.obs
    assert len(np.unique(numbers)) == numbers.size, "no two steps look the same, so order was really checked"


PARTS = ("obs", "action", "reward", "next_obs", "terminated")


def group(experience: Experience, k: int) -> dict[str, np.ndarray]:
    """The k-th of several experiences that stand side by side."""
    columns, rollout = slice(k * ENVS, (k + 1) * ENVS), experience.rollout
    parts = {name: getattr(rollout, name)[:, columns] for name in PARTS}
    return parts | {"last_obs": rollout.last_obs[columns], "behaviour": experience.behaviour[:, columns]}


def one_after_another(records, clocks: range) -> dict[str, np.ndarray]:
    """The rollouts of these iterations and who acted in them, as the explorer saw them."""
    rollouts = [records[i][0].data.rollout for i in clocks]
    parts = {name: np.concatenate([getattr(rollout, name) for rollout in rollouts]) for name in PARTS}
    behaviour = np.concatenate([np.broadcast_to(log_policy(i), (*rollouts[0].reward.shape, 2)) for i in clocks])
    return parts | {"last_obs": rollouts[-1].last_obs, "behaviour": behaviour}


def same(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> bool:
    return all(np.allclose(a[name], b[name], atol=1e-6) for name in a)


def test_kept_rollouts_stand_beside_the_newest():
    steps, kept, batch, window = 2, 3, 4, 2
    agents = (
        Recorder(steps=steps, data_shape=(steps, ENVS)),
        Recorder(steps=steps * window, data_shape=(steps * window, ENVS * (1 + batch))),
    )
    records = play(algorithm(Numbers(), *agents, num_envs=ENVS, replay_segments=kept, replay_batch=batch), 9)
    windows = [one_after_another(records, range(max(0, i - 1), i + 1)) for i in range(9)]
    drawn = []
    for clock, (_, record) in enumerate(records):
        if clock == 0:
            assert record.learnt == 0
            continue
        assert record.data.rollout.reward.shape == (steps * window, ENVS * (1 + batch))
        assert record.data.behaviour.shape == (steps * window, ENVS * (1 + batch), 2)
        assert same(group(record.data, 0), windows[clock]), "the newest comes first"
        for k in range(1, 1 + batch):
            ages = [age for age in range(clock) if same(group(record.data, k), windows[clock - age])]
            assert ages, "a kept rollout is one that was seen, whole"
            assert ages[0] < kept
            drawn.append(ages[0])
    assert set(drawn) == {0, 1, 2}, "any of those kept"


class Drawing(Recorder):
    """Writes down the kept rollout of its last update, and how much those of all updates of this rollout add up to."""

    def observe(self, state, clock, experience):
        return state._replace(constraint=jnp.zeros(2))

    def learn(self, state, key, spec, clock, experience):
        kept = experience.rollout.obs[0, ENVS, 0]
        return state._replace(constraint=jnp.stack([kept, state.constraint[1] + kept])), {}


def test_every_update_draws_kept_rollouts_of_its_own():
    agents = Recorder(), Drawing(updates_per_rollout=4, data_shape=(2, 2 * ENVS))
    records = play(algorithm(Numbers(), *agents, num_envs=ENVS, replay_segments=50, replay_batch=1), 12)
    alike = [np.isclose(4 * last, total) for last, total in (exploiter.constraint for _, exploiter in records)]
    assert alike[0], "there is only one"
    assert sum(alike[4:]) <= 1


def test_the_exploiter_learns_every_so_many_rollouts_and_as_often_as_it_wants():
    agents = Recorder(updates_per_rollout=2), Recorder(updates_per_rollout=3, data_shape=(2, 3 * ENVS))
    setting = algorithm(
        Numbers(), *agents, num_envs=ENVS, period=3, constrained=True, alpha_explorer=1.0, alpha_exploiter=1.0
    )
    records = play(setting, 7)
    assert [int(explorer.learnt) for explorer, _ in records] == [2, 4, 6, 8, 10, 12, 14]
    assert [int(exploiter.learnt) for _, exploiter in records] == [0, 0, 3, 3, 3, 6, 6]
    assert [int(exploiter.observed) for _, exploiter in records] == [1, 2, 3, 4, 5, 6, 7], "a memory misses nothing"
    # All three rollouts since the last update, side by side.
    seen = jnp.concatenate([explorer.data.rollout.obs for explorer, _ in records[:3]], axis=1)
    np.testing.assert_array_equal(records[2][1].data.rollout.obs, seen)
    # The explorer is held near the exploiter as it was, the exploiter near the explorer as it has become.
    for clock, (explorer, exploiter) in enumerate(records):
        before = 0 if clock == 0 else records[clock - 1][1].learnt
        np.testing.assert_allclose(explorer.constraint, log_policy(int(before)), atol=1e-6)
        if clock in (2, 5):
            np.testing.assert_allclose(exploiter.constraint, log_policy(int(explorer.learnt)), atol=1e-6)


def test_the_metrics_of_several_updates_are_their_means():
    agent, state = Recorder(updates_per_rollout=3), Recorder().init(KEY, Numbers().spec, ENVS, 2)
    clock = jnp.asarray(0)
    learnt, metrics = learn_repeatedly(agent, state, KEY, Numbers().spec, clock, state.data, lambda _: state.data)
    assert int(learnt.learnt) == 3
    np.testing.assert_allclose(metrics["learnt"], (1 + 2 + 3) / 3)


def test_agents_with_a_memory_of_their_own_need_no_window():
    setting = algorithm(Numbers(), A2C(n_steps=2), DQN(n_steps=10, capacity=3000), replay_segments=4)
    state = eqx.filter_eval_shape(lambda key: blank_run(setting, key), KEY)
    assert setting.window == 1
    assert state.recent == ()
    assert state.segments is None
    alone = algorithm(Numbers(), A2C(n_steps=2))
    assert alone.window == 1


def test_constraints_are_trees_whose_weight_can_vary():
    leaves = jax.tree.leaves(Constraint(jnp.asarray(1.0), jnp.zeros((2, 2, 2)), "kl"))
    assert [leaf.shape for leaf in leaves] == [(), (2, 2, 2)]
