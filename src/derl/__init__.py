"""Decoupled reinforcement learning: one policy explores, a second one exploits what it found."""

from derl._version import __version__
from derl.agents import A2C, DQN, PPO, Agent, BootstrappedDQN, EpisodicA2C, OptimisticDQN, register_agent
from derl.analysis.runs.result import Policy, Result
from derl.api import configure, load, resume, sweep, train
from derl.bonuses import ICM, RIDE, RND, Bonus, Count, HashCount, NoBonus, register_bonus
from derl.core.errors import DerlError
from derl.core.types import Box, Discrete, Rollout, Spec
from derl.envs import PAPER_TASKS, DeepSea, Environment, Hallway, Step, check_env, make, register
from derl.training.algorithm import Decoupling
from derl.training.config import Config, Protocol
from derl.training.recipes import RECIPES, TABLE_1, recipe

__all__ = [
    "A2C",
    "DQN",
    "ICM",
    "PAPER_TASKS",
    "PPO",
    "RECIPES",
    "RIDE",
    "RND",
    "TABLE_1",
    "Agent",
    "Bonus",
    "BootstrappedDQN",
    "Box",
    "Config",
    "Count",
    "Decoupling",
    "DeepSea",
    "DerlError",
    "Discrete",
    "Environment",
    "EpisodicA2C",
    "Hallway",
    "HashCount",
    "NoBonus",
    "OptimisticDQN",
    "Policy",
    "Protocol",
    "Result",
    "Rollout",
    "Spec",
    "Step",
    "__version__",
    "check_env",
    "configure",
    "load",
    "make",
    "recipe",
    "register",
    "register_agent",
    "register_bonus",
    "resume",
    "sweep",
    "train",
]
