"""What can be a seed: asked here by everything that takes seeds, so that all refuse the same."""

from collections import Counter
from collections.abc import Sequence
from numbers import Integral

from derl.core.errors import require

MOST_SEEDS = 1_000_000
"""More are a slip of the finger."""
MOST_SEED = 2**32 - 1
"""JAX takes 32 bits."""


def check_seeds(seeds: Sequence[int]) -> None:
    """Raise unless there are seeds, all of them can be, and none is there twice."""
    require(len(seeds) > 0, "no seeds: give at least one")
    for seed in seeds:
        good = isinstance(seed, Integral) and not isinstance(seed, bool) and 0 <= seed <= MOST_SEED
        require(good, f"a seed is a whole number from 0 to {MOST_SEED}, none negative; got {seed!r}")
    seed, times = Counter(seeds).most_common(1)[0]
    require(times == 1, f"seed {seed} is listed twice")


def count_seeds(count: int) -> range:
    """The first so many seeds. Raises if that is none, or more than anybody means."""
    require(count >= 1, f"at least one seed is needed, not {count}")
    hint = "to name particular ones give a list, such as 7,8"
    require(count <= MOST_SEEDS, f"at most {MOST_SEEDS:,} seeds, not {count:,}; {hint}")
    return range(count)
