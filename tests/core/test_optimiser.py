"""One Adam step, with its joint clip, by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from derl.core.optimiser import apply_gradient, clipped_adam, idle_adam, move_towards

PARAMS = {"actor": jnp.asarray([1.0, 2.0]), "critic": jnp.asarray([-1.0])}
LEARNING_RATE, EPSILON = 0.1, 1e-3


def plain_adam(params, gradients, max_norm):
    """Adam (beta 0.9, 0.999; epsilon outside the root) in float64, over several gradients clipped as one vector."""
    m, v = np.zeros_like(params), np.zeros_like(params)
    for t, gradient in enumerate(gradients, start=1):
        norm = np.linalg.norm(gradient)
        gradient = gradient * min(1.0, max_norm / norm)
        m, v = 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * gradient**2
        params = params - LEARNING_RATE * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + EPSILON)
    return params


def steps(gradients, max_norm):
    optimiser = clipped_adam(LEARNING_RATE, EPSILON, max_norm)
    params, state, norms = PARAMS, optimiser.init(PARAMS), []
    for gradient in gradients:
        tree = {"actor": jnp.asarray(gradient[:2]), "critic": jnp.asarray(gradient[2:])}
        params, state, norm = apply_gradient(optimiser, params, state, tree)
        norms.append(float(norm))
    return np.concatenate([params["actor"], params["critic"]]), norms


def test_the_first_step_by_hand():
    # The gradient (3, 0, 4) has norm 5 and is clipped to (0.3, 0, 0.4). Bias correction makes Adam's first step
    # g / (|g| + epsilon): 0.3 / 0.301 and 0.4 / 0.401.
    params, norms = steps([np.asarray([3.0, 0.0, 4.0])], 0.5)
    np.testing.assert_allclose(params, [1 - 0.1 * 0.3 / 0.301, 2.0, -1 - 0.1 * 0.4 / 0.401], rtol=1e-6)
    np.testing.assert_allclose(norms, [5.0])


def test_many_steps_against_float64():
    rng = np.random.default_rng(0)
    gradients = [rng.normal(size=3) * scale for scale in (0.001, 5.0, 0.1, 30.0, 0.02)]
    for max_norm in (0.5, 10.0):
        params, norms = steps(gradients, max_norm)
        np.testing.assert_allclose(params, plain_adam(np.asarray([1.0, 2.0, -1.0]), gradients, max_norm), rtol=1e-4)
        np.testing.assert_allclose(norms, [np.linalg.norm(g) for g in gradients], rtol=1e-5)


def test_a_small_gradient_is_not_clipped():
    gradient = np.asarray([0.003, 0.0, 0.004])
    np.testing.assert_allclose(steps([gradient], 0.5)[0], steps([gradient], 1e9)[0])
    assert not np.allclose(steps([100 * gradient], 0.5)[0], steps([gradient], 0.5)[0])


def test_the_settings_can_be_traced():
    """What a population relies on: learning rate, epsilon and clip may differ between its runs."""

    def step(learning_rate, epsilon, max_norm):
        optimiser = clipped_adam(learning_rate, epsilon, max_norm)
        gradient = {"actor": jnp.asarray([3.0, 0.0]), "critic": jnp.asarray([4.0])}
        return apply_gradient(optimiser, PARAMS, optimiser.init(PARAMS), gradient)[0]["critic"][0]

    settings = (jnp.asarray([0.1, 0.2, 0.1]), jnp.asarray([1e-3, 1e-3, 1.0]), jnp.asarray([0.5, 5.0, 0.5]))
    expected = [-1 - 0.1 * 0.4 / 0.401, -1 - 0.2 * 4 / 4.001, -1 - 0.1 * 0.4 / 1.4]
    np.testing.assert_allclose(jax.jit(jax.vmap(step))(*settings), expected, rtol=1e-5)


@pytest.mark.parametrize(("beta2", "learning_rates"), [(0.999, 31.6), (0.99, 10.5), (0.9, 6.16)])
def test_a_gradient_after_a_long_silence_by_hand(beta2, learning_rates):
    # After a silence, one gradient g leaves m = 0.1 g 0.9^k and v = (1 - beta2) g^2 beta2^k, so that the steps that
    # follow are geometric. They sum to 0.1 / sqrt(1 - beta2) / (1 - 0.9 / sqrt(beta2)) learning rates: 31.8,
    # 10.5 and 6.16.
    optimiser = clipped_adam(1.0, 1e-12, 10.0, beta2)
    weight = jnp.zeros(1)

    def step(carry, gradient):
        weight, state, _ = apply_gradient(optimiser, carry[0], carry[1], gradient)
        return (weight, state), None

    gradients = jnp.zeros((20_200, 1)).at[20_000].set(1.0)
    (weight, _), _ = jax.lax.scan(step, (weight, optimiser.init(weight)), gradients)
    np.testing.assert_allclose(-weight[0], learning_rates, rtol=0.01)


def test_moving_towards_something_by_hand():
    moved = move_towards(PARAMS, {"actor": jnp.asarray([3.0, 2.0]), "critic": jnp.asarray([1.0])}, 0.25)
    np.testing.assert_allclose(moved["actor"], [1.5, 2.0])
    np.testing.assert_allclose(moved["critic"], [-0.5])
    np.testing.assert_array_equal(move_towards(PARAMS, PARAMS, 0.25)["actor"], PARAMS["actor"])


@pytest.mark.parametrize(("steps", "before"), [(1, 1), (3, 2), (4, 5), (5, 5), (40, 20), (40, 2000), (64, 64)])
@pytest.mark.parametrize("epsilon", [1e-3, 1e-8])
@pytest.mark.parametrize("beta2", [0.999, 0.99, 0.9, 0.0])
def test_idle_steps_are_adam_steps_without_a_gradient(steps, before, epsilon, beta2):
    """In float64, step by step: for weights never moved, hardly moved and moved a lot."""
    weight, mean, square = np.zeros(5), np.asarray([0.0, 1e-7, -0.02, 0.3, 2.0]), np.logspace(-12, 6, 5)
    w, m, v = weight, mean, square
    for t in range(before + 1, before + steps + 1):
        m, v = 0.9 * m, beta2 * v
        w = w - LEARNING_RATE * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - beta2**t)) + epsilon)
    settings = {"learning_rate": LEARNING_RATE, "epsilon": epsilon, "beta2": beta2}
    ours = idle_adam(*map(jnp.float32, (weight, mean, square)), jnp.asarray(before), steps=steps, **settings)
    for got, expected in zip(ours, (w, m, v), strict=True):
        np.testing.assert_allclose(got, expected, rtol=2e-5, atol=1e-30)
