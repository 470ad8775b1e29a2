"""Advantage actor-critic, and with another policy's data the decoupled actor-critic (Algorithm 1)."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from derl.agents.actor_critic import ActorCritic, ActorCriticAgent, ActorCriticState, actor_critic_loss, entropy
from derl.agents.base import Clock, Experience, Metrics, comparison
from derl.agents.divergences import constrained_loss
from derl.agents.returns import importance_weights, select
from derl.core.optimiser import apply_gradient
from derl.core.types import Spec


def policy_loss(
    log_pi_t: Float[Array, "*b"], advantage_t: Float[Array, "*b"], rho_t: Float[Array, "*#b"] | float
) -> Float[Array, ""]:
    """L(phi) = E[ - rho(a_t | s_t) log pi_e(a_t | s_t) A^e(s_t) ], the paper's eq. dec_policyloss.

    With rho = 1 it is the on-policy loss.
    """
    return -(jax.lax.stop_gradient(rho_t * advantage_t) * log_pi_t).mean()


def value_loss(
    v_t: Float[Array, "*b"], target_t: Float[Array, "*b"], rho_t: Float[Array, "*#b"] | float
) -> Float[Array, ""]:
    """L(theta) = E[ rho(a_t | s_t) ( V(s_t) - (r_t + gamma V(s_{t+1})) )^2 ], the paper's eq. dec_valueloss.

    The target is an n-step return.
    """
    return (jax.lax.stop_gradient(rho_t) * jnp.square(v_t - jax.lax.stop_gradient(target_t))).mean()


class A2C(ActorCriticAgent):
    """One gradient step on each rollout."""

    def loss(self, network: ActorCritic, spec: Spec, experience: Experience) -> tuple[Float[Array, ""], Metrics]:
        """Policy loss + value loss - entropy bonus + divergence constraint."""
        rollout = experience.rollout
        log_pi = network.log_probs(rollout.obs)
        v_t = network.value(rollout.obs)
        v_tp1 = self.successor_values(network, spec, rollout, v_t)
        metrics: Metrics = {}
        rho_t = None
        if experience.behaviour is not None:
            rho_t = importance_weights(log_pi, experience.behaviour, rollout.action)
            metrics |= comparison(log_pi, experience.behaviour, rollout.action)
        targets = jax.lax.stop_gradient(self.targets(rollout, v_t, v_tp1, rho_t))
        losses = {
            "policy_loss": policy_loss(select(log_pi, rollout.action), targets.advantage, targets.policy_weight),
            "value_loss": value_loss(v_t, targets.value, targets.value_weight),
            "entropy": entropy(log_pi).mean(),
        }
        total, near = actor_critic_loss(losses, self.value_coef, self.entropy_coef), experience.constraint
        if near is not None:
            total, losses["divergence"] = constrained_loss(total, near.alpha, near.divergence, log_pi, near.log_probs)
        return total, metrics | losses

    def learn(
        self, state: ActorCriticState, key: PRNGKeyArray, spec: Spec, clock: Clock, experience: Experience
    ) -> tuple[ActorCriticState, Metrics]:
        (_, metrics), gradient = eqx.filter_value_and_grad(self.loss, has_aux=True)(state.network, spec, experience)
        network, opt_state, norm = apply_gradient(self.optimiser, state.network, state.opt_state, gradient)
        return ActorCriticState(network, opt_state), metrics | {"grad_norm": norm}
