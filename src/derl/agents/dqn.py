"""Deep Q-networks with double Q-learning and n-step targets; as an exploiter, decoupled DQN (Algorithm 2)."""

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from derl.agents.base import Agent, Clock, Experience, Metrics, Role, comparison, learn_if
from derl.agents.divergences import constrained_loss
from derl.agents.q_network import DQNState, Learner, Memory, QNetwork, StateConstraint, epsilon_greedy, q_loss
from derl.agents.replay import Priorities, Ring
from derl.agents.returns import double_q_target, n_step_transitions, select
from derl.bonuses.base import CurrentBonus
from derl.core.checks import require_at_least, require_positive, require_share
from derl.core.errors import require
from derl.core.networks import MLP
from derl.core.optimiser import apply_gradient, move_towards
from derl.core.types import Spec, empty_rollout, join_rollouts


class DQN(Agent[DQNState]):
    """Q-learning from a replay memory, filled by whoever acts."""

    n_steps: int = eqx.field(default=5, static=True)
    """Rewards summed before bootstrapping."""
    batch_size: int = eqx.field(default=256, static=True)
    """Samples per gradient step."""
    capacity: int = eqx.field(default=100_000, static=True)
    """Steps the replay memory holds."""
    target_rate: float = 0.01
    """tau: how far the target network moves towards the network after each gradient step (1 copies it)."""
    double: bool = eqx.field(default=True, static=True)
    """Whether the network picks the action whose value the target network gives (double DQN)."""
    dueling: bool = eqx.field(default=False, static=True)
    """Whether Q is made of a value and advantages."""
    frozen_targets: bool = eqx.field(default=False, static=True)
    """Whether targets are computed once, as a step enters the memory, and never refreshed (as in the paper's code)."""
    prioritised: bool = eqx.field(default=False, static=True)
    """Whether steps are replayed in proportion to their last error."""
    priority_exponent: float = 0.6
    """How strongly priorities count (0: uniform)."""
    priority_correction: float = 0.4
    """How strongly the priorities' bias is corrected in the loss (1: fully)."""
    epsilon_start: float = 1.0
    """Explorer only: probability of a random action at the start."""
    epsilon_end: float = 0.05
    """Probability of a random action at the end of the schedule; an exploiter's policy is compared at this value."""
    epsilon_steps: float = 10_000.0
    """Explorer only: steps of each environment over which epsilon falls."""
    temperature: float = 0.1
    """Of the softmax of Q that a divergence constraint sees: the greedy policy itself has no gradient."""
    collect_steps: int = eqx.field(default=5, static=True)
    """Explorer only: steps of each environment between updates (0: as many as the longest episode has)."""
    recompute_bonus: bool = eqx.field(default=False, static=True)
    """Explorer only: reward replayed steps with the bonus as it is now (needs n_steps 1 and targets not frozen)."""
    output_gain: float = eqx.field(default=2**0.5, static=True)
    """Of the last layer's initial weights; near 0, all actions start with a value of 0."""

    needs_behaviour: ClassVar[bool] = False
    uses_rollout: ClassVar[bool] = False

    @property
    def rollout_length(self) -> int:
        return self.collect_steps

    @property
    def replayed_steps(self) -> int:
        return self.batch_size

    @property
    def remembered_steps(self) -> int:
        return self.capacity

    @property
    def recomputes(self) -> bool:
        return self.recompute_bonus

    def init(self, key: PRNGKeyArray, spec: Spec, num_envs: int, rollout_length: int) -> DQNState:
        outputs = spec.num_actions + self.dueling
        options: dict[str, Any] = {"activation": self.activation, "output_gain": self.output_gain}
        options["tabulated"] = self.tabulates
        network = QNetwork(MLP(key, spec.observation, self.hidden, outputs, **options), self.dueling)
        example = empty_rollout(spec, num_envs, 1)
        row = Memory(example.obs[0], example.action[0], example.reward[0], example.reward[0], example.obs[0])
        if self.frozen_targets:
            row = row._replace(discount=None, bootstrap_obs=None)
        ring = Ring.init(row, self.capacity // num_envs, rollout_length)
        usable = (ring.rows - (self.n_steps - 1)) * num_envs
        require(
            usable >= self.batch_size,
            f"{type(self).__name__}: capacity {self.capacity} keeps only {usable} usable steps here, fewer than "
            f"batch_size {self.batch_size}; raise capacity",
        )
        priorities = Priorities.init(ring.rows * num_envs) if self.prioritised else None
        target = jax.tree.map(jnp.copy, network)
        learner = Learner(network, target, self.optimiser.init(eqx.filter(network, eqx.is_array)), priorities)
        return DQNState(learner, ring, empty_rollout(spec, num_envs, self.n_steps - 1))

    def epsilon(self, steps: Float[Array, ""]) -> Float[Array, ""]:
        """Probability of a random action: a straight line from start to end, then flat."""
        done = jnp.clip(steps / self.epsilon_steps, 0.0, 1.0)
        return self.epsilon_start + done * (self.epsilon_end - self.epsilon_start)

    def logits(self, state: DQNState, obs: Array, clock: Clock) -> Float[Array, "*b A"]:
        return self.act_on(state, self.preferences(state, obs, clock), clock)

    def preferences(self, state: DQNState, obs: Array, clock: Clock) -> Float[Array, "*b A"]:
        return state.learner.network(obs)

    def act_on(self, state: DQNState, preferences: Array, clock: Clock) -> Float[Array, "*b A"]:
        return epsilon_greedy(preferences, self.epsilon(clock.astype(jnp.float32) * state.replay.stride))

    def settled_log_probs(self, state: DQNState, obs: Array) -> Float[Array, "*b A"]:
        return epsilon_greedy(state.learner.network(obs), self.epsilon_end)

    def greedy(self, state: DQNState, obs: Array) -> Int[Array, "*b"]:
        return jnp.argmax(state.learner.network(obs), axis=-1)

    def value(self, state: DQNState, obs: Array) -> Float[Array, "*b A"]:
        return state.learner.network(obs)

    def target_values(
        self, learner: Learner, reward: Array, discount: Array, bootstrap_obs: Array, optimism: Array | None = None
    ) -> Float[Array, "*b"]:
        """target = sum_{k<n} gamma^k r_{t+k} + gamma^n Q(s_{t+n}, a'; theta-bar).

        a' maximises Q(.; theta-bar), or with double Q-learning Q(.; theta). Optimism is added to both.
        """
        q_target = learner.target(bootstrap_obs)
        chooser = learner.network(bootstrap_obs) if self.double else q_target
        if optimism is not None:
            q_target, chooser = q_target + optimism, chooser + optimism
        return double_q_target(reward, discount, q_target, chooser)

    def observe(self, state: DQNState, clock: Clock, experience: Experience) -> DQNState:
        """Store the steps whose n-step sums the new rollout completes."""
        rollout = join_rollouts(state.tail, experience.rollout) if self.n_steps > 1 else experience.rollout
        reward, discount, bootstrap_obs = n_step_transitions(rollout, self.n_steps, self.gamma)
        steps = reward.shape[0]
        rows = Memory(rollout.obs[:steps], rollout.action[:steps], reward, discount, bootstrap_obs)
        if self.frozen_targets:
            target = self.target_values(state.learner, reward, discount, bootstrap_obs)
            rows = rows._replace(reward=target, discount=None, bootstrap_obs=None)
        tail = jax.tree.map(lambda x: x[steps:], eqx.tree_at(lambda r: r.last_obs, rollout, rollout.obs))
        tail = eqx.tree_at(lambda r: r.last_obs, tail, rollout.last_obs)
        learner = state.learner
        if learner.priorities is not None:
            num_envs = reward.shape[1]
            start = (clock * state.replay.stride) % state.replay.rows * num_envs
            added = learner.priorities.add(start, steps * num_envs)
            # The first n - 1 rows ever are sums over steps before the first one: they can never be drawn.
            invalid = (clock * state.replay.stride + jnp.arange(steps) < self.n_steps - 1).repeat(num_envs)
            weight = added.weight.reshape(-1)
            kept = jax.lax.dynamic_slice_in_dim(weight, start, steps * num_envs)
            weight = jax.lax.dynamic_update_slice_in_dim(weight, jnp.where(invalid, 0.0, kept), start, 0)
            added = Priorities(weight.reshape(added.weight.shape), added.highest)
            learner = eqx.tree_at(lambda s: s.priorities, learner, added)
        return DQNState(learner, state.replay.write(clock, rows), tail, state.extra)

    def loss(
        self, network: QNetwork, learner: Learner, batch: Memory, weight, constraint
    ) -> tuple[Float[Array, ""], tuple[Metrics, Float[Array, " B"]]]:
        """Squared error to the targets, plus a divergence constraint; also the errors themselves."""
        if batch.discount is None or batch.bootstrap_obs is None:
            target = batch.reward
        else:
            target = jax.lax.stop_gradient(
                self.target_values(learner, batch.reward, batch.discount, batch.bootstrap_obs, batch.optimism)
            )
        q_t = select(network(batch.obs), batch.action)
        total = q_loss(q_t, target, weight)
        metrics = {"q_loss": total, "q_value": q_t.mean()}
        if constraint is not None:
            obs, other = constraint.obs, constraint.constraint
            log_pi = jax.nn.log_softmax(network(obs) / self.temperature)
            total, metrics["divergence"] = constrained_loss(
                total, other.alpha, other.divergence, log_pi, other.log_probs
            )
        return total, (metrics, jnp.abs(target - q_t))

    def draw(
        self, state: DQNState, key: PRNGKeyArray, clock: Clock
    ) -> tuple[Int[Array, " B"], Float[Array, " B"] | float]:
        """Entries of the replay memory to learn from, and their weights in the loss."""
        num_envs = state.tail.last_obs.shape[0]
        if state.learner.priorities is None:
            row_key, env_key = jax.random.split(key)
            row = state.replay.uniform(row_key, clock, (self.batch_size,), skip=self.n_steps - 1)
            return row * num_envs + jax.random.randint(env_key, (self.batch_size,), 0, num_envs), 1.0
        index, probability = state.learner.priorities.draw(key, self.batch_size)
        entries = state.replay.filled(clock) * num_envs
        weight = (entries * jnp.maximum(probability, 1e-12)) ** -self.priority_correction
        return index, weight / weight.max()

    def refresh(self, state: DQNState, batch: Memory, bonus: CurrentBonus | None) -> Memory:
        """A batch from memory as it looks today: with the bonus as it is now, for agents that recompute it."""
        if bonus is None or batch.bootstrap_obs is None:
            return batch
        return batch._replace(reward=batch.reward + bonus(batch.obs, batch.action, batch.bootstrap_obs))

    def gradient_step(
        self,
        state: DQNState,
        key: PRNGKeyArray,
        clock: Clock,
        constraint: StateConstraint | None,
        bonus: CurrentBonus | None = None,
    ) -> tuple[Learner, Metrics]:
        """One batch from memory, one Adam step, one move of the target network."""
        index, weight = self.draw(state, key, clock)
        batch = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:])[index], state.replay.data)
        batch = self.refresh(state, batch, bonus)
        learner = state.learner
        gradient, (metrics, error) = eqx.filter_grad(self.loss, has_aux=True)(
            learner.network, learner, batch, weight, constraint
        )
        network, opt_state, norm = apply_gradient(self.optimiser, learner.network, learner.opt_state, gradient)
        target = move_towards(learner.target, network, self.target_rate)
        priorities = learner.priorities
        if priorities is not None:
            priorities = priorities.update(index, (error + 1e-6) ** self.priority_exponent)
        return Learner(network, target, opt_state, priorities), metrics | {"grad_norm": norm}

    def learn(
        self, state: DQNState, key: PRNGKeyArray, spec: Spec, clock: Clock, experience: Experience
    ) -> tuple[DQNState, Metrics]:
        rollout = experience.rollout
        constraint = None
        if experience.constraint is not None:
            constraint = StateConstraint(rollout.obs, experience.constraint)
        num_envs = rollout.reward.shape[1]
        enough = (state.replay.filled(clock) - (self.n_steps - 1)) * num_envs >= self.batch_size

        def step(learner: Learner) -> tuple[Learner, Metrics]:
            learner, metrics = self.gradient_step(
                eqx.tree_at(lambda s: s.learner, state, learner), key, clock, constraint, experience.bonus
            )
            if experience.behaviour is not None:
                log_pi = self.settled_log_probs(eqx.tree_at(lambda s: s.learner, state, learner), rollout.obs)
                metrics |= comparison(log_pi, experience.behaviour, rollout.action)
            return learner, metrics

        # The predicate is shared by a population, so this stays a branch; the memory is only read inside it.
        learner, metrics = learn_if(enough, step, state.learner)
        return eqx.tree_at(lambda s: s.learner, state, learner), metrics

    def idle(self, role: Role) -> dict[str, str]:
        found = super().idle(role)
        if role.exploits:
            only = ("epsilon_start", "epsilon_steps", "collect_steps", "recompute_bonus")
            found |= dict.fromkeys(only, "for an exploiter: it is the explorer's")
        elif self.epsilon_start == self.epsilon_end:
            found["epsilon_steps"] = "with epsilon_start and epsilon_end alike"
        if not self.prioritised:
            found |= dict.fromkeys(("priority_exponent", "priority_correction"), "without prioritised")
        if not role.constrained:
            alpha = f"decoupling.alpha_{'exploiter' if role.exploits else 'explorer'}"
            found["temperature"] = f"without a divergence constraint ({alpha})"
        return found

    def check(self) -> None:
        super().check()
        name = type(self).__name__
        require_at_least(self, 1, "n_steps", "batch_size")
        require(
            self.capacity >= self.batch_size, f"{name}: capacity {self.capacity} is below batch_size {self.batch_size}"
        )
        require_share(self, "target_rate", "epsilon_start", "epsilon_end")
        require_positive(self, "target_rate", "epsilon_steps", "temperature")
        require_at_least(self, 0, "collect_steps", "priority_exponent")
        require_share(self, "priority_correction")
        require(
            not self.recompute_bonus or (self.n_steps == 1 and not self.frozen_targets),
            f"{name}: recompute_bonus needs n_steps 1 and targets that are not frozen",
        )
