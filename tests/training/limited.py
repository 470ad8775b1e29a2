"""A task that does nothing but end."""

import jax.numpy as jnp

from derl.core.types import Discrete, Spec
from derl.envs.base import Environment, Step

LONGEST = 5


class Limited(Environment):
    """Every step is worth 1, and an episode is cut off after `limit` steps.

    A copy's next episode is as long as its last one. The observation is the number of steps taken.
    """

    limit: int = 2

    @property
    def name(self):
        return "Limited"

    @property
    def spec(self):
        return Spec(Discrete(LONGEST + 1), 2, truncates=True)

    @property
    def max_episode_steps(self):
        return LONGEST

    def reset(self, key):
        return (jnp.asarray(self.limit), jnp.asarray(0)), jnp.asarray(0)

    def restart(self, key, last):
        return (last[0], jnp.asarray(0)), jnp.asarray(0)

    def step(self, key, state, action):
        limit, time = state[0], state[1] + 1
        return (limit, time), Step(time, jnp.asarray(1.0), jnp.asarray(False), time >= limit)
