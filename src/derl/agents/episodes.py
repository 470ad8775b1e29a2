"""Replay of whole episodes, of any lengths.

Steps are kept as the stream they arrive in, at a place shared by the whole population (see `Ring`); what is kept for
each run is only where in the stream its episodes began.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, Shaped

from derl.agents.base import Clock
from derl.agents.replay import Ring
from derl.core.types import Rollout, Spec, empty_rollout


class Kept(NamedTuple):
    """What is kept of a step."""

    obs: Shaped[Array, "*b_obs"]
    action: Int[Array, "*b"]
    reward: Float[Array, "*b"]
    log_mu: Float[Array, "*b"]
    """Log-probability of the action by the policy that took it."""
    terminated: Bool[Array, "*b"]
    truncated: Bool[Array, "*b"] | None
    next_obs: Shaped[Array, "*b_obs"] | None
    """Only where episodes can be truncated: else the value after the last step is 0."""


class Episodes(NamedTuple):
    """Episodes side by side, each from its first step, padded to the longest possible length."""

    rollout: Rollout
    log_mu: Float[Array, "L B"]
    alive: Float[Array, "L B"]
    """1 for the steps of the episode, 0 for what pads it."""


class EpisodeReplay(eqx.Module):
    """The newest episodes of each environment, and which steps of the stream they are."""

    ring: Ring[Kept]
    began: Int[Array, " E"]
    """The step at which the episode under way began, counted from the first step ever."""
    start: Int[Array, "K E"]
    """The steps at which the kept episodes began."""
    finished: Int[Array, " E"]
    """How many episodes ended, ever."""
    longest: int = eqx.field(static=True)

    @staticmethod
    def init(spec: Spec, num_envs: int, capacity: int, stride: int) -> "EpisodeReplay":
        """Room for `capacity` steps in episodes of the greatest length (for no more episodes if they are shorter)."""
        longest = spec.max_episode_steps
        episodes = max(1, capacity // (longest * num_envs))
        example = empty_rollout(spec, num_envs, 1)
        row = Kept(
            example.obs[0],
            example.action[0],
            example.reward[0],
            example.reward[0],
            example.terminated[0],
            *((example.truncated[0], example.next_obs[0]) if spec.truncates else (None, None)),
        )
        # The episode under way and the rollout that ends it need room beside the kept ones.
        rows = -(-((episodes + 1) * longest + stride) // stride) * stride
        zeros = jnp.zeros(num_envs, jnp.int32)
        return EpisodeReplay(
            Ring.init(row, rows, stride), zeros, jnp.zeros((episodes, num_envs), jnp.int32), zeros, longest
        )

    def write(self, clock: Clock, rollout: Rollout, log_mu: Float[Array, "T E"]) -> "EpisodeReplay":
        """Take in write number `clock`."""
        truncates = self.ring.data.next_obs is not None
        extras = (rollout.truncated, rollout.next_obs) if truncates else (None, None)
        kept = Kept(rollout.obs, rollout.action, rollout.reward, log_mu, rollout.terminated, *extras)
        envs = jnp.arange(self.began.shape[0])

        def note(carry, inputs):
            began, start, finished = carry
            done, after = inputs
            slot = finished % start.shape[0]
            start = start.at[slot, envs].set(jnp.where(done, began, start[slot, envs]))
            return (jnp.where(done, after, began), start, finished + done), None

        after = clock * self.ring.stride + 1 + jnp.arange(self.ring.stride)
        carry = (self.began, self.start, self.finished)
        (began, start, finished), _ = jax.lax.scan(note, carry, (rollout.done, after))
        return EpisodeReplay(self.ring.write(clock, kept), began, start, finished, self.longest)

    def ready(self, clock: Clock) -> Bool[Array, ""]:
        """Whether every environment of every run must have finished an episode. Known from the clock alone."""
        return (clock + 1) * self.ring.stride >= self.longest

    def steps(self, clock: Clock) -> Int[Array, ""]:
        """How many steps the kept episodes have, and the episodes under way."""
        slots, envs = self.start.shape
        full = self.finished >= slots
        oldest = jnp.where(full, self.start[self.finished % slots, jnp.arange(envs)], 0)
        return ((clock + 1) * self.ring.stride - oldest).sum()

    def draw(self, key: PRNGKeyArray, batch: int) -> Episodes:
        """Episodes drawn with replacement: an environment, then one of those it has finished.

        That is uniform over episodes where all environments have finished as many: with one of them, or with episodes
        of equal length.
        """
        env_key, key = jax.random.split(key)
        env = jax.random.randint(env_key, (batch,), 0, self.began.shape[0])
        number = jax.random.randint(key, (batch,), 0, jnp.minimum(self.finished, self.start.shape[0])[env])
        rows = (self.start[number, env] + jnp.arange(self.longest)[:, None]) % self.ring.rows
        kept = jax.tree.map(lambda x: x[rows, env], self.ring.data)
        truncated = jnp.zeros_like(kept.terminated) if kept.truncated is None else kept.truncated
        next_obs = kept.obs if kept.next_obs is None else kept.next_obs
        rollout = Rollout(kept.obs, kept.action, kept.reward, next_obs, kept.terminated, truncated, next_obs[-1])
        ended = jnp.cumsum(rollout.done, axis=0) - rollout.done
        return Episodes(rollout, kept.log_mu, (ended == 0).astype(jnp.float32))
