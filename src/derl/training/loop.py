"""The decoupled loop: one rollout of the explorer, then both agents learn from it.

`iterate` is a pure function of an algorithm, a run's state and the shared clock, so that a population of runs is a
`vmap` away.
"""

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, Shaped

from derl.agents.base import AnyAgent, Clock, Constraint, Experience, Metrics, learn_if
from derl.bonuses.base import AnyBonus, CurrentBonus
from derl.bonuses.normalise import normalise, running_size
from derl.core.checks import require_shape
from derl.core.running import Moments
from derl.core.types import Discrete, Rollout, Spec
from derl.envs.contract import check_shapes
from derl.training import contracts
from derl.training.algorithm import Algorithm
from derl.training.collection import collect
from derl.training.segments import out_of_order, sequences
from derl.training.state import RunState, blank_run


def encode(algorithm: Algorithm, moments: Moments | None, obs: Shaped[Array, "*b_obs"]) -> Shaped[Array, "*b_seen"]:
    """Observations as the agents see them."""
    if moments is None:
        return obs
    return moments.standardise(as_vector(algorithm.env.spec, obs))


def as_vector(spec: Spec, obs: Shaped[Array, "*b_obs"]) -> Float[Array, "*b_vector"]:
    """Observations as vectors."""
    return jax.nn.one_hot(obs, spec.observation.size) if isinstance(spec.observation, Discrete) else obs


def explorer_rewards(algorithm: Algorithm, r_e: Float[Array, "T E"], r_i: Float[Array, "T E"]) -> Float[Array, "T E"]:
    """r_t = r^e_t + lambda r^i_t, the reward of the paper's eq. derl_pibeh, or lambda r^i_t alone."""
    r_i = bonus_weight(algorithm) * r_i
    return r_e + r_i if algorithm.explorer_reward == "both" else r_i


def bonus_weight(algorithm: Algorithm) -> float | Array:
    """lambda, or 1 where it has no effect: the bonus is the only reward and is divided by its own recent size."""
    return 1.0 if ignores_lambda(algorithm.explorer_reward, algorithm.bonus) else algorithm.bonus.scale


def ignores_lambda(explorer_reward: str, bonus: AnyBonus) -> bool:
    """Whether lambda has no effect: see `bonus_weight`."""
    return explorer_reward == "intrinsic" and bonus.normalise == "recent"


def key_for(key: PRNGKeyArray, clock: Clock, purpose: int) -> PRNGKeyArray:
    """A key of its own for every iteration and purpose.

    The run's key is itself the output of a hash, so flipping some of its bits by the clock is enough; hashing again
    in every iteration (`fold_in`) would only add operations.
    """
    flips = jnp.stack([jnp.asarray(purpose, jnp.uint32), clock.astype(jnp.uint32)])
    return jax.random.wrap_key_data(jax.random.key_data(key) ^ flips)


def iterate(algorithm: Algorithm, state: RunState, clock: Clock) -> tuple[RunState, Metrics]:
    """One rollout and all the learning it brings."""
    act_key, env_key, learn_key = (key_for(state.key, clock, purpose) for purpose in range(3))

    def policy(obs, mixture_draw=None):
        return behaviour(algorithm, state, clock, encode(algorithm, state.obs_moments, obs), mixture_draw)

    collector, rollout, log_mu = collect(
        algorithm.env, policy, state.collector, act_key, env_key, algorithm.rollout_length
    )
    state, seen = take_in(algorithm, state, rollout)
    bonus_state, r_i = bonus_of_rollout(algorithm, state, seen if algorithm.normalised_bonus else rollout)
    bonus_scale, r_i = normalise(
        algorithm.bonus.normalise, state.bonus_scale, r_i, rollout.done, algorithm.explorer.gamma
    )
    state = eqx.tree_at(lambda s: (s.collector, s.bonus, s.bonus_scale), state, (collector, bonus_state, bonus_scale))
    metrics: Metrics = {"bonus": r_i.mean()}
    explore = to_explore(algorithm, state, seen, r_i, log_mu)
    exploit = Experience(seen, log_mu)
    keys = jax.random.split(learn_key)
    state, explorer_metrics = update_explorer(algorithm, state, keys[0], clock, explore)
    metrics |= {f"{contracts.EXPLORERS}{name}": value for name, value in explorer_metrics.items()}
    if algorithm.exploiter is not None:
        state, exploiter_metrics = update_exploiter(algorithm, state, keys[1], clock, exploit)
        contracts.check_metrics(exploiter_metrics, metrics, exploits=True)
        metrics |= exploiter_metrics
    return state, metrics


def bonus_of_rollout(algorithm: Algorithm, state: RunState, rollout: Rollout) -> tuple[Any, Float[Array, "T E"]]:
    """The bonus's state after a rollout, and what each of its steps is rewarded with."""
    bonus = algorithm.bonus
    bonus_state, r_i = bonus.step(state.bonus, rollout)
    contracts.check_state(bonus, "step", state.bonus, bonus_state)
    require_shape(bonus, "step", "rewards", r_i, rollout.reward.shape, "one for each step and environment")
    return bonus_state, r_i


def behaviour(
    algorithm: Algorithm,
    state: RunState,
    clock: Clock,
    obs: Shaped[Array, " E *obs"],
    mixture_draw: Float[Array, " E"] | None,
) -> Float[Array, "E A"]:
    """Who acts: the explorer, or in the episodes of a mixture both, on the sum of what each prefers."""
    explorer, exploiter, decoupling = algorithm.explorer, algorithm.exploiter, algorithm.decoupling
    if not algorithm.mixes or exploiter is None or mixture_draw is None:
        logits = explorer.logits(state.explorer, obs, clock)
        contracts.check_policy(explorer, "logits", logits, algorithm.agent_spec, obs)
        return logits
    wanted = explorer.preferences(state.explorer, obs, clock)
    contracts.check_policy(explorer, "preferences", wanted, algorithm.agent_spec, obs)
    advice = jnp.maximum(settled(algorithm, exploiter, state.exploiter, obs), decoupling.mixture_floor)
    both = (mixture_draw < decoupling.mixture)[:, None]
    wanted = jnp.where(both, advice + decoupling.mixture_weight * wanted, wanted)
    return explorer.act_on(state.explorer, wanted, clock)


def settled(algorithm: Algorithm, agent: AnyAgent, learnt: Any, obs: Shaped[Array, "*b_obs"]) -> Float[Array, "*b A"]:
    """An exploiter's policy on some observations."""
    log_pi = agent.settled_log_probs(learnt, obs)
    contracts.check_policy(agent, "settled_log_probs", log_pi, algorithm.agent_spec, obs)
    return log_pi


def to_explore(
    algorithm: Algorithm,
    state: RunState,
    rollout: Rollout,
    r_i: Float[Array, "T E"],
    log_mu: Float[Array, "T E A"],
) -> Experience:
    """What the explorer learns from: its rollout with r^e + lambda r^i, or with r^e and how to compute r^i anew."""
    # In a mixture it was not the explorer alone that acted; and from its second update on it is not who it was.
    others = algorithm.mixes or algorithm.explorer.updates(algorithm.steps_per_iteration) > 1
    who = log_mu if others and algorithm.explorer.needs_behaviour else None
    if not algorithm.explorer.recomputes:
        return Experience(rollout.with_reward(explorer_rewards(algorithm, rollout.reward, r_i)), who)
    weight = bonus_weight(algorithm) / running_size(algorithm.bonus.normalise, state.bonus_scale)
    now = CurrentBonus(algorithm.bonus, state.bonus, weight)
    # What is kept is the reward without the bonus.
    return Experience(rollout.with_reward(explorer_rewards(algorithm, rollout.reward, 0 * r_i)), who, bonus=now)


def take_in(algorithm: Algorithm, state: RunState, rollout: Rollout) -> tuple[RunState, Rollout]:
    """Count visits, update the normalisers, and give the rollout as the agents see it."""
    if state.visits is not None:
        visits = state.visits.at[rollout.obs.reshape(-1)].add(1)
        state = eqx.tree_at(lambda s: s.visits, state, visits)
    if state.reward_scale is not None:
        scale = state.reward_scale.update(rollout.reward, rollout.done, algorithm.explorer.gamma)
        state = eqx.tree_at(lambda s: s.reward_scale, state, scale)
        rollout = rollout.with_reward(scale.scale(rollout.reward))
    if state.obs_moments is not None:
        seen = state.obs_moments

        def look(obs):
            return encode(algorithm, seen, obs)

        vectors = as_vector(algorithm.env.spec, rollout.obs)
        moments = seen.update(vectors.reshape(-1, *vectors.shape[2:]))
        views = (look(rollout.obs), look(rollout.next_obs), look(rollout.last_obs))
        rollout = eqx.tree_at(lambda r: (r.obs, r.next_obs, r.last_obs), rollout, views)
        state = eqx.tree_at(lambda s: s.obs_moments, state, moments)
    return state, rollout


def constraint(algorithm: Algorithm, alpha: float | Array, log_probs: Float[Array, "T E A"]) -> Constraint:
    """Stay near the policy with these log-probabilities, into which `mean_divergence` sends no gradient."""
    return Constraint(jnp.asarray(alpha), log_probs, algorithm.decoupling.divergence)


def learn_repeatedly(
    agent: AnyAgent, state, key, spec, clock, steps: int, draw: Callable[[PRNGKeyArray], Experience]
) -> tuple[Any, Metrics]:
    """Let an agent learn as often as it wants to after so many new steps, each time from data drawn anew."""
    updates = agent.updates(steps)

    def learn(state, key):
        learnt, metrics = agent.learn(state, key, spec, clock, draw(key))
        contracts.check_learnt(agent, state, learnt, metrics)
        return learnt, metrics

    if updates == 1:
        return learn(state, key)
    state, metrics = jax.lax.scan(learn, state, jax.random.split(key, updates))
    return state, jax.tree.map(lambda m: m.mean(0), metrics)


def update_explorer(
    algorithm: Algorithm, state: RunState, key: PRNGKeyArray, clock: Clock, experience: Experience
) -> tuple[RunState, Metrics]:
    """The explorer learns from its own rollout, with the combined reward."""
    explorer = algorithm.explorer
    if algorithm.explorer_constrained and algorithm.exploiter is not None:
        exploiting = settled(algorithm, algorithm.exploiter, state.exploiter, experience.rollout.obs)
        near = constraint(algorithm, algorithm.decoupling.alpha_explorer, exploiting)
        experience = dataclasses.replace(experience, constraint=near)
    learnt = explorer.observe(state.explorer, clock, experience)
    contracts.check_state(explorer, "observe", state.explorer, learnt)
    spec = algorithm.agent_spec
    steps = algorithm.steps_per_iteration
    learnt, metrics = learn_repeatedly(explorer, learnt, key, spec, clock, steps, lambda _: experience)
    return eqx.tree_at(lambda s: s.explorer, state, learnt), metrics


def update_exploiter(
    algorithm: Algorithm, state: RunState, key: PRNGKeyArray, clock: Clock, experience: Experience
) -> tuple[RunState, Metrics]:
    """The exploiter learns from the explorer's rollouts, with the extrinsic reward, every T_Dec rollouts."""
    exploiter, decoupling = algorithm.exploiter, algorithm.decoupling
    assert exploiter is not None
    seen = exploiter.observe(state.exploiter, clock, experience)
    contracts.check_state(exploiter, "observe", state.exploiter, seen)
    state = eqx.tree_at(lambda s: s.exploiter, state, seen, is_leaf=lambda x: x is None)
    state, experience = gather_data(algorithm, state, clock, experience)
    if decoupling.denominator == "updated":
        # Only now: what is kept is kept with the policy that acted, for the updated one never produced these steps.
        log_mu = algorithm.explorer.log_probs(state.explorer, experience.rollout.obs, clock)
        experience = Experience(experience.rollout, jax.lax.stop_gradient(log_mu))

    def draw(key):
        data = experience
        if state.segments is not None:
            data = state.segments.draw(jax.random.fold_in(key, 1), clock, data)
        if algorithm.exploiter_constrained:
            exploring = algorithm.explorer.log_probs(state.explorer, data.rollout.obs, clock)
            near = constraint(algorithm, decoupling.alpha_exploiter, exploring)
            data = dataclasses.replace(data, constraint=near)
        return data

    def learn(learnt):
        # Those since its last update: a window may reach further back.
        steps = algorithm.steps_per_iteration * decoupling.period
        return learn_repeatedly(exploiter, learnt, key, algorithm.agent_spec, clock, steps, draw)

    if decoupling.period == 1 and algorithm.window == 1:
        learnt, metrics = learn(state.exploiter)
    else:
        # Shared by the population (see Clock), so this remains a branch under vmap.
        due = ((clock + 1) % decoupling.period == 0) & (clock + 1 >= algorithm.window)
        learnt, metrics = learn_if(due, learn, state.exploiter)
    return eqx.tree_at(lambda s: s.exploiter, state, learnt), metrics


def gather_data(algorithm: Algorithm, state: RunState, clock: Clock, newest: Experience) -> tuple[RunState, Experience]:
    """The newest rollouts the exploiter learns from, which are also kept if it has a replay of them."""
    experience = newest
    if algorithm.window > 1:
        experience = sequences([*state.recent, newest], algorithm.segment_rollouts)
        if algorithm.decoupling.stale_segments:
            stale = out_of_order(state.recent[-1], newest)
            experience = jax.tree.map(partial(jnp.where, clock % 2 == 0), stale, experience)
        state = eqx.tree_at(lambda s: s.recent, state, (*state.recent[1:], newest))
    if state.segments is not None:
        state = eqx.tree_at(lambda s: s.segments, state, state.segments.keep(clock, experience))
    return state, experience


def step_run(algorithm: Algorithm, state: RunState, clock: Clock) -> RunState:
    """`iterate`, with its metrics added to the totals and the first iteration that is not finite noted."""
    state, metrics = iterate(algorithm, state, clock)
    values = jnp.stack([metrics[name] for name in sorted(metrics)])
    broken = ~jnp.isfinite(values).all()
    failed_at = jnp.where(broken & (state.failed_at < 0), clock, state.failed_at)
    return eqx.tree_at(lambda s: (s.totals, s.failed_at), state, (state.totals + values, failed_at))


def metric_names(algorithm: Algorithm) -> tuple[str, ...]:
    """The metrics an iteration gives, in the order of a run's totals."""
    # The numbers of the parts as inputs, as in the program itself: what takes one for structure shows here.
    metrics = eqx.filter_eval_shape(first_iteration, algorithm)
    contracts.check_metrics(metrics, contracts.RESERVED)
    return tuple(sorted(metrics))


def first_iteration(algorithm: Algorithm) -> Metrics:
    """The metrics of a run's first iteration, traced to see what they are and whether the parts do as they should."""
    check_shapes(algorithm.env)
    state = blank_run(algorithm, jax.random.key(0))
    obs = encode(algorithm, state.obs_moments, state.collector.obs)
    for agent, learnt in ((algorithm.explorer, state.explorer), (algorithm.exploiter, state.exploiter)):
        if agent is not None:
            # Only evaluations ask for it, when much has been trained.
            contracts.check_greedy(agent, agent.greedy(learnt, obs), algorithm.agent_spec, obs)
    return iterate(algorithm, state, jnp.asarray(0))[1]


def init_run(algorithm: Algorithm, key: PRNGKeyArray) -> RunState:
    """A run before its first step."""
    totals = jnp.zeros(len(metric_names(algorithm)))
    return eqx.tree_at(lambda s: s.totals, blank_run(algorithm, key), totals)
