import equinox as eqx
import jax
import numpy as np
import pytest

from bonuses.building import init, numpy_mlp, quick_jit, random_rollout, rollout_of, step
from derl.bonuses import RND
from derl.core.types import Box, Discrete, Spec

KEY = jax.random.key(0)
SIZE = 6
SPEC = Spec(Discrete(SIZE), 3)
SMALL = {"hidden": (8,), "features": 4}
FAMILIAR = rollout_of([[0, 1]] * 3)


def numpy_error(state, obs):
    return ((numpy_mlp(state.predictor, obs) - numpy_mlp(state.target, obs)) ** 2).sum(-1)


@pytest.mark.parametrize("activate_outputs", [True, False])
def test_the_bonus_is_the_squared_distance_from_the_target(activate_outputs):
    bonus = RND(**SMALL, learning_rate=0.0, activate_outputs=activate_outputs)
    state, rollout = init(bonus, SPEC, 2), random_rollout(0, SIZE)
    _, r = step(bonus, state, rollout)
    expected = numpy_error(state, rollout.obs)
    np.testing.assert_allclose(r, expected, rtol=1e-4)
    assert expected.min() > 0.01  # target and predictor start apart


def test_which_state_is_rewarded():
    obs, next_obs, after_reset = [[0, 1], [2, 3], [4, 5]], [[2, 3], [SIZE, 5], [1, 2]], [[2, 3], [4, 5], [1, 2]]
    rollout = rollout_of(obs, next_obs=next_obs, last_obs=[1, 2], terminated=[[0, 0], [1, 0], [0, 0]])
    for looks, states in {"state": obs, "successor": next_obs, "successor_after_reset": after_reset}.items():
        bonus = RND(**SMALL, learning_rate=0.0, looks=looks)
        state = init(bonus, SPEC, 2)
        _, r = step(bonus, state, rollout)
        np.testing.assert_allclose(r, numpy_error(state, states), rtol=1e-4)


def test_networks_have_the_published_shapes():
    state = jax.eval_shape(lambda: RND().init(KEY, SPEC, 4))
    for network in (state.target, state.predictor):
        assert [w.shape for w in network.weights] == [(SIZE, 64), (64, 64), (64, 16)]


def test_each_time_step_is_rewarded_before_it_is_learned_from():
    bonus = RND(**SMALL, learning_rate=1e-2, activate_outputs=False)
    state = init(bonus, SPEC, 2)
    for seed in range(2):
        rollout = random_rollout(seed, SIZE)
        after, r = step(bonus, state, rollout)
        expected = numpy_error(state, rollout.obs)
        np.testing.assert_allclose(r[0], expected[0], rtol=1e-4)
        assert not np.allclose(r[1:], expected[1:], rtol=1e-2)
        state = after


def test_learning_makes_familiar_states_boring_and_leaves_the_target_alone():
    # A ReLU on the outputs can hide a feature from the gradient for ever; without it all of them can be learned.
    bonus = RND(**SMALL, learning_rate=1e-2, activate_outputs=False)
    state = init(bonus, SPEC, 2)
    after, first = step(bonus, state, FAMILIAR)
    for _ in range(40):
        after, r = step(bonus, after, FAMILIAR)
    assert float(r.sum()) < 0.1 * float(first.sum())
    jax.tree.map(np.testing.assert_array_equal, after.target, state.target)


def test_without_a_learning_rate_nothing_is_learned():
    bonus = RND(**SMALL, learning_rate=0.0)
    state = init(bonus, SPEC, 2)
    after, r = step(bonus, state, FAMILIAR)
    np.testing.assert_array_equal(r, np.tile(r[:1], (3, 1)))
    jax.tree.map(np.testing.assert_array_equal, after.predictor, state.predictor)


@pytest.mark.parametrize("max_grad_norm", [1e9, 0.01])
def test_the_first_update_worked_out_by_hand(max_grad_norm):
    """Without hidden layers phi^(s) is a row of weights plus the bias, and the gradient has a closed form."""
    bonus = RND(
        hidden=(), features=2, activate_outputs=False, learning_rate=0.1, loss_coef=0.3, adam_epsilon=0.5,
        max_grad_norm=max_grad_norm,
    )  # fmt: skip
    state = init(bonus, SPEC, 3)
    after, _ = step(bonus, state, rollout_of([[1, 4, 1]]))
    weights, bias = (np.asarray(x[0]) for x in (state.predictor.weights, state.predictor.biases))
    target_weights, target_bias = (np.asarray(x[0]) for x in (state.target.weights, state.target.biases))
    slope = np.zeros((SIZE, 2))
    for s in (1, 4, 1):
        slope[s] += 0.3 * 2 * (weights[s] + bias - target_weights[s] - target_bias) / 3
    bias_slope = slope.sum(0)
    norm = np.sqrt((slope**2).sum() + (bias_slope**2).sum())
    shrink = min(1.0, max_grad_norm / norm)
    for x, g, y in (
        (weights, slope * shrink, after.predictor.weights[0]),
        (bias, bias_slope * shrink, after.predictor.biases[0]),
    ):
        # Adam's first step: both moments are unbiased estimates from one gradient.
        np.testing.assert_allclose(y, x - 0.1 * g / (np.abs(g) + 0.5), rtol=1e-4, atol=1e-6)


def test_vectors():
    bonus = RND(**SMALL, learning_rate=0.0)
    state = init(bonus, Spec(Box((2, 2)), 3), 2)
    obs = np.random.default_rng(0).normal(size=(3, 2, 2, 2)).astype(np.float32)
    _, r = step(bonus, state, rollout_of(obs))
    np.testing.assert_allclose(r, numpy_error(state, obs.reshape(3, 2, 4)), rtol=1e-4)


def test_learning_rates_of_a_population_are_its_own():
    rates = jax.numpy.asarray([0.0, 1e-2])
    state = init(RND(**SMALL), SPEC, 2)
    states, r = quick_jit(jax.vmap(lambda rate: RND(**SMALL, learning_rate=rate).step(state, FAMILIAR)))(rates)
    np.testing.assert_allclose(r[0, 1], r[0, 0], rtol=1e-5)
    assert not np.allclose(r[1, 1], r[1, 0], rtol=1e-3)
    kept = eqx.filter(jax.tree.map(lambda x: x[0], states.predictor), eqx.is_array)
    jax.tree.map(np.testing.assert_array_equal, kept, state.predictor)
