"""Which runs figures and claims are of: those that the tables count. Their seeds, and the engines that made them."""

import numpy as np
from jaxtyping import Int

from derl.analysis.measures.frames import EVALUATIONS, Results
from derl.analysis.published.ours import DRAWN
from derl.experiments.cases import Case
from derl.experiments.paper import cells


def counted_runs(results: Results, evaluations: int = EVALUATIONS) -> Results:
    """Of every case with a published number the five runs behind ours: the first seeds of those that are finished.

    Only what differed from the paper was run with further seeds. To count all of them would give these cases, and no
    others, a second chance to agree, and would contradict the tables. Other cases keep all their runs.
    """
    published = {cell.case for cell in cells()}
    kept = np.ones(len(results.frame), bool)
    for case, rows in results.rows.items():
        lengths = results.lengths(case)
        if case in published and len(lengths) > DRAWN:
            chosen = in_order_of_counting(results, case, evaluations)[:DRAWN]
            kept[rows] = np.isin(np.repeat(np.arange(len(lengths)), lengths), chosen)
    return results if kept.all() else Results(results.frame.filter(kept))


def seeds_behind(results: Results, case: Case, evaluations: int = EVALUATIONS) -> list[int]:
    """The seeds of the runs behind our number for a case."""
    return sorted(map(int, results.seeds(case)[_behind(results, case, evaluations)]))


def engines_behind(results: Results, case: Case, evaluations: int = EVALUATIONS) -> tuple[int, ...]:
    """The engines that made the runs behind our number for a case, as far as they are known."""
    if "engine" not in results.frame.columns:
        return ()
    engines = results.facts(case, "engine")[_behind(results, case, evaluations)]
    return tuple(sorted({int(engine) for engine in engines if np.isfinite(engine)}))


def _behind(results: Results, case: Case, evaluations: int) -> Int[np.ndarray, " runs"]:
    return np.flatnonzero(results.lengths(case) >= evaluations)[:DRAWN]


def in_order_of_counting(results: Results, case: Case, evaluations: int = EVALUATIONS) -> Int[np.ndarray, " runs"]:
    """The runs of a case, those first that count before others: the finished ones, in the order of their seeds."""
    # Runs are in that order already, which a stable sort keeps.
    return np.argsort(results.lengths(case) < evaluations, kind="stable")
