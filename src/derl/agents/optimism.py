"""Optimism outside the network: how little each action was tried, as a number from 1 (never) down to 0 (often).

A network's value of an action that was hardly ever tried is a guess of its own making; nothing in the data corrects it.
Added to such values, this term makes the untried attractive until it has been tried (Rashid et al. 2020).
"""

import abc
from typing import Any, Generic, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray, Shaped

from derl.bonuses.hash_count import SimHash
from derl.core.errors import DerlError
from derl.core.networks import MLP
from derl.core.optimiser import apply_gradient, clipped_adam
from derl.core.types import Discrete, Spec

State = TypeVar("State")


class Optimism(eqx.Module, Generic[State]):
    """What makes the untried attractive. The object is its hyper-parameters; what was tried is in its state."""

    @abc.abstractmethod
    def init(self, key: PRNGKeyArray, spec: Spec) -> State:
        """Before anything was tried."""

    @abc.abstractmethod
    def observe(self, state: State, obs: Shaped[Array, "T E *obs"], action: Int[Array, "T E"]) -> State:
        """Take in what was tried."""

    @abc.abstractmethod
    def term(self, state: State, obs: Shaped[Array, "*b_obs"]) -> Float[Array, "*b A"]:
        """For each action: 1 if never tried here, falling to 0."""


AnyOptimism = Optimism[Any]


class Tries(eqx.Module):
    """How often each action was tried, by state or by code."""

    count: Int[Array, "states A"]
    simhash: SimHash | None = None


class CountOptimism(Optimism[Tries]):
    """(n(s, a) + 1)^-power from a table of tries; for discrete observations."""

    power: float | Float[Array, ""] = 2.0

    def init(self, key: PRNGKeyArray, spec: Spec) -> Tries:
        if not isinstance(spec.observation, Discrete):
            raise DerlError("counting needs discrete observations; else use recipe derl-hash-count or derl-rnd")
        return Tries(jnp.zeros((spec.observation.size + 1, spec.num_actions), jnp.int32))

    def index(self, state: Tries, obs: Array) -> Int[Array, "*b"]:
        """Where in the table an observation's tries are."""
        return obs

    def observe(self, state: Tries, obs: Array, action: Array) -> Tries:
        count = state.count.at[self.index(state, obs), action].add(1)
        return Tries(count, state.simhash)

    def term(self, state: Tries, obs: Array) -> Float[Array, "*b A"]:
        return (state.count[self.index(state, obs)] + 1.0) ** -self.power


class HashOptimism(CountOptimism):
    """(n(code of s, a) + 1)^-power with SimHash codes; for any observations."""

    bits: int = eqx.field(default=16, static=True)

    def init(self, key: PRNGKeyArray, spec: Spec) -> Tries:
        simhash = SimHash(key, spec.observation, self.bits)
        count = jnp.zeros((simhash.table_size, spec.num_actions), jnp.int32)
        return Tries(count, simhash)

    def index(self, state: Tries, obs: Array) -> Int[Array, "*b"]:
        assert state.simhash is not None
        return state.simhash(obs)


class Distilled(eqx.Module):
    """A fixed random network, one that learns to predict it where actions were tried, and its optimiser."""

    target: MLP
    predictor: MLP
    opt_state: optax.OptState


class DistilledOptimism(Optimism[Distilled]):
    """How badly a network predicts random numbers given to each (s, a), as a share of where it began; without a table.

    RND with one set of features per action: only the features of the action taken are learnt. The random features of
    a state and an action have unit length and the predictor starts at 0, so the error starts at 1 everywhere.
    """

    power: float | Float[Array, ""] = 2.0
    learning_rate: float | Float[Array, ""] = 3e-3
    features: int = eqx.field(default=16, static=True)
    hidden: tuple[int, ...] = eqx.field(default=(64, 64), static=True)

    @property
    def optimiser(self) -> optax.GradientTransformation:
        """Adam."""
        return clipped_adam(self.learning_rate, 1e-5, 10.0)

    def init(self, key: PRNGKeyArray, spec: Spec) -> Distilled:
        keys, outputs = jax.random.split(key), self.features * spec.num_actions
        # tanh without biases is odd: the features of unrelated states are unrelated, where ReLU's would be alike.
        target = MLP(keys[0], spec.observation, self.hidden, outputs, activation="tanh")
        predictor = MLP(keys[1], spec.observation, self.hidden, outputs, output_gain=0.0)
        return Distilled(target, predictor, self.optimiser.init(eqx.filter(predictor, eqx.is_array)))

    def errors(self, predictor: MLP, target: MLP, obs: Array) -> Float[Array, "*b A"]:
        """Squared error of the features of each action; 1 for a predictor that knows nothing."""
        wanted, found = (net(obs).reshape(*net(obs).shape[:-1], -1, self.features) for net in (target, predictor))
        wanted = wanted / (jnp.linalg.norm(wanted, axis=-1, keepdims=True) + 1e-8)
        return jnp.square(found - wanted).sum(-1)

    def observe(self, state: Distilled, obs: Array, action: Array) -> Distilled:
        def loss(predictor):
            errors = self.errors(predictor, state.target, obs)
            return jnp.where(action[..., None] == jnp.arange(errors.shape[-1]), errors, 0.0).sum()

        gradient = eqx.filter_grad(loss)(state.predictor)
        predictor, opt_state, _ = apply_gradient(self.optimiser, state.predictor, state.opt_state, gradient)
        return Distilled(state.target, predictor, opt_state)

    def term(self, state: Distilled, obs: Array) -> Float[Array, "*b A"]:
        return jnp.clip(self.errors(state.predictor, state.target, obs), 0.0, 1.0) ** self.power
