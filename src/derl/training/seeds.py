"""What can be a seed: asked here by everything that takes seeds, so that all refuse the same."""

import re
from collections import Counter
from collections.abc import Sequence
from numbers import Integral

from derl.core.errors import DerlError, require

MOST_SEEDS = 1_000_000
"""More are a slip of the finger."""
MOST_SEED = 2**32 - 1
"""JAX takes 32 bits."""
RANGE = re.compile(r"(\d+)\s*-\s*(\d+)")


def check_seeds(seeds: Sequence[int]) -> None:
    """Raise unless there are seeds, all of them can be, and none is there twice."""
    require(len(seeds) > 0, "no seeds: give at least one")
    for seed in seeds:
        good = isinstance(seed, Integral) and not isinstance(seed, bool) and 0 <= seed <= MOST_SEED
        hint = '; a range is a text of its own, such as "1-3,5"' if isinstance(seed, str) else ""
        require(good, f"a seed is a whole number from 0 to {MOST_SEED}, none negative; got {seed!r}{hint}")
    seed, times = Counter(seeds).most_common(1)[0]
    require(times == 1, f"seed {seed} is listed twice")


def count_seeds(count: int) -> range:
    """The first so many seeds. Raises if that is none, or more than anybody means."""
    require(count >= 1, f"at least one seed is needed, not {count}")
    hint = "to name particular ones give a list, such as 7,8"
    require(count <= MOST_SEEDS, f"at most {MOST_SEEDS:,} seeds, not {count:,}; {hint}")
    return range(count)


def seeds_named(text: str) -> list[int]:
    """The seeds of a text: how many (`5`), or which, as numbers and ranges with both ends (`3,7,11`, `10-19`, `0-4,9`).

    A single seed is told from a number of them by a comma: `3,`.
    """
    parts = [part.strip() for part in text.split(",") if part.strip()]
    try:
        if "," not in text and len(parts) == 1 and not RANGE.fullmatch(parts[0]):
            return list(count_seeds(int(parts[0])))
        ranges = [_range(part) for part in parts]
    except ValueError:
        hint = "seeds are a number of them, or which, with commas and ranges: 5, or 3,7,11, or 10-19"
        raise DerlError(f"{hint}; not {text!r}") from None
    count = sum(map(len, ranges))
    require(count <= MOST_SEEDS, f"at most {MOST_SEEDS:,} seeds, not {count:,}")
    seeds = [seed for part in ranges for seed in part]
    check_seeds(seeds)
    return seeds


def _range(part: str) -> Sequence[int]:
    ends = RANGE.fullmatch(part)
    if ends is None:
        return [int(part)]
    first, last = (int(end) for end in ends.groups())
    require(first <= last, f"a range of seeds goes upwards: {last}-{first}, not {part}")
    require(last <= MOST_SEED, f"a seed is a whole number from 0 to {MOST_SEED}, none negative; got {last}")
    return range(first, last + 1)
