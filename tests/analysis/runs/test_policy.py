"""What a policy says of itself: the probabilities of its actions and what it expects to earn."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from agents.building import log_softmax, numpy_mlp
from agents.probes import STATES, TASKS, VECTORS
from agents.training import algorithm, train

import derl
from derl import A2C, DQN, PPO, BootstrappedDQN, EpisodicA2C, OptimisticDQN, Policy
from derl.agents import Agent
from derl.core.errors import DerlError
from derl.training.loop import init_run

SMALL = {"hidden": (6,)}
MEMORY = SMALL | {"capacity": 64}
Q = MEMORY | {"n_steps": 1, "batch_size": 8, "output_gain": 1.0}
STATE = np.arange(16)


def untrained(explorer, exploiter=None, seat="exploiter", clock=0, task="DeepSea-4", **changes) -> Policy:
    """A policy before its first step, but with networks that say something."""
    config = derl.configure(task, "a2c", explorer=explorer, exploiter=exploiter)
    made = dataclasses.replace(config.algorithm(), **changes)
    state = jax.tree.map(lambda x: 3 * x + 0.1 if eqx.is_inexact_array(x) else x, init_run(made, jax.random.key(0)))
    for name in ("explorer", "exploiter"):
        learner = getattr(getattr(state, name), "learner", None)
        if hasattr(learner, "target"):
            # What is bootstrapped from is not what is asked.
            turned = jax.tree.map(lambda x: -x, learner.target)
            state = eqx.tree_at(lambda s, name=name: getattr(s, name).learner.target, state, turned)
    return Policy(made, state, clock, seat)


def epsilon_greedy(q, epsilon):
    """A random action with probability epsilon, else the best."""
    return epsilon / q.shape[-1] + (1 - epsilon) * np.eye(q.shape[-1])[q.argmax(-1)]


def check_actor_critic(policy, network):
    """What the policy says is what these two networks say, worked out in NumPy."""
    probabilities = np.exp(log_softmax(numpy_mlp(network.actor, STATE)))
    np.testing.assert_allclose(policy.probabilities(STATE), probabilities, rtol=1e-4)
    np.testing.assert_array_equal(policy.predict(STATE), probabilities.argmax(-1))
    np.testing.assert_allclose(policy.values(STATE), numpy_mlp(network.critic, STATE)[:, 0], rtol=1e-4)


@pytest.mark.parametrize("agent", [A2C(**SMALL), PPO(**SMALL)])
def test_an_actor_critic_has_a_softmax_and_one_value(agent):
    policy = untrained(agent)
    check_actor_critic(policy, policy.state.explorer.network)


def test_the_average_is_what_counts_where_weights_are_averaged():
    policy = untrained(EpisodicA2C(**MEMORY, averaged=True))
    newest, average = policy.state.explorer.learner.network, policy.state.explorer.learner.average
    other = jax.tree.map(lambda x: -x, newest)
    state = eqx.tree_at(lambda s: s.explorer.learner.network, policy.state, other)
    best = [numpy_mlp(network.actor, STATE).argmax(-1) for network in (other, average)]
    assert (best[0] != best[1]).any(), "else the greedy action would show nothing"
    check_actor_critic(Policy(policy.algorithm, state, 0, "exploiter"), average)
    check_actor_critic(untrained(EpisodicA2C(**MEMORY)), newest)


@pytest.mark.parametrize("agent", [DQN(**Q, epsilon_end=0.2), OptimisticDQN(**Q, epsilon_end=0.2)])
def test_a_q_network_has_a_value_of_each_action(agent):
    """As an explorer it is as random as its schedule says, as an exploiter as it is in the end."""
    policy = untrained(A2C(**SMALL), agent)
    q = numpy_mlp(policy.state.exploiter.learner.network.mlp, STATE)
    np.testing.assert_allclose(policy.values(STATE), q, rtol=1e-4)
    np.testing.assert_allclose(policy.probabilities(STATE), epsilon_greedy(q, 0.2), rtol=1e-4)
    policy = untrained(dataclasses.replace(agent, epsilon_steps=20.0), A2C(**SMALL), "explorer", clock=2)
    q = numpy_mlp(policy.state.explorer.learner.network.mlp, STATE)
    np.testing.assert_allclose(policy.values(STATE), q, rtol=1e-4)
    wanted = policy.algorithm.explorer.preferences(policy.state.explorer, jnp.asarray(STATE), jnp.asarray(2))
    # Two rollouts of five steps: half of the way from 1 to 0.2.
    np.testing.assert_allclose(policy.probabilities(STATE), epsilon_greedy(np.asarray(wanted), 0.6), rtol=1e-4)


def test_an_ensemble_has_the_mean_of_its_networks_and_priors():
    policy = untrained(A2C(**SMALL), BootstrappedDQN(**Q, heads=3, prior_scale=2.0))
    learnt = policy.state.exploiter
    heads = [jax.tree.map(lambda x, k=k: x[k], (learnt.learner.network, learnt.extra.priors)) for k in range(3)]
    q = np.mean([numpy_mlp(net.mlp, STATE) + 2.0 * numpy_mlp(prior.mlp, STATE) for net, prior in heads], axis=0)
    np.testing.assert_allclose(policy.values(STATE), q, rtol=1e-4)
    np.testing.assert_allclose(policy.probabilities(STATE), epsilon_greedy(q, 0.05), rtol=1e-4)


def test_one_agent_in_both_seats_is_as_each_of_them():
    """The very same object, whose schedule has not begun: only as an explorer does it act at random."""
    agent = DQN(**Q, epsilon_end=0.0)
    explorer, exploiter = (untrained(agent, agent, seat).probabilities(3) for seat in ("explorer", "exploiter"))
    np.testing.assert_allclose(explorer, [0.5, 0.5])
    assert sorted(exploiter.round(4)) == [0, 1]


@pytest.mark.parametrize("agent", [A2C(**SMALL), DQN(**Q, epsilon_start=0.3)])
def test_samples_are_drawn_with_these_probabilities(agent):
    policy = untrained(agent)
    drawn = policy.predict(np.full(4000, 6), deterministic=False)
    shares = np.bincount(drawn, minlength=2) / len(drawn)
    assert shares.min() > 0.02
    np.testing.assert_allclose(policy.probabilities(6), shares, atol=0.03)


def test_one_observation_a_batch_and_one_hot_arrays():
    policy, q_policy = untrained(A2C(**SMALL)), untrained(DQN(**Q))
    assert isinstance(policy.values(3), float)
    for ask in (policy.values, policy.probabilities, q_policy.values):
        batch = ask([3, 7])
        np.testing.assert_allclose(ask(3), batch[0], rtol=1e-6)
        np.testing.assert_allclose(ask(np.eye(16, dtype=np.float32)[[3, 7]]), batch, rtol=1e-6)
    with pytest.raises(DerlError, match="observations are integers from 0 to 16"):
        policy.values(17)


def test_observations_are_normalised_as_in_training():
    policy = untrained(A2C(**SMALL), normalise_observations=True)
    moments = policy.state.obs_moments
    seen = np.asarray(moments.standardise(jnp.eye(16)[jnp.asarray(STATE)]))
    for ask, network in ((policy.values, "critic"), (policy.probabilities, "actor")):
        mlp = getattr(policy.state.explorer.network, network)
        hidden = np.maximum(seen @ np.asarray(mlp.weights[0]) + np.asarray(mlp.biases[0]), 0)
        out = hidden @ np.asarray(mlp.weights[1]) + np.asarray(mlp.biases[1])
        np.testing.assert_allclose(
            ask(STATE), out[:, 0] if network == "critic" else np.exp(log_softmax(out)), rtol=1e-3
        )


class Coin(Agent[tuple[()]]):
    """Knows nothing."""

    @property
    def rollout_length(self):
        return 5

    def init(self, key, spec, num_envs, rollout_length):
        return ()

    def logits(self, state, obs, clock):
        return jnp.log(jnp.broadcast_to(jnp.asarray([0.25, 0.75]), (*obs.shape, 2)))

    def greedy(self, state, obs):
        return jnp.ones(obs.shape, int)

    def learn(self, state, key, spec, clock, experience):
        return state, {}


class Estimating(Coin):
    """Knows that the number of a state is its value."""

    def value(self, state, obs):
        return 1.0 * obs


def test_an_agent_of_ones_own_may_have_values():
    np.testing.assert_allclose(untrained(Coin()).probabilities([1, 2]), [[0.25, 0.75]] * 2, rtol=1e-6)
    np.testing.assert_array_equal(untrained(Estimating()).values([1, 2]), [1.0, 2.0])
    with pytest.raises(DerlError, match=r"Coin does not say what states are worth.*method value") as error:
        untrained(Coin()).values(1)
    assert "\n" not in str(error.value)


def test_a_trained_policy_knows_what_is_known():
    """An actor-critic explorer and a Q-network that learns beside it, on two actions right in one state each."""
    task = TASKS["action and observation"]
    common = {"hidden": (16,), "learning_rate": 0.01, "gamma": task.gamma}
    explorer = A2C(**common, n_steps=2, entropy_coef=0.0)
    exploiter = DQN(**common, n_steps=1, batch_size=64, capacity=4000, target_rate=0.05, epsilon_end=0.0)
    made = algorithm(task.probe(vectors=True), explorer, exploiter)
    _, state = train([made], 300)
    state = jax.tree.map(lambda x: x[0], state)
    critic, q_network = (Policy(made, state, 300, seat) for seat in ("explorer", "exploiter"))
    # What else there is to see never appears.
    seen = VECTORS[: STATES // 2]
    np.testing.assert_allclose(critic.values(seen), [1, 1], atol=0.1)
    np.testing.assert_allclose(q_network.values(seen), task.action_values()[:2], atol=0.15)
    for policy in (critic, q_network):
        probabilities = policy.probabilities(seen)
        assert probabilities.argmax(-1).tolist() == [task.actions[0], task.actions[1]]
        assert probabilities.max(-1).min() > 0.9
    assert isinstance(critic.values(VECTORS[0]), float)
