"""Tiny tasks whose values and best actions are known.

A probe is a finite MDP held in arrays, so that different probes are leaves of one structure: a population trains on all
of them in one compiled program.
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
"""What each state looks like to agents that see vectors."""


class Probe(Environment):
    """Certain transitions and rewards; possibly uncertain starts and ends."""

    start: jax.Array
    """Probability of starting in each state."""
    successor: jax.Array
    reward: jax.Array
    terminated: jax.Array
    """Probability that the task ends after each state and action."""
    truncated: jax.Array
    """Probability that the episode is cut off there."""
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
        """The observation of a state (or of many)."""
        return jnp.asarray(VECTORS)[state] if self.vectors else state

    def reset(self, key):
        state = (jax.random.uniform(key) > jnp.cumsum(self.start)).sum()
        return state, self.look(state)

    def step(self, key, state, action):
        following = self.successor[state, action]
        luck, end, cut = jax.random.uniform(key), self.terminated[state, action], self.truncated[state, action]
        answer = Step(self.look(following), self.reward[state, action], luck < end, (luck >= end) & (luck < end + cut))
        return following, answer


class Outcome(NamedTuple):
    """What follows an action."""

    reward: float
    successor: int = 0
    end: float = 1.0
    cut: float = 0.0


class Task(NamedTuple):
    """A probe, and what a learner should find out about it."""

    start: tuple[int, ...]
    outcomes: dict[tuple[int, int | None], Outcome]
    """For each state and action; None stands for both actions."""
    gamma: float
    values: dict[int, float]
    """Of states under the best policy."""
    actions: dict[int, int]
    """The best one, where it matters."""
    best_return: float | None = None
    """Undiscounted, of an episode with the best actions, if that is the same in every episode."""
    tolerance: float = 0.15

    def tables(self):
        """Successor, reward, probability of ending and of being cut off, for each state and action."""
        successor = np.zeros((STATES, ACTIONS), np.int32)
        reward, cut = np.zeros((2, STATES, ACTIONS), np.float32)
        end = np.ones((STATES, ACTIONS), np.float32)
        for (state, action), outcome in self.outcomes.items():
            where = (state, slice(None) if action is None else action)
            reward[where], successor[where], end[where], cut[where] = outcome
        return successor, reward, end, cut

    def probe(self, *, vectors: bool = False, truncates: bool = True) -> Probe:
        """The task as an environment."""
        start = np.zeros(STATES, np.float32)
        start[list(self.start)] = 1 / len(self.start)
        return Probe(*map(jnp.asarray, (start, *self.tables())), vectors, truncates)

    def action_values(self) -> np.ndarray:
        """Q of the best policy, by value iteration: only a true end stops the sum of rewards."""
        successor, reward, end, _ = self.tables()
        q = np.zeros((STATES, ACTIONS))
        for _ in range(500):
            q = reward + self.gamma * (1 - end) * q.max(-1)[successor]
        return q

    def uniform_values(self) -> np.ndarray:
        """V of a policy that acts at random."""
        successor, reward, end, _ = self.tables()
        v = np.zeros(STATES)
        for _ in range(500):
            v = (reward + self.gamma * (1 - end) * v[successor]).mean(-1)
        return v


PATIENCE = {(0, 0): Outcome(0.4), (0, 1): Outcome(0.0, 1, end=0.0), (1, None): Outcome(1.0)}

TASKS = {
    "constant": Task((0,), {(0, None): Outcome(1.0)}, 0.9, {0: 1.0}, {}, 1.0),
    "observation": Task((0, 1), {(0, None): Outcome(1.0), (1, None): Outcome(-1.0)}, 0.9, {0: 1.0, 1: -1.0}, {}),
    "delay": Task(
        (0,),
        {(0, None): Outcome(0.0, 1, end=0.0), (1, None): Outcome(0.0, 2, end=0.0), (2, None): Outcome(1.0)},
        0.7,
        {0: 0.49, 1: 0.7, 2: 1.0},
        {},
        1.0,
    ),
    "action": Task((0,), {(0, 0): Outcome(-1.0), (0, 1): Outcome(1.0)}, 0.9, {0: 1.0}, {0: 1}, 1.0),
    "action and observation": Task(
        (0, 1),
        {(0, 0): Outcome(1.0), (0, 1): Outcome(-1.0), (1, 0): Outcome(-1.0), (1, 1): Outcome(1.0)},
        0.9,
        {0: 1.0, 1: 1.0},
        {0: 0, 1: 1},
        1.0,
    ),
    # What to bootstrap from depends on an action that is only taken later. Exploiters whose returns pass through the
    # explorer's choice value state 1 a little differently, and so state 0; see the tests of corrections.
    "late choice": Task(
        (0,),
        {
            (0, None): Outcome(0.0, 1, end=0.0),
            (1, None): Outcome(0.0, 2, end=0.0),
            (2, 0): Outcome(-1.0),
            (2, 1): Outcome(1.0),
        },
        0.7,
        {0: 0.49, 2: 1.0},
        {2: 1},
        1.0,
        tolerance=0.25,
    ),
    # 0.4 now or 1 later: what is better depends on the discount.
    "patience": Task((0,), PATIENCE, 0.8, {0: 0.8, 1: 1.0}, {0: 1}, 1.0),
    "impatience": Task((0,), PATIENCE, 0.2, {0: 0.4}, {0: 0}, 0.4),
    # Cut off, but the task would go on: 1 + 0.5 + 0.25 + ... = 2 from state 1. State 0 leads there but is always cut
    # off after its first step, and the next episode may start anywhere.
    "truncated": Task(
        (0, 1),
        {(0, None): Outcome(0.0, 1, end=0.0, cut=1.0), (1, None): Outcome(1.0, 1, end=0.0, cut=0.5)},
        0.5,
        {0: 1.0, 1: 2.0},
        {},
    ),
    # Ends with probability 0.3 after each step: 1 / (1 - 0.8 0.7)
    "lengths": Task((0,), {(0, None): Outcome(1.0, 0, end=0.3)}, 0.8, {0: 1 / 0.44}, {}, tolerance=0.4),
}
