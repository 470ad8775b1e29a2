"""Tiny tasks whose values and best actions are known, each a table.

A probe is a finite MDP held in arrays, so that different probes are leaves of one structure: a population can train on all of them
in one compiled program.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from derl.core.types import Box, Discrete, Spec
from derl.envs.base import Environment, Step

STATES, ACTIONS = 4, 2
VECTORS = np.array([[2, 0, 1], [0, 2, 1], [-2, 0, 1], [0, -2, 1]], np.float32)
"""What each state looks like to an agent that sees vectors."""


class Probe(Environment):
    """A finite MDP with certain transitions and rewards, and possibly uncertain starts and ends."""

    start: jax.Array
    """Probability of starting in each state."""
    successor: jax.Array
    reward: jax.Array
    terminated: jax.Array
    """Probability that the task ends after each state and action."""
    truncated: jax.Array
    """Probability that the episode is cut off there, if the task does not end."""
    vectors: bool = eqx.field(static=True)
    truncates: bool = eqx.field(static=True)

    @property
    def name(self):
        return "Probe"

    @property
    def spec(self):
        return Spec(Box((VECTORS.shape[1],)) if self.vectors else Discrete(STATES), ACTIONS, self.truncates)

    @property
    def max_episode_steps(self):
        return 8

    def look(self, state):
        return jnp.asarray(VECTORS)[state] if self.vectors else state

    def reset(self, key):
        state = jax.random.categorical(key, jnp.log(self.start)).astype(jnp.int32)
        return state, self.look(state)

    def step(self, key, state, action):
        end, cut = jax.random.uniform(key, (2,))
        following = self.successor[state, action]
        terminated = end < self.terminated[state, action]
        truncated = ~terminated & (cut < self.truncated[state, action])
        return following, Step(self.look(following), self.reward[state, action], terminated, truncated)


class Answer(NamedTuple):
    """What an agent should have learnt."""

    values: dict[int, float]
    """Of states, under the best policy."""
    actions: dict[int, int]
    """The best one in each state where it matters."""


def probe(start, transitions, *, vectors=False, truncates=True) -> Probe:
    """A probe from its transitions {(state, action or None for both): (reward, successor, p_terminated, p_truncated)}."""
    starts = np.zeros(STATES, np.float32)
    starts[list(start)] = 1 / len(start)
    successor = np.zeros((STATES, ACTIONS), np.int32)
    reward = np.zeros((STATES, ACTIONS), np.float32)
    terminated, truncated = np.ones_like(reward), np.zeros_like(reward)
    for (state, action), (r, s, end, cut) in transitions.items():
        where = (state, slice(None) if action is None else action)
        reward[where], successor[where], terminated[where], truncated[where] = r, s, end, cut
    leaves = map(jnp.asarray, (starts, successor, reward, terminated, truncated))
    return Probe(*leaves, vectors, truncates)
