"""An environment of your own: vectors as observations, episodes of different lengths, a time limit.

python examples/02_own_environment.py [--steps 60000]
"""

import argparse
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

import derl
from derl import Box, Environment, HashCount, Spec, Step

MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))
"""Up, right, down, left."""


class KeyDoorState(NamedTuple):
    """Where the agent is, whether it holds the key, and how long it has been walking."""

    position: Int[Array, "2"]
    has_key: Bool[Array, ""]
    time: Int[Array, ""]


class KeyDoor(Environment[KeyDoorState]):
    """A square room: fetch the key in the bottom left corner, then leave by the door in the top right one.

    The agent starts in the top left corner. Every step costs `step_cost`. Leaving earns 1 and ends the task. After
    `limit` steps the episode is cut off, which is not part of the task: values bootstrap there.
    """

    step_cost: float
    size: int = eqx.field(static=True)
    limit: int = eqx.field(static=True)

    def __init__(self, size: int, *, step_cost: float = 0.01, limit: int | None = None):
        self.size, self.step_cost = size, step_cost
        self.limit = 10 * size if limit is None else limit

    @property
    def name(self) -> str:
        return f"KeyDoor-{self.size}"

    @property
    def spec(self) -> Spec:
        return Spec(Box((4,)), num_actions=len(MOVES), truncates=True)

    @property
    def max_episode_steps(self) -> int:
        return self.limit

    @property
    def optimal_return(self) -> float:
        """Down to the key, then up and right to the door: three times the side."""
        return 1.0 - 3 * (self.size - 1) * self.step_cost

    def reset(self, key: PRNGKeyArray) -> tuple[KeyDoorState, Float[Array, "4"]]:
        state = KeyDoorState(jnp.zeros(2, jnp.int32), jnp.asarray(False), jnp.asarray(0))
        return state, self.observe(state)

    def observe(self, state: KeyDoorState) -> Float[Array, "4"]:
        """Row and column from -1 to 1, the key as -1 or 1, and a constant.

        Hash-Count divides observations by planes through the origin. With the constant, these can cut the room
        anywhere.
        """
        place = 2.0 * state.position / (self.size - 1) - 1.0
        return jnp.concatenate([place, jnp.stack([2.0 * state.has_key - 1.0, 1.0])])

    def step(self, key: PRNGKeyArray, state: KeyDoorState, action: Int[Array, ""]) -> tuple[KeyDoorState, Step]:
        last = self.size - 1
        position = jnp.clip(state.position + jnp.asarray(MOVES)[action], 0, last)
        has_key = state.has_key | (position == jnp.array([last, 0])).all()
        terminated = has_key & (position == jnp.array([0, last])).all()
        following = KeyDoorState(position, has_key, state.time + 1)
        truncated = ~terminated & (following.time >= self.limit)
        reward = jnp.where(terminated, 1.0, 0.0) - self.step_cost
        return following, Step(self.observe(following), reward, terminated, truncated)


derl.register("KeyDoor-5", KeyDoor)


def main() -> None:
    """Train DeA2C with Hash-Count on it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=60_000, help="training steps, over all parallel environments")
    steps = parser.parse_args().steps

    derl.check_env(KeyDoor(5))
    # Episodes differ in length, so the budget and the time between evaluations are in steps. The bonus's weight was
    # picked among 0.03, 0.1, 0.3 and 1 (three seeds each): with 0.3 all seeds found the way soonest.
    result = derl.train(
        "KeyDoor-5",
        "dea2c-count",
        bonus=HashCount(scale=0.3, key_bits=16),
        seeds=2,
        protocol__steps=steps,
        protocol__evaluate_every=max(1, steps // 10),
    )
    print(result.curves().select("steps", "episodes", "mean", "low", "high", "explorer_mean"))

    policy = result.policy(run=0)
    episode = policy.play(seed=0)
    length = int(episode.alive.sum())
    print(f"greedy return {float(episode.total):.2f} of {policy.env.optimal_return:.2f} in {length} steps")


if __name__ == "__main__":
    main()
