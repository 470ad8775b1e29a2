"""Shorter training with as many evaluations, and how short it can be."""

import itertools
from collections.abc import Iterable

from derl.core.errors import DerlError, require
from derl.experiments.cases import Case
from derl.training.config import Config, Protocol
from derl.training.schedule import schedule_of


def shortened(case: Case, episodes: int) -> Case:
    """A case that trains for at most so many episodes, with as many evaluations as before, evenly spaced.

    One that is no longer anyway stays as it is. Evaluations are a whole number of episodes apart, so the length is
    rounded down to a multiple of their number: 100 evaluations in 150 episodes are one after each of 100. If there are
    fewer episodes than evaluations, every one is evaluated.
    """
    protocol = case.config().protocol
    require(protocol.steps is None, "a budget in steps cannot be shortened by episodes; change protocol.steps")
    if episodes >= protocol.episodes:
        return case
    evaluations = intended_evaluations(protocol)
    every = max(1, episodes // evaluations)
    episodes = min(episodes, every * evaluations)
    changes = {**dict(case.changes), "protocol.episodes": episodes, "protocol.evaluate_every": every}
    return Case.of(case.recipe, case.task, changes)


def intended_evaluations(protocol: Protocol) -> int:
    """How many evaluations a protocol asks for."""
    return -(-protocol.episodes // protocol.evaluate_every)


def evaluations_of(config: Config) -> int:
    """How many evaluations a run has. There are fewer than asked for where one iteration is several episodes."""
    return len(schedule_of(config).evaluations)


def check_evaluations(cases: Iterable[Case], episodes: int) -> None:
    """Raise if a case that trains for so few episodes has fewer evaluations than before; say how many are enough."""
    # Numbers do not decide how long an iteration is: cases that differ in nothing else are asked once.
    shapes = {(c.recipe, c.task, tuple(p for p in c.changes if not isinstance(p[1], float))): c for c in cases}
    enough = {case: enough_episodes(case, episodes) for case in shapes.values()}
    worst = max(enough, key=lambda case: enough[case], default=None)
    if worst is None or enough[worst] <= episodes:
        return
    wanted, found = evaluations_of(worst.config()), evaluations_of(shortened(worst, episodes).config())
    raise DerlError(
        f"{worst.recipe} on {worst.task} would have {found} evaluations in {episodes} episodes, not {wanted}: "
        f"--episodes must be at least {enough[worst]}"
    )


def enough_episodes(case: Case, episodes: int) -> int:
    """The first length, not below this one, with which a shortened case has as many evaluations as the whole."""
    config = case.config()
    wanted, evaluations = evaluations_of(config), intended_evaluations(config.protocol)
    if evaluations_of(shortened(case, episodes).config()) >= wanted:
        return episodes
    # Only whole numbers of episodes per evaluation make a difference.
    for every in itertools.count(episodes // evaluations + 1):
        if evaluations_of(shortened(case, every * evaluations).config()) >= wanted:
            return every * evaluations
    raise AssertionError("the whole case has as many as itself")
