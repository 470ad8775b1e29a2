"""Returns by hand, against rlax, and against their definitions."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import rlax
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.plain_returns import mixed_return, n_step, pieces

from derl.agents import A2C
from derl.agents.returns import (
    discounts,
    double_q_target,
    importance_ratio,
    importance_weights,
    lambda_returns,
    n_step_transitions,
    retrace,
    select,
    vtrace,
)
from derl.core.types import Rollout

T, E = 7, 3
SEEDS = range(4)

# One compiled program for each, whatever the numbers.
compiled_lambda = jax.jit(lambda_returns)
compiled_vtrace = jax.jit(vtrace)
compiled_retrace = jax.jit(retrace)
compiled_n_step = jax.jit(n_step_transitions, static_argnums=1)
targets_of = jax.jit(lambda agent, rollout, v_t, v_tp1, rho: agent.targets(rollout, v_t, v_tp1, rho))


def column(*values):
    """A sequence of one environment."""
    return np.asarray(values, np.float32)[:, None]


class Data:
    """Random sequences of `E` environments in which episodes end, with values as a network would give them."""

    def __init__(self, seed: int, truncating: bool = False, gamma: float = 0.9):
        rng = np.random.default_rng(seed)
        self.gamma = gamma
        self.reward = rng.normal(size=(T, E)).astype(np.float32)
        self.terminated = rng.random((T, E)) < 0.25
        self.truncated = (rng.random((T, E)) < 0.3) & ~self.terminated & truncating
        self.v_t = rng.normal(size=(T, E)).astype(np.float32)
        self.rho = rng.exponential(1.5, (T, E)).astype(np.float32)
        final = rng.normal(size=(T, E)).astype(np.float32)
        following = np.concatenate([self.v_t[1:], final[-1:]])
        # A truncated episode's last observation is not what comes next; a terminal one's value must not matter.
        self.v_tp1 = np.where(self.truncated | self.terminated, final, following)
        self.discount = np.where(self.terminated, 0.0, gamma).astype(np.float32)
        self.lambda_ = 0.8
        self.lambda_t = np.where(self.terminated | self.truncated, 0.0, self.lambda_).astype(np.float32)

    @property
    def done(self):
        return self.terminated | self.truncated

    def episodes(self):
        """Each environment's pieces of episodes: what a computation that knows nothing of resets can be given."""
        for e in range(E):
            for piece in pieces(self.terminated[:, e], self.truncated[:, e]):
                yield piece, e

    def sequences(self):
        """The arguments of V-trace, in rlax's order."""
        return self.v_t, self.v_tp1, self.reward, self.discount, self.rho


# Lambda-returns


@pytest.mark.parametrize(
    ("discount", "lambda_", "expected"),
    [
        ((0.5, 0.5, 0.5), (1.0, 1.0, 1.0), (6.5, 11.0, 18.0)),  # the 3-, 2- and 1-step return
        ((0.5, 0.5, 0.5), (0.0, 0.0, 0.0), (6.0, 12.0, 18.0)),  # one step each
        ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5), (6.375, 11.5, 18.0)),  # half of each
        ((0.5, 0.0, 0.5), (1.0, 1.0, 1.0), (2.0, 2.0, 18.0)),  # the task ends at the second step
        ((0.5, 0.5, 0.5), (1.0, 0.0, 1.0), (7.0, 12.0, 18.0)),  # truncated there: from its true successor's value
    ],
)
def test_lambda_returns_by_hand(discount, lambda_, expected):
    reward, v_next = column(1, 2, 3), column(10, 20, 30)
    returns = np.asarray(compiled_lambda(reward, column(*discount), v_next, column(*lambda_)))
    np.testing.assert_allclose(returns[:, 0], expected)


def over_envs(function):
    """An rlax function on the columns of time-major arrays."""
    return jax.jit(jax.vmap(function, in_axes=1, out_axes=1))


RLAX_LAMBDA = over_envs(rlax.lambda_returns)
RLAX_N_STEP = over_envs(functools.partial(rlax.n_step_bootstrapped_returns, n=T))
RLAX_GAE = over_envs(lambda r, d, lam, v: rlax.truncated_generalized_advantage_estimation(r, d, lam, v))


@pytest.mark.parametrize("seed", SEEDS)
def test_lambda_returns_against_rlax(seed):
    data = Data(seed)
    ones, constant = np.ones_like(data.v_t), np.full_like(data.v_t, data.lambda_)
    for lambda_t in (ones, constant, data.lambda_t):
        ours = compiled_lambda(data.reward, data.discount, data.v_tp1, lambda_t)
        np.testing.assert_allclose(ours, RLAX_LAMBDA(data.reward, data.discount, data.v_tp1, lambda_t), rtol=1e-5)
    n_steps = compiled_lambda(data.reward, data.discount, data.v_tp1, ones)
    np.testing.assert_allclose(n_steps, RLAX_N_STEP(data.reward, data.discount, data.v_tp1), rtol=1e-4, atol=1e-6)
    values = np.concatenate([data.v_t, data.v_tp1[-1:]])
    gae = RLAX_GAE(data.reward, data.discount, constant, values)
    ours = compiled_lambda(data.reward, data.discount, data.v_tp1, constant) - data.v_t
    np.testing.assert_allclose(ours, gae, rtol=1e-4, atol=1e-5)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.5, 0.95, 1.0]), st.sampled_from([0.0, 0.9, 1.0]))
def test_lambda_returns_mix_the_n_step_returns_of_each_episode(seed, lambda_, gamma):
    data = Data(seed, truncating=True, gamma=gamma)
    lambda_t = np.where(data.done, 0.0, lambda_).astype(np.float32)
    ours = compiled_lambda(data.reward, data.discount, data.v_tp1, lambda_t)
    for e in range(E):
        column = (data.reward[:, e], data.terminated[:, e], data.truncated[:, e], data.v_tp1[:, e])
        expected = [mixed_return(*column, t, gamma, lambda_) for t in range(T)]
        np.testing.assert_allclose(ours[:, e], expected, rtol=1e-4, atol=1e-5)


def rollout_of(data: Data) -> Rollout:
    nothing = np.zeros((T, E), np.int32)
    return Rollout(nothing, nothing, data.reward, nothing, data.terminated, data.truncated, nothing[0])


def test_an_agent_cuts_its_returns_at_the_ends_of_episodes():
    """`targets` gives the returns above the right discounts and lambdas: only truncations bootstrap."""
    data = Data(5, truncating=True, gamma=0.7)
    assert data.terminated.any()
    assert data.truncated[:-1].any()
    for lambda_ in (1.0, 0.6):
        agent = A2C(n_steps=T, gamma=0.7, gae_lambda=lambda_)
        targets = targets_of(agent, rollout_of(data), data.v_t, data.v_tp1, None)
        for e in range(E):
            column = (data.reward[:, e], data.terminated[:, e], data.truncated[:, e], data.v_tp1[:, e])
            expected = np.asarray([mixed_return(*column, t, 0.7, lambda_) for t in range(T)])
            np.testing.assert_allclose(targets.value[:, e], expected, rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(targets.advantage[:, e], expected - data.v_t[:, e], rtol=1e-4, atol=1e-5)
        assert targets.policy_weight == targets.value_weight == 1.0


# V-trace


def test_vtrace_by_hand():
    # One environment, two steps, gamma 0.5, V = 1, 2 and then 4; rho = 0.5 and 3 (clipped to 1).
    # excess_1 = 1 (2 + 0.5 4 - 2) = 2;  excess_0 = 0.5 (1 + 0.5 2 - 1) + 0.5 0.5 2 = 0.5 + 0.5 = 1.
    # A_1 = 2;  A_0 = 1 + 0.5 (2 + 2) - 1 = 2.
    half, ones = column(0.5, 0.5), column(1, 1)
    values, advantages = vtrace(column(1, 2), column(2, 4), column(1, 2), half, ones, column(0.5, 3))
    np.testing.assert_allclose(values[:, 0], [2, 4])
    np.testing.assert_allclose(advantages[:, 0], [2, 2])


RLAX_VTRACE = over_envs(rlax.vtrace_td_error_and_advantage)


@pytest.mark.parametrize("seed", SEEDS)
def test_vtrace_against_rlax(seed):
    data = Data(seed)
    assert (data.rho > 1).any()
    assert (data.discount == 0).any()
    for lambda_t in (np.ones_like(data.v_t), np.full_like(data.v_t, data.lambda_)):
        expected = RLAX_VTRACE(data.v_t, data.v_tp1, data.reward, data.discount, data.rho, lambda_t)
        values, advantages = compiled_vtrace(
            data.v_t, data.v_tp1, data.reward, data.discount, lambda_t * ~data.done, data.rho
        )
        np.testing.assert_allclose(values - data.v_t, expected.errors, rtol=1e-4, atol=1e-5)
        # rlax has the weight of the policy gradient in its advantage; ours leaves it to the loss.
        weighted = np.minimum(1, data.rho) * advantages
        np.testing.assert_allclose(weighted, expected.pg_advantage, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("seed", SEEDS)
def test_vtrace_treats_each_episode_by_itself(seed):
    data = Data(seed, truncating=True)
    assert data.truncated.any()
    values, advantages = compiled_vtrace(data.v_t, data.v_tp1, data.reward, data.discount, data.lambda_t, data.rho)
    # Each piece of an episode in a column of its own, followed by steps on which nothing can be learnt: their value is
    # what the piece bootstraps from, they reward just that, and end.
    episodes = list(data.episodes())
    v_t, v_tp1, reward, discount, rho = np.zeros((5, T, T * E), np.float32)
    for column, (piece, e) in enumerate(episodes):
        length = piece.stop - piece.start
        v_t[:, column] = reward[:, column] = data.v_tp1[piece, e][-1]
        for padded, whole in zip((v_t, v_tp1, reward, discount, rho), data.sequences(), strict=True):
            padded[:length, column] = whole[piece, e]
    expected = RLAX_VTRACE(v_t, v_tp1, reward, discount, rho, np.full_like(v_t, data.lambda_))
    for column, (piece, e) in enumerate(episodes):
        length = piece.stop - piece.start
        errors, advantage = (np.asarray(x)[:length, column] for x in (expected.errors, expected.pg_advantage))
        np.testing.assert_allclose(values[piece, e] - data.v_t[piece, e], errors, rtol=1e-4, atol=1e-5)
        weighted = np.minimum(1, data.rho) * advantages
        np.testing.assert_allclose(weighted[piece, e], advantage, rtol=1e-4, atol=1e-5)


def test_vtrace_on_policy_is_the_n_step_return():
    data = Data(0, truncating=True)
    ones = np.ones_like(data.v_t)
    values, advantages = compiled_vtrace(data.v_t, data.v_tp1, data.reward, data.discount, ones * ~data.done, ones)
    returns = compiled_lambda(data.reward, data.discount, data.v_tp1, ones * ~data.done)
    np.testing.assert_allclose(values, returns, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(advantages, returns - data.v_t, rtol=1e-4, atol=1e-5)


# Retrace


def test_retrace_by_hand():
    # gamma 0.5; Q = -, 4, 8 and V = -, 3, 7 after the steps; c = 0.5 for the second action, none after it.
    # q_1 = 2 + 0.5 7 = 5.5;  q_0 = 1 + 0.5 (3 + 0.5 (5.5 - 4)) = 2.875
    targets = compiled_retrace(column(4, 8), column(3, 7), column(1, 2), column(0.5, 0.5), column(0.5, 0.0))
    np.testing.assert_allclose(targets, column(2.875, 5.5))


def policies(seed: int, actions: int = 4):
    """Random policies pi and mu, action values and actions for the states after each step."""
    rng = np.random.default_rng(seed)
    pi, mu = rng.dirichlet(np.ones(actions), (2, T, E)).astype(np.float32)
    return pi, mu, rng.normal(size=(T, E, actions)).astype(np.float32), rng.integers(0, actions, (T, E))


RLAX_RETRACE_CONTINUOUS = over_envs(rlax.retrace_continuous)
RLAX_RETRACE = jax.jit(jax.vmap(rlax.retrace, in_axes=(1, 1, 1, 1, 1, 1, 1, 1, 0), out_axes=1))


@pytest.mark.parametrize("seed", SEEDS)
def test_retrace_against_rlax(seed):
    data = Data(seed)
    pi, mu, q, action = policies(seed)
    q_a = np.take_along_axis(q, action[..., None], -1)[..., 0]
    v = (pi * q).sum(-1)
    rho = np.take_along_axis(pi / mu, action[..., None], -1)[..., 0]
    assert (rho > 1).any()
    # In rlax's names: q, v and rho above are those at times 1 .. K.
    c = data.lambda_ * np.minimum(1, rho)
    c[-1] = 0
    ours = compiled_retrace(q_a, v, data.reward, data.discount, c)
    lambdas = np.full((T - 1, E), data.lambda_, np.float32)
    error = RLAX_RETRACE_CONTINUOUS(
        np.zeros_like(v), q_a[:-1], v, data.reward, data.discount, np.log(rho[:-1]), lambdas
    )
    np.testing.assert_allclose(ours, error, rtol=1e-4, atol=1e-5)
    mu_a = np.take_along_axis(mu, action[..., None], -1)[..., 0]
    scalar = np.full(E, data.lambda_, np.float32)
    by_q = RLAX_RETRACE(np.zeros_like(q), q, action, action, data.reward, data.discount, pi, mu_a, scalar)
    np.testing.assert_allclose(ours, by_q, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_retrace_correction_is_retrace_with_v_for_q_in_each_episode(seed):
    data = Data(seed, truncating=True)
    agent = A2C(n_steps=T, gamma=data.gamma, gae_lambda=data.lambda_, correction="retrace")
    targets = targets_of(agent, rollout_of(data), data.v_t, data.v_tp1, data.rho)
    np.testing.assert_allclose(targets.policy_weight, np.minimum(1, data.rho))
    np.testing.assert_allclose(targets.value_weight, np.minimum(1, data.rho))
    np.testing.assert_allclose(targets.advantage, targets.value - data.v_t, atol=1e-6)
    for piece, e in data.episodes():
        v_t, v_tp1, reward, discount, rho = (
            x[piece, e].astype(np.float64) for x in (data.v_t, data.v_tp1, data.reward, data.discount, data.rho)
        )
        q = reward[-1] + discount[-1] * v_tp1[-1]
        expected = [q]
        for t in range(len(reward) - 2, -1, -1):
            q = reward[t] + discount[t] * (v_t[t + 1] + data.lambda_ * min(1, rho[t + 1]) * (q - v_t[t + 1]))
            expected.insert(0, q)
        np.testing.assert_allclose(targets.value[piece, e], expected, rtol=1e-4, atol=1e-5)


# Weights of the simpler corrections


def test_importance_weights_by_hand():
    pi, mu = np.log([[0.9, 0.1]] * 3), np.asarray([np.log([0.3, 0.7]), np.log([0.3, 0.7]), [-1e9, 0.0]])
    weights = jax.jit(importance_weights)(pi, mu, np.asarray([0, 1, 0]))
    np.testing.assert_allclose(weights, [3.0, 1 / 7, 0.9 / 1e-7], rtol=1e-5)


def test_importance_ratios_by_hand():
    log_pi, log_mu = np.log([0.9, 0.1]), np.log([0.3, 0.4])
    np.testing.assert_allclose(importance_ratio(log_pi, log_mu), [3.0, 0.25], rtol=1e-5)
    np.testing.assert_allclose(importance_ratio(log_pi, log_mu, margin=0.1), [0.9 / 0.4, 0.1 / 0.5], rtol=1e-5)


def test_one_set_of_values_chooses_and_the_other_is_believed():
    q, chooser = jnp.asarray([[1.0, 5.0], [2.0, 3.0]]), jnp.asarray([[9.0, 0.0], [0.0, 9.0]])
    reward, discount = jnp.asarray([10.0, 20.0]), jnp.asarray([0.5, 0.0])
    np.testing.assert_allclose(double_q_target(reward, discount, q, chooser), [10.5, 20.0])
    np.testing.assert_allclose(double_q_target(reward, discount, q, q), [12.5, 20.0])


@pytest.mark.parametrize("correction", ["none", "importance", "clipped"])
def test_the_simple_corrections_weigh_uncorrected_returns(correction):
    data = Data(1, truncating=True)
    agent = A2C(n_steps=T, gamma=data.gamma, correction=correction)
    on_policy = targets_of(agent, rollout_of(data), data.v_t, data.v_tp1, None)
    targets = targets_of(agent, rollout_of(data), data.v_t, data.v_tp1, data.rho)
    np.testing.assert_array_equal(targets.value, on_policy.value)
    np.testing.assert_array_equal(targets.advantage, on_policy.advantage)
    expected = {"none": 1.0, "importance": data.rho, "clipped": np.minimum(data.rho, 1)}[correction]
    np.testing.assert_allclose(targets.policy_weight, expected)
    np.testing.assert_allclose(targets.value_weight, expected)


def test_the_vtrace_correction_uses_vtrace():
    data = Data(1, truncating=True)
    agent = A2C(n_steps=T, gamma=data.gamma, gae_lambda=data.lambda_, correction="vtrace")
    targets = targets_of(agent, rollout_of(data), data.v_t, data.v_tp1, data.rho)
    values, advantages = compiled_vtrace(data.v_t, data.v_tp1, data.reward, data.discount, data.lambda_t, data.rho)
    np.testing.assert_allclose(targets.value, values, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(targets.advantage, advantages, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(targets.policy_weight, np.minimum(1, data.rho), rtol=1e-5)
    assert targets.value_weight == 1.0


def test_selecting_entries_and_discounting():
    x = jnp.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, -jnp.inf]])
    np.testing.assert_array_equal(select(x, jnp.asarray([2, 0])), [3, 4])
    np.testing.assert_allclose(discounts(jnp.asarray([True, False]), 0.9), [0.0, 0.9])


# n-step transitions


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.sampled_from([1, 2, 4]),
    gamma=st.sampled_from([0.0, 0.5, 0.99, 1.0]),
    ends=st.sampled_from([0.0, 0.2, 0.7]),
    cuts=st.sampled_from([0.0, 0.3]),
    vectors=st.booleans(),
)
def test_n_step_transitions_against_a_plain_loop(seed, n, gamma, ends, cuts, vectors):
    rng = np.random.default_rng(seed)
    steps, envs = 6, 2
    terminated = rng.random((steps, envs)) < ends
    truncated = (rng.random((steps, envs)) < cuts) & ~terminated
    reward = rng.normal(size=(steps, envs)).astype(np.float32)
    obs = np.arange(steps * envs).reshape(steps, envs)
    next_obs = 100 + obs
    if vectors:
        obs, next_obs = (np.stack([x, -x], -1).astype(np.float32) for x in (obs, next_obs))
    rollout = Rollout(obs, np.zeros((steps, envs), int), reward, next_obs, terminated, truncated, obs[0])
    total, discount, bootstrap = compiled_n_step(jax.tree.map(jnp.asarray, rollout), n, gamma)
    assert total.shape == discount.shape == (steps - n + 1, envs)
    for e in range(envs):
        for t in range(steps - n + 1):
            expected = n_step(reward[:, e], terminated[:, e], truncated[:, e], t, n, gamma)
            np.testing.assert_allclose(total[t, e], expected.total, rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(discount[t, e], expected.discount, rtol=1e-5)
            np.testing.assert_array_equal(bootstrap[t, e], next_obs[expected.bootstrap, e])
