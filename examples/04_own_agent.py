"""An agent of your own: tabular expected SARSA, exploring in one seat and exploiting in the other.

python examples/04_own_agent.py [--episodes 3000]
"""

import argparse

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

import derl
from derl import Agent, DerlError, Discrete, Spec
from derl.agents.base import Clock, Experience, Metrics, comparison
from derl.agents.returns import discounts, select
from derl.core.checks import require_positive

Table = Float[Array, "states actions"]
"""Q(s, a): all that the agent learns, and so its whole state."""


class ExpectedSarsa(Agent[Table]):
    """Q(s, a) from a table, updated towards r + gamma E_pi[ Q(s', .) ] with pi = softmax(Q / temperature).

    The expectation is over the agent's own policy, not the one that acted, so it needs no off-policy correction.
    """

    learning_rate: float = 0.1
    """How far a value moves towards its target."""
    temperature: float = 0.02
    """Of the softmax policy: near 0 it is greedy."""

    @property
    def rollout_length(self) -> int:
        return 5

    def init(self, key: PRNGKeyArray, spec: Spec, num_envs: int, rollout_length: int) -> Table:
        if not isinstance(spec.observation, Discrete):
            raise DerlError("ExpectedSarsa needs discrete observations")
        return jnp.zeros((spec.observation.size + 1, spec.num_actions))

    def logits(self, state: Table, obs: Int[Array, "*b"], clock: Clock) -> Float[Array, "*b A"]:
        return state[obs] / self.temperature

    def greedy(self, state: Table, obs: Int[Array, "*b"]) -> Int[Array, "*b"]:
        return jnp.argmax(state[obs], axis=-1)

    def value(self, state: Table, obs: Int[Array, "*b"]) -> Float[Array, "*b"]:
        """E_pi[ Q(s, .) ]."""
        q = state[obs]
        return (jax.nn.softmax(q / self.temperature) * q).sum(-1)

    def learn(
        self, state: Table, key: PRNGKeyArray, spec: Spec, clock: Clock, experience: Experience
    ) -> tuple[Table, Metrics]:
        """One pass over the rollout, from its last step to its first, so that a reward travels all the way back."""
        rollout = experience.rollout
        discount = discounts(rollout.terminated, self.gamma)

        def step(q: Table, t):
            obs, action, reward, next_obs, discount_t = t
            error = reward + discount_t * self.value(q, next_obs) - select(q[obs], action)
            return q.at[obs, action].add(self.learning_rate * error), jnp.abs(error).mean()

        steps = (rollout.obs, rollout.action, rollout.reward, rollout.next_obs, discount)
        state, errors = jax.lax.scan(step, state, steps, reverse=True)
        metrics: Metrics = {"td_error": errors.mean()}
        if experience.behaviour is not None:
            # Only an exploiter learns from another policy's data. How far the two are apart is worth a column.
            metrics |= comparison(self.log_probs(state, rollout.obs, clock), experience.behaviour, rollout.action)
        return state, metrics

    def check(self) -> None:
        super().check()
        require_positive(self, "temperature")


def main() -> None:
    """Train it in both seats on a small DeepSea."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=3_000, help="training episodes of each seed")
    episodes = parser.parse_args().episodes

    # The recipe gives the bonus and the protocol. The explorer learns from r_e + lambda r_i, the exploiter from r_e
    # alone. The explorer is warmer than the exploiter. 0.3 was picked among 0.03, 0.1 and 0.3 (five seeds each).
    result = derl.train(
        "DeepSea-6",
        "dea2c-count",
        explorer=ExpectedSarsa(temperature=0.3),
        exploiter=ExpectedSarsa(),
        seeds=2,
        protocol__episodes=episodes,
        protocol__evaluate_every=max(1, episodes // 10),
    )
    print(result.frame.select("seed", "episodes", "return", "explorer_return", "td_error", "kl").tail(4))
    for seat in ("explorer", "exploiter"):
        returns = result.evaluate(seat, episodes=1)
        print(f"greedy return of the {seat}s: {', '.join(f'{x:.2f}' for x in returns[:, 0])}")
    print(f"the best possible return is {result.config.make_env().optimal_return:.2f}")


if __name__ == "__main__":
    main()
