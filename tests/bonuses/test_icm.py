import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bonuses.building import SMALL, init, numpy_mlp, random_rollout, rollout_of, step
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


def trained(bonus: ICM, spec: Spec = SPEC):
    """A learner whose biases are no longer zero."""
    state = init(bonus, KEY, spec, 2)
    noise = np.random.default_rng(7)
    moved = jax.tree.map(lambda x: jnp.asarray(x + 0.1 * noise.normal(size=x.shape), x.dtype), state.model)
    return eqx.tree_at(lambda s: s.model, state, moved)


@pytest.mark.parametrize(("halve", "activate_outputs"), [(True, True), (False, False)])
def test_the_bonus_is_the_squared_error_of_the_predicted_successor(halve, activate_outputs):
    bonus = ICM(**SMALL, learning_rate=0.0, halve=halve, activate_outputs=activate_outputs)
    state, rollout = trained(bonus), random_rollout(0, SIZE)
    _, r = step(bonus, state, rollout)
    _, phi_next, predicted, _ = numpy_model(state.model, rollout.obs, rollout.action, rollout.next_obs)
    expected = ((predicted - phi_next) ** 2).sum(-1) * (0.5 if halve else 1.0)
    np.testing.assert_allclose(r, expected, rtol=1e-4)


def test_networks_have_the_published_shapes():
    model = init(ICM(), KEY, SPEC, 4).model
    assert [w.shape for w in model.encoder.weights] == [(SIZE, 64), (64, 64), (64, 16)]
    assert [w.shape for w in model.forward.weights] == [(16 + 3, 64), (64, 16)]
    assert [w.shape for w in model.inverse.weights] == [(32, 64), (64, 3)]
    for network in (model.encoder, model.forward, model.inverse):
        for w in network.weights:
            np.testing.assert_allclose(np.linalg.svd(w, compute_uv=False), 2**0.5, rtol=1e-5)


def test_the_loss_weighs_forward_error_and_inverse_cross_entropy():
    bonus = ICM(**SMALL, forward_coef=0.7, inverse_coef=1.3)
    model, rollout = trained(bonus).model, random_rollout(1, SIZE, envs=4)
    obs, action, next_obs = rollout.obs[0], rollout.action[0], rollout.next_obs[0]
    loss, _ = bonus.loss(model, obs, jax.nn.one_hot(action, 3), next_obs)
    _, phi_next, predicted, logits = numpy_model(model, obs, action, next_obs)
    forward = 0.5 * ((predicted - phi_next) ** 2).sum(-1).mean()
    log_p = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    inverse = -log_p[np.arange(4), np.asarray(action)].mean()
    assert float(loss) == pytest.approx(0.7 * forward + 1.3 * inverse, rel=1e-5)


def test_each_time_step_is_rewarded_before_it_is_learned_from():
    bonus = ICM(**SMALL, learning_rate=1e-2)
    state = trained(bonus)
    rollout = rollout_of([[0, 1], [0, 1]], next_obs=[[2, 3], [2, 3]], last_obs=[2, 3], action=[[0, 1], [0, 1]])
    _, r = step(bonus, state, rollout)
    first = jax.tree.map(lambda x: x[:1], rollout)
    after, _ = step(bonus, state, eqx.tree_at(lambda x: x.last_obs, first, rollout.obs[1]))
    for row, model in zip(r, (state.model, after.model), strict=True):
        _, phi_next, predicted, _ = numpy_model(model, rollout.obs[0], rollout.action[0], rollout.next_obs[0])
        np.testing.assert_allclose(row, 0.5 * ((predicted - phi_next) ** 2).sum(-1), rtol=1e-4)
    assert not np.allclose(r[0], r[1], rtol=1e-3)


def test_learning_makes_familiar_transitions_boring():
    bonus = ICM(**SMALL, learning_rate=1e-3)
    rollout = rollout_of(np.tile([[0, 1]], (100, 1)), next_obs=np.tile([[2, 3]], (100, 1)), last_obs=[0, 1])
    _, r = step(bonus, trained(bonus), rollout)
    assert float(r[-1].sum()) < 0.1 * float(r[0].sum())


def test_learning_the_inverse_model_alone_predicts_actions():
    bonus = ICM(**SMALL, learning_rate=1e-3, forward_coef=0.0, activate_outputs=False)
    obs, next_obs, action = np.array([0, 0, 1, 1]), np.array([2, 3, 4, 5]), np.array([0, 1, 2, 0])
    rollout = rollout_of(
        np.tile(obs, (100, 1)), next_obs=np.tile(next_obs, (100, 1)), last_obs=obs, action=np.tile(action, (100, 1))
    )
    state = init(bonus, KEY, SPEC, 4)
    state, _ = step(bonus, state, rollout)
    _, _, _, logits = numpy_model(state.model, obs, action, next_obs)
    np.testing.assert_array_equal(logits.argmax(-1), action)


def test_without_a_learning_rate_nothing_is_learned():
    bonus = ICM(**SMALL, learning_rate=0.0)
    state = trained(bonus)
    rollout = rollout_of(np.tile([[0, 1]], (5, 1)), next_obs=np.tile([[2, 3]], (5, 1)), last_obs=[0, 1])
    after, r = step(bonus, state, rollout)
    np.testing.assert_array_equal(r, np.tile(r[:1], (5, 1)))
    jax.tree.map(np.testing.assert_array_equal, after.model, state.model)


@pytest.mark.parametrize("detach_encoder", [True, False])
def test_whether_the_forward_loss_reaches_the_encoder(detach_encoder):
    bonus = ICM(**SMALL, inverse_coef=0.0, detach_encoder=detach_encoder)
    model, rollout = trained(bonus).model, random_rollout(2, SIZE, envs=4)
    gradient, _ = jax.grad(bonus.loss, has_aux=True)(
        model, rollout.obs[0], jax.nn.one_hot(rollout.action[0], 3), rollout.next_obs[0]
    )
    norms = {
        name: max(float(jnp.abs(w).max()) for w in getattr(gradient, name).weights) for name in ("encoder", "forward")
    }
    assert norms["forward"] > 0
    assert (norms["encoder"] == 0) == detach_encoder


def test_the_first_update_is_a_clipped_adam_step():
    bonus = ICM(**SMALL, learning_rate=0.1, adam_epsilon=0.5, max_grad_norm=0.3)
    state, rollout = trained(bonus), random_rollout(3, SIZE, steps=1, envs=4)
    batch = (rollout.obs[0], jax.nn.one_hot(rollout.action[0], 3), rollout.next_obs[0])
    gradient, _ = jax.grad(bonus.loss, has_aux=True)(state.model, *batch)
    norm = np.sqrt(sum((np.asarray(g, np.float64) ** 2).sum() for g in jax.tree.leaves(gradient)))
    assert norm > 0.3
    after, _ = step(bonus, state, rollout)
    for x, g, y in zip(*(jax.tree.leaves(t) for t in (state.model, gradient, after.model)), strict=True):
        g = np.asarray(g) * 0.3 / norm
        np.testing.assert_allclose(y, x - 0.1 * g / (np.abs(g) + 0.5), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(("successor", "last"), [("successor", SIZE), ("successor_after_reset", 4)])
def test_what_follows_an_episodes_end(successor, last):
    bonus = ICM(**SMALL, learning_rate=0.0, successor=successor)
    state = trained(bonus)
    rollout = rollout_of([[0]], next_obs=[[SIZE]], last_obs=[4], terminated=[[True]])
    _, r = step(bonus, state, rollout)
    _, phi_next, predicted, _ = numpy_model(state.model, [0], [0], [last])
    np.testing.assert_allclose(r[0], 0.5 * ((predicted - phi_next) ** 2).sum(-1), rtol=1e-4)


def test_vectors():
    bonus = ICM(**SMALL, learning_rate=0.0)
    state = trained(bonus, Spec(Box((2, 2)), 3))
    obs = np.random.default_rng(0).normal(size=(4, 2, 2, 2)).astype(np.float32)
    rollout = rollout_of(obs[:-1], last_obs=obs[-1], action=np.ones((3, 2), int))
    _, r = step(bonus, state, rollout)
    flat = obs.reshape(4, 2, 4)
    _, phi_next, predicted, _ = numpy_model(state.model, flat[:-1], rollout.action, flat[1:])
    np.testing.assert_allclose(r, 0.5 * ((predicted - phi_next) ** 2).sum(-1), rtol=1e-4)
