"""Returns and off-policy targets, on sequences with time first and any trailing batch dimensions.

Names follow time: at step t the agent sees s_t, does a_t and gets `r_t`; `v_t` is V(s_t), `v_tp1` is V(s_{t+1}) of the
true successor, and `discount_t` is gamma, or 0 where the task ended at that step.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Shaped

from derl.core.types import Rollout

UNROLL = 8
"""Loops over time up to this long are unrolled: a rollout is short, and a compiled loop costs more than its body.
Longer ones take longer to compile, and belong to agents (PPO) that spend their time elsewhere."""


def unrolled(length: int) -> int:
    """How many steps of a loop of this length to unroll: all of a short one, and none of a long one."""
    return length if length <= UNROLL else 1


def backwards(step, initial, inputs):
    """`lax.scan` from the last time step to the first."""
    length = jax.tree.leaves(inputs)[0].shape[0]
    return jax.lax.scan(step, initial, inputs, reverse=True, unroll=unrolled(length))


def lambda_returns(
    r_t: Float[Array, " T *b"],
    discount_t: Float[Array, " T *b"],
    v_tp1: Float[Array, " T *b"],
    lambda_t: Float[Array, " T *b"],
) -> Float[Array, " T *b"]:
    """Bootstrapped returns.

    G_t = r_t + discount_t [ (1 - lambda_t) V(s_{t+1}) + lambda_t G_{t+1} ],  with G_T = V(s_T).

    lambda = 1 gives the n-step returns of the paper, a constant below 1 gives GAE's returns, and lambda_t = 0 where an
    episode was truncated starts afresh from the value of the true final observation.
    """

    def step(g_tp1, inputs):
        r, discount, v, lambda_ = inputs
        g_t = r + discount * ((1 - lambda_) * v + lambda_ * g_tp1)
        return g_t, g_t

    return backwards(step, v_tp1[-1], (r_t, discount_t, v_tp1, lambda_t))[1]


def importance_ratio(
    log_pi_a: Float[Array, "*b"], log_mu_a: Float[Array, "*b"], margin: float = 0.0
) -> Float[Array, "*b"]:
    """How much likelier one policy takes an action than the one that took it, from the action's log-probabilities.

    rho(a_t | s_t) = pi(a_t | s_t) / (mu(a_t | s_t) + margin)

    The action that was drawn has a positive probability under the policy that drew it. A margin is for a mu that may
    not be that policy any more.
    """
    return jnp.exp(log_pi_a) / (jnp.exp(log_mu_a) + margin) if margin else jnp.exp(log_pi_a - log_mu_a)


def importance_weights(
    log_pi_t: Float[Array, "*b A"], log_mu_t: Float[Array, "*b A"], a_t: Int[Array, "*b"]
) -> Float[Array, "*b"]:
    """Importance weights of the exploitation policy on the exploration policy's data.

    rho(a_t | s_t) = pi_e(a_t | s_t) / pi_beta(a_t | s_t)

    The denominator is kept away from 0 by 1e-7: sampled actions never have probability 0 when they are taken, but
    a policy that has been updated since may give them that.
    """
    return importance_ratio(select(log_pi_t, a_t), select(log_mu_t, a_t), margin=1e-7)


def double_q_target(
    r_t: Float[Array, "*b"],
    discount_t: Float[Array, "*b"],
    q_tp1: Float[Array, "*b A"],
    chooser_tp1: Float[Array, "*b A"],
) -> Float[Array, "*b"]:
    """Q-learning's target when one set of values chooses the action and another one gives its value.

    target_t = r_t + discount_t Q(s_{t+1}, a'),  a' = argmax_a Q'(s_{t+1}, a);  Q' = Q makes it the plain maximum.
    """
    return r_t + discount_t * select(q_tp1, jnp.argmax(chooser_tp1, axis=-1))


def vtrace(
    v_t: Float[Array, " T *b"],
    v_tp1: Float[Array, " T *b"],
    r_t: Float[Array, " T *b"],
    discount_t: Float[Array, " T *b"],
    lambda_t: Float[Array, " T *b"],
    rho_t: Float[Array, " T *b"],
) -> tuple[Float[Array, " T *b"], Float[Array, " T *b"]]:
    """V-trace value targets and advantages (Espeholt et al. 2018), with both truncation levels at 1.

    vs_t = V(s_t) + rho_t delta_t + discount_t c_t (vs_{t+1} - V(s_{t+1})),
    delta_t = r_t + discount_t V(s_{t+1}) - V(s_t),  rho_t, c_t = min(1, pi / mu), c_t also times lambda_t;
    A_t = r_t + discount_t (V(s_{t+1}) + lambda_t (vs_{t+1} - V(s_{t+1}))) - V(s_t), where vs_{t+1} is V(s_{t+1}) at the
    end and at truncations.

    The policy gradient weighs A_t by min(1, rho_t); that is left to the loss.
    """
    rho_t = jnp.minimum(1.0, rho_t)
    delta_t = rho_t * (r_t + discount_t * v_tp1 - v_t)

    def step(excess_tp1, inputs):
        delta, discount_c = inputs
        excess_t = delta + discount_c * excess_tp1
        return excess_t, excess_t

    excess_t = backwards(step, jnp.zeros_like(v_t[0]), (delta_t, discount_t * rho_t * lambda_t))[1]
    excess_tp1 = jnp.concatenate([excess_t[1:], jnp.zeros_like(excess_t[:1])])
    advantage_t = r_t + discount_t * (v_tp1 + lambda_t * excess_tp1) - v_t
    return v_t + excess_t, advantage_t


def retrace(
    q_tp1: Float[Array, " T *b"],
    v_tp1: Float[Array, " T *b"],
    r_t: Float[Array, " T *b"],
    discount_t: Float[Array, " T *b"],
    c_tp1: Float[Array, " T *b"],
) -> Float[Array, " T *b"]:
    """Retrace(lambda) targets for Q(s_t, a_t) (Munos et al. 2016).

    q_t = r_t + discount_t [ V(s_{t+1}) + c_{t+1} (q_{t+1} - Q(s_{t+1}, a_{t+1})) ],  c = lambda min(1, pi / mu),

    where V(s) is the expectation of Q under pi. `c_tp1` is 0 where no action a_{t+1} follows in the sequence.
    """

    def step(q_next, inputs):
        q, v, r, discount, c = inputs
        q_t = r + discount * (v + c * (q_next - q))
        return q_t, q_t

    return backwards(step, q_tp1[-1], (q_tp1, v_tp1, r_t, discount_t, c_tp1))[1]


def select(x: Float[Array, "*b A"], index: Int[Array, "*b"]) -> Float[Array, "*b"]:
    """The entry of each row at `index`. A masked sum: faster than a gather for a handful of actions."""
    chosen = index[..., None] == jnp.arange(x.shape[-1])
    return jnp.where(chosen, x, 0.0).sum(-1)


def discounts(terminated: Bool[Array, " T *b"], gamma: float | Array) -> Float[Array, " T *b"]:
    """gamma, or 0 where the task ended."""
    return jnp.where(terminated, 0.0, gamma)


def n_step_transitions(
    rollout: Rollout, n: int, gamma: float | Array
) -> tuple[Float[Array, "S E"], Float[Array, "S E"], Shaped[Array, "S E *obs"]]:
    """For each of the first S = T - n + 1 steps: its n-step reward sum, and how to bootstrap after it.

    Returns R_t = sum_{k<n} gamma^k r_{t+k}, the discount gamma^n of the bootstrap, and the observation s_{t+n} to
    bootstrap from. An episode's end within the n steps stops the sum: the discount is then 0 or, if it was truncated,
    that of its true final observation.
    """
    starts = rollout.reward.shape[0] - n + 1

    def at(x, k):
        return x[k : k + starts]

    total, discount = at(rollout.reward, 0), discounts(at(rollout.terminated, 0), gamma)
    bootstrap_obs, going = at(rollout.next_obs, 0), ~at(rollout.done, 0)
    for k in range(1, n):
        total = total + jnp.where(going, gamma**k * at(rollout.reward, k), 0.0)
        discount = jnp.where(going, gamma**k * discounts(at(rollout.terminated, k), gamma), discount)
        mask = going.reshape(going.shape + (1,) * (bootstrap_obs.ndim - going.ndim))
        bootstrap_obs = jnp.where(mask, at(rollout.next_obs, k), bootstrap_obs)
        going = going & ~at(rollout.done, k)
    return total, discount, bootstrap_obs
