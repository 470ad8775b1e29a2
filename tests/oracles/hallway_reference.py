"""The rules of Hallway step by step in plain Python, and the best return by trying everything."""

import itertools
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True)
class Rules:
    left: int
    right: int
    horizon: int
    stay_duration: int = 10
    goal_reward: float = 1.0
    stay_reward: float = 1.0
    move_cost: float = 0.01
    stay_cost: float = 0.01


@dataclass(frozen=True)
class Situation:
    position: int = 0
    time: int = 0
    reached: bool = False
    stayed: int = 0


def advance(rules, now, action):
    """The next situation and the reward of going "L", "R" or staying ("S")."""
    position, reward, reached, stayed = now.position, 0.0, now.reached, now.stayed
    if action == "L" and position > 0:
        position -= 1
    if action == "R":
        reward -= rules.move_cost
        if position < rules.left + rules.right:
            position += 1
    if action == "S":
        reward -= rules.stay_cost
        if position == rules.left:
            stayed += 1
            if stayed == rules.stay_duration:
                reward += rules.stay_reward
                stayed = 0
    if position == rules.left and not reached:
        reward += rules.goal_reward
        reached = True
    return Situation(position, now.time + 1, reached, stayed), reward


def episode(rules, actions, start=0):
    """Positions and rewards after each action."""
    now, positions, rewards = Situation(start), [], []
    for action in actions:
        now, reward = advance(rules, now, action)
        positions.append(now.position)
        rewards.append(reward)
    return positions, rewards


def best_by_enumeration(rules, start=0):
    """The best return over every sequence of actions."""
    return max(sum(episode(rules, plan, start)[1]) for plan in itertools.product("LSR", repeat=rules.horizon))


def best_without_memory(rules, starts=(0,)):
    """The best mean return over every policy that has one action for each position."""

    def earned(policy, start):
        now, total = Situation(start), 0.0
        for _ in range(rules.horizon):
            now, reward = advance(rules, now, policy[now.position])
            total += reward
        return total

    policies = itertools.product("LSR", repeat=rules.left + rules.right + 1)
    return max(sum(earned(policy, start) for start in starts) / len(starts) for policy in policies)


def best_by_induction(rules, start=0):
    """The same, one step at a time, for horizons too long to enumerate."""

    @cache
    def best(now):
        if now.time == rules.horizon:
            return 0.0
        return max(reward + best(after) for after, reward in (advance(rules, now, a) for a in "LSR"))

    return best(Situation(start))
