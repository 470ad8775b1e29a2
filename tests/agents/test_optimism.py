"""How little actions were tried: by table, by hash, and by how badly they are predicted."""

import dataclasses
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agents.building import KEY, SPEC, adam_step, flat
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


SMALL = DistilledOptimism(learning_rate=0.03, features=4, hidden=(8,))
observe = jax.jit(lambda optimism, state: optimism.observe(state, OBS, ACTION))


def test_what_is_predicted_in_part_counts_with_the_power_of_its_error():
    optimism = dataclasses.replace(SMALL, power=3.0)
    state = optimism.init(KEY, SPEC)
    for _ in range(4):
        state = observe(optimism, state)
    errors = np.asarray(optimism.errors(state.predictor, state.target, jnp.arange(3)))
    assert ((errors > 0.2) & (errors < 0.8)).any()
    np.testing.assert_allclose(optimism.term(state, jnp.arange(3)), np.clip(errors, 0, 1) ** 3, rtol=1e-5)


def test_a_rollout_is_one_adam_step_on_the_sum_of_its_errors():
    """Each step's error is that of the features of its own state and action, four of twelve numbers."""
    state = SMALL.init(KEY, SPEC)

    def loss(predictor):
        total = jnp.asarray(0.0)
        for obs, action in zip(OBS[:, 0], ACTION[:, 0], strict=True):
            wanted, found = (net(obs).reshape(3, 4)[action] for net in (state.target, predictor))
            total += jnp.square(found - wanted / jnp.linalg.norm(wanted)).sum()
        return total

    adam = SimpleNamespace(learning_rate=0.03, max_grad_norm=10.0, adam_epsilon=1e-5)
    by_hand = adam_step(adam, state.predictor, jax.grad(loss)(state.predictor))
    np.testing.assert_allclose(flat(observe(SMALL, state).predictor), by_hand, rtol=1e-4, atol=1e-7)
