"""Which runs figures and claims are of: those that the tables count."""

import numpy as np

from derl.analysis.measures.frames import EVALUATIONS, Results
from derl.analysis.published.ours import DRAWN
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
            # Runs are in the order of their seeds, which a stable sort keeps among the finished ones.
            chosen = np.argsort(lengths < evaluations, kind="stable")[:DRAWN]
            kept[rows] = np.isin(np.repeat(np.arange(len(lengths)), lengths), chosen)
    return results if kept.all() else Results(results.frame.filter(kept))
