"""RND: rewards states on which a trained network does not yet agree with a fixed random one (Burda et al. 2018)."""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray, Shaped

from derl.bonuses.base import Bonus, Looks, looked_at, looked_at_again
from derl.core.checks import require_at_least, require_positive, require_widths
from derl.core.networks import MLP
from derl.core.optimiser import apply_gradient, clipped_adam
from derl.core.rows import idle_steps, scan_visited
from derl.core.types import Rollout, Spec


def squared_distillation_error(
    predicted: Float[Array, "*batch k"], target: Float[Array, "*batch k"]
) -> Float[Array, "*batch"]:
    """r^i = (phi^(s_t) - phi(s_t))^2 summed over features, the paper's eq. rnd_prediction."""
    return jnp.sum((predicted - target) ** 2, axis=-1)


class RNDState(eqx.Module):
    """The fixed target phi, its predictor phi^, and the state of the predictor's optimiser."""

    target: MLP
    predictor: MLP
    opt_state: optax.OptState


class RND(Bonus[RNDState]):
    """r^i = (phi^(s) - phi(s))^2, by the predictor as it was before it learned from that time step."""

    learning_rate: float = 1e-7
    """Step size of Adam."""
    loss_coef: float = 0.1
    """Weight of the loss. Under Adam it matters only through the gradient clip and Adam's epsilon."""
    max_grad_norm: float = 40.0
    """The gradient is scaled down to this norm if it is larger."""
    adam_epsilon: float = 1e-8
    """Adam's epsilon."""
    hidden: tuple[int, ...] = eqx.field(default=(64, 64), static=True)
    """Hidden layers of target and predictor."""
    features: int = eqx.field(default=16, static=True)
    """Dimensions of what they put out."""
    looks: Looks = eqx.field(default="state", static=True)
    """Which state of a transition is rewarded (the paper: state; the authors' code: successor_after_reset)."""
    activate_outputs: bool = eqx.field(default=True, static=True)
    """Apply a ReLU also to the outputs of both networks, as the authors' code does."""

    def optimiser(self) -> optax.GradientTransformation:
        """Adam with this bonus's hyper-parameters."""
        return clipped_adam(self.learning_rate, self.adam_epsilon, self.max_grad_norm)

    def init(self, key: PRNGKeyArray, spec: Spec, num_envs: int) -> RNDState:
        target, predictor = (
            MLP(k, spec.observation, self.hidden, self.features, activate_output=self.activate_outputs)
            for k in jax.random.split(key)
        )
        return RNDState(target, predictor, self.optimiser().init(predictor))  # pyright: ignore[reportArgumentType]

    def loss(
        self, predictor: MLP, obs: Shaped[Array, " E *obs"], target: Float[Array, " E k"]
    ) -> tuple[Float[Array, ""], Float[Array, " E"]]:
        """loss_coef times the mean error of a time step, and the errors."""
        error = squared_distillation_error(predictor(obs), target)
        return self.loss_coef * jnp.mean(error), error

    def step(self, state: RNDState, rollout: Rollout) -> tuple[RNDState, Float[Array, "T E"]]:
        optimiser = self.optimiser()
        gradient_of = jax.grad(self.loss, has_aux=True)

        def train(carry, batch):
            predictor, opt_state = carry
            gradient, error = gradient_of(predictor, *batch)
            predictor, opt_state, _ = apply_gradient(optimiser, predictor, opt_state, gradient)
            return (predictor, opt_state), error

        obs = looked_at(rollout, self.looks)
        (predictor, opt_state), bonus = scan_visited(
            train,
            lambda predictor: predictor.weights[0],
            (state.predictor, state.opt_state),
            obs,
            state.target(obs),  # It never changes, so that one call serves the whole rollout.
            idle=lambda steps: idle_steps(steps, self.learning_rate, self.adam_epsilon),
        )
        return RNDState(state.target, predictor, opt_state), bonus

    @property
    def learned(self) -> tuple[int, ...]:
        return self.hidden

    @property
    def needs_resets(self) -> bool:
        return self.looks == "successor_after_reset"

    def current(self, state: RNDState, obs: Array, action: Array, next_obs: Array) -> Float[Array, "*b"]:
        looked = looked_at_again(obs, next_obs, self.looks)
        return squared_distillation_error(state.predictor(looked), state.target(looked))

    def check(self) -> None:
        super().check()
        require_at_least(self, 0, "learning_rate", "loss_coef")
        require_positive(self, "adam_epsilon", "max_grad_norm", "features")
        require_widths(self, "hidden")
