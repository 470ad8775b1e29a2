"""Trains variants of the paper's DeDQN in Hallway-10-10; see docs/algorithms/dedqn-in-hallway.md.

python benchmarks/dedqn_hallway_fixes.py    # prints their returns over time: about 7 minutes of one core
"""

import argparse
import dataclasses

import polars as pl
from dedqn_hallway import markdown
from hallway_tables import HORIZON

from derl.analysis.measures.numbers import signed
from derl.api import configure, train
from derl.core.types import Discrete, Spec
from derl.envs.hallway import Hallway
from derl.training.config import Config
from derl.training.own import EXPLOITER


class MarkedHallway(Hallway):
    """Hallway in which the agent also sees whether it has reached the goal."""

    def __init__(self):
        super().__init__(10, 10)

    @property
    def spec(self) -> Spec:
        return Spec(Discrete(2 * self.cells), num_actions=3, truncates=self.time_limit_truncates)

    def step(self, key, state, action):
        following, step = super().step(key, state, action)
        return following, step._replace(obs=step.obs + self.cells * following.reached.astype(step.obs.dtype))


def keep_all(config: Config) -> Config:
    """With a memory for every step of the training."""
    return config.with_value("exploiter.capacity", HORIZON * config.protocol.episodes)


def fixes(seeds: int, episodes: int) -> str:
    """Trains variants of the recipe; their returns over time."""
    recipe = configure(
        "Hallway-10-10", "dedqn-count", protocol__episodes=episodes, protocol__evaluate_every=episodes // 4
    )
    marked = dataclasses.replace(recipe, env=MarkedHallway())
    one_step = recipe.with_value("exploiter.n_steps", 1)
    fresh = one_step.with_value("exploiter.frozen_targets", False)
    quick = fresh.with_value("exploiter.learning_rate", 1e-3).with_value("exploiter.target_rate", 0.01)
    # As many updates as the others get.
    episodic = dataclasses.replace(EXPLOITER, updates_per_step=0.0, updates_per_rollout=1)
    variants = {
        "the recipe": recipe,
        "all steps kept": keep_all(recipe),
        "reached goal observed": marked,
        "reached goal observed, all steps kept": keep_all(marked),
        "1-step": one_step,
        "1-step, fresh targets": fresh,
        "1-step, fresh targets, learning rate 1e-3, tau 0.01": quick,
        "the same, all steps kept": keep_all(quick),
        "V-trace on replayed episodes (the exploiter of `derl`)": dataclasses.replace(recipe, exploiter=episodic),
    }
    rows, times = [], []
    for name, config in variants.items():
        frame = train(config, seeds=seeds, cores=1).frame
        times = sorted(frame["evaluation"].unique())
        by_time = [frame.filter(pl.col("evaluation") == time).sort("seed")["return"] for time in times]
        rows.append([name, *(" ".join(signed(x) for x in returns) for returns in by_time)])
    return markdown(["exploiter", *(f"{episodes * t // len(times):,}" for t in times)], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--episodes", type=int, default=10_000)
    options = parser.parse_args()
    print(fixes(options.seeds, options.episodes))


if __name__ == "__main__":
    main()
