"""The data that flows between rooms: spaces, and a rollout of experience."""

import math
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Shaped


class Discrete(NamedTuple):
    """The integers 0 .. size-1.

    As an observation, an integer stands for its one-hot vector, and `size` itself for the all-zero vector (the
    terminal observation of DeepSea). Keeping it an integer makes the first layer of a network a row lookup.
    """

    size: int


class Box(NamedTuple):
    """Real vectors of a fixed shape."""

    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """How many numbers one observation holds."""
        return math.prod(self.shape)


class Spec(NamedTuple):
    """What an agent or a bonus needs to know about an environment."""

    observation: Discrete | Box
    num_actions: int
    truncates: bool = False
    """Whether an episode can end by a time limit that is not part of the task (so that values bootstrap there)."""
    max_episode_steps: int = 0
    """No episode is longer; filled in from the environment for the agents."""
    equal_episodes: bool = False
    """Whether all are as long as that; filled in as well."""


class Rollout(eqx.Module):
    """`T` steps of `E` environments side by side, time first.

    `next_obs` is the true successor of `obs`, also at the end of an episode: the first observation of the next episode
    never takes its place. `last_obs` is what the policy sees after the rollout (after any reset).
    """

    obs: Shaped[Array, "T E *obs"]
    action: Int[Array, "T E"]
    reward: Float[Array, "T E"]
    next_obs: Shaped[Array, "T E *obs"]
    terminated: Bool[Array, "T E"]
    truncated: Bool[Array, "T E"]
    last_obs: Shaped[Array, " E *obs"]

    @property
    def done(self) -> Bool[Array, "T E"]:
        """Where an episode ended, for either reason."""
        return self.terminated | self.truncated

    def successor_after_reset(self) -> Shaped[Array, "T E *obs"]:
        """What follows each step in the stream of observations: at an episode's end, the next episode's first one."""
        return jnp.concatenate([self.obs[1:], self.last_obs[None]])

    def with_reward(self, reward: Float[Array, "T E"]) -> "Rollout":
        """The same experience, rewarded differently."""
        return eqx.tree_at(lambda r: r.reward, self, reward)


def join_rollouts(earlier: Rollout, later: Rollout) -> Rollout:
    """Two consecutive rollouts as one longer one."""
    joined = jax.tree.map(lambda a, b: jnp.concatenate([a, b]), earlier, later)
    return eqx.tree_at(lambda r: r.last_obs, joined, later.last_obs)


def empty_rollout(spec: Spec, num_envs: int, steps: int) -> Rollout:
    """Zeros in the shape of a rollout."""
    shape, dtype = ((), jnp.int32) if isinstance(spec.observation, Discrete) else (spec.observation.shape, jnp.float32)
    obs = jnp.zeros((steps, num_envs, *shape), dtype)
    flag = jnp.zeros((steps, num_envs), bool)
    action = jnp.zeros((steps, num_envs), jnp.int32)
    return Rollout(obs, action, jnp.zeros((steps, num_envs)), obs, flag, flag, jnp.zeros((num_envs, *shape), dtype))
