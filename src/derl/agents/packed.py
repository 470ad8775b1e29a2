"""An actor-critic laid out for many small gradient steps on one batch: PPO's epochs."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, Shaped

from derl.agents.actor_critic import ActorCritic, ActorCriticState
from derl.core.networks import ACTIVATIONS, Activation, lookup, small_batch_product
from derl.core.rows import Idle, put_back
from derl.core.types import Discrete


class PackedActorCritic(eqx.Module):
    """The weights of an `ActorCritic`, its two networks side by side: half as many operations, each twice as large.

    Of a first layer that reads integers it may hold the rows of some states only: while an agent takes many steps on
    one batch, the others have no gradient (see `derl.core.rows`).
    """

    first: Float[Array, "inputs both"]
    first_bias: Float[Array, " both"]
    hidden: tuple[Float[Array, "2 _ _"], ...]
    hidden_biases: tuple[Float[Array, "2 1 _"], ...]
    heads: tuple[Float[Array, "_ _"], ...]
    head_biases: tuple[Float[Array, " _"], ...]
    activation: Activation = eqx.field(static=True)
    discrete: bool = eqx.field(static=True)

    def policy_and_value(self, obs: Shaped[Array, " b *obs"]) -> tuple[Float[Array, "b A"], Float[Array, " b"]]:
        """log pi(. | s) and V(s)."""
        # Not `small_batch_product` for vectors: in the first layer it made Hallway-30-30 half as fast.
        h = lookup(self.first, obs) if self.discrete else obs.reshape(len(obs), -1) @ self.first
        h = h + self.first_bias
        if not self.heads:
            return jax.nn.log_softmax(h[:, :-1]), h[:, -1]
        activate = ACTIVATIONS[self.activation]
        both = h.reshape(len(obs), 2, -1).swapaxes(0, 1)
        for weight, bias in zip(self.hidden, self.hidden_biases, strict=True):
            both = jax.vmap(small_batch_product)(activate(both), weight) + bias
        logits, value = (
            small_batch_product(activate(h), weight) + bias
            for h, weight, bias in zip(both, self.heads, self.head_biases, strict=True)
        )
        return jax.nn.log_softmax(logits), value[:, 0]

    def log_probs(self, obs: Shaped[Array, " b *obs"]) -> Float[Array, "b A"]:
        """log pi(. | s)."""
        return self.policy_and_value(obs)[0]

    def value(self, obs: Shaped[Array, " b *obs"]) -> Float[Array, " b"]:
        """V(s)."""
        return self.policy_and_value(obs)[1]


def pack(network: ActorCritic, rows: Int[Array, " n"] | None) -> PackedActorCritic:
    """Both networks side by side; with `rows`, only these of the first layer."""
    layers = list(zip(network.actor.weights, network.critic.weights, strict=True))
    biases = list(zip(network.actor.biases, network.critic.biases, strict=True))
    first = jnp.concatenate(layers[0], axis=1)
    return PackedActorCritic(
        first=first if rows is None else lookup(first, rows),
        first_bias=jnp.concatenate(biases[0]),
        hidden=tuple(jnp.stack(pair) for pair in layers[1:-1]),
        hidden_biases=tuple(jnp.stack(pair)[:, None] for pair in biases[1:-1]),
        heads=layers[-1] if len(layers) > 1 else (),
        head_biases=biases[-1] if len(layers) > 1 else (),
        activation=network.actor.activation,
        discrete=isinstance(network.actor.observation, Discrete),
    )


def unpack(
    packed: PackedActorCritic, network: ActorCritic, firsts: tuple[Float[Array, "n m"], Float[Array, "n m"]]
) -> ActorCritic:
    """The two networks again, with `firsts` as their first layers; `network` says what they look like."""
    for i, mlp in enumerate((network.actor, network.critic)):
        bias = halves(packed.first_bias, network)[i]
        weights = (firsts[i], *(pair[i] for pair in packed.hidden), *packed.heads[i : i + 1])
        biases = (bias, *(p[i, 0] for p in packed.hidden_biases), *packed.head_biases[i : i + 1])
        mlp = eqx.tree_at(lambda m: (m.weights, m.biases), mlp, (weights, biases))
        network = eqx.tree_at(lambda n, i=i: (n.actor, n.critic)[i], network, mlp)
    return network


def halves(both: Float[Array, "*n both"], network: ActorCritic) -> tuple[Float[Array, "*n m"], Float[Array, "*n m"]]:
    """The actor's and the critic's half of what lies side by side."""
    width = network.actor.weights[0].shape[1]
    return both[..., :width], both[..., width:]


class PackedState(NamedTuple):
    """An agent's networks and its optimiser's state, packed."""

    network: PackedActorCritic
    opt_state: optax.OptState


def pack_state(state: ActorCriticState, rows: Int[Array, " n"] | None) -> PackedState:
    """An agent's networks, and Adam's two means of them."""

    def packed(part: Any) -> Any:
        return pack(part, rows) if isinstance(part, ActorCritic) else part

    opt_state = jax.tree.map(packed, state.opt_state, is_leaf=lambda part: isinstance(part, ActorCritic))
    return PackedState(pack(state.network, rows), opt_state)


def unpack_state(
    packed: PackedState,
    before: ActorCriticState,
    rows: Int[Array, " n"] | None,
    idle: Idle,
) -> ActorCriticState:
    """The agent after its steps; `idle` does to the rows that no sample had what those steps do without a gradient."""

    def parts(state: PackedState | ActorCriticState) -> tuple[Any, Any, Any]:
        return state.network, optax.tree.get(state.opt_state, "mu"), optax.tree.get(state.opt_state, "nu")

    # Network by network: side by side, the idle rows would have to be copied twice.
    firsts = list(zip(*(halves(part.first, before.network) for part in parts(packed)), strict=True))
    if rows is not None:
        count = optax.tree.get(before.opt_state, "count")
        wholes = zip(*((part.actor.weights[0], part.critic.weights[0]) for part in parts(before)), strict=True)
        firsts = [put_back(rows, moved, whole, count, idle) for moved, whole in zip(firsts, wholes, strict=True)]
    network, mu, nu = map(unpack, parts(packed), parts(before), zip(*firsts, strict=True))
    return ActorCriticState(network, optax.tree.set(packed.opt_state, mu=mu, nu=nu))
