"""How little actions were tried: by table, by hash, and by how badly they are predicted."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agents.building import KEY, SPEC
from derl.agents.optimism import CountOptimism, DistilledOptimism, HashOptimism
from derl.core.errors import DerlError
from derl.core.types import Box, Spec

OBS = jnp.asarray([[2], [2], [0]])
ACTION = jnp.asarray([[1], [1], [0]])


@pytest.mark.parametrize("optimism", [CountOptimism(), HashOptimism(bits=64)])
def test_tables_hold_powers_of_the_number_of_tries(optimism):
    state = optimism.observe(optimism.init(KEY, SPEC), OBS, ACTION)
    wanted = [[1 / 4, 1, 1], [1, 1, 1], [1, 1 / 9, 1]]
    np.testing.assert_allclose(optimism.term(state, jnp.arange(3)), wanted)
    np.testing.assert_allclose(optimism.term(state, jnp.asarray(2)), wanted[2])


def test_hashes_are_of_any_observations():
    optimism, spec = HashOptimism(power=1.0, bits=20), Spec(Box((2, 3)), 2)
    obs = jnp.asarray(np.random.default_rng(0).normal(size=(4, 1, 2, 3)), jnp.float32)
    state = optimism.observe(optimism.init(KEY, spec), obs[:1], jnp.asarray([[1]]))
    np.testing.assert_allclose(optimism.term(state, obs[0, 0]), [1, 1 / 2])
    np.testing.assert_allclose(optimism.term(state, 3 * obs)[:, 0], [[1, 1 / 2], [1, 1], [1, 1], [1, 1]])


def test_a_table_needs_discrete_observations():
    with pytest.raises(DerlError, match="discrete"):
        CountOptimism().init(KEY, Spec(Box((3,)), 2))


@pytest.mark.parametrize("spec", [SPEC, Spec(Box((3,)), 3)])
def test_what_was_not_tried_is_not_predicted(spec):
    optimism = DistilledOptimism(hidden=(32, 32), learning_rate=3e-3)
    state = optimism.init(KEY, spec)
    obs = jnp.arange(3) if spec is SPEC else jnp.eye(3)
    np.testing.assert_allclose(optimism.term(state, obs), 1.0, atol=1e-5)
    observe = jax.jit(optimism.observe)
    for _ in range(40):
        state = observe(state, obs[2][None, None], jnp.asarray([[1]]))
    term = np.asarray(optimism.term(state, obs))
    assert term[2, 1] < 0.05, "tried often"
    untried = np.ones((3, 3), bool)
    untried[2, 1] = False
    assert term[untried].min() > 0.5, "never tried"


def test_hashes_are_of_single_numbers_too():
    optimism, spec = HashOptimism(power=1.0, bits=20), Spec(Box((1,)), 2)
    obs = jnp.asarray([[[1.0]], [[-1.0]]])
    state = optimism.observe(optimism.init(KEY, spec), obs[:1], jnp.asarray([[1]]))
    np.testing.assert_allclose(optimism.term(state, obs), [[[1, 1 / 2]], [[1, 1]]])
