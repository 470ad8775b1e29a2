"""Returns as their definitions read, one step at a time in float64."""

import itertools
from typing import NamedTuple

import numpy as np


class NStep(NamedTuple):
    """What an n-step target is made of."""

    total: float
    discount: float
    bootstrap: int
    """Number of the step whose successor is bootstrapped from."""


def n_step(reward, terminated, truncated, start: int, n: int, gamma: float) -> NStep:
    """The rewards of up to `n` steps from `start` on, up to the episode's end."""
    total, discount = 0.0, 1.0
    for step in range(start, start + n):
        total += discount * float(reward[step])
        discount *= gamma
        if terminated[step]:
            return NStep(total, 0.0, step)
        if truncated[step]:
            return NStep(total, discount, step)
    return NStep(total, discount, start + n - 1)


def mixed_return(reward, terminated, truncated, v_next, start: int, gamma: float, lambda_: float) -> float:
    """The lambda-return as a weighted sum of the n-step returns within the episode and the data."""
    last = start
    while last < len(reward) - 1 and not (terminated[last] or truncated[last]):
        last += 1
    longest = last - start + 1
    returns = []
    for n in range(1, longest + 1):
        step = n_step(reward, terminated, truncated, start, n, gamma)
        returns.append(step.total + step.discount * float(v_next[step.bootstrap]))
    weights = [(1 - lambda_) * lambda_ ** (n - 1) for n in range(1, longest)] + [lambda_ ** (longest - 1)]
    return float(np.dot(weights, returns))


def pieces(terminated, truncated) -> list[slice]:
    """The time steps of each episode in the data."""
    ends = [t + 1 for t in range(len(terminated)) if terminated[t] or truncated[t]]
    borders = [0, *ends] if ends and ends[-1] == len(terminated) else [0, *ends, len(terminated)]
    return [slice(a, b) for a, b in itertools.pairwise(borders)]
