"""Distances D(p, q) between two policies over the same finite set of actions (Wu et al. 2019), from log-probabilities.

All are 0 exactly when the policies agree, and differentiable in both arguments.
"""

from collections.abc import Callable
from typing import Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

LogProbs = Float[Array, "*b A"]
Divergence = Literal["kl", "chi-squared", "jensen-shannon", "mmd", "wasserstein"]


def kl(log_p: LogProbs, log_q: LogProbs) -> Float[Array, "*b"]:
    """Kullback-Leibler divergence: D(p, q) = sum_a p(a) (log p(a) - log q(a)), which the paper uses."""
    return (jnp.exp(log_p) * (log_p - log_q)).sum(-1)


def chi_squared(log_p: LogProbs, log_q: LogProbs) -> Float[Array, "*b"]:
    """Pearson's: D(p, q) = sum_a (p(a) - q(a))^2 / q(a)."""
    return (jnp.square(jnp.exp(log_p) - jnp.exp(log_q)) / (jnp.exp(log_q) + 1e-7)).sum(-1)


def jensen_shannon(log_p: LogProbs, log_q: LogProbs) -> Float[Array, "*b"]:
    """D(p, q) = 1/2 KL(p, m) + 1/2 KL(q, m) with the mixture m = (p + q) / 2. At most log 2."""
    log_m = jnp.logaddexp(log_p, log_q) - jnp.log(2.0)
    return 0.5 * (kl(log_p, log_m) + kl(log_q, log_m))


def mmd(log_p: LogProbs, log_q: LogProbs) -> Float[Array, "*b"]:
    """Squared maximum mean discrepancy under the kernel k(a, b) = 1 if a = b else 0: sum_a (p(a) - q(a))^2."""
    return jnp.square(jnp.exp(log_p) - jnp.exp(log_q)).sum(-1)


def wasserstein(log_p: LogProbs, log_q: LogProbs) -> Float[Array, "*b"]:
    """1-Wasserstein distance when any two actions are 1 apart: 1/2 sum_a |p(a) - q(a)|."""
    return 0.5 * jnp.abs(jnp.exp(log_p) - jnp.exp(log_q)).sum(-1)


DIVERGENCES: dict[Divergence, Callable[[LogProbs, LogProbs], Float[Array, "*b"]]] = {
    "kl": kl,
    "chi-squared": chi_squared,
    "jensen-shannon": jensen_shannon,
    "mmd": mmd,
    "wasserstein": wasserstein,
}


def mean_divergence(name: Divergence, log_p: LogProbs, log_q: LogProbs) -> Float[Array, ""]:
    """The named divergence averaged over states, with no gradient into the second policy."""
    return DIVERGENCES[name](log_p, jax.lax.stop_gradient(log_q)).mean()


def constrained_loss(
    loss: Float[Array, ""], alpha: Float[Array, ""], name: Divergence, log_pi: LogProbs, log_other: LogProbs
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """A loss with the constraint that keeps two policies close, L + alpha D(pi || other), and D itself."""
    divergence = mean_divergence(name, log_pi, log_other)
    return loss + alpha * divergence, divergence
