"""The exact part of benchmarks/dedqn_hallway.py, on chains small enough to work out by hand."""

import sys
from pathlib import Path

import jax
import numpy as np
import pytest

from derl.envs import make

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import hallway_tables as tables  # pyright: ignore[reportMissingImports]

LEFT, STAY, RIGHT = 0, 1, 2


def test_fixed_point_of_two_cells():
    # One episode goes right twice and earns 1 with the second step; the other stays (-0.1), then goes right.
    cell = np.array([[0, 1, 1], [0, 0, 1]])
    action = np.array([[RIGHT, RIGHT], [STAY, RIGHT]])
    reward = np.array([[0.0, 1.0], [-0.1, 0.0]])
    one = tables.fixed_point(cell, action, reward, 1, 2, gamma=0.5)
    two = tables.fixed_point(cell, action, reward, 2, 2, gamma=0.5)
    # Right in cell 0: 0 + 0.5 * 1, or the end with 0. Staying there: -0.1 + 0.5 * 0.25, or with two rewards -0.1 + 0.
    np.testing.assert_allclose(one, [[-np.inf, 0.025, 0.25], [-np.inf, -np.inf, 1.0]])
    np.testing.assert_allclose(two, [[-np.inf, -0.1, 0.25], [-np.inf, -np.inf, 1.0]])


@pytest.fixture
def arrivals():
    """Cell 1 is a goal that pays once. Three episodes go to and fro at once; the fourth stays first."""
    to_and_fro, stay_first = [0, 1, 0, 1, 0, 1], [0, 0, 1, 0, 1, 0]
    cell = np.array([to_and_fro] * 3 + [stay_first])
    action = np.array([[RIGHT, LEFT, RIGHT, LEFT, RIGHT]] * 3 + [[STAY, RIGHT, LEFT, RIGHT, LEFT]])
    reward = np.array([[1.0, 0, 0, 0, 0]] * 3 + [[0, 1.0, 0, 0, 0]])
    return cell, action, reward


def test_two_steps_reverse_right_and_stay(arrivals):
    q = tables.fixed_point(*arrivals, 2, 2, gamma=0.5)
    # Right has 11 samples, of which 4 arrive first and 7 bootstrap from cell 0, where staying is worth most.
    np.testing.assert_allclose(q[0], [-np.inf, 0.5, (4 + 7 * 0.25 * 0.5) / 11])


def test_one_step_or_the_hidden_state_undo_it(arrivals):
    cell, action, reward = arrivals
    right = 4 / 9.25  # x = (4 + 4 k) / 11, where leaving the goal has k = 7/8 * 0.5 x
    one = tables.fixed_point(cell, action, reward, 1, 2, gamma=0.5)
    np.testing.assert_allclose(one[0], [-np.inf, 0.5 * right, right], atol=1e-8)
    paid = np.cumsum(np.pad(reward, ((0, 0), (1, 0))), 1).astype(int)
    known = tables.fixed_point(cell + 2 * paid, action, reward, 2, 4, gamma=0.5)
    np.testing.assert_allclose(known[0], [-np.inf, 0.5, 1.0])


def test_the_simulation_is_hallway():
    env = make("Hallway-10-10")
    action = np.random.default_rng(0).choice(3, (20, tables.HORIZON), p=(0.1, 0.3, 0.6))
    action[0] = [RIGHT] * 10 + [STAY] * 10
    play = tables.simulate(lambda now: action[:, now.time[0]], len(action))
    assert play.reward[0].sum() == pytest.approx(1.8)

    def episode(actions):
        def step(state, a):
            state, result = env.step(jax.random.key(0), state, a)
            return state, (result.obs, result.reward)

        return jax.lax.scan(step, env.reset(jax.random.key(0))[0], actions)[1]

    position, reward = jax.vmap(episode)(action)
    np.testing.assert_array_equal(play.position[:, 1:], position)
    np.testing.assert_allclose(play.reward, reward, atol=1e-6)


def test_returns_of_greedy_and_noisy_policies():
    stays = np.tile([0.0, 1.0, 0.5], (tables.CELLS, 1))
    assert tables.greedy_return(stays) == pytest.approx(-0.2)
    assert tables.noisy_return(stays) == pytest.approx(-0.2)
    # At random two of three actions cost 0.01, and the goal is hardly ever reached.
    assert tables.noisy_return(stays, epsilon=1.0) == pytest.approx(-20 * 0.02 / 3, abs=0.02)
    assert tables.noisy_return(stays, temperature=1e3) == pytest.approx(-20 * 0.02 / 3, abs=0.02)
