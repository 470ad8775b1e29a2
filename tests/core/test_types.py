"""Rollouts and spaces."""

import jax.numpy as jnp
import numpy as np

from derl.core.types import Box, Discrete, Rollout, Spec, empty_rollout, join_rollouts


def rollout(first: int, steps: int = 2, envs: int = 3) -> Rollout:
    """Every number in it tells where it came from."""
    shape = (steps, envs)
    obs = first + jnp.arange(steps * envs).reshape(shape)
    flags = (obs % 4 == 0, obs % 4 == 1)
    return Rollout(obs, 1000 + obs, 2000.0 + obs, 3000 + obs, *flags, 4000 + first + jnp.arange(envs))


def test_an_episode_is_done_for_either_reason():
    r = rollout(0)
    np.testing.assert_array_equal(r.done, np.isin(np.arange(6).reshape(2, 3) % 4, [0, 1]))


def test_joined_rollouts_keep_the_order_of_time():
    earlier, later = rollout(0), rollout(100)
    joined = join_rollouts(earlier, later)
    for name in ("obs", "action", "reward", "next_obs", "terminated", "truncated", "done"):
        whole, parts = getattr(joined, name), [getattr(earlier, name), getattr(later, name)]
        np.testing.assert_array_equal(whole, np.concatenate(parts), err_msg=name)
    np.testing.assert_array_equal(joined.last_obs, later.last_obs)


def test_the_successor_after_a_reset_is_what_the_policy_sees_next():
    r = rollout(0)
    np.testing.assert_array_equal(r.successor_after_reset(), [[3, 4, 5], [4000, 4001, 4002]])


def test_another_reward_changes_nothing_else():
    r = rollout(0)
    other = r.with_reward(jnp.ones((2, 3)))
    np.testing.assert_array_equal(other.reward, 1)
    assert other.obs is r.obs
    assert other.last_obs is r.last_obs


def test_empty_rollouts_have_the_shapes_of_the_environment():
    integers = empty_rollout(Spec(Discrete(7), 2), 3, 5)
    assert (integers.obs.shape, integers.obs.dtype, integers.last_obs.shape) == ((5, 3), jnp.int32, (3,))
    vectors = empty_rollout(Spec(Box((4, 2)), 2), 3, 5)
    assert (vectors.obs.shape, vectors.obs.dtype, vectors.last_obs.shape) == ((5, 3, 4, 2), jnp.float32, (3, 4, 2))
    assert vectors.next_obs.shape == vectors.obs.shape
    assert vectors.reward.shape == vectors.action.shape == (5, 3)
    assert Box((4, 2)).size == 8
    assert Discrete(7).size == 7
