"""ICM: rewards transitions whose successor is hard to predict in a learned representation (Pathak et al. 2017)."""

from jaxtyping import Array, Float, PRNGKeyArray

from derl.bonuses.inverse_dynamics import DynamicsBonus, Learner, squared_prediction_error
from derl.core.types import Rollout, Spec


class ICM(DynamicsBonus[Learner]):
    """r^i = 1/2 (phi^(s_{t+1}) - phi(s_{t+1}))^2, by the model as it was before it learned from that time step."""

    def init(self, key: PRNGKeyArray, spec: Spec, num_envs: int) -> Learner:
        return self.init_learner(key, spec)

    def step(self, state: Learner, rollout: Rollout) -> tuple[Learner, Float[Array, "T E"]]:
        state, encoded = self.learn(state, rollout)
        error = squared_prediction_error(encoded.predicted, encoded.successor)
        return state, error / 2 if self.halve else error
