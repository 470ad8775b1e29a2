"""Divergences against other formulas for the same thing."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import rlax
from hypothesis import given, settings
from hypothesis import strategies as st

from derl.agents.divergences import DIVERGENCES, kl, mean_divergence


def entropy(p):
    return -(p * np.log(p)).sum(-1)


def independent(name: str, p, q):
    """Each divergence in float64, by a formula that is not the library's."""
    kernel = np.eye(p.shape[-1])

    def mean_kernel(a, b):
        return np.einsum("...i,ij,...j->...", a, kernel, b)

    return {
        "kl": lambda: -(p * np.log(q)).sum(-1) - entropy(p),
        "chi-squared": lambda: (p**2 / q).sum(-1) - 1,
        "jensen-shannon": lambda: entropy((p + q) / 2) - (entropy(p) + entropy(q)) / 2,
        "mmd": lambda: mean_kernel(p, p) - 2 * mean_kernel(p, q) + mean_kernel(q, q),
        "wasserstein": lambda: 1 - np.minimum(p, q).sum(-1),
    }[name]()


def log_softmax(logits):
    logits = np.asarray(logits, np.float64)
    return logits - np.log(np.exp(logits).sum(-1, keepdims=True))


NAMES = sorted(DIVERGENCES)
ACTIONS = 4
COMPILED = {name: jax.jit(divergence) for name, divergence in DIVERGENCES.items()}
LOGITS = st.lists(st.floats(-4, 4), min_size=ACTIONS, max_size=ACTIONS)


def test_there_are_as_many_as_the_documentation_says():
    assert NAMES == ["chi-squared", "jensen-shannon", "kl", "mmd", "wasserstein"]


@pytest.mark.parametrize("name", NAMES)
def test_each_divergence_against_another_formula(name):
    rng = np.random.default_rng(0)
    log_p, log_q = log_softmax(rng.normal(0, 2, (2, 50, 3, ACTIONS)))
    ours = COMPILED[name](jnp.asarray(log_p, jnp.float32), jnp.asarray(log_q, jnp.float32))
    assert ours.shape == (50, 3)
    np.testing.assert_allclose(ours, independent(name, np.exp(log_p), np.exp(log_q)), rtol=1e-3, atol=2e-6)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("kl", 0.5 * np.log(4 / 3)),  # 1/2 log 2 + 1/2 log (2 / 3)
        ("chi-squared", 0.25**2 / 0.25 + 0.25**2 / 0.75),
        ("mmd", 2 * 0.25**2),
        ("wasserstein", 0.25),
    ],
)
def test_divergences_by_hand(name, expected):
    p, q = np.log([0.5, 0.5]), np.log([0.25, 0.75])
    np.testing.assert_allclose(COMPILED[name](p, q), expected, rtol=1e-5)


def test_policies_that_never_agree():
    p, q = np.asarray([0.0, -50.0]), np.asarray([-50.0, 0.0])
    np.testing.assert_allclose(COMPILED["jensen-shannon"](p, q), np.log(2), rtol=1e-5)
    np.testing.assert_allclose(COMPILED["wasserstein"](p, q), 1, rtol=1e-5)
    np.testing.assert_allclose(COMPILED["mmd"](p, q), 2, rtol=1e-5)
    np.testing.assert_allclose(COMPILED["kl"](p, q), 50, rtol=1e-5)
    assert np.isfinite(COMPILED["chi-squared"](p, q))


def test_kl_against_rlax():
    rng = np.random.default_rng(1)
    p_logits, q_logits = rng.normal(0, 2, (2, 20, ACTIONS)).astype(np.float32)
    with pytest.warns(PendingDeprecationWarning):
        expected = rlax.categorical_kl_divergence(p_logits, q_logits)
    np.testing.assert_allclose(kl(jax.nn.log_softmax(p_logits), jax.nn.log_softmax(q_logits)), expected, rtol=1e-4)


@settings(max_examples=40, deadline=None)
@given(LOGITS, LOGITS)
def test_divergences_are_zero_only_between_equal_policies(p_logits, q_logits):
    log_p, log_q = log_softmax(p_logits), log_softmax(q_logits)
    distance = np.abs(np.exp(log_p) - np.exp(log_q)).max()
    for name, divergence in COMPILED.items():
        p, q = jnp.asarray(log_p, jnp.float32), jnp.asarray(log_q, jnp.float32)
        assert abs(float(divergence(p, p))) < 1e-6, name
        assert float(divergence(p, q)) > -1e-6, name
        if distance > 1e-2:
            assert float(divergence(p, q)) > 1e-5, name


@pytest.mark.parametrize("name", NAMES)
def test_the_second_policy_gets_no_gradient(name):
    rng = np.random.default_rng(2)
    p, q = rng.normal(size=(2, 3, ACTIONS)).astype(np.float32)

    def mean(p, q):
        return mean_divergence(name, jax.nn.log_softmax(p), jax.nn.log_softmax(q))

    look = jax.jit(jax.value_and_grad(mean, argnums=(0, 1)))
    value, (to_p, to_q) = jax.tree.map(np.asarray, look(p, q))
    assert not to_q.any()
    assert np.abs(to_p).max() > 1e-3
    per_state = independent(name, *(np.exp(log_softmax(x)) for x in (p, q)))
    np.testing.assert_allclose(value, np.mean(per_state), rtol=1e-3)
    closer, _ = look(p - 0.1 * to_p / np.abs(to_p).max(), q)
    assert closer < value, "following the gradient brings the first policy nearer"
