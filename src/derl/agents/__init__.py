"""Agents: each can explore or exploit."""

from derl.agents.a2c import A2C
from derl.agents.actor_critic import Correction
from derl.agents.base import Agent, AnyAgent, Constraint, Experience
from derl.agents.bootstrapped_dqn import BootstrappedDQN
from derl.agents.dqn import DQN
from derl.agents.episodic import EpisodicA2C
from derl.agents.optimistic_dqn import OptimisticDQN
from derl.agents.ppo import PPO
from derl.core.errors import UnknownNameError
from derl.core.naming import add_kind

AGENTS: dict[str, type[AnyAgent]] = {
    "a2c": A2C,
    "ppo": PPO,
    "dqn": DQN,
    "optimistic-dqn": OptimisticDQN,
    "episodic-a2c": EpisodicA2C,
    "bootstrapped-dqn": BootstrappedDQN,
}


def register_agent(name: str, kind: type[AnyAgent]) -> None:
    """Let an agent of your own be named: by `--explorer-kind NAME`, in run folders, and in sweeps."""
    add_kind(AGENTS, name, kind)


def make_agent(name: str) -> AnyAgent:
    """An agent with default hyper-parameters, by name."""
    if name.lower() not in AGENTS:
        raise UnknownNameError("agent", name, AGENTS)
    return AGENTS[name.lower()]()


__all__ = [
    "A2C",
    "AGENTS",
    "DQN",
    "PPO",
    "Agent",
    "AnyAgent",
    "BootstrappedDQN",
    "Constraint",
    "Correction",
    "EpisodicA2C",
    "Experience",
    "OptimisticDQN",
    "make_agent",
    "register_agent",
]
