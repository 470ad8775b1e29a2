"""Environments of gymnax (1.0 or newer): one class adapts any of them that has discrete actions.

pip install gymnax
python examples/06_gymnax.py [--task CartPole-v1] [--steps 150000]
"""

import argparse
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

import derl
from derl import Box, Environment, Spec, Step


class Gymnax(Environment[Any]):
    """An environment of gymnax. Its own `step` resets by itself, so the function below it is used, which does not."""

    env: Any = eqx.field(static=True)
    params: Any
    """What gymnax lets vary within a program: masses, lengths, limits."""
    shape: tuple[int, ...] = eqx.field(static=True)
    limit: int = eqx.field(static=True)

    def __init__(self, env: Any, params: Any):
        self.env, self.params = env, params
        self.shape = tuple(env.observation_space(params).shape)
        self.limit = int(params.max_steps_in_episode)

    @property
    def name(self) -> str:
        return str(self.env.name)

    @property
    def spec(self) -> Spec:
        return Spec(Box(self.shape), num_actions=int(self.env.num_actions), truncates=True)

    @property
    def max_episode_steps(self) -> int:
        return self.limit

    def reset(self, key: PRNGKeyArray) -> tuple[Any, Float[Array, "*obs"]]:
        obs, state = self.env.reset_env(key, self.params)
        return state, jnp.asarray(obs, jnp.float32)

    def step(self, key: PRNGKeyArray, state: Any, action: Int[Array, ""]) -> tuple[Any, Step]:
        obs, state, reward, terminated, _ = self.env.step_env(key, state, action, self.params)
        terminated = jnp.asarray(terminated, bool)
        truncated = jnp.asarray(self.env.is_truncated(state, self.params), bool) & ~terminated
        answer = Step(jnp.asarray(obs, jnp.float32), jnp.asarray(reward, jnp.float32), terminated, truncated)
        return state, answer


def main() -> None:
    """Train PPO with RND on it, with rollouts long enough for episodes of hundreds of steps."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", default="CartPole-v1", help="one of gymnax's")
    parser.add_argument("--steps", type=int, default=150_000, help="training steps, over all parallel environments")
    arguments = parser.parse_args()

    import gymnax  # pyright: ignore[reportMissingImports]

    env = Gymnax(*gymnax.make(arguments.task))
    derl.check_env(env)
    result = derl.train(
        env,
        "ppo",
        bonus=derl.RND(scale=0.01),
        seeds=2,
        num_envs=8,
        explorer__n_steps=64,
        explorer__minibatches=8,
        explorer__learning_rate=1e-3,
        protocol__steps=arguments.steps,
        protocol__evaluate_every=max(1, arguments.steps // 10),
    )
    print(result.curves().select("steps", "episodes", "mean", "low", "high", "explorer_mean"))
    episode = result.policy(run=0).play(seed=0)
    print(f"greedy return {float(episode.total):.0f} in {int(np.asarray(episode.alive).sum())} steps")


if __name__ == "__main__":
    main()
