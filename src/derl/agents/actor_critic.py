"""What A2C and PPO share: two networks, their returns, and how off-policy data are corrected."""

from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray, Shaped

from derl.agents.base import Agent, Clock, Metrics, Role
from derl.agents.returns import discounts, lambda_returns, retrace, vtrace
from derl.core.checks import require_at_least, require_share
from derl.core.networks import MLP
from derl.core.types import Rollout, Spec

Correction = Literal["none", "importance", "clipped", "vtrace", "retrace"]
"""How an exploiter corrects for data of another policy: not at all, by the importance weight of each step, by that
weight clipped at 1 (what the paper's code calls Retrace), by V-trace targets, or by Retrace(lambda) targets."""

OWN_DATA = "for an explorer that alone acts, whose data are its own"
"""Why such an agent has nothing to correct."""


class ActorCritic(eqx.Module):
    """A policy network and a separate value network."""

    actor: MLP
    critic: MLP

    def log_probs(self, obs: Shaped[Array, "*b_obs"]) -> Float[Array, "*b A"]:
        """log pi(. | s)."""
        return jax.nn.log_softmax(self.actor(obs))

    def value(self, obs: Shaped[Array, "*b_obs"]) -> Float[Array, "*b"]:
        """V(s)."""
        return self.critic(obs)[..., 0]

    def policy_and_value(self, obs: Shaped[Array, "*b_obs"]) -> tuple[Float[Array, "*b A"], Float[Array, "*b"]]:
        """log pi(. | s) and V(s)."""
        return self.log_probs(obs), self.value(obs)


class ActorCriticState(eqx.Module):
    """What an actor-critic agent has learnt."""

    network: ActorCritic
    opt_state: optax.OptState


class Targets(NamedTuple):
    """What the two losses aim at, on a rollout."""

    advantage: Float[Array, "T E"]
    value: Float[Array, "T E"]
    policy_weight: Float[Array, "T E"] | float
    """Weight of each step in the policy loss."""
    value_weight: Float[Array, "T E"] | float
    """Weight of each step in the value loss."""


def actor_critic_loss(losses: Metrics, value_coef: float, entropy_coef: float | Float[Array, ""]) -> Float[Array, ""]:
    """What both networks descend together: L(policy) + c_V L(value) - c_H H(pi)."""
    return losses["policy_loss"] + value_coef * losses["value_loss"] - entropy_coef * losses["entropy"]


class ActorCriticAgent(Agent[ActorCriticState]):
    """Hyper-parameters and methods common to A2C and PPO."""

    n_steps: int = eqx.field(default=5, static=True)
    """Length of a rollout; returns bootstrap from the value at its end."""
    entropy_coef: float = 1e-4
    """Weight of the entropy bonus in the loss."""
    value_coef: float = 0.5
    """Weight of the value loss."""
    gae_lambda: float = 1.0
    """Lambda of the returns: 1 for n-step returns, less for GAE. Also the lambda of V-trace and Retrace."""
    correction: Correction = eqx.field(default="importance", static=True)
    """How data of another policy are corrected: an exploiter's, and an explorer's that does not act alone or learns
    more than once from a rollout."""

    @property
    def rollout_length(self) -> int:
        return self.n_steps

    def init(self, key: PRNGKeyArray, spec: Spec, num_envs: int, rollout_length: int) -> ActorCriticState:
        actor_key, critic_key = jax.random.split(key)
        options: dict[str, Any] = {"activation": self.activation, "tabulated": self.tabulates}
        actor = MLP(actor_key, spec.observation, self.hidden, spec.num_actions, output_gain=0.01, **options)
        critic = MLP(critic_key, spec.observation, self.hidden, 1, **options)
        network = ActorCritic(actor, critic)
        return ActorCriticState(network, self.optimiser.init(eqx.filter(network, eqx.is_array)))

    def logits(self, state: ActorCriticState, obs: Array, clock: Clock) -> Float[Array, "*b A"]:
        return state.network.actor(obs)

    def greedy(self, state: ActorCriticState, obs: Array) -> Int[Array, "*b"]:
        return jnp.argmax(state.network.actor(obs), axis=-1)

    def value(self, state: ActorCriticState, obs: Array) -> Float[Array, "*b"]:
        return state.network.value(obs)

    def successor_values(
        self, network: ActorCritic, spec: Spec, rollout: Rollout, v_t: Float[Array, "T E"]
    ) -> Float[Array, "T E"]:
        """V(s_{t+1}) of the true successors. Only the last step's needs the network when nothing is truncated:
        inside the rollout a successor is either the next observation or terminal, where its value does not count."""
        if spec.truncates:
            return network.value(rollout.next_obs)
        return jnp.concatenate([v_t[1:], network.value(rollout.next_obs[-1:])])

    def targets(
        self,
        rollout: Rollout,
        v_t: Float[Array, "T E"],
        v_tp1: Float[Array, "T E"],
        rho_t: Float[Array, "T E"] | None,
    ) -> Targets:
        """Advantages and value targets, corrected by `rho_t` if the data are another policy's."""
        discount_t = discounts(rollout.terminated, self.gamma)
        lambda_t = jnp.where(rollout.done, 0.0, self.gae_lambda)
        steps = rollout.reward.shape[0]
        if self.uses_rollout and steps > self.n_steps:
            # An exploiter may get longer sequences than it asked for: its returns bootstrap after so many steps still.
            last = jnp.arange(steps) % self.n_steps == self.n_steps - 1
            lambda_t = jnp.where(last[:, None], 0.0, lambda_t)
        if rho_t is not None and self.correction == "vtrace":
            value, advantage = vtrace(v_t, v_tp1, rollout.reward, discount_t, lambda_t, rho_t)
            return Targets(advantage, value, jnp.minimum(1.0, rho_t), 1.0)
        if rho_t is not None and self.correction == "retrace":
            return self.retrace_targets(rollout, v_t, v_tp1, discount_t, lambda_t, rho_t)
        g_t = lambda_returns(rollout.reward, discount_t, v_tp1, lambda_t)
        weight = 1.0
        if rho_t is not None and self.correction != "none":
            weight = jnp.minimum(1.0, rho_t) if self.correction == "clipped" else rho_t
        return Targets(g_t - v_t, g_t, weight, weight)

    @staticmethod
    def retrace_targets(rollout, v_t, v_tp1, discount_t, lambda_t, rho_t) -> Targets:
        """Retrace(lambda) with V(s) standing in for Q(s, a), the only value an actor-critic has."""
        clipped = jnp.minimum(1.0, rho_t)
        c_tp1 = lambda_t * jnp.concatenate([clipped[1:], jnp.zeros_like(clipped[:1])])
        q_t = retrace(v_tp1, v_tp1, rollout.reward, discount_t, c_tp1)
        return Targets(q_t - v_t, q_t, clipped, clipped)

    def idle(self, role: Role) -> dict[str, str]:
        found = super().idle(role)
        if not role.others_act:
            found["correction"] = OWN_DATA
        if self.n_steps == 1:
            found["gae_lambda"] = "with n_steps 1"
        return found

    def check(self) -> None:
        super().check()
        require_at_least(self, 1, "n_steps")
        require_at_least(self, 0, "entropy_coef", "value_coef")
        require_share(self, "gae_lambda")


def entropy(log_probs: Float[Array, "*b A"]) -> Float[Array, "*b"]:
    """H(pi) = - sum_a pi(a) log pi(a)."""
    return -(jnp.exp(log_probs) * log_probs).sum(-1)
