"""Bootstrapped DQN with random priors (Osband et al. 2018): an ensemble of Q-networks, one of which acts at a time."""

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from derl.agents.base import Clock, Metrics
from derl.agents.dqn import DQN
from derl.agents.q_network import DQNState, Learner, Memory, QNetwork, epsilon_greedy, q_loss
from derl.agents.returns import double_q_target, select
from derl.core.checks import require_at_least, require_positive, require_share
from derl.core.errors import require
from derl.core.optimiser import apply_gradient, move_towards
from derl.core.types import Spec

MASKS = 2**31
"""What the key of the masks is folded with. No clock counts so far; who acts is drawn from keys folded with clocks."""


class Ensemble(eqx.Module):
    """Q_k = f_k + beta p_k for K networks f_k that learn and K random ones p_k, the priors, that never do."""

    networks: QNetwork
    priors: QNetwork
    scale: float | Array

    def __call__(self, obs: Array) -> Float[Array, "K *b A"]:
        learnt, prior = (jax.vmap(lambda n: n(obs))(nets) for nets in (self.networks, self.priors))
        return learnt + self.scale * prior


class Heads(eqx.Module):
    """What an ensemble has beside its networks."""

    key: PRNGKeyArray
    priors: QNetwork
    """K random networks."""


class BootstrappedDQN(DQN):
    """Each network may learn from its own share of the data; the one that acts is drawn anew for every rollout.

    With `collect_steps` 0 and episodes of equal length a rollout is an episode, so that exploration is as far-sighted
    as in the original. What the networks agree on is known; where they differ, one of them will go and see. It needs no
    intrinsic reward, and takes the mean of its networks where one greedy policy is asked for.
    """

    heads: int = eqx.field(default=20, static=True)
    """K: how many networks."""
    prior_scale: float = 5.0
    """beta: weight of the priors."""
    mask_probability: float = 0.5
    """Probability with which a step is for a network to learn from."""

    version: ClassVar[int] = 2
    tabulates: ClassVar[bool] = True
    curious: ClassVar[bool] = True
    constrainable: ClassVar[bool] = False

    @property
    def ensemble(self) -> int:
        return self.heads

    def init(self, key: PRNGKeyArray, spec: Spec, num_envs: int, rollout_length: int) -> DQNState:
        state = super().init(key, spec, num_envs, rollout_length)
        first, prior_key, own = jax.random.split(key, 3)

        def fresh(k: PRNGKeyArray) -> QNetwork:
            # Only the network is taken of each; the compiler drops the rest.
            return super(BootstrappedDQN, self).init(k, spec, num_envs, rollout_length).learner.network

        networks, priors = (jax.vmap(fresh)(jax.random.split(k, self.heads)) for k in (first, prior_key))
        target = jax.tree.map(jnp.copy, networks)
        learner = Learner(networks, target, self.optimiser.init(eqx.filter(networks, eqx.is_array)), None)
        return DQNState(learner, state.replay, state.tail, Heads(own, priors))

    def values(self, heads: Heads, networks: Any, obs: Array) -> Float[Array, "K *b A"]:
        """Q_k(s, .) of all networks."""
        return Ensemble(networks, heads.priors, self.prior_scale)(obs)

    def preferences(self, state: DQNState, obs: Array, clock: Clock) -> Float[Array, "*b A"]:
        chosen = jax.random.randint(jax.random.fold_in(state.extra.key, clock), (), 0, self.heads)
        return jnp.take(self.values(state.extra, state.learner.network, obs), chosen, axis=0)

    def settled_log_probs(self, state: DQNState, obs: Array) -> Float[Array, "*b A"]:
        mean = self.values(state.extra, state.learner.network, obs).mean(0)
        return epsilon_greedy(mean, self.epsilon_end)

    def greedy(self, state: DQNState, obs: Array) -> Int[Array, "*b"]:
        return jnp.argmax(self.values(state.extra, state.learner.network, obs).mean(0), axis=-1)

    def value(self, state: DQNState, obs: Array) -> Float[Array, "*b A"]:
        return self.values(state.extra, state.learner.network, obs).mean(0)

    def ensemble_loss(
        self, networks: Any, state: DQNState, batch: Memory, mask: Bool[Array, "K B"]
    ) -> tuple[Float[Array, ""], Metrics]:
        """The sum of each network's loss on the steps that are its own."""
        heads, learner = state.extra, state.learner
        assert batch.discount is not None
        assert batch.bootstrap_obs is not None
        q = self.values(heads, networks, batch.obs)
        q_target = self.values(heads, learner.target, batch.bootstrap_obs)
        chooser = self.values(heads, networks, batch.bootstrap_obs) if self.double else q_target
        targets = jax.vmap(double_q_target, in_axes=(None, None, 0, 0))
        target = targets(batch.reward, batch.discount, q_target, chooser)
        q_t = jax.vmap(select, in_axes=(0, None))(q, batch.action)
        losses = jax.vmap(q_loss)(q_t, target, mask.astype(jnp.float32))
        return losses.sum(), {"q_loss": losses.mean(), "q_value": q_t.mean()}

    def gradient_step(self, state: DQNState, key, clock, constraint, bonus=None) -> tuple[Learner, Metrics]:
        index, _ = self.draw(state, key, clock)
        batch = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:])[index], state.replay.data)
        batch = self.refresh(state, batch, bonus)
        # Which steps are whose follows from their place in memory, which spares keeping it.
        masks = jax.random.fold_in(state.extra.key, MASKS)
        draws = jax.vmap(lambda i: jax.random.uniform(jax.random.fold_in(masks, i), (self.heads,)))(index)
        mask = jnp.less(draws.T, self.mask_probability)
        learner = state.learner
        gradient, metrics = eqx.filter_grad(self.ensemble_loss, has_aux=True)(learner.network, state, batch, mask)
        networks, opt_state, norm = apply_gradient(self.optimiser, learner.network, learner.opt_state, gradient)
        target = move_towards(learner.target, networks, self.target_rate)
        return Learner(networks, target, opt_state, None), metrics | {"grad_norm": norm}

    def check(self) -> None:
        super().check()
        require_at_least(self, 1, "heads")
        require_at_least(self, 0, "prior_scale")
        require_share(self, "mask_probability")
        require_positive(self, "mask_probability")
        require(
            not (self.frozen_targets or self.prioritised or self.dueling),
            f"{type(self).__name__}: frozen_targets, prioritised and dueling are not for ensembles",
        )
