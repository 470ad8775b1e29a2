"""Hallway: walk right to an unmarked goal, then stay there although every stay costs."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from derl.core.errors import require
from derl.core.types import Discrete, Spec
from derl.envs import drawing
from derl.envs.base import Environment, Step
from derl.envs.checks import MAX_SIZE, number, truth, whole_number

LEFT, STAY, RIGHT = 0, 1, 2


class HallwayState(NamedTuple):
    """Where the agent is and what it has done in this episode (of which it observes only the position)."""

    position: Int[Array, ""]
    time: Int[Array, ""]
    """Steps taken."""
    stays: Int[Array, ""]
    """Stays at the goal since the last reward for staying; leaving the goal does not reset them."""
    reached: Bool[Array, ""]
    """Whether the goal has been reached in this episode (in any, with `lasting_goal`)."""


class Hallway(Environment[HallwayState]):
    """The Hallway task of decoupled reinforcement learning (Schäfer et al., 2022).

    A corridor of `length_left` cells, the goal, and `length_right` cells beyond it. The actions are left, stay and
    right; a move into a wall leaves the agent in place. The first arrival at the goal of an episode earns
    `goal_reward`. From then on every `stay_duration` stays at the goal, consecutive or not, earn `stay_reward`. Moving
    right costs `move_cost` and staying `stay_cost`, wherever it happens; moving left is free.

    An episode lasts `horizon` steps, twice `length_left` unless given. Its end is part of the task (`terminated`)
    unless `time_limit_truncates`. An episode starts in the leftmost cell, or with `random_start` in any cell left of
    the goal. The observation is the position alone: the agent sees neither the time nor what it has already earned.

    With `lasting_goal` a copy of the task never forgets that the goal was reached, nor how many stays it still owes a
    reward for: the first arrival pays once in a lifetime. So it was in early versions of the paper's code.
    """

    goal_reward: float | Float[Array, ""]
    stay_reward: float | Float[Array, ""]
    move_cost: float | Float[Array, ""]
    stay_cost: float | Float[Array, ""]
    length_left: int = eqx.field(static=True)
    length_right: int = eqx.field(static=True)
    horizon: int = eqx.field(static=True)
    stay_duration: int = eqx.field(static=True)
    random_start: bool = eqx.field(static=True)
    time_limit_truncates: bool = eqx.field(static=True)
    lasting_goal: bool = eqx.field(static=True)

    def __init__(
        self,
        length_left: int,
        length_right: int,
        *,
        horizon: int | None = None,
        stay_duration: int = 10,
        random_start: bool = False,
        time_limit_truncates: bool = False,
        lasting_goal: bool = False,
        goal_reward: float = 1.0,
        stay_reward: float = 1.0,
        move_cost: float = 0.01,
        stay_cost: float = 0.01,
    ):
        self.length_left = whole_number("Hallway's length left of the goal", length_left, 1, MAX_SIZE)
        self.length_right = whole_number("Hallway's length right of the goal", length_right, 0, MAX_SIZE)
        self.horizon = whole_number("Hallway's horizon", 2 * self.length_left if horizon is None else horizon, 1)
        self.stay_duration = whole_number("Hallway's stay_duration", stay_duration, 1)
        self.random_start = truth("Hallway's option random_start", random_start)
        self.time_limit_truncates = truth("Hallway's option time_limit_truncates", time_limit_truncates)
        self.lasting_goal = truth("Hallway's option lasting_goal", lasting_goal)
        self.goal_reward = number("Hallway's goal_reward", goal_reward)
        self.stay_reward = number("Hallway's stay_reward", stay_reward)
        self.move_cost = number("Hallway's move_cost", move_cost)
        self.stay_cost = number("Hallway's stay_cost", stay_cost)
        # A negative cost would pay for walking into walls, and `optimal_return` relies on idling being best at 0.
        require(move_cost >= 0 and stay_cost >= 0, f"costs must not be negative, not {move_cost} and {stay_cost}")

    @property
    def name(self) -> str:
        return f"Hallway-{self.length_left}-{self.length_right}"

    @property
    def cells(self) -> int:
        """How many cells the corridor has."""
        return self.length_left + 1 + self.length_right

    @property
    def goal(self) -> int:
        """The goal's position."""
        return self.length_left

    @property
    def spec(self) -> Spec:
        return Spec(Discrete(self.cells), num_actions=3, truncates=self.time_limit_truncates)

    @property
    def max_episode_steps(self) -> int:
        return self.horizon

    @property
    def episode_length(self) -> int:
        return self.horizon

    @property
    def optimal_return(self) -> float | None:
        """The best return, averaged over the starting cells. None where it depends on earlier episodes.

        From each start there are three candidates: going left for free all the time; walking straight to the goal and
        leaving it for free; or staying there as often as is rewarded. Fewer rewarded stays are never best, because each
        is worth the same.
        """
        if self.lasting_goal:
            return None
        distances = self._distances()
        arrival = float(self.goal_reward) - float(self.move_cost) * distances
        rounds = (self.horizon - distances) // self.stay_duration
        per_round = float(self.stay_reward) - float(self.stay_cost) * self.stay_duration
        best = np.maximum(0.0, arrival + np.maximum(0.0, rounds * per_round))
        return float(np.where(distances <= self.horizon, best, 0.0).mean())

    @property
    def lowest_return(self) -> float:
        """That of paying at every step for nothing, and for rewards below 0 as often as there is time for them."""
        costs = self.horizon * max(float(self.move_cost), float(self.stay_cost))
        stays = self.horizon // self.stay_duration * min(float(self.stay_reward), 0.0)
        return min(float(self.goal_reward), 0.0) + stays - costs

    @property
    def memoryless_return(self) -> float | None:
        """The best return needs a memory unless the stays fit the time exactly.

        An agent that sees only its position cannot leave the goal, for free, after the last stay that pays. It stays to
        the end, or never and goes to and fro. Where the goal is too far for the time there is, it goes left and pays
        nothing. (Where staying costs what it should pay, it may do better beyond the goal: that is not worked out.)
        """
        if self.lasting_goal or float(self.stay_reward) < 0:
            return None
        distances = self._distances()
        left = np.maximum(self.horizon - distances, 0)
        arrival = float(self.goal_reward) - float(self.move_cost) * distances
        rewards = float(self.stay_reward) * (left // self.stay_duration)
        staying = arrival + rewards - float(self.stay_cost) * left
        passing = arrival - float(self.move_cost) * (left // 2)
        # From too far away it goes left, for free; on its way to the goal it passes all nearer cells.
        limits = [d for d in np.unique(distances) if d <= self.horizon]
        ways = [np.where(distances <= limit, way, 0.0).mean() for limit in limits for way in (staying, passing)]
        return float(max(0.0, *ways)) if ways else 0.0

    def _distances(self) -> Int[np.ndarray, " starts"]:
        """From every cell in which an episode can start to the goal."""
        return np.arange(1, self.length_left + 1) if self.random_start else np.array([self.length_left])

    @property
    def reachable_states(self) -> int:
        """All cells but those that are reached, if at all, only when the episode is over."""
        start = self.goal - 1 if self.random_start else 0
        return min(self.cells, start + self.horizon)

    def reset(self, key: PRNGKeyArray) -> tuple[HallwayState, Int[Array, ""]]:
        zero = jnp.zeros((), jnp.int32)
        position = jax.random.randint(key, (), 0, self.goal, jnp.int32) if self.random_start else zero
        return HallwayState(position, zero, zero, jnp.zeros((), bool)), position

    def restart(self, key: PRNGKeyArray, last: HallwayState) -> tuple[HallwayState, Int[Array, ""]]:
        state, position = self.reset(key)
        return (state._replace(stays=last.stays, reached=last.reached) if self.lasting_goal else state), position

    def step(self, key: PRNGKeyArray, state: HallwayState, action: Int[Array, ""]) -> tuple[HallwayState, Step]:
        position = jnp.clip(state.position + action - STAY, 0, self.cells - 1)
        at_goal, stayed = position == self.goal, action == STAY
        arrived = at_goal & ~state.reached
        # Whoever stays at the goal has arrived in an earlier step, so no stay is counted before the arrival.
        stays = state.stays + (at_goal & stayed)
        paid = stays >= self.stay_duration
        cost = jnp.where(stayed, self.stay_cost, jnp.where(action == RIGHT, self.move_cost, 0.0))
        earned = jnp.where(arrived, self.goal_reward, 0.0) + jnp.where(paid, self.stay_reward, 0.0)
        reward = (earned - cost).astype(jnp.float32)
        time = state.time + 1
        over = time >= self.horizon
        no = jnp.zeros_like(over)
        terminated, truncated = (no, over) if self.time_limit_truncates else (over, no)
        following = HallwayState(position, time, jnp.where(paid, 0, stays), state.reached | at_goal)
        return following, Step(position, reward, terminated, truncated)

    def render_text(self, state: HallwayState) -> str:
        """The corridor (A the agent, G the goal) below the position and what has been earned."""
        corridor = ["."] * self.cells
        corridor[self.goal] = "G"
        corridor[int(state.position)] = "A"
        parts = [
            f"position {int(state.position)}",
            f"step {int(state.time)} of {self.horizon}",
            "goal reached" if bool(state.reached) else "goal not reached",
            f"stayed {int(state.stays)} of {self.stay_duration}",
        ]
        return ", ".join(parts) + "\n" + "".join(corridor)

    def render_rgb(self, state: HallwayState) -> drawing.Picture:
        """The corridor with the goal in gold; below it one bar for the time used and one for the stays."""
        colours = np.full((1, self.cells, 3), drawing.WATER, np.uint8)
        colours[0, self.goal] = drawing.GOLD
        picture = drawing.grid(colours)
        side, width = picture.shape[0], picture.shape[1]
        drawing.add_disc(picture, side, 0, int(state.position))
        time = drawing.bar(width, max(side // 4, 2), int(state.time) / self.horizon, drawing.AGENT)
        stays = drawing.bar(width, max(side // 4, 2), int(state.stays) / self.stay_duration, drawing.GREEN)
        return np.concatenate([picture, time, stays])

    def cell(self, index: int) -> tuple[int, int] | None:
        return (0, int(index)) if 0 <= index < self.cells else None

    @property
    def grid_shape(self) -> tuple[int, int]:
        return 1, self.cells

    @property
    def goal_cell(self) -> tuple[int, int]:
        return 0, self.goal

    def move(self, index: int, action: int) -> tuple[int, int]:
        return 0, action - STAY
