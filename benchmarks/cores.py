"""One process per core, or threads of one process? `python benchmarks/cores.py` (on a machine that does nothing else).

`pinned` is a process fixed to one core before JAX starts, as a sweep's workers are. `pool` is a process that may use
all cores but trains one population: XLA hands operations to a pool of threads. `threads` is what `derl train` does: one
population per core, each moved by a thread of its own.
"""

import os
import subprocess
import sys
import time

EPISODES, SEEDS, REPEATS = 30_000, 8, 3


def measure(mode: str, recipe: str) -> float:
    """Environment steps per second in this process, compilation aside."""
    if mode == "pinned":
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    import derl

    seen = []
    derl.train(
        "DeepSea-10",
        recipe,
        seeds=SEEDS,
        cores=None if mode == "threads" else 1,
        show=lambda p: seen.append((time.monotonic(), p.steps)),
        protocol__episodes=EPISODES,
    )
    (begun, first), (ended, last) = seen[2], seen[-1]
    return (last - first) / (ended - begun)


def main() -> None:
    """The best of a few measurements of each way, interleaved."""
    if len(sys.argv) > 2:
        print(measure(*sys.argv[1:]))
        return
    recipe = sys.argv[1] if len(sys.argv) > 1 else "dea2c-count"
    best = dict.fromkeys(("pinned", "pool", "threads"), 0.0)
    for _ in range(REPEATS):
        for mode in best:
            out = subprocess.run([sys.executable, __file__, mode, recipe], capture_output=True, text=True, check=True)
            best[mode] = max(best[mode], float(out.stdout.split()[-1]))
    for mode, speed in best.items():
        print(f"{recipe}  {mode:<8} {speed:>10,.0f} steps/s  {speed / best['pinned']:.2f} of pinned")


if __name__ == "__main__":
    main()
