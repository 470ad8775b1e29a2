"""DeepSea: a diver sinks one row per step and finds the treasure only if every single move goes right."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from derl.core.types import Discrete, Spec
from derl.envs import drawing
from derl.envs.base import Environment, Step
from derl.envs.checks import MAX_SIZE, truth, whole_number

MOVE_COST = 0.01
"""What moving right in every step of an episode costs altogether."""


class DeepSeaState(NamedTuple):
    """Where the diver is; `row` equal to the size means the episode is over."""

    row: Int[Array, ""]
    column: Int[Array, ""]


class DeepSea(Environment[DeepSeaState]):
    """The DeepSea task of bsuite (Osband et al., 2020).

    The diver starts in the top left corner of a `size` x `size` grid. Every step sinks one row and moves one column to
    the left or right; which of the two actions means right is drawn once per cell from `mapping_seed`. Moving right
    costs 0.01 / `size`, and moving right in the bottom right corner earns 1. Going left is free, so the rewards lead
    away from the treasure, and undirected exploration finds it in about one of 2^`size` episodes.

    An observation is the integer row * size + column; the terminal one is size * size, which stands for the all-zero
    picture. With `stochastic`, a move to the right fails (the column stays) with probability 1 / `size`, and acting in
    either bottom corner adds standard normal noise to the reward. Without `randomize_actions`, action 1 is right
    everywhere, which makes the task much easier and is meant for debugging.
    """

    mapping: Int[Array, " cells"]
    """The action that means right, per cell, row by row."""
    size: int = eqx.field(static=True)
    mapping_seed: int = eqx.field(static=True)
    stochastic: bool = eqx.field(static=True)
    randomize_actions: bool = eqx.field(static=True)

    def __init__(self, size: int, *, mapping_seed: int = 42, stochastic: bool = False, randomize_actions: bool = True):
        size = whole_number("the size of DeepSea", size, 1, MAX_SIZE)
        mapping_seed = whole_number("the mapping_seed of DeepSea", mapping_seed, 0, 2**32 - 1)
        stochastic = truth("DeepSea's option stochastic", stochastic)
        randomize_actions = truth("DeepSea's option randomize_actions", randomize_actions)
        if randomize_actions:
            # NumPy's legacy generator, because it is what defines the published tasks (seed 42).
            mapping = np.random.RandomState(mapping_seed).binomial(1, 0.5, [size, size])
        else:
            mapping = np.ones([size, size])
        self.mapping = jnp.asarray(mapping.reshape(-1), jnp.int32)
        self.size = size
        self.mapping_seed = mapping_seed
        self.stochastic = stochastic
        self.randomize_actions = randomize_actions

    @property
    def name(self) -> str:
        return f"DeepSea-{self.size}"

    @property
    def spec(self) -> Spec:
        return Spec(Discrete(self.size**2), num_actions=2)

    @property
    def max_episode_steps(self) -> int:
        return self.size

    @property
    def episode_length(self) -> int:
        return self.size

    @property
    def optimal_return(self) -> float:
        """The expected return of always going right until a move has failed, and always left from then on.

        The treasure takes `size` - 1 successful moves. Each of the moves before it costs only if all earlier ones
        succeeded: after a failure the treasure is out of reach, and going left is free. (bsuite counts the cost of all
        moves also after a failure, which gives a slightly smaller number than the optimum.)
        """
        success = 1 - 1 / self.size if self.stochastic else 1.0
        still_on_path = success ** np.arange(self.size)
        return float(still_on_path[-1] - MOVE_COST * still_on_path.mean())

    @property
    def lowest_return(self) -> float | None:
        """That of going right all the time for nothing; none where the noise of two corners adds to it."""
        return None if self.stochastic else -MOVE_COST

    @property
    def reachable_states(self) -> int:
        """The cells on and below the diagonal."""
        return self.size * (self.size + 1) // 2

    def reset(self, key: PRNGKeyArray) -> tuple[DeepSeaState, Int[Array, ""]]:
        state = DeepSeaState(jnp.zeros((), jnp.int32), jnp.zeros((), jnp.int32))
        return state, self.observe(state)

    def observe(self, state: DeepSeaState) -> Int[Array, ""]:
        """The cell's number; any position below the bottom row is the one terminal observation."""
        return jnp.minimum(state.row * self.size + state.column, self.size**2)

    def step(self, key: PRNGKeyArray, state: DeepSeaState, action: Int[Array, ""]) -> tuple[DeepSeaState, Step]:
        last, cost = self.size - 1, MOVE_COST / self.size
        # Clipped indexing spares the handling of negative indices, which cannot occur.
        right = action == jnp.take(self.mapping, state.row * self.size + state.column, mode="clip")
        reward = jnp.where(right, jnp.where(state.column == last, 1.0 - cost, -cost), 0.0).astype(jnp.float32)
        move = jnp.where(right, 1, -1)
        if self.stochastic:
            reward, move = self._disturb(key, state, reward, move)
        following = DeepSeaState(state.row + 1, jnp.clip(state.column + move, 0, last))
        terminated = following.row >= self.size
        return following, Step(self.observe(following), reward, terminated, jnp.zeros_like(terminated))

    def _disturb(
        self, key: PRNGKeyArray, state: DeepSeaState, reward: Float[Array, ""], move: Int[Array, ""]
    ) -> tuple[Float[Array, ""], Int[Array, ""]]:
        """What chance does in the stochastic variant. The noise depends on the cell acted in, not on the next one."""
        last = self.size - 1
        noise_key, failure_key = jax.random.split(key)
        noisy = (state.row == last) & ((state.column == 0) | (state.column == last))
        reward = reward + jnp.where(noisy, jax.random.normal(noise_key), 0.0)
        fails = (move == 1) & (jax.random.uniform(failure_key) <= 1 / self.size)
        return reward, jnp.where(fails, 0, move)

    def render_text(self, state: DeepSeaState) -> str:
        """One character per cell: A the agent, G the goal, # cells out of reach; the last line is the sea floor."""
        row, column = int(state.row), int(state.column)
        lines = [["." if c <= r else "#" for c in range(self.size)] for r in range(self.size)]
        lines[-1][-1] = "G"
        lines.append(["="] * self.size)
        lines[min(row, self.size)][column] = "A"
        where = f"row {row}, column {column}" if row < self.size else f"on the sea floor, column {column}"
        return "\n".join([where, *map("".join, lines)])

    def render_rgb(self, state: DeepSeaState) -> drawing.Picture:
        """The grid with the treasure in gold, cells out of reach in grey, and a last row of sand for the sea floor."""
        n = self.size
        colours = np.full((n + 1, n, 3), drawing.WATER, np.uint8)
        colours[:n][np.triu_indices(n, 1)] = drawing.SHADE
        colours[n] = drawing.SAND
        colours[n - 1, n - 1] = drawing.GOLD
        picture = drawing.grid(colours)
        drawing.add_disc(picture, drawing.cell_pixels(n + 1, n), min(int(state.row), n), int(state.column))
        return picture

    def cell(self, index: int) -> tuple[int, int] | None:
        """Row and column; None for the terminal observation, which is no cell."""
        return divmod(int(index), self.size) if 0 <= index < self.size**2 else None

    @property
    def grid_shape(self) -> tuple[int, int]:
        return self.size, self.size

    @property
    def goal_cell(self) -> tuple[int, int]:
        return self.size - 1, self.size - 1

    def move(self, index: int, action: int) -> tuple[int, int]:
        """Down, and to the side that the action means in this cell."""
        return 1, 1 if action == np.asarray(self.mapping)[index] else -1
