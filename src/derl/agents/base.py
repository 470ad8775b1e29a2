"""The contract every agent follows, in either seat."""

import abc
from collections.abc import Callable
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, Shaped

from derl.agents.divergences import Divergence, kl
from derl.agents.returns import importance_weights
from derl.bonuses.base import CurrentBonus
from derl.core.checks import (
    check_choices,
    require_at_least,
    require_below,
    require_positive,
    require_share,
    require_widths,
)
from derl.core.errors import DerlError
from derl.core.networks import Activation
from derl.core.optimiser import clipped_adam
from derl.core.types import Rollout, Spec

State = TypeVar("State")
Metrics = dict[str, Float[Array, ""]]
Clock = Int[Array, ""]
"""How many rollouts are complete. The same for a whole population, so branching on it stays a branch."""


class Constraint(eqx.Module):
    """A term alpha D(own policy, other policy) in the loss."""

    alpha: Float[Array, ""]
    log_probs: Float[Array, "T E A"]
    """The other policy on the rollout's observations."""
    divergence: Divergence = eqx.field(static=True)


class Experience(eqx.Module):
    """What an agent learns from: a rollout carrying *its* reward, who acted, and whom to stay close to."""

    rollout: Rollout
    behaviour: Float[Array, "T E A"] | None = None
    """Log-probabilities of the policy that acted; None when it is the learner's own."""
    constraint: Constraint | None = None
    bonus: CurrentBonus | None = None
    """For agents that recompute it: the bonus as it is now. The rollout's reward then comes without it."""


class Role(NamedTuple):
    """What an agent is there for, which decides what of its settings can matter."""

    exploits: bool
    others_act: bool
    """Whether the data it learns from are another policy's, at least in part."""
    constrained: bool
    """Whether it is kept near the other policy."""


class Agent(eqx.Module, Generic[State]):
    """A learner and the policy it learns. The object is its hyper-parameters; what it learns is in its state."""

    gamma: float = 0.99
    """Discount factor."""
    learning_rate: float = 1e-3
    """Adam's step size."""
    adam_epsilon: float = 1e-3
    """Adam's epsilon."""
    adam_beta2: float = eqx.field(default=0.999, static=True)
    """How much of its past Adam's mean of squared gradients keeps at every step."""
    max_grad_norm: float = 0.5
    """The joint norm at which gradients are clipped."""
    hidden: tuple[int, ...] = eqx.field(default=(64, 64), static=True)
    """Sizes of the hidden layers of each network."""
    activation: Activation = eqx.field(default="relu", static=True)
    """Nonlinearity of the hidden layers: relu or tanh."""
    updates_per_rollout: int = eqx.field(default=1, static=True)
    """How many times the agent learns after each rollout."""
    updates_per_step: float = eqx.field(default=0.0, static=True)
    """How many times it learns for each step of the rollout, over all environments, rounded to a whole number for the
    rollout (0: see `updates_per_rollout`)."""

    tabulates: ClassVar[bool] = False
    """Whether to evaluate each state once and look batches up; pays off when batches outnumber the states."""
    constrainable: ClassVar[bool] = True
    """Whether `learn` heeds a constraint."""
    needs_behaviour: ClassVar[bool] = True
    """Whether learning depends on which policy acted (Q-learning from single steps does not)."""
    curious: ClassVar[bool] = False
    """Whether it explores even where nothing is rewarded."""
    uses_rollout: ClassVar[bool] = True
    """Whether `learn` learns from the experience given (rather than from a memory filled by `observe`)."""

    def updates(self, steps: int) -> int:
        """How many times the agent learns after a rollout of so many steps."""
        return max(1, round(self.updates_per_step * steps)) if self.updates_per_step else self.updates_per_rollout

    @property
    def optimiser(self) -> optax.GradientTransformation:
        """One Adam for all networks of the agent, so that the clip of their gradients is joint."""
        return clipped_adam(self.learning_rate, self.adam_epsilon, self.max_grad_norm, self.adam_beta2)

    @property
    def gradient_steps(self) -> int:
        """How many gradient steps one update takes."""
        return 1

    @property
    def replayed_steps(self) -> int:
        """How many remembered steps each of them looks at (none if it learns from the rollout)."""
        return 0

    @property
    def remembered_steps(self) -> int:
        """How many steps its replay memory has room for: its setting `capacity`, if it has a memory."""
        return 0

    @property
    def ensemble(self) -> int:
        """Of how many learners with `hidden` layers it is made."""
        return 1

    @property
    def recomputes(self) -> bool:
        """Whether the agent rewards remembered steps with the bonus as it is now, instead of as it was then."""
        return False

    @property
    @abc.abstractmethod
    def rollout_length(self) -> int:
        """How many steps of each environment to collect before learning."""

    @abc.abstractmethod
    def init(self, key: PRNGKeyArray, spec: Spec, num_envs: int, rollout_length: int) -> State:
        """The state before any experience; rollouts will be `rollout_length` steps of `num_envs` environments."""

    @abc.abstractmethod
    def logits(self, state: State, obs: Shaped[Array, "*b_obs"], clock: Clock) -> Float[Array, "*b A"]:
        """The policy that acts during training, as log-probabilities up to a constant."""

    def preferences(self, state: State, obs: Shaped[Array, "*b_obs"], clock: Clock) -> Float[Array, "*b A"]:
        """How much the agent wants each action, in its own units; `act_on` makes a policy of it (or of a mixture)."""
        return self.log_probs(state, obs, clock)

    def act_on(self, state: State, preferences: Float[Array, "*b A"], clock: Clock) -> Float[Array, "*b A"]:
        """The policy that acts on given preferences, as log-probabilities up to a constant."""
        return preferences

    def log_probs(self, state: State, obs: Shaped[Array, "*b_obs"], clock: Clock) -> Float[Array, "*b A"]:
        """The policy that acts during training."""
        return jax.nn.log_softmax(self.logits(state, obs, clock))

    def settled_log_probs(self, state: State, obs: Shaped[Array, "*b_obs"]) -> Float[Array, "*b A"]:
        """The policy once any schedule has ended; this is what an exploiter's policy means."""
        return self.log_probs(state, obs, jnp.asarray(2**30, jnp.int32))

    @abc.abstractmethod
    def greedy(self, state: State, obs: Shaped[Array, "*b_obs"]) -> Int[Array, "*b"]:
        """The most valued action."""

    def value(self, state: State, obs: Shaped[Array, "*b_obs"]) -> Float[Array, "*values"]:
        """V(s), or Q(s, .) with an axis for actions: what the agent expects to earn of the reward it learns from."""
        kind = type(self).__name__
        raise DerlError(f"{kind} does not say what states are worth: an agent does with a method value(state, obs)")

    def observe(self, state: State, clock: Clock, experience: Experience) -> State:
        """Take a fresh rollout into memory, for agents that have one."""
        return state

    @abc.abstractmethod
    def learn(
        self, state: State, key: PRNGKeyArray, spec: Spec, clock: Clock, experience: Experience
    ) -> tuple[State, Metrics]:
        """Update once."""

    def idle(self, role: Role) -> dict[str, str]:
        """Settings that cannot change anything in this role, each with the rest of "it changes nothing ..."."""
        found = {"updates_per_rollout": "beside updates_per_step"} if self.updates_per_step else {}
        return found if self.hidden else found | {"activation": "without hidden layers"}

    def check(self) -> None:
        """Raise a `DerlError` if a hyper-parameter makes no sense."""
        check_choices(self)
        require_share(self, "gamma", "adam_beta2")
        require_below(self, 1, "adam_beta2")
        require_at_least(self, 0, "learning_rate", "updates_per_step")
        require_positive(self, "adam_epsilon", "max_grad_norm")
        require_widths(self, "hidden")
        require_at_least(self, 1, "updates_per_rollout")


AnyAgent = Agent[Any]


def comparison(log_pi: Float[Array, "*b A"], log_mu: Float[Array, "*b A"], action: Int[Array, "*b"]) -> Metrics:
    """How far the exploitation policy is from the exploration policy on its data: importance weights and KL."""
    rho = importance_weights(log_pi, log_mu, action)
    return {
        "importance_weight": rho.mean(),
        "log_importance_weight": jnp.log(jnp.maximum(rho, 1e-10)).mean(),
        "kl": kl(log_pi, log_mu).mean(),
    }


def learn_if(due: Bool[Array, ""], learn: Callable[[Any], tuple[Any, Metrics]], state: Any) -> tuple[Any, Metrics]:
    """Learn, or else leave the state as it is.

    The metric `updated` is 1 or 0 accordingly, and all others are 0 where nothing was learnt: their means are over
    updates, not over iterations.
    """

    def act(state):
        state, metrics = learn(state)
        return state, {"updated": jnp.asarray(1.0)} | metrics

    shapes = jax.eval_shape(act, state)[1]
    nothing = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)
    return jax.lax.cond(due, act, lambda state: (state, nothing), state)
