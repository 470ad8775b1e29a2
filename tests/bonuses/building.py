"""Small rollouts written out by hand, random states, and the networks of the bonuses redone in NumPy."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from derl.bonuses import ICM, RIDE, RND
from derl.bonuses.base import AnyBonus
from derl.core.networks import MLP
from derl.core.types import Discrete, Rollout, Spec

SMALL = {"hidden": (8,), "features": 4, "head_hidden": (8,)}
"""Networks that compile quickly."""

quick_jit = partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})
"""Tests spend their time compiling, not running."""


def plain_step(bonus, state, rollout):
    return bonus.step(state, rollout)


step = quick_jit(plain_step)
"""Compiled once per kind of bonus and shape of rollout, which the tests therefore share where they can."""

initial_state = quick_jit(lambda bonus, key, spec, num_envs: bonus.init(key, spec, num_envs), static_argnums=(2, 3))

NETWORKS = {ICM: lambda s: s.model, RIDE: lambda s: s.learner.model, RND: lambda s: (s.target, s.predictor)}


def init(bonus: AnyBonus, spec: Spec, num_envs: int, seed: int = 0):
    """A state whose networks, if it has any, hold random numbers (in the biases too) and not the initial ones."""
    key = jax.random.key(seed)
    if type(bonus) not in NETWORKS:
        return initial_state(bonus, key, spec, num_envs)
    networks, rng = NETWORKS[type(bonus)], np.random.default_rng(seed)
    state = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), jax.eval_shape(lambda: bonus.init(key, spec, num_envs)))
    noise = jax.tree.map(lambda x: jnp.asarray(rng.normal(scale=0.4, size=x.shape), x.dtype), networks(state))
    return eqx.tree_at(networks, state, noise)


def rollout_of(obs, *, last_obs=None, next_obs=None, action=None, terminated=None, truncated=None) -> Rollout:
    """A rollout of states, by default one in which no episode ends."""
    obs = jnp.asarray(obs)
    last_obs = obs[-1] if last_obs is None else jnp.asarray(last_obs)
    following = jnp.concatenate([obs[1:], last_obs[None]])
    steps = obs.shape[:2]
    return Rollout(
        obs=obs,
        action=jnp.zeros(steps, jnp.int32) if action is None else jnp.asarray(action),
        reward=jnp.zeros(steps),
        next_obs=following if next_obs is None else jnp.asarray(next_obs),
        terminated=jnp.zeros(steps, bool) if terminated is None else jnp.asarray(terminated, bool),
        truncated=jnp.zeros(steps, bool) if truncated is None else jnp.asarray(truncated, bool),
        last_obs=last_obs,
    )


def random_rollout(seed: int, size: int, steps: int = 3, envs: int = 2, num_actions: int = 3) -> Rollout:
    """States and actions drawn uniformly; some episodes end, in the terminal state `size`."""
    rng = np.random.default_rng(seed)
    obs = rng.integers(0, size, (steps + 1, envs))
    terminated = rng.random((steps, envs)) < 0.3
    return rollout_of(
        obs[:-1],
        last_obs=obs[-1],
        next_obs=np.where(terminated, size, obs[1:]),
        action=rng.integers(0, num_actions, (steps, envs)),
        terminated=terminated,
    )


def numpy_mlp(network: MLP, inputs) -> np.ndarray:
    """The network in float64 NumPy, on vectors or on integers that stand for one-hot vectors."""
    weights = [np.asarray(w, np.float64) for w in network.weights]
    biases = [np.asarray(b, np.float64) for b in network.biases]
    inputs = np.asarray(inputs)
    if isinstance(network.observation, Discrete):
        size = network.observation.size
        inputs = np.eye(size + 1, size)[inputs]  # the last row is the zero vector
    h = inputs.astype(np.float64)
    for i, (w, b) in enumerate(zip(weights, biases, strict=True)):
        h = h @ w + b
        if i < len(weights) - 1 or network.activate_output:
            h = np.maximum(h, 0.0)
    return h
