"""What Q-learning agents are made of: the network, what they remember, the loss, and the policy that acts."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, Shaped

from derl.agents.base import Constraint
from derl.agents.replay import Priorities, Ring
from derl.core.networks import MLP
from derl.core.types import Rollout


class Memory(NamedTuple):
    """What replay keeps of a step. With frozen targets `reward` is the finished target and the rest is absent."""

    obs: Shaped[Array, "*b_obs"]
    action: Int[Array, "*b"]
    reward: Float[Array, "*b"]
    """Discounted sum of the next n rewards."""
    discount: Float[Array, "*b"] | None
    bootstrap_obs: Shaped[Array, "*b_obs"] | None
    optimism: Float[Array, "*b A"] | None = None
    """Not kept but added to a batch: what is added to the values of the bootstrap's actions (see `optimistic_dqn`)."""


class QNetwork(eqx.Module):
    """Q(s, .), from one stream or, dueling, from a value and advantages."""

    mlp: MLP
    dueling: bool = eqx.field(static=True)

    def __call__(self, obs: Shaped[Array, "*b_obs"]) -> Float[Array, "*b A"]:
        out = self.mlp(obs)
        if not self.dueling:
            return out
        value, advantage = out[..., :1], out[..., 1:]
        return value + advantage - advantage.mean(-1, keepdims=True)


class Learner(eqx.Module):
    """The part of a DQN agent that gradient steps change."""

    network: QNetwork
    target: QNetwork
    opt_state: optax.OptState
    priorities: Priorities | None


class DQNState(eqx.Module):
    """What a DQN agent has learnt and remembers."""

    learner: Learner
    replay: Ring[Memory]
    tail: Rollout
    """The last n - 1 steps: their n-step sums wait for what comes next."""
    extra: Any = None
    """What kinds of DQN have beside: an optimistic one how often actions were tried, an ensemble its priors."""


def q_loss(
    q_t: Float[Array, " B"], target_t: Float[Array, " B"], weight: Float[Array, " B"] | float = 1.0
) -> Float[Array, ""]:
    """L(theta) = E[ ( Q(s_t, a_t) - target )^2 ], the paper's eq. dec_dqnloss, with a weight for each sample."""
    return (weight * jnp.square(q_t - jax.lax.stop_gradient(target_t))).mean()


class StateConstraint(NamedTuple):
    """A divergence constraint together with the states it holds on: the fresh rollout's."""

    obs: Shaped[Array, "T E *obs"]
    constraint: Constraint


def epsilon_greedy(q: Float[Array, "*b A"], epsilon: Float[Array, ""] | float) -> Float[Array, "*b A"]:
    """log-probabilities of: a uniformly random action with probability epsilon, else the most valued one."""
    best = jnp.argmax(q, axis=-1)[..., None] == jnp.arange(q.shape[-1])
    # Never exactly 0, so that logarithms, importance weights and KL stay finite.
    return jnp.log(jnp.maximum(epsilon / q.shape[-1] + (1 - epsilon) * best, 1e-8))
