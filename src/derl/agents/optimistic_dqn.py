"""A Q-network that is optimistic about what was hardly tried, where it acts and where it bootstraps."""

from typing import ClassVar, Literal

import equinox as eqx
import jax
from jaxtyping import Array, Float, PRNGKeyArray

from derl.agents.base import Clock, Experience, Role
from derl.agents.dqn import DQN
from derl.agents.optimism import AnyOptimism, CountOptimism, DistilledOptimism, HashOptimism
from derl.agents.q_network import DQNState, Memory
from derl.bonuses.base import CurrentBonus
from derl.core.checks import require_at_least
from derl.core.errors import require
from derl.core.types import Spec

Kind = Literal["count", "hash", "distilled"]


class OptimisticDQN(DQN):
    """DQN on Q+(s, a) = Q(s, a) + C o(s, a), where o is 1 for an action never tried in s and falls towards 0.

    Q+ picks the action, and Q+ is what a target bootstraps from; the network itself learns only Q. So an untried
    action attracts from afar, through the values of the states that lead to it. Optimism is for exploring: the greedy
    and the settled policy, which are what an exploiter is asked for, are those of Q.
    """

    optimism: Kind = eqx.field(default="count", static=True)
    """How tries are known: a table of (s, a), a table of (hash of s, a), or a distilled random network."""
    optimism_weight: float = 1.0
    """C: what an untried action is worth, in units of the explorer's reward."""
    optimism_power: float = 2.0
    """How fast optimism falls: (n + 1)^-power after n tries, or a prediction's error to this power."""
    optimism_bits: int = eqx.field(default=16, static=True)
    """Length of the hash."""
    optimism_learning_rate: float = 3e-3
    """Of the distilled network."""

    version: ClassVar[int] = 2
    tabulates: ClassVar[bool] = True
    curious: ClassVar[bool] = True

    @property
    def untried(self) -> AnyOptimism:
        """The part that knows what was tried. An agent with one of your own is a subclass that gives it here."""
        if self.optimism == "count":
            return CountOptimism(self.optimism_power)
        if self.optimism == "hash":
            return HashOptimism(self.optimism_power, self.optimism_bits)
        return DistilledOptimism(self.optimism_power, self.optimism_learning_rate)

    def init(self, key: PRNGKeyArray, spec: Spec, num_envs: int, rollout_length: int) -> DQNState:
        state = super().init(key, spec, num_envs, rollout_length)
        # To be a key of its own with the next ENGINE: fold_in(key, 1) is split(key, 3)[1], of which the network's
        # second layer is made. It does no harm: counts draw nothing, the planes of a hash meet observations and never
        # what that layer reads, and a distilled network's weights are drawn from keys split off once more.
        untried = self.untried.init(jax.random.fold_in(key, 1), spec)
        return eqx.tree_at(lambda s: s.extra, state, untried, is_leaf=lambda x: x is None)

    def term(self, state: DQNState, obs: Array) -> Float[Array, "*b A"]:
        """C o(s, .)."""
        return self.optimism_weight * self.untried.term(state.extra, obs)

    def preferences(self, state: DQNState, obs: Array, clock: Clock) -> Float[Array, "*b A"]:
        return super().preferences(state, obs, clock) + self.term(state, obs)

    def observe(self, state: DQNState, clock: Clock, experience: Experience) -> DQNState:
        state = super().observe(state, clock, experience)
        rollout = experience.rollout
        return eqx.tree_at(lambda s: s.extra, state, self.untried.observe(state.extra, rollout.obs, rollout.action))

    def refresh(self, state: DQNState, batch: Memory, bonus: CurrentBonus | None) -> Memory:
        batch = super().refresh(state, batch, bonus)
        return batch._replace(optimism=self.term(state, batch.bootstrap_obs))  # pyright: ignore[reportArgumentType]

    def idle(self, role: Role) -> dict[str, str]:
        found = super().idle(role)
        needs = {"optimism_bits": "hash", "optimism_learning_rate": "distilled"}
        found |= {name: f"without optimism {kind}" for name, kind in needs.items() if self.optimism != kind}
        if not self.optimism_weight:
            found |= dict.fromkeys(("optimism", "optimism_power", *needs), "with optimism_weight 0")
        return found

    def check(self) -> None:
        super().check()
        name = type(self).__name__
        require(not self.frozen_targets, f"{name}: frozen_targets would freeze the optimism too; turn it off")
        require_at_least(self, 0, "optimism_weight", "optimism_power", "optimism_learning_rate")
        require_at_least(self, 1, "optimism_bits")
