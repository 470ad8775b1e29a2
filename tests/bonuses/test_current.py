"""Bonuses computed anew for remembered steps."""

import jax.numpy as jnp
import numpy as np
import pytest

from bonuses.building import init, rollout_of, step
from derl.bonuses import ICM, RND, Count, HashCount
from derl.bonuses.base import CurrentBonus
from derl.core.errors import DerlError
from derl.core.types import Box, Discrete, Spec

SPEC = Spec(Discrete(5), 2)
SEEN = rollout_of([[0], [0], [0], [1]], last_obs=[2])
ZERO = jnp.zeros(3, jnp.int32)


@pytest.mark.parametrize("kind", [Count, HashCount])
@pytest.mark.parametrize(("capped", "wanted"), [(True, [1, 1, 1]), (False, [2 / 3**0.5, 2, 2])])
def test_counts_of_today(kind, capped, wanted):
    options = {"key_bits": 64} if kind is HashCount else {}
    bonus = kind(increment=0.25, capped=capped, **options)
    state, _ = step(bonus, init(bonus, SPEC, 1), SEEN)
    # Visited three times, once, and never (which counts as once: it was visited when it was remembered).
    np.testing.assert_allclose(bonus.current(state, jnp.asarray([0, 1, 4]), ZERO, ZERO), wanted, rtol=1e-6)
    looking_ahead = kind(increment=0.25, capped=capped, looks="successor", **options)
    np.testing.assert_allclose(looking_ahead.current(state, ZERO, ZERO, jnp.asarray([0, 1, 4])), wanted, rtol=1e-6)


def test_hashes_of_vectors():
    bonus, spec = HashCount(), Spec(Box((3,)), 2)
    obs = jnp.asarray([[[1.0, 0, 0]], [[1.0, 0, 0]], [[0, -1.0, 2.0]]])
    state, _ = step(bonus, init(bonus, spec, 1), rollout_of(obs))
    np.testing.assert_allclose(bonus.current(state, obs[:, 0], ZERO, obs[:, 0]), [2**-0.5, 2**-0.5, 1], rtol=1e-6)


def test_rnd_is_the_error_that_the_next_visit_would_be_rewarded_with():
    bonus = RND(hidden=(8,), features=4, learning_rate=1e-2)
    state, _ = step(bonus, init(bonus, SPEC, 1), SEEN)
    _, reward = step(bonus, state, SEEN)
    np.testing.assert_allclose(bonus.current(state, SEEN.obs[0], ZERO[:1], ZERO[:1]), reward[0], rtol=1e-5)


def test_bonuses_that_cannot_be_recomputed_say_so():
    bonus = ICM(hidden=(8,), features=4, head_hidden=(8,))
    with pytest.raises(DerlError, match="recomputed"):
        bonus.current(init(bonus, SPEC, 1), ZERO, ZERO, ZERO)


def test_the_weight_multiplies():
    bonus = Count()
    state, _ = step(bonus, init(bonus, SPEC, 1), SEEN)
    np.testing.assert_allclose(CurrentBonus(bonus, state, 5.0)(jnp.asarray([1]), ZERO[:1], ZERO[:1]), [5.0])
