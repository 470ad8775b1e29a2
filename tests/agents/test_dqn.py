"""DQN: targets, memory, schedule and updates, by hand and in plain loops."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from core.building import random_mlp
from oracles.plain_returns import n_step

from agents.building import (
    ACTIONS,
    ENVS,
    KEY,
    SIZE,
    SPEC,
    adam_step,
    chosen,
    first_step,
    flat,
    log_softmax,
    numpy_mlp,
    random_log_probs,
    random_rollout,
)
from derl.agents import DQN
from derl.agents.base import Constraint, Experience
from derl.agents.q_network import DQNState, Learner, QNetwork, epsilon_greedy, q_loss
from derl.agents.replay import Priorities
from derl.core.errors import DerlError
from derl.core.types import Discrete

observe = jax.jit(lambda agent, state, clock, rollout: agent.observe(state, clock, Experience(rollout)))
learn = jax.jit(lambda agent, state, key, clock, experience: agent.learn(state, key, SPEC, clock, experience))
draw = jax.jit(lambda agent, state, key, clock: agent.draw(state, key, clock))
losses = jax.jit(
    lambda agent, learner, batch, weight: eqx.filter_value_and_grad(agent.loss, has_aux=True)(
        learner.network, learner, batch, weight, None
    )
)


def q_network(seed: int, dueling: bool = False) -> QNetwork:
    return QNetwork(random_mlp(SPEC.observation, (6,), ACTIONS + dueling, seed), dueling)


def start(agent: DQN, length: int) -> DQNState:
    """The first state, with random networks that differ from each other."""
    shapes = eqx.filter_eval_shape(lambda key: agent.init(key, SPEC, ENVS, length), KEY)
    state = jax.tree.map(lambda x: np.zeros(x.shape, x.dtype), shapes)
    network, target = q_network(0, agent.dueling), q_network(1, agent.dueling)
    opt_state = first_step(agent, network)
    priorities = Priorities.init(state.replay.rows * ENVS) if agent.prioritised else None
    return eqx.tree_at(lambda s: s.learner, state, Learner(network, target, opt_state, priorities))


def table(*rows) -> QNetwork:
    """A network that gives these action values in states 0, 1, ..."""
    network = random_mlp(Discrete(len(rows)), (), len(rows[0]))
    values = (jnp.asarray(rows, jnp.float32),), (jnp.zeros(len(rows[0])),)
    return QNetwork(eqx.tree_at(lambda n: (n.weights, n.biases), network, values), False)


# Targets and losses


def test_targets_by_hand():
    network, target = table([1.0, 2.0], [9.0, 0.0]), table([10.0, 20.0], [30.0, 40.0])
    learner = Learner(network, target, (), None)
    reward, discount, obs = jnp.asarray([1.0, 1.0, 5.0]), jnp.asarray([0.5, 0.5, 0.0]), jnp.asarray([0, 1, 1])
    # Double: the network picks action 1 in state 0 and action 0 in state 1; the target network values them.
    np.testing.assert_allclose(DQN(double=True).target_values(learner, reward, discount, obs), [11, 16, 5])
    np.testing.assert_allclose(DQN(double=False).target_values(learner, reward, discount, obs), [11, 21, 5])


def test_the_loss_by_hand():
    q, target, weight = (jnp.asarray(x) for x in ([1.0, 2.0], [3.0, 1.0], [0.5, 2.0]))
    np.testing.assert_allclose(q_loss(q, target), 2.5)
    np.testing.assert_allclose(q_loss(q, target, weight), 2.0)
    gradients = jax.jit(jax.grad(q_loss, argnums=(0, 1)))(q, target, weight)
    np.testing.assert_allclose(gradients[0], [0.5 * (1 - 3), 2 * (2 - 1)])
    assert not gradients[1].any(), "targets are constants"


def test_dueling_advantages_have_mean_zero():
    network = q_network(0, dueling=True)
    out = numpy_mlp(network.mlp, np.arange(SIZE))
    q = network(jnp.arange(SIZE))
    assert q.shape == (SIZE, ACTIONS)
    np.testing.assert_allclose(q.mean(-1), out[:, 0], rtol=1e-4, atol=1e-5)  # V is the mean of Q
    np.testing.assert_allclose(q[:, 1] - q[:, 0], out[:, 2] - out[:, 1], rtol=1e-4, atol=1e-5)
    plain = q_network(0)
    np.testing.assert_allclose(plain(jnp.arange(SIZE)), numpy_mlp(plain.mlp, np.arange(SIZE)), rtol=1e-4, atol=1e-5)


# The policy


def test_epsilon_falls_in_a_straight_line():
    agent = DQN(epsilon_start=0.9, epsilon_end=0.1, epsilon_steps=100.0)
    np.testing.assert_allclose([agent.epsilon(t) for t in (0, 25, 50, 100, 1000)], [0.9, 0.7, 0.5, 0.1, 0.1], rtol=1e-6)


def test_epsilon_greedy_probabilities():
    q = jnp.asarray([[1.0, 3.0, 2.0], [5.0, 5.0, 0.0]])
    probabilities = np.exp(epsilon_greedy(q, 0.3))
    # A tie goes to one action only.
    np.testing.assert_allclose(probabilities, [[0.1, 0.8, 0.1], [0.8, 0.1, 0.1]], rtol=1e-5)
    for epsilon in (0.0, 0.05, 1.0):
        log_probs = epsilon_greedy(q, epsilon)
        np.testing.assert_allclose(np.exp(log_probs).sum(-1), 1, rtol=1e-6)
        assert np.isfinite(log_probs).all()


def test_the_explorer_acts_by_the_schedule():
    agent = DQN(epsilon_start=1.0, epsilon_end=0.0, epsilon_steps=20.0, n_steps=1, capacity=100, batch_size=1)
    state = start(agent, 5)
    obs = jnp.arange(SIZE)
    best = np.eye(ACTIONS)[numpy_mlp(state.learner.network.mlp, obs).argmax(-1)]
    # Five steps of each environment per rollout: after two rollouts half of the twenty steps are over.
    for clock, epsilon in ((0, 1.0), (2, 0.5), (4, 0.0), (9, 0.0)):
        probabilities = np.exp(agent.log_probs(state, obs, jnp.asarray(clock)))
        np.testing.assert_allclose(probabilities, epsilon / ACTIONS + (1 - epsilon) * best, atol=1e-6)
    np.testing.assert_array_equal(agent.greedy(state, obs), best.argmax(-1))


# Memory


def as_numpy(rollout):
    return jax.tree.map(np.asarray, rollout)


@pytest.mark.parametrize(("n", "length"), [(1, 2), (4, 2), (3, 5)])
def test_the_memory_holds_the_n_step_transitions_of_the_stream(n, length):
    agent = DQN(n_steps=n, capacity=10 * ENVS, gamma=0.9, batch_size=1)
    state = start(agent, length)
    seen = None
    for clock in range(9):
        rollout = random_rollout(clock, truncating=True, steps=length)
        new = as_numpy(rollout)
        seen = new if seen is None else jax.tree.map(lambda a, b: np.concatenate([a, b]), seen, new)
        state = observe(agent, state, jnp.asarray(clock), rollout)
        memories = as_numpy(state.replay.data)
        written = (clock + 1) * length
        # Row i of the stream of rows is step i - (n - 1): what is still waiting for its rewards is in the tail.
        rows = range(max(n - 1, written - state.replay.rows), written)
        for row in rows:
            step, place = row - (n - 1), row % state.replay.rows
            for e in range(ENVS):
                columns = (seen.reward[:, e], seen.terminated[:, e], seen.truncated[:, e])
                expected = n_step(*columns, step, n, 0.9)
                memory = jax.tree.map(lambda x, place=place, e=e: x[place, e], memories)
                assert (memory.obs, memory.action) == (seen.obs[step, e], seen.action[step, e])
                np.testing.assert_allclose(memory.reward, expected.total, rtol=1e-4, atol=1e-5)
                np.testing.assert_allclose(memory.discount, expected.discount, rtol=1e-5)
                assert memory.bootstrap_obs == seen.next_obs[expected.bootstrap, e]
    assert state.tail.reward.shape == (n - 1, ENVS)


def test_draws_are_rows_with_whole_sums():
    agent = DQN(n_steps=4, capacity=100 * ENVS, batch_size=64)
    state = start(agent, 2)
    for clock in range(3):
        state = observe(agent, state, jnp.asarray(clock), random_rollout(clock, steps=2))
    index, weight = map(np.asarray, draw(agent, state, KEY, 2))
    assert set(index // ENVS) == {3, 4, 5}, "rows 0 to 2 would begin before the first step"
    assert set(index % ENVS) == set(range(ENVS))
    assert weight == 1.0


def test_frozen_targets_stay_what_they_were_and_fresh_ones_do_not():
    frozen = DQN(n_steps=2, frozen_targets=True, capacity=8 * ENVS, batch_size=1, gamma=0.9)
    fresh = dataclasses.replace(frozen, frozen_targets=False)
    rollout = random_rollout(0, steps=4)
    frozen_state, fresh_state = (observe(a, start(a, 4), jnp.asarray(0), rollout) for a in (frozen, fresh))
    steps = jax.tree.map(lambda x: x[1:4].reshape(-1), as_numpy(fresh_state.replay.data))
    learner = fresh_state.learner
    q_online, q_target = (numpy_mlp(net.mlp, steps.bootstrap_obs) for net in (learner.network, learner.target))
    at_insertion = steps.reward + steps.discount * chosen(q_target, q_online.argmax(-1))
    np.testing.assert_allclose(as_numpy(frozen_state.replay.data).reward[1:4].reshape(-1), at_insertion, rtol=1e-4)
    assert frozen_state.replay.data.discount is None
    # The networks change; which targets does the loss then use?
    changed = Learner(q_network(5), q_network(6), learner.opt_state, None)
    q = numpy_mlp(changed.network.mlp, steps.obs)
    for agent, state, targets in (
        (frozen, frozen_state, at_insertion),
        (
            fresh,
            fresh_state,
            steps.reward
            + steps.discount
            * chosen(
                numpy_mlp(changed.target.mlp, steps.bootstrap_obs),
                numpy_mlp(changed.network.mlp, steps.bootstrap_obs).argmax(-1),
            ),
        ),
    ):
        batch = jax.tree.map(lambda x: x[1:4].reshape(-1), as_numpy(state.replay.data))
        (total, (metrics, error)), _ = losses(agent, changed, batch, 1.0)
        expected = np.abs(chosen(q, steps.action) - targets)
        np.testing.assert_allclose(error, expected, rtol=1e-3, atol=1e-5)
        np.testing.assert_allclose(total, (expected**2).mean(), rtol=1e-3)
        np.testing.assert_allclose(metrics["q_value"], chosen(q, steps.action).mean(), rtol=1e-3)


# Updates


def filled(agent: DQN, length: int = 4, rollouts: int = 2) -> DQNState:
    state = start(agent, length)
    for clock in range(rollouts):
        state = observe(agent, state, jnp.asarray(clock), random_rollout(clock, steps=length))
    return state


def test_an_update_is_an_adam_step_and_a_soft_move_of_the_target():
    # One environment step in memory that can be drawn, so that every batch is the same.
    agent = DQN(n_steps=4, capacity=4 * ENVS, batch_size=2, learning_rate=0.01, target_rate=0.25, gamma=0.9)
    state = filled(agent, rollouts=1)
    same = jax.tree.map(lambda x: np.broadcast_to(x[:, :1], x.shape), as_numpy(state.replay.data))
    state = eqx.tree_at(lambda s: s.replay.data, state, same)
    batch = jax.tree.map(lambda x: x[3], same)
    (_, (expected, _)), gradient = losses(agent, state.learner, batch, 1.0)
    learnt, metrics = learn(agent, state, KEY, jnp.asarray(0), Experience(random_rollout(0)))
    new = learnt.learner
    np.testing.assert_allclose(metrics["q_loss"], expected["q_loss"], rtol=1e-4)
    np.testing.assert_allclose(metrics["grad_norm"], np.linalg.norm(flat(gradient)), rtol=1e-4)
    by_hand = adam_step(agent, state.learner.network, gradient)
    np.testing.assert_allclose(flat(new.network), by_hand, rtol=1e-4, atol=1e-6)
    old_target = flat(state.learner.target)
    np.testing.assert_allclose(flat(new.target), 0.75 * old_target + 0.25 * by_hand, rtol=1e-4, atol=1e-6)
    copying = dataclasses.replace(agent, target_rate=1.0)
    learnt, _ = learn(copying, state, KEY, jnp.asarray(0), Experience(random_rollout(0)))
    np.testing.assert_allclose(flat(learnt.learner.target), flat(learnt.learner.network), rtol=1e-5, atol=1e-6)


PATIENT = DQN(n_steps=3, capacity=40 * ENVS, batch_size=11 * ENVS)


def test_nothing_is_learnt_before_the_memory_can_fill_a_batch():
    agent, state = PATIENT, start(PATIENT, 4)
    moved = []
    for clock in range(4):
        rollout = random_rollout(clock, steps=4)
        state = observe(agent, state, jnp.asarray(clock), rollout)
        learnt, metrics = learn(agent, state, KEY, jnp.asarray(clock), Experience(rollout, random_log_probs(0)))
        moved.append(bool((flat(learnt.learner.network) != flat(state.learner.network)).any()))
        assert moved[-1] == bool(metrics["updated"])
        for name in ("grad_norm", "q_loss", "kl"):
            assert (float(metrics[name]) != 0) == moved[-1], f"{name} is of updates only"
    # Of 4, 8, 12, 16 rows the first two never count: 2, 6, 10, 14 against 11.
    assert moved == [False, False, False, True]


def test_a_memory_too_small_to_ever_learn_from_is_refused():
    # 16 // 2 environments, in whole rollouts of 3: 6 rows, of which the first two never count: 8 entries.
    start(DQN(n_steps=3, capacity=16, batch_size=8), 3)
    with pytest.raises(DerlError, match="capacity 16 keeps only 8 usable steps here, fewer than batch_size 9"):
        start(DQN(n_steps=3, capacity=16, batch_size=9), 3)


def test_the_exploiter_is_compared_at_its_final_epsilon():
    agent = dataclasses.replace(PATIENT, epsilon_start=1.0, epsilon_end=0.3, learning_rate=0.0)
    state, rollout, log_mu = filled(agent, rollouts=4), random_rollout(0), random_log_probs(4)
    _, metrics = learn(agent, state, KEY, jnp.asarray(3), Experience(rollout, log_mu))
    best = np.eye(ACTIONS)[numpy_mlp(state.learner.network.mlp, rollout.obs).argmax(-1)]
    pi, mu = 0.1 + 0.7 * best, np.exp(np.asarray(log_mu, np.float64))
    rho = chosen(pi / mu, rollout.action)
    np.testing.assert_allclose(metrics["importance_weight"], rho.mean(), rtol=1e-4)
    np.testing.assert_allclose(metrics["log_importance_weight"], np.log(rho).mean(), rtol=1e-4)
    np.testing.assert_allclose(metrics["kl"], (pi * np.log(pi / mu)).sum(-1).mean(), rtol=1e-4)


def test_the_constraint_sees_a_softmax_of_q():
    agent = DQN(n_steps=1, capacity=100, batch_size=2, temperature=0.5)
    state, rollout = filled(agent, rollouts=1), random_rollout(3)
    other = random_log_probs(5)
    constraint = Constraint(jnp.asarray(100.0), other, "kl")
    learnt, metrics = learn(agent, state, KEY, jnp.asarray(0), Experience(rollout, None, constraint))

    def divergence(network):
        log_pi = log_softmax(numpy_mlp(network.mlp, rollout.obs) / 0.5)
        return (np.exp(log_pi) * (log_pi - np.asarray(other, np.float64))).sum(-1).mean()

    np.testing.assert_allclose(metrics["divergence"], divergence(state.learner.network), rtol=1e-3)
    assert divergence(learnt.learner.network) < divergence(state.learner.network)


# Prioritised replay


def test_priorities_start_high_except_for_rows_that_cannot_be_drawn():
    agent = DQN(n_steps=4, capacity=6 * ENVS, batch_size=4, prioritised=True)
    state = start(agent, 2)
    for clock, expected in enumerate([[0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 0, 0], [0, 0, 0, 1, 1, 1], [1, 1, 0, 1, 1, 1]]):
        state = observe(agent, state, jnp.asarray(clock), random_rollout(clock, steps=2))
        weights = np.asarray(state.learner.priorities.weight).reshape(-1)[: 6 * ENVS].reshape(6, ENVS)
        np.testing.assert_array_equal(weights, np.repeat(np.asarray(expected)[:, None], ENVS, 1), f"clock {clock}")


def test_prioritised_draws_are_weighed_against_their_bias_and_updated_by_their_errors():
    agent = DQN(
        n_steps=1, capacity=8 * ENVS, batch_size=6, prioritised=True, priority_exponent=0.5, priority_correction=0.7
    )
    state = filled(agent)
    entries = 8 * ENVS
    priority = np.random.default_rng(0).exponential(size=entries).astype(np.float32)
    weighted = Priorities(priority.reshape(state.learner.priorities.weight.shape), np.float32(priority.max()))
    state = eqx.tree_at(lambda s: s.learner.priorities, state, weighted)
    index, weight = map(np.asarray, draw(agent, state, KEY, 1))
    expected = (entries * priority[index] / priority.sum()) ** -0.7
    np.testing.assert_allclose(weight, expected / expected.max(), rtol=1e-4)
    assert float(weight.max()) == 1.0
    batch = jax.tree.map(lambda x: x.reshape(-1)[index], as_numpy(state.replay.data))
    (_, (_, error)), _ = losses(agent, state.learner, batch, weight)
    learnt, metrics = learn(agent, state, KEY, jnp.asarray(1), Experience(random_rollout(1)))
    after = np.asarray(learnt.learner.priorities.weight).reshape(-1)[:entries]
    changed = priority.copy()
    changed[np.asarray(index)] = (np.asarray(error) + 1e-6) ** 0.5
    np.testing.assert_allclose(after, changed, rtol=1e-3)
    np.testing.assert_allclose(metrics["q_loss"], (np.asarray(weight) * np.asarray(error) ** 2).mean(), rtol=1e-3)
