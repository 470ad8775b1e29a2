"""FrozenLake of Gymnasium's toy text, rewritten as pure functions: what changes when an environment moves to JAX.

python examples/07_from_gymnasium.py [--slippery] [--steps 60000] [--collect-steps 10]
"""

import argparse
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, PRNGKeyArray

import derl
from derl import Discrete, Environment, Spec, Step

LAKE = (
    "SFFFFFFF",
    "FFFFFFFF",
    "FFFHFFFF",
    "FFFFFHFF",
    "FFFHFFFF",
    "FHHFFFHF",
    "FHFFHFHF",
    "FFFHFFFG",
)
"""Start, frozen, hole, goal: the map of FrozenLake8x8-v1."""
SIZE = len(LAKE)
MOVES = ((0, -1), (1, 0), (0, 1), (-1, 0))
"""Left, down, right, up: by how many rows and columns."""


class LakeState(NamedTuple):
    """What Gymnasium keeps in attributes: where the agent is, and (in its wrapper) how long it has been walking."""

    place: Int[Array, "2"]
    time: Int[Array, ""]


class FrozenLake(Environment[LakeState]):
    """Cross the lake without falling into a hole: 1 at the goal, 0 everywhere else.

    On slippery ice a step goes where it should in one case of three, and to either side in the others.
    """

    slippery: bool = eqx.field(static=True)
    limit: int = eqx.field(static=True)

    def __init__(self, *, slippery: bool = False, limit: int = 200):
        self.slippery, self.limit = slippery, limit

    @property
    def name(self) -> str:
        return "FrozenLake"

    @property
    def spec(self) -> Spec:
        return Spec(Discrete(SIZE**2), num_actions=len(MOVES), truncates=True)

    @property
    def max_episode_steps(self) -> int:
        return self.limit

    def reset(self, key: PRNGKeyArray) -> tuple[LakeState, Int[Array, ""]]:
        state = LakeState(jnp.zeros(2, jnp.int32), jnp.asarray(0))
        return state, self.observe(state)

    def observe(self, state: LakeState) -> Int[Array, ""]:
        """The number of the cell."""
        return state.place[0] * SIZE + state.place[1]

    def step(self, key: PRNGKeyArray, state: LakeState, action: Int[Array, ""]) -> tuple[LakeState, Step]:
        # self.np_random becomes the key.
        turned = action + jax.random.randint(key, (), -1, 2) if self.slippery else action
        place = jnp.clip(state.place + jnp.asarray(MOVES)[turned % len(MOVES)], 0, SIZE - 1)
        following = LakeState(place, state.time + 1)
        terminated = self.at(place, "HG")
        # The TimeLimit wrapper.
        truncated = ~terminated & (following.time >= self.limit)
        reward = self.at(place, "G").astype(jnp.float32)
        return following, Step(self.observe(following), reward, terminated, truncated)

    def at(self, place: Int[Array, "2"], kinds: str) -> Bool[Array, ""]:
        """Whether a place is of one of these kinds: a table in place of an `if`."""
        table = np.array([[tile in kinds for tile in row] for row in LAKE])
        return jnp.asarray(table)[place[0], place[1]]


derl.register("FrozenLake", FrozenLake)


def main() -> None:
    """Train the library's own recipe, with policies that change every ten steps, for these episodes are long."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slippery", action="store_true", help="ice on which two steps of three go astray")
    parser.add_argument("--steps", type=int, default=60_000, help="training steps")
    parser.add_argument("--collect-steps", type=int, default=10, help="steps between updates (0: a whole episode)")
    arguments = parser.parse_args()

    derl.check_env(FrozenLake(slippery=arguments.slippery))
    result = derl.train(
        "FrozenLake",
        "derl",
        env_options={"slippery": arguments.slippery},
        explorer__collect_steps=arguments.collect_steps,
        seeds=4,
        protocol__steps=arguments.steps,
        protocol__evaluate_every=max(1, arguments.steps // 5),
        protocol__evaluation_episodes=100 if arguments.slippery else 8,
    )
    print(result.curves().select("steps", "episodes", "mean", "low", "high", "explorer_mean"))
    returns = result.evaluate(episodes=100).mean(1)
    print(f"greedy returns of the exploiters: {', '.join(f'{value:.2f}' for value in returns)}")


if __name__ == "__main__":
    main()
