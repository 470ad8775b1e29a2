"""No intrinsic reward: what the unmotivated baselines learn with."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, Shaped

from derl.bonuses.base import Bonus
from derl.core.errors import require
from derl.core.types import Rollout, Spec


class NoBonus(Bonus[tuple[()]]):
    """r^i = 0."""

    def check(self) -> None:
        super().check()
        require(
            self.scale == 1, f"NoBonus: scale changes nothing as there is no bonus; leave it at 1, not {self.scale:g}"
        )

    def idle(self, spec: Spec, num_envs: int) -> dict[str, str]:
        return {"normalise": "as there is no bonus"}

    def init(self, key: PRNGKeyArray, spec: Spec, num_envs: int) -> tuple[()]:
        return ()

    def step(self, state: tuple[()], rollout: Rollout) -> tuple[tuple[()], Float[Array, "T E"]]:
        return state, jnp.zeros_like(rollout.reward)

    def current(
        self,
        state: tuple[()],
        obs: Shaped[Array, "*b_obs"],
        action: Int[Array, "*b"],
        next_obs: Shaped[Array, "*b_obs"],
    ) -> Float[Array, "*b"]:
        return jnp.zeros(action.shape)
