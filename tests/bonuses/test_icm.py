import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bonuses.building import SMALL, init, numpy_mlp, quick_jit, random_rollout, rollout_of, step
from derl.bonuses import ICM
from derl.bonuses.inverse_dynamics import DynamicsModel
from derl.core.types import Box, Discrete, Spec

KEY = jax.random.key(0)
SIZE = 6
SPEC = Spec(Discrete(SIZE), 3)


def numpy_model(model: DynamicsModel, obs, action, next_obs):
    """phi(s), phi(s'), the predicted phi(s') and the logits of the action."""
    phi, phi_next = numpy_mlp(model.encoder, obs), numpy_mlp(model.encoder, next_obs)
    predicted = numpy_mlp(model.forward, np.concatenate([phi, np.eye(SPEC.num_actions)[np.asarray(action)]], -1))
    logits = numpy_mlp(model.inverse, np.concatenate([phi, phi_next], -1))
    return phi, phi_next, predicted, logits


@quick_jit
def gradient_of(bonus: ICM, model: DynamicsModel, rollout):
    """The gradient of the loss on the rollout's first time step."""
    action = jax.nn.one_hot(rollout.action[0], SPEC.num_actions)
    return jax.grad(bonus.loss, has_aux=True)(model, rollout.obs[0], action, rollout.next_obs[0])


def familiar(obs, next_obs, action=(0, 0)):
    """The same transitions three times over."""
    obs, next_obs, action = (np.tile(x, (3, 1)) for x in (obs, next_obs, action))
    return rollout_of(obs, next_obs=next_obs, action=action)


@pytest.mark.parametrize(("halve", "activate_outputs"), [(True, True), (False, False)])
def test_the_bonus_is_the_squared_error_of_the_predicted_successor(halve, activate_outputs):
    bonus = ICM(**SMALL, learning_rate=0.0, halve=halve, activate_outputs=activate_outputs)
    state, rollout = init(bonus, SPEC, 2), random_rollout(0, SIZE)
    _, r = step(bonus, state, rollout)
    _, phi_next, predicted, _ = numpy_model(state.model, rollout.obs, rollout.action, rollout.next_obs)
    expected = ((predicted - phi_next) ** 2).sum(-1) * (0.5 if halve else 1.0)
    np.testing.assert_allclose(r, expected, rtol=1e-4)


def test_networks_have_the_published_shapes():
    model = jax.eval_shape(lambda: ICM().init(KEY, SPEC, 4)).model
    assert [w.shape for w in model.encoder.weights] == [(SIZE, 64), (64, 64), (64, 16)]
    assert [w.shape for w in model.forward.weights] == [(16 + 3, 64), (64, 16)]
    assert [w.shape for w in model.inverse.weights] == [(32, 64), (64, 3)]


def test_networks_start_orthogonal():
    model = quick_jit(lambda: ICM(**SMALL).init(KEY, SPEC, 4))().model
    for network in (model.encoder, model.forward, model.inverse):
        for w in network.weights:
            np.testing.assert_allclose(np.linalg.svd(w, compute_uv=False), 2**0.5, rtol=1e-5)


def test_the_loss_weighs_forward_error_and_inverse_cross_entropy():
    bonus = ICM(**SMALL, forward_coef=0.7, inverse_coef=1.3)
    model, rollout = init(bonus, SPEC, 2).model, random_rollout(1, SIZE, envs=4)
    obs, action, next_obs = rollout.obs[0], rollout.action[0], rollout.next_obs[0]
    loss, _ = quick_jit(bonus.loss)(model, obs, jax.nn.one_hot(action, 3), next_obs)
    _, phi_next, predicted, logits = numpy_model(model, obs, action, next_obs)
    forward = 0.5 * ((predicted - phi_next) ** 2).sum(-1).mean()
    log_p = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    inverse = -log_p[np.arange(4), np.asarray(action)].mean()
    assert float(loss) == pytest.approx(0.7 * forward + 1.3 * inverse, rel=1e-5)


def test_each_time_step_is_rewarded_before_it_is_learned_from():
    bonus = ICM(**SMALL, learning_rate=1e-2)
    state = init(bonus, SPEC, 2)
    for seed in range(2):
        rollout = random_rollout(seed, SIZE)
        after, r = step(bonus, state, rollout)
        _, phi_next, predicted, _ = numpy_model(state.model, rollout.obs, rollout.action, rollout.next_obs)
        expected = 0.5 * ((predicted - phi_next) ** 2).sum(-1)
        np.testing.assert_allclose(r[0], expected[0], rtol=1e-4)
        assert not np.allclose(r[1:], expected[1:], rtol=1e-2)
        state = after


def test_learning_makes_familiar_transitions_boring():
    bonus = ICM(**SMALL, learning_rate=1e-2)
    state, rollout = init(bonus, SPEC, 2), familiar(obs=[0, 1], next_obs=[2, 3])
    state, first = step(bonus, state, rollout)
    for _ in range(40):
        state, r = step(bonus, state, rollout)
    assert float(r.sum()) < 0.1 * float(first.sum())


def test_learning_the_inverse_model_alone_predicts_actions():
    bonus = ICM(**SMALL, learning_rate=1e-2, forward_coef=0.0, activate_outputs=False, halve=False)
    state = init(bonus, SPEC, 2)
    obs, next_obs, action = [0, 0], [2, 3], [0, 2]
    for _ in range(60):
        state, _ = step(bonus, state, familiar(obs, next_obs, action))
    _, _, _, logits = numpy_model(state.model, obs, action, next_obs)
    np.testing.assert_array_equal(logits.argmax(-1), action)
    assert (np.exp(logits).max(-1) / np.exp(logits).sum(-1)).min() > 0.9


def test_without_a_learning_rate_nothing_is_learned():
    bonus = ICM(**SMALL, learning_rate=0.0)
    state = init(bonus, SPEC, 2)
    after, r = step(bonus, state, familiar(obs=[0, 1], next_obs=[2, 3]))
    np.testing.assert_array_equal(r, np.tile(r[:1], (3, 1)))
    jax.tree.map(np.testing.assert_array_equal, after.model, state.model)


@pytest.mark.parametrize("detach_encoder", [True, False])
def test_whether_the_forward_loss_reaches_the_encoder(detach_encoder):
    bonus = ICM(**SMALL, inverse_coef=0.0, detach_encoder=detach_encoder)
    gradient, _ = gradient_of(bonus, init(bonus, SPEC, 2).model, random_rollout(2, SIZE))
    encoder, forward = (
        max(float(jnp.abs(w).max()) for w in network.weights) for network in (gradient.encoder, gradient.forward)
    )
    assert forward > 0
    assert (encoder == 0) == detach_encoder


def test_with_a_detached_encoder_the_inverse_loss_still_reaches_it():
    bonus = ICM(**SMALL, forward_coef=0.0, detach_encoder=True)
    gradient, _ = gradient_of(bonus, init(bonus, SPEC, 2).model, random_rollout(2, SIZE))
    assert all(float(jnp.abs(w).max()) > 0 for w in gradient.encoder.weights)


def test_the_first_update_is_a_clipped_adam_step():
    bonus = ICM(**SMALL, learning_rate=0.1, adam_epsilon=0.5, max_grad_norm=0.3)
    state, rollout = init(bonus, SPEC, 2), random_rollout(3, SIZE, steps=1)
    gradient, _ = gradient_of(bonus, state.model, rollout)
    norm = np.sqrt(sum((np.asarray(g, np.float64) ** 2).sum() for g in jax.tree.leaves(gradient)))
    assert norm > 0.3
    after, _ = step(bonus, state, rollout)
    for x, g, y in zip(*(jax.tree.leaves(t) for t in (state.model, gradient, after.model)), strict=True):
        g = np.asarray(g) * 0.3 / norm
        np.testing.assert_allclose(y, x - 0.1 * g / (np.abs(g) + 0.5), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(("successor", "last"), [("successor", SIZE), ("successor_after_reset", 0)])
def test_what_follows_an_episodes_end(successor, last):
    bonus = ICM(**SMALL, learning_rate=0.0, successor=successor)
    state = init(bonus, SPEC, 2)
    obs, next_obs = [[0, 1], [2, 3], [0, 1]], [[2, 3], [SIZE, 1], [3, 2]]
    rollout = rollout_of(obs, next_obs=next_obs, last_obs=[3, 2], terminated=[[0, 0], [1, 0], [0, 0]])
    _, r = step(bonus, state, rollout)
    _, phi_next, predicted, _ = numpy_model(state.model, [2, 3], [0, 0], [last, 1])
    np.testing.assert_allclose(r[1], 0.5 * ((predicted - phi_next) ** 2).sum(-1), rtol=1e-4)


def test_vectors():
    bonus = ICM(**SMALL, learning_rate=0.0)
    state = init(bonus, Spec(Box((2, 2)), 3), 2)
    obs = np.random.default_rng(0).normal(size=(4, 2, 2, 2)).astype(np.float32)
    rollout = rollout_of(obs[:-1], last_obs=obs[-1], action=np.ones((3, 2), int))
    _, r = step(bonus, state, rollout)
    flat = obs.reshape(4, 2, 4)
    _, phi_next, predicted, _ = numpy_model(state.model, flat[:-1], rollout.action, flat[1:])
    np.testing.assert_allclose(r, 0.5 * ((predicted - phi_next) ** 2).sum(-1), rtol=1e-4)
