"""An intrinsic reward of your own: visits of state-action pairs instead of states.

python examples/03_own_bonus.py [--episodes 3000]
"""

import argparse

import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

import derl
from derl import Bonus, DerlError, Discrete, Rollout, Spec
from derl.bonuses.count import count_visits, inverse_root_count
from derl.core.checks import require_positive


class StateActionCount(Bonus[Int[Array, "states actions"]]):
    """r^i = 1 / sqrt(N(s_t, a_t)), where N counts how often an action was taken in a state."""

    # Plain fields are numbers that the runs of a population can differ in: vary={"bonus.increment": [0.1, 1, 10]}.
    increment: float = 1.0
    """How much one visit adds to N."""

    def init(self, key: PRNGKeyArray, spec: Spec, num_envs: int) -> Int[Array, "states actions"]:
        if not isinstance(spec.observation, Discrete):
            raise DerlError("state-action counts need discrete observations")
        return jnp.zeros((spec.observation.size + 1, spec.num_actions), jnp.int32)

    def step(
        self, state: Int[Array, "states actions"], rollout: Rollout
    ) -> tuple[Int[Array, "states actions"], Float[Array, "T E"]]:
        pairs = rollout.obs * state.shape[1] + rollout.action
        visits, by_then = count_visits(state.reshape(-1), pairs)
        return visits.reshape(state.shape), inverse_root_count(self.increment * by_then)

    def check(self) -> None:
        super().check()
        require_positive(self, "increment")


def main() -> None:
    """Train DeA2C with it on a small DeepSea."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=3_000, help="training episodes of each seed")
    episodes = parser.parse_args().episodes

    result = derl.train(
        "DeepSea-6",
        "dea2c-count",
        bonus=StateActionCount(scale=1.0),
        seeds=2,
        protocol__episodes=episodes,
        protocol__evaluate_every=max(1, episodes // 10),
    )
    print(result.frame.select("seed", "episodes", "return", "explorer_return", "bonus", "coverage").tail(4))

    # The bonus's state is part of the run's: here the visits of the first run, without the terminal observation.
    visits = result.state.bonus[0, :-1]
    print(f"state-action pairs tried by the first run: {int((visits > 0).sum())}")
    best = float(result.policy(run=0).play().total)
    print(f"greedy return {best:.2f} of {result.config.make_env().optimal_return:.2f}")


if __name__ == "__main__":
    main()
