"""The paper's experiments with divergence constraints and with intrinsic rewards alone, found in a frame of results.

The same runs can be written down in several ways (the recipe with constraints, or the one without and two settings), so
they are told apart by their whole configuration.
"""

import dataclasses
from collections.abc import Mapping
from typing import NamedTuple

from derl.analysis.measures.frames import Results
from derl.experiments.cases import Case
from derl.experiments.paper import REWARDS, constraint

RECIPE = "dea2c-count"
COEFFICIENTS = ("decoupling.alpha_explorer", "decoupling.alpha_exploiter", "explorer_reward")


class Variant(NamedTuple):
    """The weights of the two constraints, and what the explorer learns from: `both` rewards or `intrinsic` ones."""

    alpha_explorer: float
    alpha_exploiter: float
    reward: str

    @property
    def constrained(self) -> bool:
        """Whether there is a constraint at all."""
        return bool(self.alpha_explorer or self.alpha_exploiter)


@dataclasses.dataclass(frozen=True)
class Group:
    """Runs of one task that differ in their variant alone."""

    task: str
    evaluations: int
    episodes: int
    """How long they train."""
    cases: Mapping[Variant, Case]

    def selected(self) -> list[Variant]:
        """The four variants of the paper's main figure, as far as they were run."""
        wanted = [Variant(*alphas, reward) for alphas in ((0.0, 0.0), constraint(self.task)) for reward in REWARDS]
        return [variant for variant in wanted if variant in self.cases]


def groups(results: Results) -> list[Group]:
    """Everything there is about constraints and rewards, the groups with most variants of a task first.

    Cases in which a setting of the bonus is changed belong to the sensitivity experiments and are left out.
    """
    found: dict[tuple, dict[Variant, Case]] = {}
    for case in results.cases:
        rest = tuple((name, value) for name, value in case.changes if name not in COEFFICIENTS)
        if case.recipe.removesuffix("-kl") == RECIPE and all(name.startswith("protocol.") for name, _ in rest):
            found.setdefault((case.task, rest), {})[variant_of(case)] = case
    made = [_group(results, key[0], cases) for key, cases in found.items()]
    return sorted(made, key=lambda g: (g.task, -len(g.cases), g.episodes))


def variant_of(case: Case) -> Variant:
    """Its constraints and reward, wherever they are set."""
    config = case.config()
    decoupling = config.decoupling
    return Variant(float(decoupling.alpha_explorer), float(decoupling.alpha_exploiter), config.explorer_reward)


def _group(results: Results, task: str, cases: Mapping[Variant, Case]) -> Group:
    protocol = next(iter(cases.values())).config().protocol
    planned = int(protocol.episodes) // int(protocol.evaluate_every)
    # Runs that were cut short everywhere still have something to say.
    reached = max(int(results.lengths(case).max()) for case in cases.values())
    return Group(task, min(planned, reached), int(protocol.episodes), cases)


def main_groups(results: Results) -> list[Group]:
    """For each task the group with most variants, if it has at least two."""
    best: dict[str, Group] = {}
    for group in groups(results):
        if len(group.cases) >= 2:
            best.setdefault(group.task, group)
    return list(best.values())
