"""Figures of the reproduction are of the runs that its tables count."""

import numpy as np

from analysis.made_up import frame_of
from derl.analysis.measures.frames import Results
from derl.analysis.pages.figures import figures
from derl.analysis.published.first_runs import counted_runs
from derl.analysis.published.verdicts import verdicts
from derl.experiments.cases import Case

CASE = Case.of("a2c-rnd", "DeepSea-10")
OPTION = Case.of("a2c-rnd", "DeepSea-10", {"protocol.evaluation": "sampled"})


def flat(*levels: float) -> list[list[float]]:
    return [[level] * 100 for level in levels]


def test_further_seeds_do_not_count_where_the_paper_has_a_number():
    lucky = flat(0, 0, 0, 0, 0, 0.99, 0.99)
    results = Results(frame_of({CASE: lucky, OPTION: lucky}))
    counted = counted_runs(results)
    np.testing.assert_array_equal(counted.values(CASE), 0)
    assert counted.seeds(CASE).tolist() == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(counted.values(OPTION), results.values(OPTION))
    # Where nothing is left out nothing is made anew.
    assert counted_runs(counted) is counted


def test_the_runs_are_those_of_the_verdicts():
    """A run that is unfinished does not count, and the next seed does in its place."""
    runs = flat(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
    runs[1] = runs[1][:50]
    results = Results(frame_of({CASE: runs}))
    counted = counted_runs(results)
    assert counted.seeds(CASE).tolist() == [0, 2, 3, 4, 5]
    ours = next(v.ours for v in verdicts(results) if v.cell.case == CASE and v.cell.statistic == "average")
    np.testing.assert_allclose(counted.values(CASE).mean(), ours.value)
    # With fewer finished ones the unfinished are better than none, as long as runs are few.
    assert counted_runs(Results(frame_of({CASE: runs[:5]}))).seeds(CASE).tolist() == [0, 1, 2, 3, 4]


def test_figures_draw_these_runs():
    results = Results(frame_of({CASE: flat(0, 0, 0, 0, 0, 0.99, 0.99)}))
    name, _, figure = next(figures(results))
    assert name == "curves-all"
    np.testing.assert_array_equal(figure.axes[0].lines[0].get_ydata(), 0)
