import jax
import jax.numpy as jnp
import numpy as np

from derl.bonuses.normalise import normalise, running_size
from derl.core.running import RewardScale

BONUS = np.array([[[1.0, 3.0], [2.0, 0.5]], [[4.0, 0.25], [1.5, 1.0]]])
DONE = np.array([[[False, True], [True, False]], [[False, False], [False, True]]])


def run(mode, gamma=0.9):
    state, out = RewardScale.init(2), []
    for bonus, done in zip(BONUS, DONE, strict=True):
        state, r = jax.jit(normalise, static_argnums=0)(mode, state, jnp.asarray(bonus), jnp.asarray(done), gamma)
        out.append(np.asarray(r))
    return out


def test_none_leaves_the_bonus_alone():
    np.testing.assert_array_equal(run("none"), BONUS.astype(np.float32))


def test_rms_divides_by_the_root_mean_square_of_all_bonuses_so_far():
    first, second = run("rms")
    np.testing.assert_allclose(first, BONUS[0] / np.sqrt((BONUS[0] ** 2).mean()), rtol=1e-4)
    np.testing.assert_allclose(second, BONUS[1] / np.sqrt((BONUS**2).mean()), rtol=1e-4)


def test_returns_divides_by_the_deviation_of_the_discounted_sums():
    sums, g = [], np.zeros(2)
    for bonus, done in zip(BONUS.reshape(4, 2), DONE.reshape(4, 2), strict=True):
        g = 0.9 * g + bonus
        sums.append(g.copy())
        g[done] = 0
    first, second = run("returns")
    np.testing.assert_allclose(first, BONUS[0] / np.std(sums[:2]), rtol=1e-3)
    np.testing.assert_allclose(second, BONUS[1] / np.std(sums), rtol=1e-3)


def test_large_bonuses_are_not_clipped():
    bonus = jnp.zeros((200, 2)).at[0, 0].set(1000.0)
    for mode in ("rms", "returns"):
        _, r = normalise(mode, RewardScale.init(2), bonus, jnp.ones((200, 2), bool), 0.9)
        assert float(r.max()) > 15


def test_no_bonus_at_all_stays_zero():
    zero = jnp.zeros((3, 2))
    for mode in ("none", "rms", "returns"):
        _, r = normalise(mode, RewardScale.init(2), zero, zero > 1, 0.9)
        np.testing.assert_array_equal(r, zero)


def test_recent_divides_by_the_size_of_the_discounted_sums():
    first, second = run("recent")
    sums, g = [], np.zeros(2)
    for bonus, done in zip(BONUS.reshape(4, 2), DONE.reshape(4, 2), strict=True):
        g = 0.9 * g + bonus
        sums.append(g.copy())
        g[done] = 0
    np.testing.assert_allclose(first, BONUS[0] / np.sqrt(np.square(sums[:2]).mean()), rtol=1e-3)
    np.testing.assert_allclose(second, BONUS[1] / np.sqrt(np.square(sums).mean()), rtol=1e-3)


def test_recent_forgets():
    """A bonus that has faded to a hundredth is back at its old size once the past is forgotten."""
    done, mode = jnp.ones((1000, 2), bool), "recent"
    state, _ = normalise(mode, RewardScale.init(2), jnp.ones((1000, 2)), done, 0.9)
    for _ in range(12):
        state, r = normalise(mode, state, jnp.full((1000, 2), 0.01), done, 0.9)
    np.testing.assert_allclose(r, 1.0, rtol=0.3)
    np.testing.assert_allclose(0.01 / running_size(mode, state), r[0, 0])


def test_running_size_is_what_bonuses_are_divided_by():
    for mode in ("none", "rms", "returns", "recent"):
        state, r = normalise(mode, RewardScale.init(2), jnp.asarray(BONUS[0]), jnp.asarray(DONE[0]), 0.9)
        np.testing.assert_allclose(BONUS[0] / running_size(mode, state), r, rtol=1e-5)
