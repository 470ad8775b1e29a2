"""What environments and agents of a user's own may do a little otherwise, and what they may not."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import polars as pl
import pytest

import derl
from derl.agents import A2C
from derl.core.errors import DerlError
from derl.core.types import Box, Discrete, Spec
from derl.envs import Environment, Step
from derl.training.collection import collect, start_collector
from derl.training.config import Config
from derl.training.loop import init_run, metric_names, step_run, to_explore
from derl.training.recipes import recipe, with_parts

KEY = jax.random.key(0)


class Timer(Environment):
    """Cut off after three steps; numbers of unusual kinds."""

    observation: Box | Discrete = eqx.field(static=True)
    kind: type = eqx.field(static=True)
    says_so: bool = eqx.field(default=False, static=True)

    @property
    def name(self):
        return "Timer"

    @property
    def spec(self):
        return Spec(self.observation, 2, self.says_so)

    @property
    def max_episode_steps(self):
        # As it may come out of an array.
        return np.int64(3)

    def look(self, state):
        return jnp.zeros(getattr(self.observation, "shape", ()), self.kind) + state.astype(self.kind)

    def reset(self, key):
        state = jnp.asarray(0)
        return state, self.look(state)

    def step(self, key, state, action):
        state = state + 1
        return state, Step(self.look(state), jnp.where(action == 1, 1, 0), jnp.asarray(False), state >= 3)


def at_random(obs):
    return jnp.zeros((len(obs), 2))


def rollout_of(env: Timer):
    return collect(env, at_random, start_collector(env, KEY, 2), KEY, KEY, 6)[1]


def test_truncations_that_were_not_announced_are_ends():
    """What their values would be bootstrapped from is not kept: the next episode's start would be taken for it."""
    plain, announced = (rollout_of(Timer(Discrete(4), jnp.int8, says_so)) for says_so in (False, True))
    ends = np.tile([[False], [False], [True]], (2, 2))
    np.testing.assert_array_equal(plain.terminated, ends)
    np.testing.assert_array_equal(announced.truncated, ends)
    assert not plain.truncated.any()
    assert not announced.terminated.any()


@pytest.mark.parametrize("name", ["deppo-icm", "dedqn-icm", "a2c-hash-count"])
@pytest.mark.parametrize("kind", [jnp.uint8, bool, jnp.float16])
def test_observations_and_rewards_may_be_of_any_kind(name, kind):
    env = Timer(Box((3,)), kind)
    algorithm = recipe(name, env).algorithm()
    state = jax.eval_shape(lambda: init_run(algorithm, KEY))
    after = jax.eval_shape(lambda s: step_run(algorithm, s, jnp.asarray(0)), state)
    assert jax.tree.map(lambda x: x.dtype, after) == jax.tree.map(lambda x: x.dtype, state)
    rollout = rollout_of(env)
    assert (rollout.obs.dtype, rollout.next_obs.dtype, rollout.reward.dtype) == (jnp.float32,) * 3


class Boasting(A2C):
    """Reports a metric by the name of a column of results."""

    def learn(self, state, key, spec, clock, experience):
        state, metrics = super().learn(state, key, spec, clock, experience)
        return state, metrics | {self.boast: jnp.asarray(123.0)}

    boast: str = "return"


@pytest.mark.parametrize(("seat", "boast"), [("exploiter", "return"), ("exploiter", "bonus"), ("explorer", "return")])
def test_metrics_do_not_hide_results(seat, boast):
    config = dataclasses.replace(recipe("dea2c-count", "DeepSea-4"), **{seat: Boasting(boast=boast)})
    with pytest.raises(DerlError, match="would hide the results' own column"):
        metric_names(config.algorithm())


@pytest.mark.parametrize(
    ("name", "task", "kinds"),
    [
        ("dea2c-count", "DeepSea-10", {"explorer": "a2c"}),
        ("deppo-count", "DeepSea-10", {"exploiter": "ppo"}),
        ("ppo-icm", "Hallway-5-5", {"bonus": "icm"}),
        ("derl", "DeepSea-10", {"explorer": "optimistic-dqn", "bonus": "count"}),
        ("a2c", "DeepSea-10", {"exploiter": "none"}),
    ],
)
def test_to_name_the_kind_that_is_there_changes_nothing(name, task, kinds):
    assert with_parts(recipe(name, task), **kinds) == recipe(name, task)


def test_a_part_of_the_same_kind_leaves_the_rest_of_the_recipe_alone():
    config = recipe("deppo-count", "DeepSea-10")
    changed = with_parts(config, exploiter=dataclasses.replace(config.exploiter, learning_rate=0.5))
    assert (changed.decoupling, changed.recipe) == (config.decoupling, "deppo-count")
    other = with_parts(config, exploiter="a2c")
    assert (other.decoupling.stale_segments, other.recipe) == (False, "custom")


def test_what_a_bonus_does_with_vectors_is_not_refused():
    """Where it sees normalised observations a state is not found by its number, but by a hash of so many bits."""
    settings = {"bonus__counts": "state", "bonus__key_bits": 8}
    derl.configure("Hallway-5-5", "ppo-ride", **settings).check()
    with pytest.raises(DerlError, match="key_bits changes nothing"):
        derl.configure("DeepSea-5", "ppo-ride", bonus__key_bits=8).check()


def explored(config: Config):
    """What the explorer of a configuration learns from: who it is told has acted."""
    algorithm = config.algorithm()
    state = init_run(algorithm, KEY)
    _, rollout, log_mu = collect(algorithm.env, at_random, state.collector, KEY, KEY, algorithm.rollout_length)
    return to_explore(algorithm, state, rollout, jnp.zeros_like(rollout.reward), log_mu).behaviour


def test_who_learns_twice_from_a_rollout_is_told_who_acted():
    """From the second update on it is another policy: PPO's ratio would begin at 1 again, and its clip do nothing."""
    assert explored(recipe("ppo-count", "DeepSea-4")) is None
    assert explored(recipe("ppo-count", "DeepSea-4").with_value("explorer.updates_per_rollout", 3)) is not None
    rollout_steps = recipe("a2c-count", "DeepSea-4").with_value("explorer.updates_per_step", 0.2)
    assert explored(rollout_steps) is not None
    # Then its correction does something, and may be chosen.
    config = derl.configure("DeepSea-4", "a2c", explorer__updates_per_rollout=2, explorer__correction="vtrace")
    config.check()
    with pytest.raises(DerlError, match="correction changes nothing"):
        derl.configure("DeepSea-4", "a2c", explorer__correction="vtrace").check()


def test_results_of_a_run_are_those_of_its_checkpoint(tmp_path):
    """The file beside it may be damaged."""
    short = {"protocol__episodes": 40, "protocol__evaluate_every": 20}
    trained = derl.train("DeepSea-4", "a2c-count", seeds=2, out=tmp_path / "run", **short)
    file = tmp_path / "run" / "results.parquet"
    pl.read_parquet(file).head(1).write_parquet(file)
    assert derl.load(tmp_path / "run").frame.equals(trained.frame)
    policy = trained.policy()
    one = np.eye(16, dtype=np.float32)[3]
    assert isinstance(policy.predict(one), int)
    assert isinstance(policy.predict(one.reshape(4, 4)), int)
    assert policy.predict(one[None]).shape == policy.predict(one.reshape(1, 4, 4)).shape == (1,)


def test_a_task_whose_episodes_cannot_be_counted_has_a_budget_in_steps():
    """As long as its episodes can be; a task with equal episodes keeps its own."""
    timer = Timer(Discrete(4), jnp.int32)
    assert timer.episode_length is None
    for name, episodes, every in (("derl", 2_000, 10), ("a2c-count", 100_000, 1_000)):
        config = recipe(name, timer)
        assert (config.protocol.steps, config.protocol.evaluate_every) == (3 * episodes, 3 * every)
        assert config.protocol.budget(timer) == (3 * episodes, 3 * every)
        assert recipe(name, "DeepSea-10").protocol.steps is None
    # Whoever says how many steps has as many evaluations as before, unless they say that too.
    config = derl.configure(timer, "a2c-count", protocol__steps=24_000)
    assert (config.protocol.steps, config.protocol.evaluate_every) == (24_000, 240)
    assert derl.configure(config).protocol.evaluate_every == 240
    config = derl.configure(timer, "a2c-count", protocol__steps=24_000, protocol__evaluate_every=500)
    assert config.protocol.evaluate_every == 500
    assert derl.configure("DeepSea-5", "a2c", protocol__steps=600).protocol.evaluate_every == 1_000
    with pytest.raises(DerlError, match=r"protocol.episodes changes nothing where .* \(change protocol.steps\)"):
        recipe("a2c-count", timer).with_value("protocol.episodes", 100).check()
