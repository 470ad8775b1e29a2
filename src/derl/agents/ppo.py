"""Proximal policy optimisation, and with another policy's data DePPO."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, Shaped

from derl.agents.actor_critic import (
    OWN_DATA,
    ActorCritic,
    ActorCriticAgent,
    ActorCriticState,
    actor_critic_loss,
    entropy,
)
from derl.agents.base import Clock, Experience, Metrics, Role, comparison
from derl.agents.divergences import constrained_loss
from derl.agents.packed import PackedActorCritic, PackedState, pack_state, unpack_state
from derl.agents.returns import importance_ratio, importance_weights, select
from derl.core.checks import require_at_least, require_positive
from derl.core.errors import require
from derl.core.optimiser import apply_gradient
from derl.core.rows import idle_steps, visited, worth_leaving_idle
from derl.core.types import Spec


def clipped_policy_loss(
    ratio: Float[Array, " B"], advantage: Float[Array, " B"], clip: float | Array
) -> Float[Array, ""]:
    """L = - E[ min( ratio A, clip(ratio, 1 - c, 1 + c) A ) ]."""
    return -jnp.minimum(ratio * advantage, jnp.clip(ratio, 1 - clip, 1 + clip) * advantage).mean()


def clipped_value_loss(
    v: Float[Array, " B"], v_old: Float[Array, " B"], target: Float[Array, " B"], clip: float | Array
) -> Float[Array, " B"]:
    """1/2 max( (V - G)^2, (V_old + clip(V - V_old, -c, c) - G)^2 )."""
    v_clipped = v_old + jnp.clip(v - v_old, -clip, clip)
    return 0.5 * jnp.maximum(jnp.square(v - target), jnp.square(v_clipped - target))


class Minibatch(NamedTuple):
    """The samples of one gradient step; everything but the observation is fixed before the first one."""

    obs: Shaped[Array, " B *obs"]
    action: Int[Array, " B"]
    log_mu: Float[Array, " B"]
    advantage: Float[Array, " B"]
    target: Float[Array, " B"]
    v_old: Float[Array, " B"]
    weight: Float[Array, " B"]
    other_log_probs: Float[Array, "B A"] | None


class PPO(ActorCriticAgent):
    """Several epochs of minibatches on each rollout, with clipped probability ratios.

    As an exploiter its ratio is pi_e / pi_beta: the importance weight and PPO's ratio are one, so the clip keeps pi_e
    near the exploration policy's data. Corrections `vtrace` and `retrace` also correct the targets.
    """

    n_steps: int = eqx.field(default=10, static=True)
    """Length of a rollout; returns bootstrap from the value at its end."""
    epochs: int = eqx.field(default=10, static=True)
    """Passes over each rollout."""
    minibatches: int = eqx.field(default=4, static=True)
    """Gradient steps per pass."""
    clip: float = 0.1
    """How far from 1 the probability ratio counts, and how far the value may move."""
    clip_value_loss: bool = eqx.field(default=True, static=True)
    """Whether the value loss is clipped too."""
    normalise_advantage: bool = eqx.field(default=True, static=True)
    """Whether advantages are standardised over the rollout."""
    weight_value_loss: bool = eqx.field(default=False, static=True)
    """Whether an exploiter's value loss is weighted by importance (the paper's equation; its code did not)."""

    def loss(
        self, network: ActorCritic | PackedActorCritic, batch: Minibatch, constraint
    ) -> tuple[Float[Array, ""], Metrics]:
        """Clipped policy loss + value loss - entropy bonus + divergence constraint, on one minibatch.

        The network has `policy_and_value`, `log_probs` and `value` of a batch of observations. In gradient steps it is
        packed, and here `batch.obs` may be places among the visited states it was packed with. Where a subclass
        overrides this method they are always observations.
        """
        log_pi, v = network.policy_and_value(batch.obs)
        ratio = importance_ratio(select(log_pi, batch.action), batch.log_mu)
        squared = (
            clipped_value_loss(v, batch.v_old, batch.target, self.clip)
            if self.clip_value_loss
            else 0.5 * jnp.square(v - batch.target)
        )
        losses = {
            "policy_loss": clipped_policy_loss(ratio, batch.advantage, self.clip),
            "value_loss": (batch.weight * squared).mean(),
            "entropy": entropy(log_pi).mean(),
        }
        total, other = actor_critic_loss(losses, self.value_coef, self.entropy_coef), batch.other_log_probs
        if constraint is not None and other is not None:
            total, losses["divergence"] = constrained_loss(
                total, constraint.alpha, constraint.divergence, log_pi, other
            )
        return total, losses

    def samples(self, network: ActorCritic, spec: Spec, experience: Experience) -> tuple[Minibatch, Metrics]:
        """The whole rollout as one batch, with targets from the networks before any update."""
        rollout = experience.rollout
        log_pi, v_t = network.log_probs(rollout.obs), network.value(rollout.obs)
        v_tp1 = self.successor_values(network, spec, rollout, v_t)
        metrics: Metrics = {}
        rho_t, log_mu = None, log_pi
        if experience.behaviour is not None:
            log_mu = experience.behaviour
            rho_t = importance_weights(log_pi, log_mu, rollout.action)
            metrics = comparison(log_pi, log_mu, rollout.action)
        targets = self.targets(rollout, v_t, v_tp1, rho_t)
        advantage = targets.advantage
        if self.normalise_advantage:
            advantage = (advantage - advantage.mean()) / (advantage.std(ddof=1) + 1e-5)
        weight = jnp.broadcast_to(targets.value_weight if self.weight_value_loss else 1.0, v_t.shape)
        other = None if experience.constraint is None else experience.constraint.log_probs
        batch = Minibatch(
            rollout.obs, rollout.action, select(log_mu, rollout.action), advantage, targets.value, v_t, weight, other
        )
        flat = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), batch)
        return jax.lax.stop_gradient(flat), metrics

    def learn(
        self, state: ActorCriticState, key: PRNGKeyArray, spec: Spec, clock: Clock, experience: Experience
    ) -> tuple[ActorCriticState, Metrics]:
        batch, metrics = self.samples(state.network, spec, experience)
        rows, position = None, batch.obs
        # A loss of somebody's own may look at what was observed, so it is not given places instead.
        own = type(self).loss is not PPO.loss
        if not own and worth_leaving_idle(batch.obs, spec.observation.size, self.gradient_steps):
            rows, position = visited(batch.obs, spec.observation.size)
        minibatches = self.minibatch_sequence(key, batch._replace(obs=position))

        def step(state: PackedState, minibatch: Minibatch):
            gradient, _ = eqx.filter_grad(self.loss, has_aux=True)(state.network, minibatch, experience.constraint)
            network, opt_state, norm = apply_gradient(self.optimiser, state.network, state.opt_state, gradient)
            return PackedState(network, opt_state), norm

        packed, norms = jax.lax.scan(step, pack_state(state, rows), minibatches)
        idle = idle_steps(self.gradient_steps, self.learning_rate, self.adam_epsilon, self.adam_beta2)
        state = unpack_state(packed, state, rows, idle)
        # The losses are taken once, after the last step: reading them in every step would cost more than taking it.
        losses = self.loss(state.network, batch, experience.constraint)[1]
        return state, metrics | losses | {"grad_norm": norms.mean()}

    @property
    def gradient_steps(self) -> int:
        return self.epochs * self.minibatches

    def minibatch_sequence(self, key: PRNGKeyArray, batch: Minibatch) -> Minibatch:
        """The minibatches of all epochs, one after the other: a random order for each epoch. Samples that do not fill
        a minibatch are left out of that epoch."""
        samples = batch.action.shape[0]
        size = samples // self.minibatches
        order = jnp.argsort(jax.random.uniform(key, (self.epochs, samples)))
        order = order[:, : size * self.minibatches].reshape(self.gradient_steps, size)
        return jax.tree.map(lambda x: x[order], batch)

    def init(self, key: PRNGKeyArray, spec: Spec, num_envs: int, rollout_length: int) -> ActorCriticState:
        samples = max(self.n_steps, rollout_length) * num_envs
        require(
            samples >= max(self.minibatches, 2),
            f"{type(self).__name__}: a rollout has {samples} samples here, too few for {self.minibatches} minibatches "
            "(2 at least are needed); raise n_steps or num_envs, or lower minibatches",
        )
        return super().init(key, spec, num_envs, rollout_length)

    def idle(self, role: Role) -> dict[str, str]:
        found = super().idle(role)
        if not role.others_act:
            return found | {"weight_value_loss": OWN_DATA}
        # The ratio of the policy loss is the importance weight itself, whatever the correction.
        if self.correction in ("none", "clipped") and not self.weight_value_loss:
            found["correction"] = "in PPO without weight_value_loss (vtrace and retrace would)"
        if self.correction in ("none", "vtrace"):
            found["weight_value_loss"] = f"with correction {self.correction}, which has no weights for values"
        return found

    def check(self) -> None:
        super().check()
        require_at_least(self, 1, "epochs", "minibatches")
        require_positive(self, "clip")
