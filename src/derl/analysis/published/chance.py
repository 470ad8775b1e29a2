"""How often the rule would call an average different by luck alone: the published runs being other seeds of ours.

Nobody has the runs behind the paper, but an experiment like it can be made up: five runs for ours and five for the
published number, all drawn from what we have. That makes for too little luck, for no run that is drawn is unlike our
five: it is a lower bound.
"""

import numpy as np
from jaxtyping import Float

from derl.analysis.measures.statistics import mean_without_nan, repeated_interval, ways_of_drawing
from derl.analysis.published.ours import DRAWN, TOLERANCE

WORLDS = 500
"""How many experiments are made up."""


def chance_of_difference(returns: Float[np.ndarray, "runs evaluations"], seed: int = 0) -> float:
    """How probable it is that the averages of two experiments with five runs each, drawn from these, are called
    different."""
    averages = mean_without_nan(returns[np.isfinite(returns).any(1)], 1)
    drawn = np.random.default_rng(seed).choice(averages, (2, WORLDS, DRAWN))
    ours, theirs = drawn[0], drawn[1].mean(1)
    ways, times = ways_of_drawing(DRAWN, DRAWN)
    # Not by a matrix product: for so few columns its threads cost more than they save.
    low, high = repeated_interval(np.einsum("wr,nr->wn", ways, ours) / DRAWN, times)
    return float(((theirs < low - TOLERANCE) | (theirs > high + TOLERANCE)).mean())
