"""The library's own recipes, each one set of hyper-parameters for every task; see docs/algorithms/derl.md."""

from dataclasses import replace
from typing import Any

from derl.agents import AnyAgent, BootstrappedDQN, EpisodicA2C, OptimisticDQN
from derl.bonuses import RND, Count, HashCount, NoBonus
from derl.bonuses.base import AnyBonus
from derl.training.algorithm import Decoupling
from derl.training.config import Config, Protocol

PROTOCOL = Protocol(episodes=2_000, evaluate_every=10, evaluation_episodes=8)
"""Twenty to fifty times shorter than the paper's, and looked at a hundred times as often."""

Q_LEARNING: dict[str, Any] = {
    # One rollout is one episode: a policy that is updated at every step keeps changing direction.
    "collect_steps": 0,
    "n_steps": 1,
    "batch_size": 128,
    "learning_rate": 1e-3,
    "target_rate": 0.25,
    "epsilon_start": 0.0,
    "epsilon_end": 0.0,
}
"""What both greedy Q-networks have in common."""

EXPLORER = OptimisticDQN(
    **Q_LEARNING,
    updates_per_step=2.0,
    capacity=100_000,
    adam_epsilon=1e-5,
    adam_beta2=0.9,
    max_grad_norm=10.0,
    recompute_bonus=True,
    # All actions start equal: what makes a difference is optimism, and soon what was learnt.
    output_gain=0.01,
    optimism_weight=3.3,
    optimism_power=2.0,
)
"""A greedy Q-network on the bonus alone, whose discounted sums are about 1; the untried is worth three of them."""

EXPLOITER = EpisodicA2C(
    updates_per_step=1.0,
    batch_steps=128,
    # Everything. On the best way all goes well, and only old episodes still say what is wrong with leaving it: once
    # they are forgotten, the entropy bonus wins.
    capacity=1_000_000,
    learning_rate=1e-3,
    # Adam takes full steps even for tiny gradients, unless they are below this. With a smaller epsilon, noise moves a
    # state of DeepSea-50, which is seen once in twenty updates, as far as evidence does.
    adam_epsilon=3e-5,
    # Once a task is solved, gradients are nearly nothing, and so is what Adam divides by. With its usual memory of a
    # thousand steps (0.999), the next gradient that is not nothing moves every weight by 32 learning rates; with this
    # one, by 10. A still shorter one divides by noise: DeepSea-30 was lost now and then.
    adam_beta2=0.99,
    max_grad_norm=10.0,
    # The actions of Hallway differ by a few hundredths in value: an entropy bonus of that size would undo them.
    entropy_coef=1e-3,
    # With a constant bonus DeepSea-50 was lost again, from 100,000 steps on. With one that falls from 10,000 on the
    # policy is certain too early where chance decides: in the stochastic DeepSea it no longer takes up the chest.
    entropy_steps=50_000.0,
    averaged=True,
    average_rate=0.01,
    average_share=0.05,
)
"""An actor-critic on replayed whole episodes."""

DECOUPLING = Decoupling(mixture=0.5, mixture_floor=-3.0, mixture_weight=0.3)

BOOTSTRAPPED = BootstrappedDQN(
    **Q_LEARNING,
    updates_per_step=1.0,
    heads=20,
    prior_scale=5.0,
    mask_probability=1.0,
    double=False,
    hidden=(50, 50),
    capacity=10_000,
    adam_epsilon=1e-8,
    # None in bsuite.
    max_grad_norm=1e9,
    # The two hidden layers' gains make 2: so the priors have the size that bsuite's initialisation gives them.
    output_gain=0.5,
)
"""Bootstrapped DQN with random priors, as bsuite sets it, but that it copies its target every 4 updates."""

AGENTS: dict[str, AnyAgent] = {
    "optimistic-dqn": EXPLORER,
    "episodic-a2c": EXPLOITER,
    "bootstrapped-dqn": BOOTSTRAPPED,
}
"""The agents of these recipes by their kind, as they are when put into another recipe."""

BONUSES: dict[str, tuple[AnyBonus, str]] = {
    "count": (Count(normalise="recent", capped=False), "count"),
    "hash-count": (HashCount(normalise="recent", capped=False), "hash"),
    "rnd": (RND(normalise="recent", learning_rate=1e-4), "distilled"),
}
"""The bonuses the recipe is made for, and what knows the tries of actions beside them."""

OWN = {
    "derl": "the library's own: optimistic Q-explorer on counts, V-trace exploiter on episodes",
    "derl-hash-count": "the same with Hash-Count, for any observations",
    "derl-rnd": "the same with RND and distilled optimism, without a table",
    "bootdqn": "Bootstrapped DQN with random priors, the usual answer to DeepSea, to compare with",
}
"""Every recipe of this room, and what it is."""


def own_recipe(name: str, task: str, **env_options) -> Config:
    """One of the recipes in `OWN`, for a task."""
    if name == "bootdqn":
        config = Config(task, BOOTSTRAPPED, NoBonus(), protocol=PROTOCOL, recipe=name, num_envs=1)
        return replace(config, env_options=env_options)
    bonus, optimism = BONUSES[name.removeprefix("derl").removeprefix("-") or "count"]
    return Config(
        task,
        replace(EXPLORER, optimism=optimism),
        bonus,
        EXPLOITER,
        DECOUPLING,
        PROTOCOL,
        recipe=name,
        env_options=env_options,
        num_envs=1,
        explorer_reward="intrinsic",
    )
