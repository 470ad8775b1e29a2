"""Acting in many copies of an environment, one rollout at a time."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, Shaped

from derl.agents.returns import unrolled
from derl.core.types import Discrete, Rollout, Spec
from derl.envs.base import AnyEnvironment, Step

Policy = Callable[..., Float[Array, "E A"]]
"""Log-probabilities of the actions, up to a constant, for a batch of observations; if a collector has a
`mixture_draw`, the policy is given that as well."""


class Collector(eqx.Module):
    """Where each environment stands, and what its episodes have returned since this was last read."""

    env_state: Any
    obs: Shaped[Array, " E *obs"]
    episode_return: Float[Array, " E"]
    """Of the episode under way."""
    episodes: Int[Array, ""]
    """Finished in all."""
    finished: Float[Array, "2"]
    """Number and summed returns of the episodes finished since last read."""
    mixture_draw: Float[Array, " E"] | None = None
    """A uniform draw per running episode; both policies act where it is below `mixture`."""


def start_collector(env: AnyEnvironment, key: PRNGKeyArray, num_envs: int, mixes: bool = False) -> Collector:
    """All environments at the start of an episode."""
    reset_key = apart_from_draws(key) if mixes else key
    env_state, obs = jax.vmap(env.reset)(jax.random.split(reset_key, num_envs))
    obs = as_declared(env.spec, obs)
    mixture_draw = jax.random.uniform(jax.random.fold_in(key, 1), (num_envs,)) if mixes else None
    return Collector(env_state, obs, jnp.zeros(num_envs), jnp.asarray(0, jnp.int32), jnp.zeros(2), mixture_draw)


def as_declared(spec: Spec, obs: Shaped[Array, "..."]) -> Shaped[Array, "..."]:
    """An observation as its space has it: integers of 32 bits, or floats. An environment may give smaller ones."""
    return obs.astype(jnp.int32 if isinstance(spec.observation, Discrete) else jnp.float32)


def checked_step(spec: Spec, answer: Step) -> Step:
    """What a step gives, as everything that learns expects it.

    An environment that does not say that it truncates has episodes that end: what a value at a truncation would be
    bootstrapped from is not kept for it.
    """
    terminated, truncated = answer.terminated.astype(bool), answer.truncated.astype(bool)
    if not spec.truncates:
        terminated, truncated = terminated | truncated, jnp.zeros_like(truncated)
    return Step(as_declared(spec, answer.obs), answer.reward.astype(jnp.float32), terminated, truncated)


def apart_from_draws(key: PRNGKeyArray) -> PRNGKeyArray:
    """What an environment begins an episode with, where `key` also gives the episode's mixture draw.

    In JAX fold_in(k, 1), which is drawn with, and split(k)[1], which an environment may make of its key, are the same:
    with one key for both, where an episode begins would tell who acts in it.
    """
    return jax.random.fold_in(key, 2)


def choose(done: Array, fresh: Any, going: Any) -> Any:
    """`fresh` where an episode ended, else `going`, in every leaf."""

    def pick(a, b):
        return jnp.where(done.reshape(done.shape + (1,) * (a.ndim - done.ndim)), a, b)

    return jax.tree.map(pick, fresh, going)


def sample_actions(logits: Float[Array, "E A"], gumbel: Float[Array, "E A"]) -> Int[Array, " E"]:
    """Actions drawn from the policy (the Gumbel-max trick)."""
    return jnp.argmax(logits + gumbel, axis=-1).astype(jnp.int32)


def collect(
    env: AnyEnvironment, policy: Policy, collector: Collector, act_key: PRNGKeyArray, env_key: PRNGKeyArray, length: int
) -> tuple[Collector, Rollout, Float[Array, "T E A"]]:
    """`length` steps of every environment; also the log-probabilities the actions were drawn from.

    All random numbers of the rollout are drawn at once: many small draws would cost more than the acting itself.
    An environment that ignores its keys does not pay for them.
    """
    num_envs = collector.episode_return.shape[0]
    gumbel = jax.random.gumbel(act_key, (length, num_envs, env.spec.num_actions))
    keys = jax.random.split(env_key, (length, 2, num_envs))

    def step(carry, noise):
        env_state, obs, episode_return, mixture_draw = carry
        gumbel, (step_keys, reset_keys) = noise
        logits = policy(obs) if mixture_draw is None else policy(obs, mixture_draw)
        action = sample_actions(logits, gumbel)
        next_state, answer = jax.vmap(env.step)(step_keys, env_state, action)
        answer = checked_step(env.spec, answer)
        done = answer.terminated | answer.truncated
        episode_return = episode_return + answer.reward
        if mixture_draw is not None:
            drawn = jax.vmap(lambda k: jax.random.uniform(jax.random.fold_in(k, 1)))(reset_keys)
            mixture_draw = jnp.where(done, drawn, mixture_draw)
            reset_keys = jax.vmap(apart_from_draws)(reset_keys)
        fresh_state, fresh_obs = jax.vmap(env.restart)(reset_keys, next_state)
        fresh = (fresh_state, as_declared(env.spec, fresh_obs))
        next_state, next_obs = choose(done, fresh, (next_state, answer.obs))
        carry = (next_state, next_obs, jnp.where(done, 0.0, episode_return), mixture_draw)
        return carry, (obs, action, answer, logits, episode_return)

    start = (collector.env_state, collector.obs, collector.episode_return, collector.mixture_draw)
    (env_state, obs, episode_return, mixture_draw), (seen, action, answer, logits, returns) = jax.lax.scan(
        step, start, (gumbel, (keys[:, 0], keys[:, 1])), unroll=unrolled(length)
    )
    rollout = Rollout(seen, action, answer.reward, answer.obs, answer.terminated, answer.truncated, obs)
    done = rollout.done
    finished = jnp.stack([done.sum().astype(jnp.float32), jnp.where(done, returns, 0.0).sum()])
    episodes = collector.episodes + done.sum()
    collector = Collector(env_state, obs, episode_return, episodes, collector.finished + finished, mixture_draw)
    return collector, rollout, jax.nn.log_softmax(logits)
