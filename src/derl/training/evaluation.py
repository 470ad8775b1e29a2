"""Greedy or sampled evaluation episodes, and what a policy visits in them."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, Shaped

from derl.agents.base import AnyAgent, Clock
from derl.core.errors import UnknownNameError
from derl.core.running import Moments
from derl.envs.base import AnyEnvironment
from derl.training.algorithm import Algorithm
from derl.training.collection import sample_actions
from derl.training.loop import as_vector, encode
from derl.training.state import RunState

Seat = Literal["exploiter", "explorer"]
Act = Callable[[PRNGKeyArray, Shaped[Array, "*obs"]], Int[Array, ""]]
Look = Callable[[Shaped[Array, "*b_obs"]], Float[Array, "*b_out"]]


class Episode(NamedTuple):
    """One episode, padded to the longest possible length; `alive` marks the steps that happened."""

    obs: Shaped[Array, " T *obs"]
    action: Int[Array, " T"]
    reward: Float[Array, " T"]
    alive: Bool[Array, " T"]
    env_state: Any
    """The state in which each action was taken."""

    @property
    def total(self) -> Float[Array, ""]:
        """The undiscounted return."""
        return jnp.where(self.alive, self.reward, 0.0).sum()


def play_episode(env: AnyEnvironment, act: Act, key: PRNGKeyArray, last: Any = None) -> Episode:
    """An episode from its start to its end, in a new copy or in one whose last episode ended in `last`."""
    reset_key, key = jax.random.split(key)
    env_state, obs = env.reset(reset_key) if last is None else env.restart(reset_key, last)

    def step(carry, key):
        env_state, obs, alive = carry
        act_key, step_key = jax.random.split(key)
        action = act(act_key, obs)
        next_state, answer = env.step(step_key, env_state, action)
        seen = Episode(obs, action, answer.reward, alive, env_state)
        return (next_state, answer.obs, alive & ~(answer.terminated | answer.truncated)), seen

    keys = jax.random.split(key, env.max_episode_steps)
    return jax.lax.scan(step, (env_state, obs, jnp.asarray(True)), keys)[1]


def policy_of(algorithm: Algorithm, state: RunState, clock: Clock, seat: Seat, greedy: bool) -> Act:
    """How the policy in a seat acts, from raw observations.

    Beside an exploiter, an explorer's greedy action is what it would explore next; alone, what it has learnt is best.
    """
    agent, learnt = seated(algorithm, state, seat)
    explores = seat == "explorer" and algorithm.exploiter is not None
    sampled_from = logits_of(algorithm, state, clock, seat)

    def act(key, obs):
        if not greedy:
            logits = sampled_from(obs)
            return sample_actions(logits, jax.random.gumbel(key, logits.shape))
        seen = encode(algorithm, state.obs_moments, obs)
        return jnp.argmax(agent.preferences(learnt, seen, clock), axis=-1) if explores else agent.greedy(learnt, seen)

    return act


def logits_of(algorithm: Algorithm, state: RunState, clock: Clock, seat: Seat) -> Look:
    """What the policy in a seat samples from, as log-probabilities up to a constant, from raw observations.

    Of an exploiter it is its settled policy; an explorer's schedule is part of how it acts.
    """
    agent, learnt = seated(algorithm, state, seat)
    settled = seat == "exploiter" and algorithm.exploiter is not None

    def logits(obs):
        seen = encode(algorithm, state.obs_moments, obs)
        return agent.settled_log_probs(learnt, seen) if settled else agent.logits(learnt, seen, clock)

    return logits


def values_of(algorithm: Algorithm, state: RunState, seat: Seat) -> Look:
    """What the agent in a seat expects to earn, from raw observations: see `Agent.value`."""
    agent, learnt = seated(algorithm, state, seat)
    return lambda obs: agent.value(learnt, encode(algorithm, state.obs_moments, obs))


def seated(algorithm: Algorithm, state: RunState, seat: Seat) -> tuple[AnyAgent, Any]:
    """The agent in a seat and what it has learnt. A baseline's explorer is in both."""
    if seat not in get_args(Seat):
        raise UnknownNameError("seat", seat, get_args(Seat))
    if seat == "exploiter" and algorithm.exploiter is not None:
        return algorithm.exploiter, state.exploiter
    return algorithm.explorer, state.explorer


def evaluate(
    algorithm: Algorithm,
    state: RunState,
    key: PRNGKeyArray,
    clock: Clock,
    *,
    episodes: int,
    greedy: bool,
    seat: Seat = "exploiter",
) -> tuple[Float[Array, " episodes"], Moments | None]:
    """Undiscounted returns of a seat's policy, and the statistics of evaluations that have their own.

    A baseline has only an explorer, which then is what is evaluated. Episodes are played as if the copies that train
    had ended theirs, which matters only where something outlasts them.
    """
    if algorithm.own_statistics:
        return evaluate_in_step(algorithm, state, key, clock, episodes=episodes, greedy=greedy, seat=seat)
    act = policy_of(algorithm, state, clock, seat, greedy)
    copies = jax.tree.map(lambda x: x[jnp.arange(episodes) % algorithm.num_envs], state.collector.env_state)
    keys = jax.random.split(key, episodes)
    return jax.vmap(lambda k, last: play_episode(algorithm.env, act, k, last).total)(keys, copies), None


def evaluate_in_step(
    algorithm: Algorithm,
    state: RunState,
    key: PRNGKeyArray,
    clock: Clock,
    *,
    episodes: int,
    greedy: bool,
    seat: Seat,
) -> tuple[Float[Array, " episodes"], Moments]:
    """`evaluate` in as many copies as train, which step together: what one of them sees changes how all see it.

    Observations are normalised by what evaluations have seen so far, the present ones among it.
    """
    env, copies, known = algorithm.env, algorithm.num_envs, state.evaluation_moments
    assert known is not None

    def step(carry, key):
        env_state, obs, alive, moments = carry
        act_key, step_key = jax.random.split(key)
        seen = moments.update(as_vector(env.spec, obs), alive)
        moments = jax.tree.map(lambda new, old: jnp.where(alive.any(), new, old), seen, moments)
        view = eqx.tree_at(lambda s: s.obs_moments, state, moments)
        actions = policy_of(algorithm, view, clock, seat, greedy)(act_key, obs)
        env_state, answer = jax.vmap(env.step)(jax.random.split(step_key, copies), env_state, actions)
        reward = jnp.where(alive, answer.reward, 0.0)
        return (env_state, answer.obs, alive & ~(answer.terminated | answer.truncated), moments), reward

    def play(moments, key):
        reset_key, key = jax.random.split(key)
        env_state, obs = jax.vmap(env.restart)(jax.random.split(reset_key, copies), state.collector.env_state)
        start = (env_state, obs, jnp.ones(copies, bool), moments)
        (*_, moments), rewards = jax.lax.scan(step, start, jax.random.split(key, env.max_episode_steps))
        return moments, rewards.sum(0)

    rounds = jax.random.split(key, -(-episodes // copies))
    moments, totals = jax.lax.scan(play, known, rounds)
    return totals.reshape(-1)[:episodes], moments
