"""Running moments, and the observation and reward normalisers built from them."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


class Moments(eqx.Module):
    """Mean and variance of everything seen so far (Chan's parallel update)."""

    mean: Float[Array, "*shape"]
    variance: Float[Array, "*shape"]
    count: Float[Array, ""]

    @staticmethod
    def init(shape: tuple[int, ...] = ()) -> "Moments":
        """Before any data: mean 0, variance 1, with the weight of a negligible pseudo-observation."""
        return Moments(jnp.zeros(shape), jnp.ones(shape), jnp.asarray(1e-4))

    def update(self, batch: Float[Array, " batch *shape"], counted: Bool[Array, " batch"] | None = None) -> "Moments":
        """Take in a batch (its first axis is averaged over), or of it what is `counted`, which must not be nothing."""
        n = batch.shape[0] if counted is None else counted.sum()
        where = None if counted is None else counted.reshape(-1, *[1] * (batch.ndim - 1))
        total = self.count + n
        delta = batch.mean(0, where=where) - self.mean
        square = self.variance * self.count + batch.var(0, where=where) * n + delta**2 * self.count * n / total
        return Moments(self.mean + delta * n / total, square / total, total)

    def standardise(self, x: Float[Array, "*batch"], clip: float = 10.0) -> Float[Array, "*batch"]:
        """`x` with the running mean and variance taken out, clipped to plus or minus `clip`."""
        return jnp.clip((x - self.mean) / jnp.sqrt(self.variance + 1e-8), -clip, clip)


def discounted_sums(
    carried: Float[Array, " E"], reward: Float[Array, "T E"], done: Bool[Array, "T E"], gamma: float | Array
) -> tuple[Float[Array, " E"], Float[Array, "T E"]]:
    """Forward-filtered rewards: g_t = gamma g_{t-1} + r_t, restarted after every episode's end."""

    def step(g, inputs):
        r, d = inputs
        g = gamma * g + r
        return jnp.where(d, 0.0, g), g

    return jax.lax.scan(step, carried, (reward, done))


class RewardScale(eqx.Module):
    """Divides rewards by the running deviation of their discounted sums, so that their scale no longer matters."""

    moments: Moments
    carried: Float[Array, " E"]

    @staticmethod
    def init(num_envs: int) -> "RewardScale":
        """Before any reward."""
        return RewardScale(Moments.init(), jnp.zeros(num_envs))

    def update(self, reward: Float[Array, "T E"], done: Bool[Array, "T E"], gamma: float | Array) -> "RewardScale":
        """Take in the rewards of a rollout."""
        carried, sums = discounted_sums(self.carried, reward, done, gamma)
        return RewardScale(self.moments.update(sums.reshape(-1)), carried)

    def scale(self, reward: Float[Array, "T E"], clip: float = 10.0) -> Float[Array, "T E"]:
        """The rewards over the running deviation, clipped."""
        return jnp.clip(reward / jnp.sqrt(self.moments.variance + 1e-8), -clip, clip)
