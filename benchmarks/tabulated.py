"""What computing every state once saves the recipe `derl`: `python benchmarks/tabulated.py [TASK ...]`.

Both ways are compiled first and then timed in turns on one core, so that the ratio means something on a busy machine.
"""

import dataclasses
import os
import sys
import time
from typing import Any

TASKS = ("Hallway-10-10", "Hallway-30-30", "DeepSea-20")
SEEDS, ITERATIONS, TURNS = 5, 20, 5


def untabulated(agent):
    """The same agent whose networks compute every observation of a batch."""
    plain = type(f"Plain{type(agent).__name__}", (type(agent),), {"tabulates": False})
    return plain(**{field.name: getattr(agent, field.name) for field in dataclasses.fields(agent)})


def make(task: str, tabulates: bool) -> tuple[Any, Any, int]:
    """A population well into its training, and where it is."""
    import derl
    from derl.training.population import Population

    config = derl.recipe("derl", task)
    if not tabulates:
        agents = {seat: untabulated(getattr(config, seat)) for seat in ("explorer", "exploiter")}
        config = dataclasses.replace(config, **agents)
    runs = Population([config.algorithm()] * SEEDS, range(SEEDS))
    return runs, runs.advance(runs.init(), 0, ITERATIONS), ITERATIONS


def main() -> None:
    """Milliseconds per environment step of one run, each way."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    import derl

    for task in sys.argv[1:] or TASKS:
        ways = {way: make(task, way) for way in (False, True)}
        best = dict.fromkeys(ways, float("inf"))
        # An iteration of the recipe is one episode at most; both tasks' episodes all have this length.
        steps = SEEDS * ITERATIONS * derl.make(task).max_episode_steps
        for _ in range(TURNS):
            for way, (runs, state, clock) in ways.items():
                begun = time.perf_counter()
                state = runs.advance(state, clock, clock + ITERATIONS)
                state.key.block_until_ready()
                best[way] = min(best[way], (time.perf_counter() - begun) / steps * 1e3)
                ways[way] = (runs, state, clock + ITERATIONS)
        print(
            f"{task:<14} {best[False]:.2f} ms a step, tabulated {best[True]:.2f}: {best[False] / best[True]:.1f} times"
        )


if __name__ == "__main__":
    main()
