"""Hallway-10-10 in NumPy, and what methods learn from a fixed set of its episodes with a table for a network.

Used by `dedqn_hallway.py`. Arrays of episodes are (episode, time). Values are tables of (cell, action), -inf where an
action was never seen in a cell.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

CELLS, GOAL, HORIZON, GAMMA = 21, 10, 20, 0.99
LEFT, STAY = 0, 1


class Episodes(NamedTuple):
    """Whole episodes: states with a last one more than there are actions."""

    position: np.ndarray
    reached: np.ndarray
    stays: np.ndarray
    time: np.ndarray
    action: np.ndarray
    reward: np.ndarray


View = Callable[[Episodes], np.ndarray]
VIEWS: dict[str, View] = {
    "position": lambda e: e.position,
    "position, reached": lambda e: e.position + CELLS * e.reached,
    "position, reached, stays": lambda e: e.position + CELLS * (e.reached + 2 * e.stays),
    "position, reached, stays, time": lambda e: e.position + CELLS * (e.reached + 2 * (e.stays + 10 * e.time)),
}
"""What a table may know of the state. Only the first is what the agent sees."""


def simulate(pick: Callable[[Episodes], np.ndarray], episodes: int) -> Episodes:
    """Plays Hallway-10-10 in NumPy; `pick` gives the actions for the states of one time step."""
    zeros = np.zeros(episodes, int)
    now = Episodes(zeros, zeros, zeros, zeros, zeros, np.zeros(episodes))
    steps = []
    for _ in range(HORIZON):
        now = now._replace(action=pick(now))
        position = np.clip(now.position + now.action - STAY, 0, CELLS - 1)
        at_goal = position == GOAL
        stays = now.stays + (at_goal & (now.action == STAY))
        reward = -0.01 * (now.action != LEFT) + (at_goal & (now.reached == 0)) + (stays >= 10)
        steps.append(now._replace(reward=reward))
        now = Episodes(position, now.reached | at_goal, stays % 10, now.time + 1, zeros, reward)
    states = [np.stack([step[i] for step in [*steps, now]], 1) for i in range(4)]
    return Episodes(*states, *(np.stack([step[i] for step in steps], 1) for i in (4, 5)))


def greedy_return(q: np.ndarray, view: View = VIEWS["position"]) -> float:
    """The return of always taking the action with the highest value. Unseen actions are -inf."""
    return float(simulate(lambda now: q[view(now)].argmax(-1), 1).reward.sum())


def noisy_return(q: np.ndarray, epsilon: float = 0.0, temperature: float = 0.0, episodes: int = 4000) -> float:
    """The mean return of an epsilon-greedy or a softmax policy on the values of positions."""
    probabilities = np.eye(3)[q.argmax(-1)]
    if temperature:
        probabilities = np.exp((q - q.max(-1, keepdims=True)) / temperature)
        probabilities /= probabilities.sum(-1, keepdims=True)
    upto = np.cumsum((1 - epsilon) * probabilities + epsilon / 3, -1)[:, :2]
    rng = np.random.default_rng(0)
    play = simulate(lambda now: (rng.random((episodes, 1)) > upto[now.position]).sum(-1), episodes)
    return float(play.reward.sum(1).mean())


def mean_by(cell: np.ndarray, action: np.ndarray, value: np.ndarray, cells: int) -> np.ndarray:
    """The mean of a value over the samples of each (cell, action); -inf where there are none."""
    index = (cell * 3 + action).ravel()
    count = np.bincount(index, minlength=3 * cells)
    total = np.bincount(index, value.ravel(), minlength=3 * cells)
    return np.where(count > 0, total / np.maximum(count, 1), -np.inf).reshape(cells, 3)


def n_step(reward: np.ndarray, n: int, gamma: float = GAMMA) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each step of whole episodes: the sum of n rewards, the discount after it (0 past the end), and when."""
    steps = reward.shape[1]
    padded = np.pad(reward, ((0, 0), (0, n)))
    total = sum(gamma**k * padded[:, k : k + steps] for k in range(n))
    after = np.minimum(np.arange(steps) + n, steps)
    return np.asarray(total), np.where(after < steps, gamma**n, 0.0), after


def best(q: np.ndarray) -> np.ndarray:
    """The value of each cell; 0 where no action was seen."""
    return np.where(np.isfinite(q.max(-1)), q.max(-1), 0.0)


def fixed_point(
    cell: np.ndarray, action: np.ndarray, reward: np.ndarray, n: int, cells: int, gamma: float = GAMMA
) -> np.ndarray:
    """Q(s, a) = mean over the samples of (s, a) of [n rewards + gamma^n max Q(s_n, .)], the max over actions seen.

    This is where Q-learning from a fixed memory with uncorrected n-step targets ends, with a table for a network.
    """
    total, discount, after = n_step(reward, n, gamma)
    q, value = np.zeros(0), np.ones(cells)
    # The mean of the targets changes by no more than the values do, times gamma^n: this converges.
    while q.size == 0 or np.abs(best(q) - value).max() > 1e-9:
        value = np.zeros(cells) if q.size == 0 else best(q)
        q = mean_by(cell[:, :-1], action, total + discount * value[cell[:, after]], cells)
    return q


def corrected(cell: np.ndarray, action: np.ndarray, reward: np.ndarray, cells: int, rounds: int = 500) -> list:
    """The last 100 tables of Q-learning with corrected returns of whole episodes.

    For a greedy policy Retrace's weight min(1, pi / mu) is 1 as long as the episode goes on as the policy would, else
    0: the return is cut, and the value put in its place, at the first action that the policy would not take.
    """
    q = mean_by(cell[:, :-1], action, 0.0 * reward, cells)
    seen, tables = np.isfinite(q), []
    for _ in range(rounds):
        follows, value = action == q.argmax(-1)[cell[:, :-1]], best(q)
        returns = reward.copy()
        for t in reversed(range(HORIZON - 1)):
            returns[:, t] += GAMMA * np.where(follows[:, t + 1], returns[:, t + 1], value[cell[:, t + 1]])
        new = mean_by(cell[:, :-1], action, returns, cells)
        q = np.where(seen, 0.9 * np.where(seen, q, 0.0) + 0.1 * np.where(seen, new, 0.0), -np.inf)
        tables.append(q)
    return tables[-100:]


def vtrace(cell: np.ndarray, action: np.ndarray, reward: np.ndarray, cells: int, rounds: int = 600) -> list:
    """The last 100 tables of preferences of an actor-critic on whole episodes, corrected by V-trace.

    Who acted is not in a DQN's memory; its policy is taken to be the share of each action in each cell.
    """
    now = cell[:, :-1]
    count = np.bincount((now * 3 + action).ravel(), minlength=3 * cells).reshape(cells, 3)
    visits = np.maximum(count.sum(-1), 1)
    mu, logits, v, tables = count / visits[:, None], np.zeros((cells, 3)), np.zeros(cells), []
    for _ in range(rounds):
        pi = np.exp(logits - logits.max(-1, keepdims=True))
        pi /= pi.sum(-1, keepdims=True)
        rho = np.minimum(1.0, pi[now, action] / mu[now, action])
        after = np.pad(v[now][:, 1:], ((0, 0), (0, 1)))
        excess, advantage = np.zeros_like(reward), reward + GAMMA * after - v[now]
        for t in reversed(range(HORIZON)):
            later = GAMMA * excess[:, t + 1] if t + 1 < HORIZON else 0.0
            excess[:, t] = rho[:, t] * (advantage[:, t] + later)
            advantage[:, t] += later
        v = v + 0.1 * np.bincount(now.ravel(), excess.ravel(), minlength=cells) / visits
        pull = np.bincount((now * 3 + action).ravel(), (rho * advantage).ravel(), minlength=3 * cells)
        pull = pull.reshape(cells, 3) / visits[:, None]
        logits = logits + 0.5 * (pull - pi * pull.sum(-1, keepdims=True))
        tables.append(logits)
    return tables[-100:]
