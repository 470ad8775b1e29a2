"""What a reader has to know before the numbers: that they were not made, or not counted, as the paper's were."""

from functools import cache
from typing import Any

from derl.analysis.measures.frames import EVALUATIONS, Results
from derl.envs.registry import PAPER_TASKS
from derl.experiments.cases import Case
from derl.training.config import Protocol
from derl.training.recipes import RECIPES, recipe

EVERY = "protocol.evaluate_every"


def cautions(results: Results, evaluations: int = EVALUATIONS) -> list[str]:
    """Sentences for the top of every page; none if everything is as in the paper."""
    short = trained_for_less(results)
    found = [f"{short}: expect differences. Claims and reasons for differences are left out."] if short else []
    if evaluations != EVALUATIONS:
        found.append(
            f"Only the first {evaluations:,} evaluations of every run count here. The paper's numbers are of "
            f"{EVALUATIONS}: expect differences."
        )
    return found


def trained_for_less(results: Results) -> str:
    """How long runs were trained, if that is less than what their names promise; empty if it is not.

    `derl reproduce --quick` and `--episodes` shorten training and keep the names of the paper's tables. The episodes
    between two evaluations tell these from runs that are unfinished.
    """
    of_paper = (case for case in results.cases if case.task in PAPER_TASKS and case.recipe in RECIPES)
    least, whole = min((_share(results, case) for case in of_paper), default=1.0), Protocol().episodes
    if least >= 0.99:
        return ""
    return f"Trained for {round(least * whole):,} of {whole:,} episodes"


def _share(results: Results, case: Case) -> float:
    """Of the episodes between two evaluations. The last one is where training ends, which may be sooner."""
    changes: dict[str, Any] = dict(case.changes)
    if "protocol.steps" in changes:
        return 1.0
    episodes, every = results.episodes(case), changes.get(EVERY, _usual(case.recipe))
    whole = len(episodes) * every
    promised, reached = min(whole, changes.get("protocol.episodes", whole)), float(episodes[-1])
    # Training ends with a whole iteration, which of a short one may be a good part.
    return reached / promised if promised - reached > _episodes_of_an_iteration(case) else 1.0


def _episodes_of_an_iteration(case: Case) -> float:
    config = case.config()
    return config.algorithm().steps_per_iteration / (config.make_env().episode_length or 1)


@cache
def _usual(name: str) -> int:
    """The episodes between two evaluations of a recipe."""
    return recipe(name, PAPER_TASKS[0]).protocol.evaluate_every
