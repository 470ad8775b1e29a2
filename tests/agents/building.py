"""Rollouts and networks with chosen numbers, and the same computations in NumPy."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from core.building import random_mlp

from derl.agents.actor_critic import ActorCritic, ActorCriticState
from derl.agents.base import Experience
from derl.core.networks import MLP
from derl.core.types import Discrete, Rollout, Spec

SIZE, ACTIONS, STEPS, ENVS = 5, 3, 4, 2
SPEC = Spec(Discrete(SIZE), ACTIONS)
TRUNCATING = SPEC._replace(truncates=True)
KEY = jax.random.key(0)


def random_rollout(seed: int, truncating: bool = False, steps: int = STEPS, envs: int = ENVS) -> Rollout:
    """Random experience in which some episodes end: by themselves, in the terminal state, or cut off anywhere."""
    rng = np.random.default_rng(seed)
    obs = rng.integers(0, SIZE, (steps + 1, envs))
    terminated = rng.random((steps, envs)) < 0.25
    truncated = (rng.random((steps, envs)) < 0.4) & ~terminated & truncating
    final = np.where(terminated, SIZE, rng.integers(0, SIZE, (steps, envs)))
    return Rollout(
        obs=jnp.asarray(obs[:-1]),
        action=jnp.asarray(rng.integers(0, ACTIONS, (steps, envs))),
        reward=jnp.asarray(rng.normal(size=(steps, envs)), jnp.float32),
        next_obs=jnp.asarray(np.where(terminated | truncated, final, obs[1:])),
        terminated=jnp.asarray(terminated),
        truncated=jnp.asarray(truncated),
        last_obs=jnp.asarray(obs[-1]),
    )


def random_log_probs(seed: int, shape=(STEPS, ENVS)):
    """A random policy on every step of a rollout."""
    return jnp.asarray(np.log(np.random.default_rng(seed).dirichlet(np.ones(ACTIONS), shape)), jnp.float32)


def first_step(agent, network):
    """The optimiser's state before its first step: all zeros."""
    shapes = jax.eval_shape(agent.optimiser.init, eqx.filter(network, eqx.is_array))
    return jax.tree.map(lambda x: np.zeros(x.shape, x.dtype), shapes)


def random_state(agent, seed: int = 0) -> ActorCriticState:
    """An actor-critic whose weights and biases are all random."""
    mlps = [random_mlp(SPEC.observation, (6,), outputs, seed + i) for i, outputs in enumerate((ACTIONS, 1))]
    network = ActorCritic(*mlps)
    return ActorCriticState(network, first_step(agent, network))


def numpy_mlp(network: MLP, obs) -> np.ndarray:
    """The network in float64, on integers."""
    size = network.observation.size
    h = np.eye(size + 1, size)[np.asarray(obs)]  # the last row is the zero vector
    for i, (w, b) in enumerate(zip(network.weights, network.biases, strict=True)):
        h = h @ np.asarray(w, np.float64) + np.asarray(b, np.float64)
        if i < len(network.weights) - 1:
            h = np.maximum(h, 0)
    return h


def log_softmax(x):
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def chosen(x, action):
    """The entry of each row at the action."""
    return np.take_along_axis(np.asarray(x), np.asarray(action)[..., None], -1)[..., 0]


def flat(tree) -> np.ndarray:
    """All numbers of a tree in one vector."""
    return np.concatenate([np.asarray(x, np.float64).reshape(-1) for x in jax.tree.leaves(tree)])


def adam_step(agent, params, gradient) -> np.ndarray:
    """The parameters after Adam's first step on a jointly clipped gradient, as one vector in float64."""
    g = flat(gradient)
    g = g * min(1.0, agent.max_grad_norm / np.linalg.norm(g))
    return flat(params) - agent.learning_rate * g / (np.abs(g) + agent.adam_epsilon)


def experience_of(seed: int, truncating: bool = False, behaviour: bool = False) -> Experience:
    """A random rollout, of the learner's own policy or of another."""
    return Experience(random_rollout(seed, truncating), random_log_probs(seed) if behaviour else None)
