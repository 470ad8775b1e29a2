"""No random number is used twice: an environment shows its keys, and pays those who foresee its noise."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from agents.training import algorithm

import derl
from derl import Agent, Bonus, Box, Environment, Policy, Spec, Step
from derl.core.types import Rollout, empty_rollout
from derl.training import loop
from derl.training.loop import init_run, key_for
from derl.training.population import Population

STEPS = 10


class Keys(Environment):
    """Observations are the two words of the last key, in halves that a float holds, and whether an episode began."""

    @property
    def name(self):
        return "Keys"

    @property
    def spec(self):
        return Spec(Box((5,)), 2)

    @property
    def max_episode_steps(self):
        return 4

    @property
    def episode_length(self):
        return 4

    def look(self, key, begins):
        words = jax.random.key_data(key)
        return jnp.concatenate([words >> 16, words & 0xFFFF, jnp.asarray([begins])]).astype(jnp.float32)

    def reset(self, key):
        return jnp.asarray(0), self.look(key, 1)

    def step(self, key, state, action):
        noise = jax.random.uniform(key, minval=-1)
        answer = Step(self.look(key, 0), (2 * action - 1) * noise, state >= 3, jnp.asarray(False))
        return state + 1, answer


class Uniform(Agent[tuple[()]]):
    """Tosses a coin, for ever."""

    @property
    def rollout_length(self):
        return STEPS

    def init(self, key, spec, num_envs, rollout_length):
        return ()

    def logits(self, state, obs, clock):
        return jnp.zeros((*obs.shape[:-1], 2))

    def greedy(self, state, obs):
        return jnp.zeros(obs.shape[:-1], int)

    def learn(self, state, key, spec, clock, experience):
        return state, {}


class Keeping(Bonus[Rollout]):
    """Keeps the newest rollout."""

    def init(self, key, spec, num_envs):
        return empty_rollout(spec, num_envs, STEPS)

    def step(self, state, rollout):
        return rollout, jnp.zeros_like(rollout.reward)


def tossing(num_envs: int = 3, own_statistics: bool = False):
    made = algorithm(Keys(), Uniform(), num_envs=num_envs)
    settings = {"normalise_observations": own_statistics, "own_statistics": own_statistics}
    return dataclasses.replace(made, bonus=Keeping(), **settings)


def words(key) -> tuple[int, int]:
    high, low = np.asarray(jax.random.key_data(key)).tolist()
    return high, low


def shown(obs) -> np.ndarray:
    """The keys of observations: pairs of words."""
    halves = np.asarray(obs, np.uint64).reshape(-1, 5)
    return (halves[:, :2] << np.uint64(16)) | halves[:, 2:4]


def rollouts(seed: int, iterations: int, monkeypatch, num_envs: int = 3):
    """What consecutive iterations collect, and each one's keys for actions and for environments."""
    collect, used = loop.collect, []

    def noting(env, policy, collector, act_key, env_key, length):
        used.append((act_key, env_key))
        return collect(env, policy, collector, act_key, env_key, length)

    monkeypatch.setattr(loop, "collect", noting)
    made = tossing(num_envs)

    @eqx.filter_jit
    def iterate(state, clock):
        state, _ = loop.iterate(made, state, clock)
        return state, used[-1]

    state, found = init_run(made, jax.random.key(seed)), []
    for clock in range(iterations):
        state, keys = iterate(state, jnp.asarray(clock))
        found.append((jax.tree.map(np.asarray, state.bonus), keys))
    return found


def test_no_key_is_given_twice_in_training(monkeypatch):
    seen, apart = [], []
    for seed in (0, 1):
        for rollout, (act_key, env_key) in rollouts(seed, 3, monkeypatch):
            begins = rollout.obs[..., 4] == 1
            # Every observation after a reset is acted on once, so each of these is another reset.
            assert begins.any(0).all()
            seen += [*map(tuple, shown(rollout.next_obs).tolist()), *map(tuple, shown(rollout.obs[begins]).tolist())]
            apart += [words(act_key), words(env_key)]
            # Nor are they what follows from the key for actions.
            apart += [tuple(pair) for pair in np.asarray(jax.random.key_data(jax.random.split(act_key, 200))).tolist()]
    assert len(seen) > 2 * 3 * STEPS * 3
    assert len(set(seen)) == len(seen)
    assert len(set(apart)) == len(apart)
    assert not set(seen) & set(apart)


def test_each_purpose_and_iteration_has_a_key_of_its_own():
    clocks = jnp.concatenate([jnp.arange(500), 2**31 - 1 - jnp.arange(5)])
    key = jax.random.key(3)
    made = [jax.vmap(lambda clock, purpose=purpose: key_for(key, clock, purpose))(clocks) for purpose in range(3)]
    evaluations = jax.random.fold_in(key, 2**31 - 1)
    made.append(jax.vmap(lambda number: jax.random.fold_in(evaluations, number))(clocks))
    data = np.concatenate([np.asarray(jax.random.key_data(keys)) for keys in made])
    assert len(np.unique(data, axis=0)) == len(data)


@pytest.mark.parametrize("num_envs", [1, 3])
def test_actions_know_nothing_of_what_the_environment_will_draw(num_envs, monkeypatch):
    """A key says all there is to know of a step. JAX draws with the sum of its words, bit by bit, so that is compared
    with the action as well; as are the key's words, and what a later reset would be made of."""
    found = [rollout for rollout, _ in rollouts(0, 60, monkeypatch, num_envs)]
    action = np.stack([r.action for r in found]).reshape(-1) - 0.5
    keys = shown(np.stack([r.next_obs for r in found])).astype(np.int64)
    noise = np.stack([keys[:, 0], keys[:, 1], keys[:, 0] ^ keys[:, 1]]) / 2**32 - 0.5
    paid = np.stack([r.reward for r in found]).reshape(-1)
    for product in (*(2 * action * noise * 2), paid):
        # Each has a variance of 1/3 if the two are independent.
        assert abs(product.mean()) < 4 * (1 / 3 / len(product)) ** 0.5
    assert abs(action.mean()) < 4 * 0.5 / len(action) ** 0.5


@pytest.mark.parametrize("own_statistics", [False, True])
def test_evaluation_episodes_are_all_different(own_statistics):
    """Of one evaluation, of several, of two runs; and what they pay is what a coin earns that foresees nothing."""
    population = Population([tossing(own_statistics=own_statistics)] * 2, [0, 1])
    state, returns = population.init(), []
    for number in (1, 2, 3):
        state, of_one = population.evaluate(state, 0, number, episodes=64, greedy=False)
        returns.append(of_one)
    every = np.concatenate(returns, axis=None)
    assert len(np.unique(every)) == len(every)
    assert abs(every.mean()) < 4 * (4 / 3 / len(every)) ** 0.5


def test_no_key_is_given_twice_in_an_episode_that_is_shown():
    made = tossing()
    policy = Policy(made, init_run(made, jax.random.key(0)), 0, "explorer")
    seen = [
        pair for seed in range(4) for pair in map(tuple, shown(policy.play(seed, deterministic=False).obs).tolist())
    ]
    assert len(set(seen)) == len(seen) == 4 * 4


def test_the_environment_is_one():
    derl.check_env(Keys())
