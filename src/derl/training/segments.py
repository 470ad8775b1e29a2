"""Rollouts joined to longer sequences, and a replay of them: what an actor-critic exploiter learns from."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from derl.agents.base import Clock, Experience
from derl.agents.replay import Ring
from derl.core.types import Rollout, join_rollouts


def side_by_side(experiences: Experience) -> Experience:
    """A batch of experiences as one with more environments: (K, T, E) becomes (T, K E)."""

    def time_first(x):
        return jnp.moveaxis(x, 0, 1).reshape(x.shape[1], -1, *x.shape[3:])

    last_obs = experiences.rollout.last_obs
    flat = jax.tree.map(time_first, eqx.tree_at(lambda e: e.rollout.last_obs, experiences, experiences.rollout.obs))
    return eqx.tree_at(lambda e: e.rollout.last_obs, flat, last_obs.reshape(-1, *last_obs.shape[2:]))


def sequences(rollouts: list[Experience], length: int) -> Experience:
    """Consecutive rollouts as sequences of `length` rollouts each, side by side as if from more environments."""
    joined = []
    for start in range(0, len(rollouts), length):
        *earlier, whole = rollouts[start : start + length]
        for before in reversed(earlier):
            behaviour = jnp.concatenate([before.behaviour, whole.behaviour])  # pyright: ignore
            whole = Experience(join_rollouts(before.rollout, whole.rollout), behaviour)
        joined.append(whole)
    return joined[0] if len(joined) == 1 else side_by_side(jax.tree.map(lambda *xs: jnp.stack(xs), *joined))


def out_of_order(older: Experience, newest: Experience) -> Experience:
    """The newest rollout followed by the one before it, as if it came after: what DePPO's buffer held in the paper's
    code after every other rollout. Where the old steps begin stands the observation that follows the new ones."""
    swapped = sequences([newest, older], 2)
    steps = newest.rollout.reward.shape[0]
    return eqx.tree_at(lambda e: e.rollout.obs, swapped, swapped.rollout.obs.at[steps].set(newest.rollout.last_obs))


class SegmentReplay(eqx.Module):
    """The newest rollouts, each whole, with the log-probabilities of the policy that acted."""

    ring: Ring[Experience]
    batch: int = eqx.field(static=True)
    skip: int = eqx.field(static=True)
    """The first rollouts, which were not yet joined to a full window."""

    @staticmethod
    def init(example: Experience, capacity: int, batch: int, skip: int) -> "SegmentReplay":
        """Room for `capacity` rollouts like `example`."""
        return SegmentReplay(Ring.init(example, capacity, 1), batch, skip)

    def keep(self, clock: Clock, newest: Experience) -> "SegmentReplay":
        """With the newest rollout in it."""
        ring = self.ring.write(clock, jax.tree.map(lambda x: x[None], newest))
        return eqx.tree_at(lambda s: s.ring, self, ring)

    def draw(self, key: PRNGKeyArray, clock: Clock, newest: Experience) -> Experience:
        """The newest rollout together with `batch` kept ones."""
        rows = self.ring.uniform(key, clock, (self.batch,), skip=self.skip)
        drawn = jax.tree.map(lambda kept, new: jnp.concatenate([new[None], kept[rows]]), self.ring.data, newest)
        return side_by_side(drawn)


def empty_experience(rollout: Rollout, num_actions: int) -> Experience:
    """An experience in the shape of those made of `rollout`, for buffers to start from."""
    return Experience(rollout, jnp.zeros((*rollout.reward.shape, num_actions)))
