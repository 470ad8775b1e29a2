"""No intrinsic reward: what the unmotivated baselines learn with."""

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from derl.bonuses.base import Bonus
from derl.core.types import Rollout, Spec


class NoBonus(Bonus[tuple[()]]):
    """r^i = 0."""

    def init(self, key: PRNGKeyArray, spec: Spec, num_envs: int) -> tuple[()]:
        return ()

    def step(self, state: tuple[()], rollout: Rollout) -> tuple[tuple[()], Float[Array, "T E"]]:
        return state, jnp.zeros_like(rollout.reward)
