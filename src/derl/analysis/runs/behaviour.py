"""What the policies of a run do on a grid of states: where they go, which way they point, what they earn."""

import dataclasses
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from derl.analysis.runs.result import Result
from derl.core.errors import require
from derl.core.types import Discrete
from derl.envs.base import AnyEnvironment
from derl.training.algorithm import Algorithm
from derl.training.evaluation import Episode, Seat, play_episode, policy_of
from derl.training.state import RunState

Cell = tuple[int, int]


@dataclasses.dataclass(frozen=True)
class Behaviour:
    """One policy's behaviour, on an environment whose states can be laid out as a grid."""

    seat: Seat
    visits: Float[np.ndarray, "rows columns"]
    """Visits per episode."""
    episodes: int
    """The episodes `visits` is the mean of."""
    known: Bool[np.ndarray, "rows columns"]
    """Cells seen in training: elsewhere a policy points wherever its network happened to start."""
    moves: Int[np.ndarray, "states 2"] | None
    """How the greedy action moves in the grid from each state, as (rows, columns); None if that is not known."""
    path: list[Cell]
    """The cells of one greedy episode."""
    sampled_return: float
    """Mean return of episodes whose actions are sampled from the policy."""
    greedy_return: float
    """Mean return of greedy episodes."""


def observe(result: Result, run: int, seat: Seat, *, episodes: int = 1000, seed: int = 0) -> Behaviour:
    """How the policy in a seat behaves now. The explorer's visits are those of its whole training."""
    policy = result.policy(run, seat)
    env, state = policy.env, policy.state
    require(on_grid(env), f"{env.name} has no picture of its states (see Environment.grid_shape)")
    assert state.visits is not None
    counts = np.asarray(state.visits)
    played = _play(policy.algorithm, state, jnp.asarray(result.clock), jax.random.key(seed), seat, episodes)
    visits = played.visits
    if seat == "explorer":
        visits = counts
        # Where episodes have one length, those under way count with their share.
        length = env.episode_length
        episodes = int(state.collector.episodes) if length is None else int(counts.sum()) // length
    cells = [env.cell(int(obs)) for obs in played.path]
    return Behaviour(
        seat=seat,
        visits=on_cells(env, visits / max(1, episodes)),
        episodes=episodes,
        known=on_cells(env, counts) > 0,
        moves=moves(env, played.actions),
        path=[cell for cell in cells if cell is not None],
        sampled_return=float(played.returns.mean()),
        greedy_return=float(played.greedy_returns.mean()),
    )


class Played(NamedTuple):
    """What `Behaviour` is made of, in states instead of cells."""

    visits: np.ndarray
    returns: np.ndarray
    path: np.ndarray
    greedy_returns: np.ndarray
    actions: np.ndarray
    """The greedy action in each state."""


def _play(algorithm: Algorithm, state: RunState, clock: Array, key: PRNGKeyArray, seat: Seat, episodes: int) -> Played:
    sampled, greedy, actions = _compiled_play(algorithm, state, clock, key, seat=seat, episodes=episodes)
    alive, reward = np.asarray(sampled.alive), np.asarray(sampled.reward)
    size = algorithm.env.spec.observation.size
    # Terminal observations that stand for no state have numbers from `size` on.
    visits = np.bincount(np.asarray(sampled.obs)[alive], minlength=size)[:size]
    greedy_alive = np.asarray(greedy.alive)
    return Played(
        visits=visits,
        returns=(alive * reward).sum(1),
        path=np.asarray(greedy.obs)[0][greedy_alive[0]],
        greedy_returns=(greedy_alive * np.asarray(greedy.reward)).sum(1),
        actions=np.asarray(actions),
    )


# One program with the policy as its argument: drawing another run, or the same run later, compiles nothing.
@partial(jax.jit, static_argnames=("seat", "episodes"))
def _compiled_play(
    algorithm: Algorithm, state: RunState, clock: Array, key: PRNGKeyArray, *, seat: Seat, episodes: int
) -> tuple[Episode, Episode, Array]:
    """Sampled episodes, greedy episodes, and the greedy action of each state."""
    env = algorithm.env
    sample, greedy = (policy_of(algorithm, state, clock, seat, greedy) for greedy in (False, True))

    def play(act) -> Episode:
        keys = jax.random.split(key, episodes)
        return jax.vmap(lambda key: play_episode(env, act, key)._replace(env_state=None))(keys)

    return play(sample), play(greedy), greedy(key, jnp.arange(env.spec.observation.size))


def on_grid(env: AnyEnvironment) -> bool:
    """Whether an environment's states are countable and have cells."""
    return isinstance(env.spec.observation, Discrete) and env.grid_shape is not None


def on_cells(env: AnyEnvironment, values: Float[np.ndarray, " states"]) -> Float[np.ndarray, "rows columns"]:
    """Numbers of states summed into their cells."""
    assert env.grid_shape is not None
    grid = np.zeros(env.grid_shape)
    for index, value in enumerate(values):
        cell = env.cell(index)
        if cell is not None:
            grid[cell] += value
    return grid


def moves(env: AnyEnvironment, actions: Int[np.ndarray, " states"]) -> Int[np.ndarray, "states 2"] | None:
    """How each state's action moves in the grid, as (rows, columns), apart from walls; None where that is not known."""
    found = [env.move(state, int(action)) for state, action in enumerate(actions)]
    return None if None in found else np.array(found)
