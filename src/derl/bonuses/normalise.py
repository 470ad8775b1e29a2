"""Optional normalisation of intrinsic rewards (the paper uses none)."""

import math
from typing import Literal

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from derl.core.running import Moments, RewardScale

Normalise = Literal["none", "rms", "returns"]


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
    """
    if mode == "none":
        return state, bonus
    if mode == "rms":
        moments = state.statistics.moments.update(bonus.reshape(-1))
        statistics = eqx.tree_at(lambda s: s.moments, state.statistics, moments)
        return BonusScale(statistics), bonus / (running_root_mean_square(moments) + 1e-8)
    statistics = state.statistics.update(bonus, done, gamma)
    return BonusScale(statistics), statistics.scale(bonus, clip=math.inf)
