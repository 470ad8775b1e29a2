"""The contract every environment follows."""

import abc
import dataclasses
from collections.abc import Mapping
from typing import Any, Generic, NamedTuple, TypeVar

import equinox as eqx
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, Shaped

from derl.core.types import Discrete, Spec

State = TypeVar("State")


class Step(NamedTuple):
    """What an environment answers to an action."""

    obs: Shaped[Array, "*obs"]
    """The true next observation, also at the end of an episode."""
    reward: Float[Array, ""]
    terminated: Bool[Array, ""]
    """The task ended: nothing follows, values are 0."""
    truncated: Bool[Array, ""]
    """The episode was cut off by a limit outside the task: values bootstrap from `obs`."""


def fields_of(state: Any) -> Mapping[str, Any]:
    """The fields of a state by their names; none if it is an array, say."""
    if isinstance(state, Mapping):
        return state
    if dataclasses.is_dataclass(state):
        return {field.name: getattr(state, field.name) for field in dataclasses.fields(state)}
    return state._asdict() if hasattr(state, "_asdict") else {}


class Environment(eqx.Module, Generic[State]):
    """A pure, vectorisable environment: `reset` and `step` work on one copy, `vmap` makes many.

    Write a class with these members and every agent, bonus and command works on it. `step` never resets by itself:
    the training loop does, so that the true final observation is always seen.
    """

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """What `derl.make` would parse to get this environment."""

    @property
    @abc.abstractmethod
    def spec(self) -> Spec:
        """Observation space, number of actions, whether episodes can be truncated."""

    @property
    @abc.abstractmethod
    def max_episode_steps(self) -> int:
        """No episode is longer."""

    @property
    def episode_length(self) -> int | None:
        """The length of every episode if they are all equal, else None. Lets budgets be given in episodes."""
        return None

    @property
    def optimal_return(self) -> float | None:
        """The best undiscounted return an episode can have (in expectation), if known."""
        return None

    @property
    def memoryless_return(self) -> float | None:
        """The best return of a deterministic policy that sees only the observation: less, where a memory helps."""
        return self.optimal_return

    @property
    def lowest_return(self) -> float | None:
        """A return that no episode falls below, if known."""
        return None

    @property
    def reachable_states(self) -> int | None:
        """How many observations an episode can act in, if they are countable: of these, coverage is a share."""
        space = self.spec.observation
        return space.size if isinstance(space, Discrete) else None

    @abc.abstractmethod
    def reset(self, key: PRNGKeyArray) -> tuple[State, Shaped[Array, "*obs"]]:
        """Start an episode."""

    def restart(self, key: PRNGKeyArray, last: State) -> tuple[State, Shaped[Array, "*obs"]]:
        """Start the next episode in a copy whose last one ended in `last`: like any, unless something outlasts it."""
        return self.reset(key)

    @abc.abstractmethod
    def step(self, key: PRNGKeyArray, state: State, action: Int[Array, ""]) -> tuple[State, Step]:
        """Take one step."""

    def render_text(self, state: State) -> str:
        """The state as text: unless a class knows better, a line for each of its fields."""
        fields = fields_of(state)
        return "\n".join(f"{name}: {value}" for name, value in fields.items()) if fields else str(state)

    def render_rgb(self, state: State) -> np.ndarray:
        """The state as an RGB picture, `uint8` of shape (height, width, 3)."""
        raise NotImplementedError(f"{self.name} does not draw itself")

    def cell(self, index: int) -> tuple[int, int] | None:
        """Row and column of a countable observation in a picture of the state space, if there is one."""
        return None

    @property
    def grid_shape(self) -> tuple[int, int] | None:
        """Rows and columns of that picture."""
        return None

    @property
    def goal_cell(self) -> tuple[int, int] | None:
        """Where in that picture the reward is, if there is such a place."""
        return None

    def move(self, index: int, action: int) -> tuple[int, int] | None:
        """By how many rows and columns an action moves from an observation, walls aside; None if it does not say."""
        return None


AnyEnvironment = Environment[Any]
