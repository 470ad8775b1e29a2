"""How often the rule would call an average different by luck alone: the published runs being other seeds of ours.

Nobody has the runs behind the paper, but experiments like it can be made up: five runs for ours and five for the
published number, all drawn from what we have. That makes for too little luck, for no run that is drawn is unlike our
five: it is probably too low.
"""

import numpy as np
from jaxtyping import Float

from derl.analysis.measures.statistics import mean_without_nan, repeated_interval, sound_runs, ways_of_drawing
from derl.analysis.published.ours import DRAWN, TOLERANCE


def chance_of_difference(returns: Float[np.ndarray, "runs evaluations"]) -> float:
    """How probable it is that the averages of two experiments with five runs each, drawn from these, are called
    different.

    Five runs are drawn in few ways that matter: every way for ours is put beside every way for theirs.
    """
    averages = mean_without_nan(sound_runs(returns), 1)
    drawn, drawn_times = ways_of_drawing(len(averages), DRAWN)
    experiments = np.stack([np.repeat(averages, way.astype(int)) for way in drawn])
    ways, times = ways_of_drawing(DRAWN, DRAWN)
    low, high = repeated_interval(ways @ experiments.T / DRAWN, times)
    published = experiments.mean(1)[:, None]
    outside = (published < low - TOLERANCE) | (published > high + TOLERANCE)
    shares = drawn_times / drawn_times.sum()
    return float(shares @ outside @ shares)
