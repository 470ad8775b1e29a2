"""What the exploiter learns from, and what it is evaluated as."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from derl import DQN, recipe
from derl.agents.base import Experience
from derl.bonuses.normalise import normalise, running_size
from derl.core.errors import DerlError
from derl.core.types import Rollout, empty_rollout
from derl.envs import Hallway
from derl.training.collection import collect, start_collector
from derl.training.evaluation import evaluate, policy_of
from derl.training.loop import init_run, iterate, to_explore
from derl.training.segments import out_of_order, sequences


def numbered(start: int, length: int = 2) -> Experience:
    """A rollout of two environments in which every observation is its own number."""
    obs = start + jnp.arange(length)[:, None] + jnp.array([0, 100])
    zeros, never = jnp.zeros((length, 2)), jnp.zeros((length, 2), bool)
    rollout = Rollout(obs, jnp.zeros_like(obs), zeros, obs + 1, never, never, obs[-1] + 1)
    return Experience(rollout, jnp.zeros((length, 2, 3)))


def test_rollouts_of_one_sequence_are_joined_in_time():
    whole = sequences([numbered(0), numbered(2)], 2)
    assert whole.rollout.obs[:, 0].tolist() == [0, 1, 2, 3]
    assert whole.rollout.last_obs.tolist() == [4, 104]


def test_further_sequences_stand_beside_the_first():
    whole = sequences([numbered(0), numbered(2), numbered(4), numbered(6)], 2)
    assert whole.rollout.obs.tolist() == [[0, 100, 4, 104], [1, 101, 5, 105], [2, 102, 6, 106], [3, 103, 7, 107]]
    assert whole.rollout.last_obs.tolist() == [4, 104, 8, 108]


def test_the_older_rollout_after_the_newer_one():
    """As DePPO's buffer in the paper's code: positions 0 .. n-1 are new, then come older steps, but for the observation
    between them, which follows the new ones."""
    whole = out_of_order(numbered(0), numbered(2))
    assert whole.rollout.obs.tolist() == [[2, 102], [3, 103], [4, 104], [1, 101]]
    # The value at the end is that of the observation after the older steps.
    assert whole.rollout.next_obs[-1].tolist() == [2, 102]


def test_every_other_update_may_see_stale_steps():
    """Switched on, it changes the updates after the first, third, ... rollout and no others."""
    plain = recipe("deppo-count", "DeepSea-5")
    algorithms = [plain.with_value("decoupling.stale_segments", value).algorithm() for value in (False, True)]
    state = init_run(algorithms[0], jax.random.key(0))
    state, _ = eqx.filter_jit(iterate)(algorithms[0], state, jnp.asarray(0))
    for clock, same in [(1, True), (2, False), (3, True)]:
        learnt = [eqx.filter_jit(iterate)(a, state, jnp.asarray(clock))[0] for a in algorithms]
        weights = [np.asarray(s.exploiter.network.actor.weights[-1]) for s in learnt]
        assert np.array_equal(*weights) == same, clock
        state = learnt[0]


@pytest.mark.parametrize("rollouts", [1, 2])
def test_replay_keeps_the_policy_that_acted(rollouts):
    """DeA2C divides by the explorer after its update, but not where it learns from what was done long ago."""
    config = recipe("dea2c-count", "DeepSea-5").with_value("explorer.learning_rate", 0.3)
    config = config.with_value("decoupling.replay_segments", 4).with_value("exploiter.n_steps", 5 * rollouts)
    assert config.decoupling.denominator == "updated"
    algorithm = config.algorithm()
    state = init_run(algorithm, jax.random.key(0))
    for clock in range(rollouts):
        state, _ = eqx.filter_jit(iterate)(algorithm, state, jnp.asarray(clock))
    # At first both actions are all but equally probable.
    np.testing.assert_allclose(state.segments.ring.data.behaviour[rollouts - 1][:5], np.log(0.5), atol=0.01)


@pytest.mark.parametrize("n_steps", [1, 2, 5])
def test_an_exploiter_s_returns_are_as_long_as_it_asks(n_steps):
    """Worked out one after the other: a return runs to the end of its n steps, and on with the value there."""
    rng = np.random.default_rng(0)
    reward, v_t, v_tp1 = (rng.normal(size=(5, 2)).astype(np.float32) for _ in range(3))
    never = np.zeros((5, 2), bool)
    rollout = dataclasses.replace(numbered(0, 5).rollout, reward=reward, terminated=never, truncated=never)
    agent = dataclasses.replace(recipe("dea2c-count", "DeepSea-5").exploiter, n_steps=n_steps, correction="none")
    expected = np.zeros((5, 2))
    for t in reversed(range(5)):
        follows = v_tp1[t] if t == 4 or t % n_steps == n_steps - 1 else expected[t + 1]
        expected[t] = reward[t] + 0.99 * follows
    targets = agent.targets(rollout, jnp.asarray(v_t), jnp.asarray(v_tp1), None)
    np.testing.assert_allclose(targets.value, expected, rtol=1e-5)


def test_no_seat_but_the_two():
    algorithm = recipe("dea2c-count", "DeepSea-5").algorithm()
    with pytest.raises(DerlError, match="unknown seat 'Exploiter'"):
        policy_of(algorithm, init_run(algorithm, jax.random.key(0)), jnp.asarray(0), "Exploiter", True)


def test_stale_steps_need_two_rollouts():
    with pytest.raises(DerlError, match="learns from the last two rollouts"):
        recipe("dea2c-count", "DeepSea-5").with_value("decoupling.stale_segments", True).check()


@pytest.mark.parametrize(
    ("name", "period", "rollouts"), [("dea2c-count", 3, 3), ("deppo-count", 1, 2), ("deppo-count", 3, 4)]
)
def test_all_data_since_the_last_update_is_learnt_from(name, period, rollouts):
    config = recipe(name, "DeepSea-5")
    algorithm = config.with_value("decoupling.period", period).algorithm()
    assert algorithm.window == rollouts


def test_an_exploiter_learns_from_rollouts_before_the_newest():
    """Changing what an earlier rollout held changes the update at the end of the period."""
    config = recipe("dea2c-count", "DeepSea-5").with_value("decoupling.period", 2)
    algorithm = config.algorithm()
    state = init_run(algorithm, jax.random.key(0))
    state, _ = eqx.filter_jit(iterate)(algorithm, state, jnp.asarray(0))
    other = eqx.tree_at(lambda s: s.recent[0].rollout.reward, state, state.recent[0].rollout.reward + 1)
    learnt = [eqx.filter_jit(iterate)(algorithm, s, jnp.asarray(1))[0].exploiter for s in (state, other)]
    values = [np.asarray(x.network.critic.weights[-1]) for x in learnt]
    assert not np.array_equal(values[0], values[1])


def test_a_sampled_exploiter_follows_no_schedule():
    """Epsilon's schedule belongs to explorers: a DQN exploiter samples at the end of it from the first step on."""
    config = recipe("dedqn-count", "DeepSea-5")
    config = dataclasses.replace(config, exploiter=DQN(epsilon_start=1.0, epsilon_end=0.0, capacity=2000))
    algorithm = config.algorithm()
    state = init_run(algorithm, jax.random.key(0))
    act = policy_of(algorithm, state, jnp.asarray(0), "exploiter", False)
    greedy = policy_of(algorithm, state, jnp.asarray(0), "exploiter", True)
    keys = jax.random.split(jax.random.key(1), 50)
    assert (jax.vmap(lambda k: act(k, jnp.asarray(3)))(keys) == greedy(keys[0], jnp.asarray(3))).all()


@pytest.mark.parametrize("reward", ["both", "intrinsic"])
def test_a_recomputed_bonus_is_divided_by_its_recent_size(reward):
    config = recipe("derl", "DeepSea-5").with_value("explorer_reward", reward).with_value("bonus.scale", 7.0)
    algorithm = config.algorithm()
    state = init_run(algorithm, jax.random.key(0))
    ones = empty_rollout(algorithm.env.spec, 1, 5).with_reward(jnp.ones((5, 1)))
    scale, _ = normalise("recent", state.bonus_scale, 4 * jnp.ones((1, 1)), jnp.ones((1, 1), bool), 0.99)
    state = eqx.tree_at(lambda s: s.bonus_scale, state, scale)
    size = float(running_size("recent", scale))
    assert size > 0.1
    experience = to_explore(algorithm, state, ones, jnp.full((5, 1), 3.0), jnp.zeros((5, 1, 2)))
    assert experience.bonus is not None
    # Alone, lambda would be in the size as well.
    assert float(experience.bonus.weight) == pytest.approx((7.0 if reward == "both" else 1.0) / size)
    np.testing.assert_array_equal(experience.rollout.reward, np.full((5, 1), 1.0 if reward == "both" else 0.0))


def test_an_explorer_beside_an_exploiter_shows_what_it_would_try_next():
    algorithm = recipe("derl", "DeepSea-5").algorithm()
    state = init_run(algorithm, jax.random.key(0))
    for tried in (0, 1):
        often = state.explorer.extra.count.at[3, tried].set(50)
        bored = eqx.tree_at(lambda s: s.explorer.extra.count, state, often)
        act = policy_of(algorithm, bored, jnp.asarray(0), "explorer", True)
        assert int(act(jax.random.key(1), jnp.asarray(3))) == 1 - tried


def test_what_outlasts_an_episode_reaches_training_and_evaluation():
    """With a goal that pays once in a lifetime, only the first of many episodes of each copy earns it, and an
    evaluation after them earns it no more."""
    env = Hallway(1, 0, horizon=3, lasting_goal=True, move_cost=0.0)

    def right(obs):
        return jnp.log(jnp.array([1e-9, 1e-9, 1.0])) * jnp.ones((len(obs), 3))

    collector = start_collector(env, jax.random.key(0), 2)
    collector, rollout, _ = collect(env, right, collector, jax.random.key(1), jax.random.key(2), 9)
    assert rollout.reward.tolist() == [[1.0, 1.0]] + [[0.0, 0.0]] * 8

    config = dataclasses.replace(recipe("a2c-count", "Hallway-1-0"), env=env, num_envs=2)
    algorithm = config.algorithm()
    fresh = init_run(algorithm, jax.random.key(0))
    # A policy that always goes right, whatever it has learnt.
    bias = fresh.explorer.network.actor.biases[-1].at[2].set(50.0)
    fresh = eqx.tree_at(
        lambda s: s.explorer.network.actor.biases, fresh, (*fresh.explorer.network.actor.biases[:-1], bias)
    )
    later = eqx.tree_at(lambda s: s.collector.env_state, fresh, collector.env_state)
    returns = [
        evaluate(algorithm, s, jax.random.key(0), jnp.asarray(0), episodes=3, greedy=True)[0] for s in (fresh, later)
    ]
    assert [r.tolist() for r in returns] == [[1.0] * 3, [0.0] * 3]


@pytest.mark.parametrize(
    ("name", "settings", "updates"),
    [
        # Two rollouts of 20 steps are in the window, and 20 of the steps are new.
        ("dea2c-count", {"exploiter.n_steps": 10, "exploiter.updates_per_step": 0.1}, 2),
        # Learns every fourth rollout, for all steps since.
        ("dedqn-count", {"decoupling.period": 4, "exploiter.updates_per_step": 0.1, "exploiter.batch_size": 4}, 8),
    ],
)
def test_an_exploiter_learns_as_often_as_there_are_new_steps(name, settings, updates, monkeypatch):
    config = recipe(name, "DeepSea-5").with_value("num_envs", 4)
    for path, value in settings.items():
        config = config.with_value(path, value)
    algorithm, asked = config.algorithm(), []
    learn = type(algorithm.exploiter).updates
    monkeypatch.setattr(type(algorithm.exploiter), "updates", lambda self, n: asked.append(learn(self, n)) or asked[-1])
    state = init_run(algorithm, jax.random.key(0))
    iterate(algorithm, state, jnp.asarray(0))
    assert asked[-1] == updates
