"""Optional normalisation of intrinsic rewards (the paper uses none)."""

from typing import Literal

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from derl.core.running import Moments, RewardScale

Normalise = Literal["none", "rms", "returns", "recent"]
"""What bonuses are divided by: see `running_size`."""

RECENT_STEPS = 1000.0
"""How many steps "recent" remembers: 20 to 100 episodes of the paper's tasks."""


def running_root_mean_square(moments: Moments) -> Float[Array, ""]:
    """sqrt(E[x^2]) = sqrt(E[x]^2 + Var[x])."""
    return jnp.sqrt(moments.mean**2 + moments.variance)


def normalise(
    mode: Normalise,
    state: RewardScale,
    bonus: Float[Array, "T E"],
    done: Bool[Array, "T E"],
    gamma: float | Array,
) -> tuple[RewardScale, Float[Array, "T E"]]:
    """Take in the bonuses of a rollout, then divide them by their `running_size` with all that was seen so far.

    The statistics kept are those of the bonuses themselves for "rms", else of their discounted sums. Unlike extrinsic
    rewards bonuses are not clipped, since a rare large bonus is the signal.
    """
    if mode == "none":
        return state, bonus
    if mode == "rms":
        state = eqx.tree_at(lambda s: s.moments, state, state.moments.update(bonus.reshape(-1)))
    else:
        if mode == "recent":
            # What counts for no more than so many steps is outweighed by as many new ones.
            count = jnp.minimum(state.moments.count, RECENT_STEPS)
            state = eqx.tree_at(lambda s: s.moments.count, state, count)
        state = state.update(bonus, done, gamma)
    return state, bonus / running_size(mode, state)


def running_size(mode: Normalise, state: RewardScale) -> Float[Array, ""] | float:
    """What bonuses are divided by, after all that was seen so far.

    - "none": 1.
    - "rms": their running root mean square.
    - "returns": the running deviation of their discounted sums (as in Burda et al. 2018).
    - "recent": the root mean square of their recent discounted sums. Bonuses that fade as everything becomes familiar
      keep their size, and so does the part they play beside anything that does not fade.
    """
    if mode == "none":
        return 1.0
    if mode == "returns":
        return jnp.sqrt(state.moments.variance + 1e-8)
    return running_root_mean_square(state.moments) + 1e-8
