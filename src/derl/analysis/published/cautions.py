"""What a reader has to know before the numbers: that they were not made, or not counted, as the paper's were."""

import math
from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

import polars as pl

from derl.analysis.measures.frames import EVALUATIONS, Results
from derl.analysis.measures.numbers import grouped, plural
from derl.analysis.published.experiments_run import each_once
from derl.analysis.published.first_runs import seeds_behind
from derl.analysis.published.ours import DRAWN
from derl.core.errors import DerlError
from derl.envs.registry import PAPER_TASKS
from derl.experiments.builtin import DESCRIPTIONS, experiment
from derl.experiments.cases import Case
from derl.experiments.paper import cells
from derl.training.recipes import RECIPES, recipe
from derl.training.version import ENGINE

EVERY, EPISODES = "protocol.evaluate_every", "protocol.episodes"


def cautions(results: Results, evaluations: int = EVALUATIONS, whole: Results | None = None) -> list[str]:
    """Sentences for the top of every page; none if everything is as in the paper.

    `whole` has all runs of the page, if some of them are not the paper's.
    """
    short = trained_for_less(results)
    found = [f"{short}: expect differences. Claims and reasons for differences are left out."] if short else []
    if evaluations != EVALUATIONS:
        found.append(
            f"Only the first {evaluations:,} evaluations of every run count here. The paper's numbers are of "
            f"{EVALUATIONS}: expect differences."
        )
    return [*found, *filter(None, [engine_caution(whole or results), seeds_caution(results, evaluations)])]


def engine_caution(results: Results) -> str:
    """That runs are of another engine than this derl's, whose results may be others; empty if none is known to be."""
    if "engine" not in results.frame.columns:
        return ""
    engines = each_once(results.frame).group_by("run").agg(pl.col("engine").first())["engine"]
    other = engines.filter(engines != ENGINE).drop_nulls()
    if other.is_empty():
        return ""
    named = f"engine{'' if other.n_unique() == 1 else 's'} {ranges(other.to_list())}"
    one = len(other) == 1
    return (
        f"{grouped(len(other))} of {plural(len(engines), 'run')} {'is' if one else 'are'} of {named}; this derl has "
        f"{ENGINE} and would run {'it' if one else 'them'} again: expect other numbers."
    )


def seeds_caution(results: Results, evaluations: int = EVALUATIONS) -> str:
    """That numbers are of other seeds than the experiments' own; empty if none is."""
    published = {cell.case for cell in cells()}
    behind = {case: seeds_behind(results, case, evaluations) for case in results.cases if case in published}
    known = {case: seeds for case, seeds in behind.items() if seeds}
    other = [seeds for seeds in known.values() if max(seeds) >= DRAWN]
    if not other:
        return ""
    where = "" if len(other) == len(known) else f"in {grouped(len(other))} of {plural(len(known), 'case')} "
    return (
        f"The seeds that count are {where}not the experiments' own, {ranges(range(DRAWN))}, but "
        f"{ranges(seed for seeds in other for seed in seeds)}: “the first five seeds” are the first five of these."
    )


def ranges(values: Iterable[int]) -> str:
    """Whole numbers in words: 0 to 4, 7, 8."""
    parts: list[list[int]] = []
    for value in sorted({int(value) for value in values}):
        if parts and value == parts[-1][1] + 1:
            parts[-1][1] = value
        else:
            parts.append([value, value])
    told = (
        f"{first} to {last}" if last > first + 1 else ", ".join(map(str, sorted({first, last})))
        for first, last in parts
    )
    return ", ".join(told)


def trained_for_less(results: Results) -> str:
    """How long runs were trained, if that is less than what their names promise; empty if it is not.

    `derl reproduce --quick` and `--episodes` shorten training and keep the names of the paper's tables. The episodes
    between two evaluations tell these from runs that are unfinished.
    """
    of_paper = (case for case in results.cases if case.task in PAPER_TASKS and case.recipe in RECIPES)
    lengths = [_length(results, case) for case in of_paper]
    short = [length for length in lengths if length.reached < 0.99 * length.promised]
    if not short:
        return ""
    worst = min(short, key=lambda length: length.reached / length.promised)
    return f"Trained for {worst.reached:,.0f} of {worst.promised:,.0f} episodes"


def sweep_caution(results: Results) -> str:
    """That a sweep of a user's own asks for shorter training than the paper's; empty if it does not.

    Its names say so, unlike those of `trained_for_less`, but nobody reads them before the curves.
    """
    of_paper = (case for case in results.cases if case.task in PAPER_TASKS and case.recipe in RECIPES)
    own = [case for case in of_paper if case not in _experiments_of_the_paper()]
    asked = {case: _asked_episodes(case) for case in own}
    short = {case: episodes for case, episodes in asked.items() if episodes < _usual_episodes(case)}
    if not short:
        return ""
    case, fewest = min(short.items(), key=lambda item: item[1])
    some = "" if set(asked.values()) == {fewest} else " in some cases"
    usual = _usual_episodes(case)
    return f"Trained for {fewest:,.0f} episodes{some}, the paper's runs for {usual:,.0f}: expect other returns."


@cache
def _experiments_of_the_paper() -> frozenset[Case]:
    """Some of the paper's own experiments are short as well."""
    return frozenset(case for part in DESCRIPTIONS for case in experiment(part).cases)


def _asked_episodes(case: Case) -> float:
    changes: dict[str, Any] = dict(case.changes)
    return float(changes.get(EPISODES, math.inf))


def _usual_episodes(case: Case) -> float:
    return recipe(case.recipe, case.task).protocol.episodes or math.inf


class _Length(NamedTuple):
    """How many episodes a case was trained for, and for how many its name says."""

    reached: float
    promised: float


def _length(results: Results, case: Case) -> _Length:
    """Of what lies between two evaluations. The last one is where training ends, which may be sooner."""
    changes: dict[str, Any] = dict(case.changes)
    episodes, every = results.episodes(case), changes.get(EVERY, _usual(case.recipe))
    whole = len(episodes) * every
    promised, reached = float(min(whole, changes.get(EPISODES, whole))), float(episodes[-1])
    # Training ends with a whole iteration, which of a short one may be a good part.
    short = "protocol.steps" not in changes and reached < promised
    return _Length(reached if short and promised - reached > _episodes_of_an_iteration(case) else promised, promised)


def _episodes_of_an_iteration(case: Case) -> float:
    """Any number of a case with parts or settings that are not known here: nobody can say what it should be."""
    try:
        config = case.config()
        return config.algorithm().steps_per_iteration / (config.make_env().episode_length or 1)
    except DerlError:
        return math.inf


@cache
def _usual(name: str) -> int:
    """The episodes between two evaluations of a recipe."""
    return recipe(name, PAPER_TASKS[0]).protocol.evaluate_every
