"""How long many seeds of the library's own recipe take to the optimum, on all cores, after compilation.

    python benchmarks/solve.py                    # 20 seeds of DeepSea-20
    python benchmarks/solve.py Hallway-30-30 --episodes 100

One process per core, fixed to it, as in a sweep. Each trains a few episodes first, so that everything is compiled.
"""

import argparse
import json
import os
import subprocess
import sys
import time

import polars as pl


def work(task: str, episodes: int, seeds: list[int], core: int) -> None:
    """Train one core's share: says when it is compiled, waits for the word to go, prints its evaluations."""
    os.sched_setaffinity(0, {core})
    # Only now: XLA makes a thread for every core it sees when it starts.
    from derl.training.members import Run
    from derl.training.recipes import recipe
    from derl.training.trainer import Trainer

    def train(length: int) -> pl.DataFrame:
        config = recipe("derl", task).with_value("protocol.episodes", length)
        runs = [Run(seed, {}, config) for seed in seeds]
        return Trainer(runs, cores=1, population_size=len(seeds)).train()

    train(20)
    print("ready", flush=True)
    if sys.stdin.readline():
        results = train(episodes).select("seed", "evaluation", "return")
        print(json.dumps(results.to_dict(as_series=False)), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task", nargs="?", default="DeepSea-20")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--episodes", type=int, default=250)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        share = json.loads(options.worker)
        return work(options.task, options.episodes, share["seeds"], share["core"])
    cores = sorted(os.sched_getaffinity(0))[: options.seeds]
    workers = []
    for i, core in enumerate(cores):
        share = json.dumps({"seeds": list(range(i, options.seeds, len(cores))), "core": core})
        command = [sys.executable, __file__, options.task, "--episodes", str(options.episodes), "--worker", share]
        workers.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
    if any(worker.stdout.readline() != "ready\n" for worker in workers):
        sys.exit("a worker could not train; what it printed is above")
    begun = time.perf_counter()
    for worker in workers:
        worker.stdin.write("\n")
        worker.stdin.flush()
    frames = [pl.DataFrame(json.loads(worker.stdout.readline())) for worker in workers]
    report(options, len(cores), pl.concat(frames), time.perf_counter() - begun)


def report(options: argparse.Namespace, cores: int, frame: pl.DataFrame, seconds: float) -> None:
    """What every seed reached, and when the last one did."""
    from derl.analysis.measures.holding import TOLERANCE, stable_from
    from derl.envs import make

    optimum = make(options.task).optimal_return
    assert optimum is not None
    runs = [run.sort("evaluation")["return"].to_numpy() for run in frame.partition_by("seed")]
    stable = [stable_from(run >= optimum - TOLERANCE) for run in runs]
    print(f"{options.task}: {sum(s is not None for s in stable)} of {len(runs)} seeds hold {optimum:.2f}")
    print(f"{options.episodes} episodes of each in {seconds:.1f} s on {cores} cores after compilation")
    if all(s is not None for s in stable):
        last = max(s + 1 for s in stable if s is not None) / len(runs[0])
        print(f"the last one from episode {last * options.episodes:.0f} on: {last * seconds:.1f} s")


if __name__ == "__main__":
    main()
