"""PPO's packed networks: the same numbers as the plain ones, and rows without a sample move as Adam moves them."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from derl.agents import PPO
from derl.agents.actor_critic import ActorCriticState
from derl.agents.base import Experience
from derl.agents.packed import pack, pack_state, unpack_state
from derl.core.optimiser import apply_gradient
from derl.core.rows import visited
from derl.core.types import Box, Discrete, Rollout, Spec

STATES, ACTIONS, STEPS, ENVS = 40, 3, 5, 4
SPACES = [Discrete(STATES), Discrete(7), Box((2, 3))]
HIDDEN = [(), (8,), (8, 8), (8, 6, 5)]


def observations(space, key, shape):
    if isinstance(space, Discrete):
        return jax.random.randint(key, shape, 0, space.size)
    return jax.random.normal(key, (*shape, *space.shape))


def learner(space, hidden, **settings) -> tuple[PPO, Spec, ActorCriticState]:
    agent = PPO(n_steps=STEPS, hidden=hidden, epochs=3, minibatches=4, learning_rate=0.01, **settings)
    spec = Spec(space, ACTIONS)
    return agent, spec, agent.init(jax.random.key(1), spec, ENVS, STEPS)


def experience(space, seed: int) -> Experience:
    keys = jax.random.split(jax.random.key(seed), 5)
    shape = (STEPS, ENVS)
    ends = jax.random.bernoulli(keys[3], 0.2, shape)
    obs, next_obs = observations(space, keys[0], shape), observations(space, keys[4], shape)
    action, reward = jax.random.randint(keys[1], shape, 0, ACTIONS), jax.random.normal(keys[2], shape)
    rollout = Rollout(obs, action, reward, next_obs, ends, jnp.zeros(shape, bool), next_obs[-1])
    return Experience(rollout, jnp.full((*shape, ACTIONS), -jnp.log(ACTIONS)))


def plain_learn(agent: PPO, state: ActorCriticState, key, spec: Spec, data: Experience) -> ActorCriticState:
    """The same gradient steps, one by one, on the networks as they are."""
    batch, _ = agent.samples(state.network, spec, data)
    sequence = agent.minibatch_sequence(key, batch)
    for i in range(agent.epochs * agent.minibatches):
        minibatch = jax.tree.map(lambda x, i=i: x[i], sequence)
        gradient, _ = eqx.filter_grad(agent.loss, has_aux=True)(state.network, minibatch, None)
        network, opt_state, _ = apply_gradient(agent.optimiser, state.network, state.opt_state, gradient)
        state = ActorCriticState(network, opt_state)
    return state


class Sighted(PPO):
    """Its loss looks at what was observed, and at both outputs of the network alone."""

    def loss(self, network, batch, constraint):
        total, metrics = super().loss(network, batch, constraint)
        late = batch.obs > STATES // 2
        return total + (late * network.value(batch.obs) + network.log_probs(batch.obs)[:, 0]).mean(), metrics


def test_a_loss_of_ones_own_is_given_observations():
    """PPO's own is given places among the visited states, where there are more states than samples."""
    plain, spec, state = learner(Discrete(STATES), (8,))
    agent = Sighted(**{field.name: getattr(plain, field.name) for field in dataclasses.fields(plain)})
    data, key = experience(Discrete(STATES), 2), jax.random.key(3)
    learnt, _ = agent.learn(state, key, spec, jnp.asarray(0), data)
    expected = plain_learn(agent, state, key, spec, data)
    for a, b in zip(jax.tree.leaves(learnt.network), jax.tree.leaves(expected.network), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def check_learning(space, hidden, **settings):
    """Learning with packed networks gives what learning with plain ones gives."""
    agent, spec, state = learner(space, hidden, adam_epsilon=1e-5, **settings)
    plain = state
    # Three rollouts: rows visited in one of them are idle in another, with means that are not 0.
    for seed in range(3):
        data, key = experience(space, seed), jax.random.key(seed)
        state, _ = agent.learn(state, key, spec, jnp.asarray(0), data)
        plain = plain_learn(agent, plain, key, spec, data)
    for ours, theirs in zip(jax.tree.leaves(state), jax.tree.leaves(plain), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-3, atol=2e-5)


@pytest.mark.parametrize("space", SPACES, ids=["many states", "few states", "vectors"])
@pytest.mark.parametrize("hidden", [(8, 8), ()], ids=["two layers", "linear"])
def test_learning_packed_is_learning_plainly(space, hidden):
    check_learning(space, hidden)


def test_rows_without_a_sample_forget_as_fast_as_the_agents_adam():
    check_learning(Discrete(STATES), (), adam_beta2=0.9)


def test_a_row_without_a_sample_still_moves():
    """Adam's means outlive the gradients they are made of."""
    agent, spec, state = learner(Discrete(STATES), (8,))
    once, _ = agent.learn(state, jax.random.key(0), spec, jnp.asarray(0), experience(Discrete(STATES), 0))
    later = experience(Discrete(STATES), 1)
    twice, _ = agent.learn(once, jax.random.key(1), spec, jnp.asarray(0), later)
    moved = np.abs(np.asarray(twice.network.actor.weights[0] - once.network.actor.weights[0])).max(1)
    first = set(np.unique(experience(Discrete(STATES), 0).rollout.obs).tolist())
    second = set(np.unique(later.rollout.obs).tolist())
    assert first - second, "some state is visited only in the first rollout"
    assert all(moved[s] > 0 for s in first - second)
    assert all(moved[s] == 0 for s in set(range(STATES)) - first - second)


@pytest.mark.parametrize("space", SPACES, ids=["many states", "few states", "vectors"])
@pytest.mark.parametrize("hidden", HIDDEN)
def test_both_layouts_compute_the_same(space, hidden):
    _, _, state = learner(space, hidden, activation="tanh")
    obs = observations(space, jax.random.key(3), (6,))
    for ours, theirs in zip(
        pack(state.network, None).policy_and_value(obs), state.network.policy_and_value(obs), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
    back = unpack_state(pack_state(state, None), state, None, lambda *_: pytest.fail("nothing is idle"))
    assert eqx.tree_equal(back, state)


def test_the_zero_vector_reads_no_row():
    _, _, state = learner(Discrete(STATES), (8,))
    obs = jnp.asarray([3, STATES, 3])
    rows, position = visited(obs, STATES)
    for ours, theirs in zip(
        pack(state.network, rows).policy_and_value(position), state.network.policy_and_value(obs), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
