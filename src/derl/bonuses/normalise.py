"""Optional normalisation of intrinsic rewards (the paper uses none)."""

import math
from typing import Literal

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from derl.core.running import Moments, RewardScale, discounted_sums

Normalise = Literal["none", "rms", "returns", "recent"]

RECENT_STEPS = 1000.0
"""How many steps "recent" remembers: 20 to 100 episodes of the paper's tasks."""


def running_root_mean_square(moments: Moments) -> Float[Array, ""]:
    """sqrt(E[x^2]) = sqrt(E[x]^2 + Var[x])."""
    return jnp.sqrt(moments.mean**2 + moments.variance)


class BonusScale(eqx.Module):
    """The statistics `normalise` keeps: of the bonus itself, or of its discounted sums."""

    statistics: RewardScale

    @staticmethod
    def init(num_envs: int) -> "BonusScale":
        """Before any bonus."""
        return BonusScale(RewardScale.init(num_envs))


def normalise(
    mode: Normalise,
    state: BonusScale,
    bonus: Float[Array, "T E"],
    done: Bool[Array, "T E"],
    gamma: float | Array,
) -> tuple[BonusScale, Float[Array, "T E"]]:
    """Take in the bonuses of a rollout, then scale them by all that was seen so far.

    - "none": as they are.
    - "rms": over their running root mean square.
    - "returns": over the running deviation of their discounted sums (as in Burda et al. 2018); unlike extrinsic
      rewards they are not clipped, since a rare large bonus is the signal.
    - "recent": over the root mean square of their recent discounted sums. Bonuses that fade as everything becomes
      familiar keep their size, and so does the part they play beside anything that does not fade.
    """
    if mode == "none":
        return state, bonus
    if mode == "rms":
        moments = state.statistics.moments.update(bonus.reshape(-1))
        statistics = eqx.tree_at(lambda s: s.moments, state.statistics, moments)
        return BonusScale(statistics), bonus / (running_root_mean_square(moments) + 1e-8)
    if mode == "recent":
        carried, sums = discounted_sums(state.statistics.carried, bonus, done, gamma)
        moments = state.statistics.moments
        moments = eqx.tree_at(lambda m: m.count, moments, jnp.minimum(moments.count, RECENT_STEPS))
        state = BonusScale(RewardScale(moments.update(sums.reshape(-1)), carried))
        return state, bonus / running_size(mode, state)
    statistics = state.statistics.update(bonus, done, gamma)
    return BonusScale(statistics), statistics.scale(bonus, clip=math.inf)


def running_size(mode: Normalise, state: BonusScale) -> Float[Array, ""] | float:
    """What `normalise` divides by after all that was seen so far."""
    if mode == "none":
        return 1.0
    if mode == "returns":
        return jnp.sqrt(state.statistics.moments.variance + 1e-8)
    return running_root_mean_square(state.statistics.moments) + 1e-8
