"""Environments: the contract, the paper's two tasks, and making them by name."""

from derl.envs.base import AnyEnvironment, Environment, Step
from derl.envs.deep_sea import DeepSea
from derl.envs.hallway import Hallway
from derl.envs.registry import PAPER_TASKS, families, family, make, register
from derl.envs.trial import check_env

__all__ = [
    "PAPER_TASKS",
    "AnyEnvironment",
    "DeepSea",
    "Environment",
    "Hallway",
    "Step",
    "check_env",
    "families",
    "family",
    "make",
    "register",
]
