"""A2C's losses and updates in NumPy, on the learner's own data and on another policy's."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from oracles.plain_returns import mixed_return

from agents.building import (
    KEY,
    SPEC,
    TRUNCATING,
    adam_step,
    chosen,
    experience_of,
    flat,
    log_softmax,
    numpy_mlp,
    random_log_probs,
    random_rollout,
    random_state,
)
from derl.agents import A2C, DQN, PPO
from derl.agents.a2c import policy_loss, value_loss
from derl.agents.actor_critic import entropy
from derl.agents.base import Constraint, Experience
from derl.core import networks

CLOCK = jnp.asarray(0)

# Compiled once for each kind of agent and experience; numbers such as the learning rate may differ.
losses = jax.jit(
    lambda agent, network, experience, spec: eqx.filter_value_and_grad(agent.loss, has_aux=True)(
        network, spec, experience
    ),
    static_argnums=3,
)
learn = jax.jit(lambda agent, state, experience: agent.learn(state, KEY, SPEC, CLOCK, experience))


def test_the_losses_by_hand():
    log_pi, advantage, rho = (jnp.asarray(x) for x in ([-1.0, -2.0], [3.0, -1.0], [0.5, 2.0]))
    # -(3 (-1) + (-1) (-2)) / 2 = 0.5; weighted: -(0.5 3 (-1) + 2 (-1) (-2)) / 2 = -1.25
    np.testing.assert_allclose(jax.jit(policy_loss)(log_pi, advantage, 1.0), 0.5)
    np.testing.assert_allclose(jax.jit(policy_loss)(log_pi, advantage, rho), -1.25)
    v, target = jnp.asarray([1.0, 2.0]), jnp.asarray([3.0, 1.0])
    # (4 + 1) / 2; weighted: (0.5 4 + 2 1) / 2. No factor 1/2: the authors' code has none.
    np.testing.assert_allclose(jax.jit(value_loss)(v, target, 1.0), 2.5)
    np.testing.assert_allclose(jax.jit(value_loss)(v, target, rho), 2.0)


def test_the_losses_only_move_what_they_should():
    log_pi, advantage, rho = (jnp.asarray(x) for x in ([-1.0, -2.0], [3.0, -1.0], [0.5, 2.0]))
    gradients = jax.jit(jax.grad(policy_loss, argnums=(0, 1, 2)))(log_pi, advantage, rho)
    # A good action becomes more likely (descent on the loss), a bad one less; advantages and weights are constants.
    np.testing.assert_allclose(gradients[0], [-0.75, 1.0])
    assert not gradients[1].any()
    assert not gradients[2].any()
    v, target = jnp.asarray([1.0, 2.0]), jnp.asarray([3.0, 1.0])
    gradients = jax.jit(jax.grad(value_loss, argnums=(0, 1, 2)))(v, target, rho)
    np.testing.assert_allclose(gradients[0], [0.5 * (1 - 3), 2 * (2 - 1)])
    assert not gradients[1].any()
    assert not gradients[2].any()


def test_entropy_by_hand():
    np.testing.assert_allclose(
        entropy(jnp.log(jnp.asarray([0.25, 0.75]))), -(0.25 * np.log(0.25) + 0.75 * np.log(0.75))
    )
    np.testing.assert_allclose(entropy(jnp.zeros(4) - jnp.log(4.0)), np.log(4), rtol=1e-6)


def numpy_returns(agent, rollout, v_tp1):
    """Returns of every step by their definition."""
    reward, terminated, truncated = (np.asarray(x) for x in (rollout.reward, rollout.terminated, rollout.truncated))
    returns = np.zeros(reward.shape)
    for e in range(reward.shape[1]):
        for t in range(len(reward)):
            column = (reward[:, e], terminated[:, e], truncated[:, e], v_tp1[:, e])
            returns[t, e] = mixed_return(*column, t, agent.gamma, agent.gae_lambda)
    return returns


@dataclasses.dataclass
class Expected:
    """The parts of A2C's loss in float64."""

    policy_loss: float
    value_loss: float
    entropy: float
    divergence: float
    kl: float
    importance_weight: float
    constants: tuple
    """Weighted advantages, targets and weights: what no gradient may flow through."""

    def total(self, agent, alpha):
        bonus = agent.value_coef * self.value_loss - agent.entropy_coef * self.entropy
        return self.policy_loss + bonus + alpha * self.divergence


def numpy_loss(agent, network, experience) -> Expected:
    rollout = experience.rollout
    log_pi = log_softmax(numpy_mlp(network.actor, rollout.obs))
    v_t, v_tp1 = (numpy_mlp(network.critic, x)[..., 0] for x in (rollout.obs, rollout.next_obs))
    returns = numpy_returns(agent, rollout, v_tp1)
    weight, kl, rho = np.ones_like(returns), 0.0, np.ones_like(returns)
    if experience.behaviour is not None:
        log_mu = np.asarray(experience.behaviour, np.float64)
        rho = np.exp(chosen(log_pi, rollout.action) - chosen(log_mu, rollout.action))
        kl = (np.exp(log_pi) * (log_pi - log_mu)).sum(-1).mean()
        weight = {"none": weight, "importance": rho, "clipped": np.minimum(rho, 1)}[agent.correction]
    divergence = 0.0
    if experience.constraint is not None:
        log_other = np.asarray(experience.constraint.log_probs, np.float64)
        divergence = (np.exp(log_pi) * (log_pi - log_other)).sum(-1).mean()
    advantage = returns - v_t
    return Expected(
        policy_loss=-(weight * advantage * chosen(log_pi, rollout.action)).mean(),
        value_loss=(weight * (v_t - returns) ** 2).mean(),
        entropy=-(np.exp(log_pi) * log_pi).sum(-1).mean(),
        divergence=divergence,
        kl=kl,
        importance_weight=rho.mean(),
        constants=(weight * advantage, returns, weight),
    )


def surrogate(agent, constants, alpha, experience, network):
    """The loss with everything that should be constant written in as a number."""
    rollout = experience.rollout
    weighted_advantage, target, weight = (jnp.asarray(x, jnp.float32) for x in constants)
    log_pi = jax.nn.log_softmax(network.actor(rollout.obs))
    taken = jnp.take_along_axis(log_pi, rollout.action[..., None], -1)[..., 0]
    loss = -(weighted_advantage * taken).mean()
    loss += agent.value_coef * (weight * (network.critic(rollout.obs)[..., 0] - target) ** 2).mean()
    loss -= agent.entropy_coef * -(jnp.exp(log_pi) * log_pi).sum(-1).mean()
    if experience.constraint is not None:
        loss += alpha * (jnp.exp(log_pi) * (log_pi - experience.constraint.log_probs)).sum(-1).mean()
    return loss


@pytest.mark.parametrize(
    ("correction", "truncating"), [(None, False), ("none", True), ("importance", False), ("clipped", True)]
)
def test_the_whole_loss_and_its_gradient(correction, truncating):
    agent = A2C(gamma=0.8, gae_lambda=0.9, entropy_coef=0.3, value_coef=0.7, correction=correction or "importance")
    network = random_state(agent).network
    alpha = 1.5
    experience = experience_of(1, truncating, behaviour=correction is not None)
    if correction in (None, "clipped"):
        constraint = Constraint(jnp.asarray(alpha), random_log_probs(9), "kl")
        experience = Experience(experience.rollout, experience.behaviour, constraint)
    spec = TRUNCATING if truncating else SPEC
    (total, metrics), gradient = losses(agent, network, experience, spec)
    expected = numpy_loss(agent, network, experience)
    for name in ("policy_loss", "value_loss", "entropy"):
        np.testing.assert_allclose(metrics[name], getattr(expected, name), rtol=1e-4, err_msg=name)
    if correction is not None:
        np.testing.assert_allclose(metrics["kl"], expected.kl, rtol=1e-4)
        np.testing.assert_allclose(metrics["importance_weight"], expected.importance_weight, rtol=1e-4)
    else:
        assert "kl" not in metrics, "its own data need no comparison"
    np.testing.assert_allclose(total, expected.total(agent, alpha), rtol=1e-4)
    by_hand = jax.jit(jax.grad(lambda n: surrogate(agent, expected.constants, alpha, experience, n)))(network)
    np.testing.assert_allclose(flat(gradient), flat(by_hand), rtol=1e-3, atol=1e-5)


def test_successors_are_valued_alike_with_and_without_truncation():
    """The shortcut for tasks that never truncate changes no target."""
    agent = A2C()
    network, rollout = random_state(agent).network, random_rollout(3)
    v_t = network.value(rollout.obs)
    shortcut = agent.successor_values(network, SPEC, rollout, v_t)
    whole = agent.successor_values(network, TRUNCATING, rollout, v_t)
    np.testing.assert_allclose(
        np.where(rollout.terminated, 0, shortcut), np.where(rollout.terminated, 0, whole), rtol=1e-5
    )
    # At the rollout's end the successor is the true one, not the observation after a reset.
    np.testing.assert_allclose(whole, numpy_mlp(network.critic, rollout.next_obs)[..., 0], rtol=1e-4)


@pytest.mark.parametrize("max_grad_norm", [0.05, 100.0])
def test_one_update_is_one_adam_step_with_a_joint_clip(max_grad_norm):
    agent = A2C(learning_rate=0.01, max_grad_norm=max_grad_norm)
    state, experience = random_state(agent), experience_of(2, behaviour=True)
    _, gradient = losses(agent, state.network, experience, SPEC)
    learnt, metrics = learn(agent, state, experience)
    norms = [np.linalg.norm(flat(part)) for part in (gradient.actor, gradient.critic)]
    np.testing.assert_allclose(metrics["grad_norm"], np.hypot(*norms), rtol=1e-4)
    assert min(norms) > 0.05, "both networks would be clipped by themselves, and the joint clip is another"
    np.testing.assert_allclose(flat(learnt.network), adam_step(agent, state.network, gradient), rtol=1e-4, atol=1e-6)


def test_the_learners_own_data_have_weight_1_and_divergence_0():
    agent = A2C(learning_rate=0.01)
    state, experience = random_state(agent), experience_of(2, behaviour=True)
    own = state.network.log_probs(experience.rollout.obs)
    _, metrics = learn(agent, state, Experience(experience.rollout, own))
    np.testing.assert_allclose(metrics["importance_weight"], 1, rtol=1e-5)
    np.testing.assert_allclose(metrics["log_importance_weight"], 0, atol=1e-5)
    np.testing.assert_allclose(metrics["kl"], 0, atol=1e-5)


def test_initial_gains(monkeypatch):
    """As in the authors' code: root 2, but 0.01 for a policy's last layer. (That it is kept is a test of networks.)"""
    monkeypatch.setattr(networks, "orthogonal", lambda key, shape, gain: jnp.full(shape, gain))
    for kind in (A2C, PPO):
        network = kind(hidden=(8, 8)).init(KEY, SPEC, 2, 5).network
        for mlp, gain in ((network.actor, 0.01), (network.critic, 2**0.5)):
            for weights, expected in zip(mlp.weights, (2**0.5, 2**0.5, gain), strict=True):
                np.testing.assert_allclose(weights, expected)
            assert not any(bias.any() for bias in mlp.biases)
    for weights in DQN(hidden=(8, 8), capacity=1000).init(KEY, SPEC, 2, 5).learner.network.mlp.weights:
        np.testing.assert_allclose(weights, 2**0.5)


def test_the_policy_that_acts():
    agent = A2C()
    state = random_state(agent)
    obs = jnp.arange(5)
    expected = log_softmax(numpy_mlp(state.network.actor, obs))
    np.testing.assert_allclose(agent.log_probs(state, obs, CLOCK), expected, rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(agent.greedy(state, obs), expected.argmax(-1))
