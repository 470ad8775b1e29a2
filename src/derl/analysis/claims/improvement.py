"""How probable it is that a decoupled run does better than one of its baseline (Agarwal et al., 2021)."""

from typing import NamedTuple

from derl.analysis.claims.findings import DECOUPLED, baseline_of
from derl.analysis.measures.aggregates import Estimate, probability_of_improvement
from derl.analysis.measures.frames import EVALUATIONS, Results
from derl.analysis.measures.spreads import run_averages
from derl.analysis.published.first_runs import counted_runs
from derl.envs.registry import PAPER_TASKS
from derl.experiments.cases import Case


class Improvement(NamedTuple):
    """A decoupled recipe beside its baseline."""

    recipe: str
    baseline: str
    tasks: int
    """How many tasks both were run in."""
    probability: Estimate


def improvements(results: Results, evaluations: int = EVALUATIONS) -> list[Improvement]:
    """Of every decoupled recipe that has a task in common with its baseline. A run's score is its average return.

    The first seeds count, as in every claim.
    """
    results, found = counted_runs(results, evaluations), []
    for recipe in DECOUPLED:
        ours, theirs = (_scores(results, name, evaluations) for name in (recipe, baseline_of(recipe)))
        tasks = len(set(ours) & set(theirs))
        if tasks:
            found.append(Improvement(recipe, baseline_of(recipe), tasks, probability_of_improvement(ours, theirs)))
    return found


def _scores(results: Results, recipe: str, evaluations: int) -> dict:
    found = {task: run_averages(results, Case.of(recipe, task), evaluations) for task in PAPER_TASKS}
    return {task: scores for task, scores in found.items() if scores is not None}
