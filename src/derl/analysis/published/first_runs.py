"""Which runs figures and claims are of: those that the tables count."""

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


def in_order_of_counting(results: Results, case: Case, evaluations: int = EVALUATIONS) -> Int[np.ndarray, " runs"]:
    """The runs of a case, those first that count before others: the finished ones, in the order of their seeds."""
    # Runs are in that order already, which a stable sort keeps.
    return np.argsort(results.lengths(case) < evaluations, kind="stable")
