"""PPO's losses and updates in NumPy, on the learner's own data and on another policy's."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import rlax
from oracles.plain_returns import mixed_return

from agents.building import (
    ENVS,
    KEY,
    SPEC,
    STEPS,
    TRUNCATING,
    adam_step,
    chosen,
    experience_of,
    flat,
    log_softmax,
    numpy_mlp,
    random_log_probs,
    random_state,
)
from derl.agents import PPO
from derl.agents.base import Constraint, Experience
from derl.agents.ppo import Minibatch, clipped_policy_loss, clipped_value_loss
from derl.core.errors import DerlError

CLOCK = jnp.asarray(0)
samples = jax.jit(lambda agent, network, experience, spec: agent.samples(network, spec, experience), static_argnums=3)
losses = jax.jit(
    lambda agent, network, batch, constraint: eqx.filter_value_and_grad(agent.loss, has_aux=True)(
        network, batch, constraint
    )
)
learn = jax.jit(lambda agent, state, key, experience: agent.learn(state, key, SPEC, CLOCK, experience))


def test_the_clipped_policy_loss_by_hand():
    ratio, advantage = jnp.asarray([1.5, 0.5, 1.5, 0.5, 1.05]), jnp.asarray([2.0, 2.0, -2.0, -2.0, 1.0])
    # min(3, 1.1 2), min(1, 0.9 2), min(-3, -2.2), min(-1, -1.8), 1.05: 2.2 + 1 - 3 - 1.8 + 1.05 = -0.55
    np.testing.assert_allclose(clipped_policy_loss(ratio, advantage, 0.1), 0.11, rtol=1e-5)
    gradient = jax.jit(jax.grad(clipped_policy_loss))(ratio, advantage, 0.1)
    # Moved far enough in the advantage's direction: no further. Moved the wrong way: all the way back.
    np.testing.assert_allclose(gradient, [0, -0.4, 0.4, 0, -0.2], atol=1e-7)


def test_the_clipped_policy_loss_against_rlax():
    rng = np.random.default_rng(0)
    ratio, advantage = rng.exponential(size=50).astype(np.float32), rng.normal(size=50).astype(np.float32)
    expected = rlax.clipped_surrogate_pg_loss(ratio, advantage, 0.2)
    np.testing.assert_allclose(clipped_policy_loss(ratio, advantage, 0.2), expected, rtol=1e-5)


def test_the_clipped_value_loss_by_hand():
    v_old, target = jnp.asarray([0.0, 0.0, 0.0]), jnp.asarray([1.0, 1.0, 1.0])
    v = jnp.asarray([0.05, 0.5, -0.5])
    # Near the old value: as it is. Far towards the target: as if it had moved by 0.1 only. Far away: as it is.
    expected = [0.5 * 0.95**2, 0.5 * 0.9**2, 0.5 * 1.5**2]
    np.testing.assert_allclose(clipped_value_loss(v, v_old, target, 0.1), expected, rtol=1e-5)
    gradient = jax.jit(jax.grad(lambda v: clipped_value_loss(v, v_old, target, 0.1).sum()))(v)
    np.testing.assert_allclose(gradient, [-0.95, 0.0, -1.5], rtol=1e-5)


def returns_of(agent, network, rollout):
    v_tp1 = numpy_mlp(network.critic, rollout.next_obs)[..., 0]
    reward, terminated, truncated = (np.asarray(x) for x in (rollout.reward, rollout.terminated, rollout.truncated))
    returns = [
        [
            mixed_return(reward[:, e], terminated[:, e], truncated[:, e], v_tp1[:, e], t, agent.gamma, agent.gae_lambda)
            for e in range(ENVS)
        ]
        for t in range(STEPS)
    ]
    return np.asarray(returns)


@pytest.mark.parametrize("behaviour", [False, True])
def test_samples_hold_normalised_advantages_and_who_acted(behaviour):
    agent = PPO(gamma=0.8, gae_lambda=0.9)
    network, experience = random_state(agent).network, experience_of(1, truncating=True, behaviour=behaviour)
    rollout = experience.rollout
    batch, metrics = samples(agent, network, experience, TRUNCATING)
    returns, v = returns_of(agent, network, rollout), numpy_mlp(network.critic, rollout.obs)[..., 0]
    advantage = returns - v
    advantage = (advantage - advantage.mean()) / (np.std(advantage, ddof=1) + 1e-5)
    log_pi = log_softmax(numpy_mlp(network.actor, rollout.obs))
    log_mu = np.asarray(experience.behaviour, np.float64) if behaviour else log_pi
    expected = {
        "obs": rollout.obs,
        "action": rollout.action,
        "log_mu": chosen(log_mu, rollout.action),
        "advantage": advantage,
        "target": returns,
        "v_old": v,
        "weight": np.ones_like(v),
    }
    for name, values in expected.items():
        ours = getattr(batch, name)
        np.testing.assert_allclose(ours, np.asarray(values).reshape(-1), rtol=1e-3, atol=1e-5, err_msg=name)
    assert ("kl" in metrics) == behaviour
    if behaviour:
        rho = np.exp(chosen(log_pi - log_mu, rollout.action))
        np.testing.assert_allclose(metrics["importance_weight"], rho.mean(), rtol=1e-4)
        np.testing.assert_allclose(metrics["kl"], (np.exp(log_pi) * (log_pi - log_mu)).sum(-1).mean(), rtol=1e-4)


def test_the_learners_own_data_have_weight_1_and_divergence_0():
    agent = PPO()
    network, experience = random_state(agent).network, experience_of(1, truncating=True)
    own = network.log_probs(experience.rollout.obs)
    _, metrics = samples(agent, network, Experience(experience.rollout, own), TRUNCATING)
    np.testing.assert_allclose(metrics["importance_weight"], 1, rtol=1e-5)
    np.testing.assert_allclose(metrics["log_importance_weight"], 0, atol=1e-5)
    np.testing.assert_allclose(metrics["kl"], 0, atol=1e-5)


def test_the_small_number_in_the_normalisation():
    """Equal advantages stay 0 rather than becoming not a number."""
    agent = PPO(gamma=0.0)
    network, experience = random_state(agent).network, experience_of(1)
    zero = jax.tree.map(jnp.zeros_like, network)
    experience = Experience(experience.rollout.with_reward(jnp.ones((STEPS, ENVS))))
    batch, _ = samples(agent, zero, experience, TRUNCATING)
    np.testing.assert_array_equal(batch.advantage, 0)


def test_other_ways_to_prepare_samples():
    plain = PPO(gamma=0.8, normalise_advantage=False, weight_value_loss=True)
    network, experience = random_state(plain).network, experience_of(1, behaviour=True)
    rollout = experience.rollout
    batch, _ = samples(plain, network, experience, SPEC)
    returns, v = returns_of(plain, network, rollout), numpy_mlp(network.critic, rollout.obs)[..., 0]
    np.testing.assert_allclose(batch.advantage, (returns - v).reshape(-1), rtol=1e-3, atol=1e-5)
    log_ratio = log_softmax(numpy_mlp(network.actor, rollout.obs)) - np.asarray(experience.behaviour)
    np.testing.assert_allclose(batch.weight, np.exp(chosen(log_ratio, rollout.action)).reshape(-1), rtol=1e-3)


def random_batch(seed: int, size: int = 8) -> Minibatch:
    rng = np.random.default_rng(seed)

    def normal():
        return jnp.asarray(rng.normal(size=size), jnp.float32)

    return Minibatch(
        obs=jnp.asarray(rng.integers(0, 5, size)),
        action=jnp.asarray(rng.integers(0, 3, size)),
        log_mu=jnp.asarray(rng.uniform(-2, -0.3, size), jnp.float32),
        advantage=normal(),
        target=normal(),
        v_old=normal(),
        weight=jnp.asarray(rng.exponential(size=size), jnp.float32),
        other_log_probs=random_log_probs(seed, (size,)),
    )


@pytest.mark.parametrize("clip_value_loss", [True, False])
def test_the_whole_loss(clip_value_loss):
    agent = PPO(clip=0.2, entropy_coef=0.3, value_coef=0.7, clip_value_loss=clip_value_loss)
    network, batch = random_state(agent).network, random_batch(0)
    constraint = Constraint(jnp.asarray(1.5), jnp.zeros((STEPS, ENVS, 3)), "kl")  # only its weight and kind count here
    (total, metrics), _ = losses(agent, network, batch, constraint)
    log_pi, v = log_softmax(numpy_mlp(network.actor, batch.obs)), numpy_mlp(network.critic, batch.obs)[..., 0]
    b = jax.tree.map(np.asarray, batch)
    ratio = np.exp(chosen(log_pi, b.action) - b.log_mu)
    policy_loss = -np.minimum(ratio * b.advantage, np.clip(ratio, 0.8, 1.2) * b.advantage).mean()
    error = np.square(v - b.target)
    if clip_value_loss:
        error = np.maximum(error, np.square(b.v_old + np.clip(v - b.v_old, -0.2, 0.2) - b.target))
    value_loss = 0.5 * (b.weight * error).mean()
    entropy = -(np.exp(log_pi) * log_pi).sum(-1).mean()
    divergence = (np.exp(log_pi) * (log_pi - b.other_log_probs)).sum(-1).mean()
    expected = {"policy_loss": policy_loss, "value_loss": value_loss, "entropy": entropy, "divergence": divergence}
    for name, value in expected.items():
        np.testing.assert_allclose(metrics[name], value, rtol=1e-4, err_msg=name)
    np.testing.assert_allclose(total, policy_loss + 0.7 * value_loss - 0.3 * entropy + 1.5 * divergence, rtol=1e-4)


def test_one_epoch_of_one_minibatch_is_one_adam_step():
    agent = PPO(learning_rate=0.01, epochs=1, minibatches=1)
    state, experience = random_state(agent), experience_of(2, behaviour=True)
    batch, _ = samples(agent, state.network, experience, SPEC)
    _, gradient = losses(agent, state.network, batch, None)
    learnt, metrics = learn(agent, state, KEY, experience)
    np.testing.assert_allclose(metrics["grad_norm"], np.linalg.norm(flat(gradient)), rtol=1e-4)
    np.testing.assert_allclose(flat(learnt.network), adam_step(agent, state.network, gradient), rtol=1e-4, atol=1e-6)


def test_every_sample_is_used_once_in_each_epoch():
    epochs, minibatches, seen = 3, 4, []

    class Watched(PPO):
        """Tells which samples each loss is taken on: no two have the same target."""

        def loss(self, network, batch, constraint):
            jax.debug.callback(lambda target: seen.append(np.asarray(target).tolist()), batch.target, ordered=True)
            return super().loss(network, batch, constraint)

    agent = Watched(epochs=epochs, minibatches=minibatches)
    state, experience = random_state(agent), experience_of(2, behaviour=True)
    batch, _ = samples(agent, state.network, experience, SPEC)
    everything = sorted(np.asarray(batch.target).tolist())
    assert len(set(everything)) == STEPS * ENVS
    learnt, metrics = learn(agent, state, KEY, experience)
    jax.effects_barrier()
    steps = [targets for targets in seen if len(targets) == STEPS * ENVS // minibatches]
    assert len(steps) == epochs * minibatches == int(learnt.opt_state[1][0].count)
    orders = np.reshape(steps, (epochs, -1))
    np.testing.assert_allclose(np.sort(orders), [everything] * epochs, rtol=1e-5)
    assert len({tuple(order) for order in orders}) == epochs, "in another order each time"
    # What is recorded are the losses after the last step.
    (_, expected), _ = losses(PPO(epochs=epochs), learnt.network, batch, None)
    for name, value in expected.items():
        np.testing.assert_allclose(metrics[name], value, rtol=1e-4, atol=1e-6, err_msg=name)
    assert metrics["grad_norm"] > 0


def test_minibatches_without_samples_are_refused():
    agent = PPO(n_steps=STEPS, minibatches=STEPS * ENVS + 1)
    with pytest.raises(DerlError, match=f"PPO: a rollout has {STEPS * ENVS} samples here, too few for"):
        eqx.filter_eval_shape(lambda key: agent.init(key, SPEC, ENVS, STEPS), KEY)
    enough = PPO(n_steps=STEPS, minibatches=STEPS * ENVS)
    eqx.filter_eval_shape(lambda key: enough.init(key, SPEC, ENVS, STEPS), KEY)


def test_a_single_sample_is_refused():
    """Advantages are standardised, and one number has no deviation."""
    agent = PPO(n_steps=1, minibatches=1)
    with pytest.raises(DerlError, match="PPO: a rollout has 1 samples here, too few for 1 minibatches"):
        eqx.filter_eval_shape(lambda key: agent.init(key, SPEC, 1, 1), KEY)
