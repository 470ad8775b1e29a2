"""The contract every intrinsic reward follows, and what all of them share."""

import abc
from typing import Any, Generic, Literal, TypeVar

import equinox as eqx
from jaxtyping import Array, Float, Int, PRNGKeyArray, Shaped

from derl.bonuses.normalise import Normalise
from derl.core.checks import check_choices, require_at_least, require_shape
from derl.core.errors import DerlError
from derl.core.types import Rollout, Spec

State = TypeVar("State")
Looks = Literal["state", "successor", "successor_after_reset"]
"""Which state of a transition (s_t, a_t, s_{t+1}) a bonus looks at; the last is what a self-resetting environment
shows."""


class Bonus(eqx.Module, Generic[State]):
    """An intrinsic reward r^i: `init` makes its state, `step` rewards a rollout and learns from it.

    The explorer learns from r^e + scale * r^i, or from scale * r^i alone (see `derl.training.algorithm`).
    """

    scale: float = 1.0
    """lambda: the weight of the bonus beside the extrinsic reward."""
    normalise: Normalise = eqx.field(default="none", static=True)
    """Divide the bonus by its running root mean square, by the running deviation of its discounted sums, or by the
    size of its recent discounted sums (then lambda counts only beside extrinsic rewards)."""

    @abc.abstractmethod
    def init(self, key: PRNGKeyArray, spec: Spec, num_envs: int) -> State:
        """The state before any experience."""

    @abc.abstractmethod
    def step(self, state: State, rollout: Rollout) -> tuple[State, Float[Array, "T E"]]:
        """Reward each step of `rollout` in order of time, learning as it goes. Not yet multiplied by `scale`."""

    def current(
        self,
        state: State,
        obs: Shaped[Array, "*b_obs"],
        action: Int[Array, "*b"],
        next_obs: Shaped[Array, "*b_obs"],
    ) -> Float[Array, "*b"]:
        """What transitions from memory would be rewarded with now, without learning from them. Not times `scale`."""
        raise DerlError(
            f"{type(self).__name__} cannot be recomputed for remembered steps; "
            "use count, hash-count or rnd, or switch explorer.recompute_bonus off"
        )

    @property
    def learned(self) -> tuple[int, ...] | None:
        """The hidden layers of the networks it learns; None if it learns none."""
        return None

    @property
    def recomputable(self) -> bool:
        """Whether it can say what remembered transitions would be rewarded with now: `current` is its own."""
        return type(self).current is not Bonus.current

    @property
    def needs_resets(self) -> bool:
        """Whether it looks at the state after a reset, which remembered transitions do not know."""
        return False

    def idle(self, spec: Spec, num_envs: int) -> dict[str, str]:
        """Settings that cannot change anything here, each with the rest of "it changes nothing ..."."""
        return {}

    def check(self) -> None:
        """Raise a `DerlError` if a hyper-parameter makes no sense."""
        check_choices(self)
        require_at_least(self, 0, "scale")


class CurrentBonus(eqx.Module):
    """lambda r^i as it is now, for an agent that rewards remembered steps anew whenever it replays them."""

    bonus: "AnyBonus"
    state: Any
    weight: Float[Array, ""] | float
    """lambda over the bonus's running size."""

    def __call__(
        self, obs: Shaped[Array, "*b_obs"], action: Int[Array, "*b"], next_obs: Shaped[Array, "*b_obs"]
    ) -> Float[Array, "*b"]:
        now = self.bonus.current(self.state, obs, action, next_obs)
        require_shape(self.bonus, "current", "rewards", now, action.shape, "one for each remembered step")
        return self.weight * now


AnyBonus = Bonus[Any]


def looked_at(rollout: Rollout, looks: Looks) -> Shaped[Array, "T E *obs"]:
    """The observations a bonus looks at."""
    if looks == "state":
        return rollout.obs
    return rollout.next_obs if looks == "successor" else rollout.successor_after_reset()


def looked_at_again(
    obs: Shaped[Array, "*b_obs"], next_obs: Shaped[Array, "*b_obs"], looks: Looks
) -> Shaped[Array, "*b_obs"]:
    """The observations a bonus looks at in remembered transitions, which know no state after a reset."""
    return obs if looks == "state" else next_obs
