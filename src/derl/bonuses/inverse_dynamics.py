"""The state representation phi of ICM and RIDE, learned by predicting actions and successors (Pathak et al. 2017)."""

from typing import Literal, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray, Shaped

from derl.bonuses.base import Bonus, looked_at
from derl.core.checks import require_at_least, require_positive, require_widths
from derl.core.networks import MLP
from derl.core.optimiser import apply_gradient, clipped_adam
from derl.core.rows import idle_steps, scan_visited
from derl.core.types import Box, Rollout, Spec

State = TypeVar("State")
Successor = Literal["successor", "successor_after_reset"]


class Encoded(NamedTuple):
    """What a `DynamicsModel` makes of transitions."""

    state: Float[Array, "*batch k"]
    """phi(s_t)"""
    successor: Float[Array, "*batch k"]
    """phi(s_{t+1})"""
    predicted: Float[Array, "*batch k"]
    """The forward network's guess of phi(s_{t+1}) from phi(s_t) and a_t."""
    logits: Float[Array, "*batch actions"]
    """The inverse network's guess of a_t from phi(s_t) and phi(s_{t+1})."""


def squared_prediction_error(
    predicted: Float[Array, "*batch k"], successor: Float[Array, "*batch k"]
) -> Float[Array, "*batch"]:
    """(phi^(s_{t+1}) - phi(s_{t+1}))^2 summed over features, the paper's eq. icm_prediction."""
    return jnp.sum((predicted - successor) ** 2, axis=-1)


def action_cross_entropy(
    logits: Float[Array, "*batch actions"], action: Float[Array, "*batch actions"]
) -> Float[Array, "*batch"]:
    """-log p(a_t | phi(s_t), phi(s_{t+1})) for one-hot actions."""
    return -jnp.sum(jax.nn.log_softmax(logits) * action, axis=-1)


class DynamicsModel(eqx.Module):
    """The encoder phi, and the forward and inverse networks on top of it."""

    encoder: MLP
    forward: MLP
    inverse: MLP
    detach_encoder: bool = eqx.field(static=True)

    def __call__(
        self, obs: Shaped[Array, " E *obs"], action: Float[Array, " E actions"], next_obs: Shaped[Array, " E *obs"]
    ) -> Encoded:
        # One call of twice the batch: on such small networks the number of operations is what costs time.
        state, successor = jnp.split(self.encoder(jnp.concatenate([obs, next_obs])), 2)
        source = jax.lax.stop_gradient(state) if self.detach_encoder else state
        predicted = self.forward(jnp.concatenate([source, action], axis=-1))
        logits = self.inverse(jnp.concatenate([state, successor], axis=-1))
        return Encoded(state, successor, predicted, logits)


class Learner(eqx.Module):
    """A dynamics model and the state of its optimiser."""

    model: DynamicsModel
    opt_state: optax.OptState


class DynamicsBonus(Bonus[State]):
    """The hyper-parameters that ICM and RIDE share, and the training of their model."""

    learning_rate: float = 1e-5
    """Step size of Adam."""
    forward_coef: float = 5.0
    """Weight of the forward loss: half the squared error of the predicted successor."""
    inverse_coef: float = 1.0
    """Weight of the inverse loss: the cross-entropy of the predicted action."""
    max_grad_norm: float = 40.0
    """The gradient is scaled down to this norm if it is larger."""
    adam_epsilon: float = 1e-8
    """Adam's epsilon."""
    hidden: tuple[int, ...] = eqx.field(default=(64, 64), static=True)
    """Hidden layers of the encoder phi."""
    features: int = eqx.field(default=16, static=True)
    """Dimensions of phi(s)."""
    head_hidden: tuple[int, ...] = eqx.field(default=(64,), static=True)
    """Hidden layers of the forward and of the inverse network."""
    successor: Successor = eqx.field(default="successor", static=True)
    """What s_{t+1} is at an episode's end: the true one, or the next episode's first state (as the authors' code)."""
    halve: bool = eqx.field(default=True, static=True)
    """Halve the squared distance in the bonus, as the authors' code does; the paper's equation does not."""
    activate_outputs: bool = eqx.field(default=True, static=True)
    """Apply a ReLU also to what the three networks put out, as the authors' code does."""
    detach_encoder: bool = eqx.field(default=False, static=True)
    """Train phi with the inverse loss only; else the gradient of the forward loss reaches it too."""

    def init_learner(self, key: PRNGKeyArray, spec: Spec) -> Learner:
        """An untrained model."""
        keys = jax.random.split(key, 3)

        def network(i: int, observation, hidden: tuple[int, ...], outputs: int) -> MLP:
            return MLP(keys[i], observation, hidden, outputs, activate_output=self.activate_outputs)

        model = DynamicsModel(
            encoder=network(0, spec.observation, self.hidden, self.features),
            forward=network(1, Box((self.features + spec.num_actions,)), self.head_hidden, self.features),
            inverse=network(2, Box((2 * self.features,)), self.head_hidden, spec.num_actions),
            detach_encoder=self.detach_encoder,
        )
        return Learner(model, self.optimiser().init(model))  # pyright: ignore[reportArgumentType]

    @property
    def learned(self) -> tuple[int, ...]:
        return self.hidden

    def optimiser(self) -> optax.GradientTransformation:
        """Adam with this bonus's hyper-parameters."""
        return clipped_adam(self.learning_rate, self.adam_epsilon, self.max_grad_norm)

    def loss(
        self,
        model: DynamicsModel,
        obs: Shaped[Array, " E *obs"],
        action: Float[Array, "E actions"],
        next_obs: Shaped[Array, " E *obs"],
    ) -> tuple[Float[Array, ""], Encoded]:
        """c_f mean(1/2 (phi^(s') - phi(s'))^2) + c_i mean(-log p(a | s, s')), and what the model made of the batch."""
        encoded = model(obs, action, next_obs)
        target = jax.lax.stop_gradient(encoded.successor) if self.detach_encoder else encoded.successor
        forward = jnp.mean(squared_prediction_error(encoded.predicted, target)) / 2
        inverse = jnp.mean(action_cross_entropy(encoded.logits, action))
        return self.forward_coef * forward + self.inverse_coef * inverse, encoded

    def learn(self, learner: Learner, rollout: Rollout) -> tuple[Learner, Encoded]:
        """One gradient step per time step on its `E` transitions; each is encoded by the model before that step."""
        optimiser = self.optimiser()
        num_actions = learner.model.inverse.biases[-1].shape[-1]
        gradient_of = jax.grad(self.loss, has_aux=True)

        def train(carry, batch):
            (model, opt_state), (both, action) = carry, batch
            gradient, encoded = gradient_of(model, both[0], action, both[1])
            model, opt_state, _ = apply_gradient(optimiser, model, opt_state, gradient)
            return (model, opt_state), encoded

        both = jnp.stack([rollout.obs, looked_at(rollout, self.successor)], axis=1)
        actions = jax.nn.one_hot(rollout.action, num_actions)
        (model, opt_state), encoded = scan_visited(
            train,
            lambda model: model.encoder.weights[0],
            (learner.model, learner.opt_state),
            both,
            actions,
            idle=lambda steps: idle_steps(steps, self.learning_rate, self.adam_epsilon),
        )
        return Learner(model, opt_state), encoded

    def check(self) -> None:
        super().check()
        require_at_least(self, 0, "learning_rate", "forward_coef", "inverse_coef")
        require_positive(self, "adam_epsilon", "max_grad_norm", "features")
        require_widths(self, "hidden", "head_hidden")
