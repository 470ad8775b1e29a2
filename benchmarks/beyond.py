"""Measures the library's own recipe: part of the experiment `beyond`, or all of it, into one Parquet file.

    python benchmarks/beyond.py results/beyond/paper-tasks.parquet --part 0 --seeds 5 --episodes 500

`--part` is a number of `derl.experiments.beyond`'s parts (0: the paper's tasks, 1: other bonuses, 2: lambda and
increments, 3: held out, 4: ablations, 5: DeepSea-50 and -100, 6: Bootstrapped
DQN), `--only` keeps the cases whose task or setting is given.
A file that exists is added to; cases it has are not run again. `--show` prints what a file holds.
"""

import argparse
import os
import time
from pathlib import Path

import polars as pl

from derl.analysis.holding import holdings, table
from derl.api import use_compilation_cache
from derl.experiments.beyond import beyond
from derl.experiments.cases import Case
from derl.training.trainer import Trainer

KEPT = ("run", "recipe", "task", "setting", "seed", "evaluation", "steps", "episodes", "return", "seconds")
TYPES = {"run": pl.Int32, "seed": pl.Int32, "evaluation": pl.Int32, "steps": pl.Int64, "episodes": pl.Int32}


def measure(case: Case, seeds: list[int], episodes: int | None) -> pl.DataFrame:
    """The evaluations of one case, all seeds in one population on one core."""
    protocol = {} if episodes is None else {"episodes": episodes}
    trainer = Trainer(case.runs(seeds, protocol), cores=1, population_size=len(seeds))
    begun = time.process_time()
    frame = trainer.train()
    seconds = (time.process_time() - begun) / len(seeds)
    labels = {"recipe": case.recipe, "task": case.task, "setting": case.setting, "seconds": seconds}
    frame = frame.with_columns(*(pl.lit(value).alias(name) for name, value in labels.items()))
    return frame.select(KEPT).cast({**TYPES, "return": pl.Float32, "seconds": pl.Float32})  # pyright: ignore


def summary(frame: pl.DataFrame) -> str:
    """How each case reaches and holds the optimum, and from which episode on each of its runs does."""
    found = [(f"{h.case.recipe} {h.case.task} {h.case.setting}".strip(), h) for h in holdings(frame)]
    by_run = [" ".join("never" if episode is None else str(episode) for episode in h.stable) for _, h in found]
    return table(found, {"held from, by run": by_run})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--part", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=None, help="how many of the part's seeds")
    parser.add_argument("--episodes", type=int, default=None, help="fewer episodes than the protocol's")
    parser.add_argument("--only", nargs="*", default=())
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    frame = pl.read_parquet(options.out) if options.out.exists() else None
    if not options.show:
        use_compilation_cache()
        part = beyond().parts[options.part]
        for case in part.cases:
            names = {case.task, case.setting, case.recipe}
            if options.only and not names & set(options.only):
                continue
            known = set() if frame is None else set(frame.select("recipe", "task", "setting").rows())
            if (case.recipe, case.task, case.setting) in known:
                continue
            new = measure(case, list(part.seeds[: options.seeds]), options.episodes)
            frame = new if frame is None else pl.concat([frame, new])
            options.out.parent.mkdir(parents=True, exist_ok=True)
            temporary = options.out.with_suffix(f".{os.getpid()}.tmp")
            frame.write_parquet(temporary, compression="zstd")
            temporary.replace(options.out)
            print(summary(new).splitlines()[-1], flush=True)
    if frame is not None:
        print(summary(frame))


if __name__ == "__main__":
    main()
