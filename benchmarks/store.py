"""How fast a store with ten thousand runs answers: `python benchmarks/store.py`."""

import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from derl.analysis.measures.curves import summarise
from derl.experiments.packing import Entry
from derl.experiments.store import Store

RUNS, EVALUATIONS, METRICS, CASES = 10_000, 100, 14, 2_000


def run_frame(rng: np.random.Generator) -> pl.DataFrame:
    """The evaluations of one run."""
    numbers = np.arange(1, EVALUATIONS + 1)
    data = {
        "evaluation": numbers,
        "steps": 10_000 * numbers,
        "episodes": 1_000 * numbers,
        "return": rng.random(EVALUATIONS),
    }
    data |= {f"metric_{i}": rng.random(EVALUATIONS) for i in range(METRICS)}
    return pl.DataFrame(data).with_columns(failed_at_step=pl.lit(None, pl.Int64))


def timed(name: str, function):
    """Print how long a call takes."""
    since = time.perf_counter()
    result = function()
    print(f"{name:<44}{time.perf_counter() - since:8.2f} s")
    return result


def main() -> None:
    """Fill a store and ask it what the commands ask."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        store = Store(folder)

        def fill():
            for start in range(0, RUNS, 500):
                numbers = range(start, start + 500)
                entries = [
                    Entry(f"{i:032x}", "a2c-count", f"DeepSea-{i % CASES}", "", i // CASES, 1, 1.0) for i in numbers
                ]
                store.add(entries, [run_frame(rng) for _ in numbers])

        timed(f"writing {RUNS:,} runs of {EVALUATIONS} evaluations", fill)
        print(f"{'size on disk':<44}{(Path(folder) / 'runs.sqlite').stat().st_size / 1e6:8.0f} MB")
        timed("status: runs, steps and seconds of each case", store.summary)
        timed("which runs are there", store.keys)
        frame = timed("the returns of all runs as a frame", lambda: store.frame(columns=["return"]))
        part = frame.filter(pl.col("task").is_in([f"DeepSea-{i}" for i in range(198)]))
        timed("a table of 198 cases with intervals", lambda: summarise(part, ["recipe", "task"]))


if __name__ == "__main__":
    main()
