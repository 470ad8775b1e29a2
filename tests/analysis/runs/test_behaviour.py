"""What policies do, state by state."""

import dataclasses
import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from matplotlib.collections import PolyCollection

from analysis.trained import tiny_run
from derl.analysis.figures.grids import draw_behaviours
from derl.analysis.runs.behaviour import Behaviour, moves, observe, on_cells, on_grid
from derl.core.errors import DerlError
from derl.envs import DeepSea, Hallway
from derl.envs.base import Environment
from derl.envs.deep_sea import DeepSeaState
from derl.envs.hallway import HallwayState

KEY = jax.random.key(0)


def landed(env, state, action):
    """The cell after a step."""
    following, answer = env.step(KEY, state, jnp.asarray(action))
    return following, float(answer.reward)


def test_deep_sea_actions_are_translated_by_each_cells_mapping():
    plain = DeepSea(3, randomize_actions=False)
    answer = moves(plain, np.array([1, 0, 1, 0, 0, 0, 1, 1, 1]))
    assert answer is not None
    right, left = [1, 1], [1, -1]
    assert answer.tolist() == [right, left, right, left, left, left, right, right, right]


def test_deep_sea_moves_are_where_the_environment_goes():
    env = DeepSea(4, mapping_seed=3)
    assert 0 < int(env.mapping.sum()) < 16
    for action in (0, 1):
        answer = moves(env, np.full(16, action))
        assert answer is not None
        for row, column in [(0, 0), (1, 1), (2, 1), (2, 2), (1, 0)]:
            following, _ = landed(env, DeepSeaState(jnp.asarray(row), jnp.asarray(column)), action)
            down, right = answer[row * 4 + column]
            assert (int(following.row), int(following.column)) == (row + down, max(column + right, 0))


def test_hallway_moves_are_where_the_environment_goes():
    env = Hallway(3, 2)
    for action, along in enumerate((-1, 0, 1)):
        answer = moves(env, np.full(6, action))
        assert answer is not None
        assert answer.tolist() == [[0, along]] * 6
        state = HallwayState(jnp.asarray(2), jnp.asarray(0), jnp.asarray(0), jnp.asarray(False))
        following, _ = landed(env, state, action)
        assert int(following.position) == 2 + along


class Elsewhere(DeepSea):
    """Countable, but without a picture."""

    @property
    def grid_shape(self) -> Any:
        return None


class Other(Environment[Any]):
    """Something nothing is known about."""

    @property
    def name(self):
        return "Other"

    @property
    def spec(self):
        return DeepSea(2).spec

    @property
    def max_episode_steps(self):
        return 1

    def reset(self, key):
        return None, jnp.asarray(0)

    def step(self, key, state, action):
        raise NotImplementedError


def test_other_environments_have_no_arrows():
    assert moves(Other(), np.zeros(4, int)) is None
    assert Other().goal_cell is None
    assert not on_grid(Other())
    assert not on_grid(Elsewhere(3))


class Ring(Other):
    """A user's own: four states around a square, and an action that goes on to the next."""

    @property
    def grid_shape(self):
        return 2, 2

    @property
    def goal_cell(self):
        return 1, 0

    def cell(self, index):
        return [(0, 0), (0, 1), (1, 1), (1, 0)][index]

    def move(self, index, action):
        return [(0, 1), (1, 0), (0, -1), (-1, 0)][index] if action else (0, 0)


def test_an_environment_of_ones_own_has_arrows_and_a_goal():
    arrows = moves(Ring(), np.array([1, 1, 1, 0]))
    assert arrows is not None
    assert arrows.tolist() == [[0, 1], [1, 0], [0, -1], [0, 0]]
    nothing = np.zeros((2, 2))
    behaviour = Behaviour("explorer", nothing + 0.5, 1, nothing == 0, arrows, [(0, 0)], 0.0, 0.0)
    axes = draw_behaviours(Ring(), [behaviour], "title").axes[0]
    (drawn,) = [c for c in axes.collections if isinstance(c, PolyCollection)]
    assert len(drawn.get_paths()) == 4
    assert {patch.get_xy() for patch in axes.patches} == {(-0.5, 0.5)}


def test_the_goal_is_where_the_reward_is():
    env = DeepSea(3, randomize_actions=False)
    row, column = env.goal_cell
    _, reward = landed(env, DeepSeaState(jnp.asarray(row), jnp.asarray(column)), 1)
    assert reward > 0.9
    hallway = Hallway(2, 1)
    state = HallwayState(jnp.asarray(1), jnp.asarray(0), jnp.asarray(0), jnp.asarray(False))
    following, reward = landed(hallway, state, 2)
    assert hallway.goal_cell == (0, int(following.position))
    assert reward > 0.9


def test_numbers_of_states_go_to_their_cells():
    np.testing.assert_array_equal(on_cells(DeepSea(2), np.array([1.0, 2.0, 3.0, 4.0])), [[1, 2], [3, 4]])
    np.testing.assert_array_equal(on_cells(Hallway(1, 1), np.array([1.0, 2.0, 3.0])), [[1, 2, 3]])


@pytest.fixture(scope="module")
def seen() -> dict[str, Behaviour]:
    return {
        "explorer": observe(tiny_run(), 1, "explorer", episodes=64),
        "exploiter": observe(tiny_run(), 1, "exploiter", episodes=64),
    }


@pytest.mark.parametrize("seat", ["explorer", "exploiter"])
def test_visits_are_per_episode(seen, seat):
    behaviour = seen[seat]
    assert behaviour.episodes == {"explorer": 240, "exploiter": 64}[seat]
    # Every episode of DeepSea is once in each row, and never right of the diagonal.
    np.testing.assert_allclose(behaviour.visits.sum(1), 1)
    assert behaviour.visits[np.triu_indices(5, 1)].sum() == 0
    assert behaviour.visits[0, 0] == 1
    np.testing.assert_array_equal(seen["explorer"].visits > 0, behaviour.known)


@pytest.mark.parametrize("seat", ["explorer", "exploiter"])
def test_the_greedy_path_follows_the_arrows(seen, seat):
    path, arrows = seen[seat].path, seen[seat].moves
    assert path[0] == (0, 0)
    assert len(path) == 5
    for (row, column), after in itertools.pairwise(path):
        down, right = arrows[row * 5 + column]
        assert after == (row + down, max(column + right, 0))


def test_returns_are_those_of_the_policy(seen):
    result = tiny_run()
    for seat, behaviour in seen.items():
        assert behaviour.greedy_return == pytest.approx(float(result.policy(1, seat).play().total))
        assert -0.011 <= behaviour.sampled_return <= 0.991


def test_a_task_without_a_picture_is_told():
    result = tiny_run()
    runs = [dataclasses.replace(run, config=dataclasses.replace(run.config, env=Elsewhere(5))) for run in result.runs]
    with pytest.raises(DerlError, match="no picture of its states"):
        observe(dataclasses.replace(result, runs=runs), 0, "explorer")
