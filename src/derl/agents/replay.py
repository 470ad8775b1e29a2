"""A ring of experience in which a whole population writes at the same place, and how to draw from it.

The place is computed from the shared clock, not stored per run: under `vmap` the write then stays one slice update in
place.
"""

from typing import Generic, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from derl.agents.base import Clock

Row = TypeVar("Row")


class Ring(eqx.Module, Generic[Row]):
    """The newest `rows` rows of a stream that arrives `stride` rows at a time."""

    data: Row
    rows: int = eqx.field(static=True)
    stride: int = eqx.field(static=True)

    @staticmethod
    def init(example: Row, capacity: int, stride: int) -> "Ring[Row]":
        """Room for at least one write of `stride` rows, else as many whole writes as fit `capacity` rows."""
        rows = max(1, capacity // stride) * stride
        data = jax.tree.map(lambda x: jnp.zeros((rows, *x.shape), x.dtype), example)
        return Ring(data, rows, stride)

    def write(self, clock: Clock, rows: Row) -> "Ring[Row]":
        """Put the rows of write number `clock` in, over the oldest ones if full."""
        start = (clock * self.stride) % self.rows

        def put(old, new):
            return jax.lax.dynamic_update_slice_in_dim(old, new.astype(old.dtype), start, 0)

        return eqx.tree_at(lambda ring: ring.data, self, jax.tree.map(put, self.data, rows))

    def filled(self, clock: Clock) -> Int[Array, ""]:
        """How many rows hold data after write number `clock`."""
        return jnp.minimum((clock + 1) * self.stride, self.rows)

    def uniform(self, key: PRNGKeyArray, clock: Clock, shape: tuple[int, ...], skip: int = 0) -> Int[Array, "*shape"]:
        """Rows drawn uniformly with replacement. The first `skip` rows ever written are never drawn."""
        written = (clock + 1) * self.stride
        return jax.random.randint(key, shape, jnp.maximum(written - self.rows, skip), written) % self.rows


class Priorities(eqx.Module):
    """Sampling weights of the entries of a ring, in blocks of about the square root of their number.

    A draw finds its block among the blocks' sums, then its entry in the block: two short searches instead of a long
    one.
    """

    weight: Float[Array, "blocks block"]
    highest: Float[Array, ""]

    @staticmethod
    def init(entries: int) -> "Priorities":
        """No entry can be drawn yet."""
        block = max(1, int(entries**0.5))
        return Priorities(jnp.zeros((-(-entries // block), block)), jnp.asarray(1.0))

    def add(self, start: Int[Array, ""], count: int) -> "Priorities":
        """Give `count` new entries from `start` on the highest priority, so that each is drawn soon."""
        flat = jax.lax.dynamic_update_slice_in_dim(self.weight.reshape(-1), jnp.full(count, self.highest), start, 0)
        return Priorities(flat.reshape(self.weight.shape), self.highest)

    def draw(self, key: PRNGKeyArray, batch: int) -> tuple[Int[Array, " batch"], Float[Array, " batch"]]:
        """Entries drawn in proportion to their weights (stratified), and the probability each had."""
        block_sums = self.weight.sum(1)
        upto = jnp.cumsum(block_sums)
        total = upto[-1]
        # Rounding may push a draw just past the last positive weight, or before its block; clip it back.
        mass = (jnp.arange(batch) + jax.random.uniform(key, (batch,))) / batch * total * (1 - 1e-6)
        block = jnp.minimum(jnp.searchsorted(upto, mass, side="right"), len(upto) - 1)
        inside = jnp.maximum(mass - (upto[block] - block_sums[block]), 0.0)
        within = jnp.cumsum(self.weight[block], axis=1)
        entry = (within <= jnp.minimum(inside, within[:, -1] * (1 - 1e-6))[:, None]).sum(1)
        entry = jnp.minimum(entry, self.weight.shape[1] - 1)
        index = block * self.weight.shape[1] + entry
        return index, self.weight[block, entry] / total

    def update(self, index: Int[Array, " batch"], priority: Float[Array, " batch"]) -> "Priorities":
        """New priorities for drawn entries."""
        flat = self.weight.reshape(-1).at[index].set(priority)
        return Priorities(flat.reshape(self.weight.shape), jnp.maximum(self.highest, priority.max()))
