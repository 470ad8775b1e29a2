"""Measures the library's own recipe: part of the experiment `beyond`, or all of it, into one Parquet file.

    python benchmarks/beyond.py results/beyond/paper-tasks.parquet --part 0 --seeds 5 --episodes 500

`--part` is a number of `derl.experiments.beyond`'s parts (0: the paper's tasks, 1: other bonuses, 2: lambda and
increments, 3: held out, 4: ablations, 5: DeepSea-50 and -100), `--only` keeps the cases whose task or setting is given.
A file that exists is added to; cases it has are not run again. `--show` prints what a file holds.
"""

import argparse
import os
import time
from pathlib import Path

import numpy as np
import polars as pl

from derl.analysis.holding import attainable
from derl.api import use_compilation_cache
from derl.experiments.beyond import beyond
from derl.experiments.cases import Case, case_of
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


def stable_from(frame: pl.DataFrame, optimum: float, tolerance: float = 1e-3, share: float = 0.95) -> int | None:
    """The first episode from which on so large a share of one run's evaluations, at least five, are optimal."""
    good = frame["return"].to_numpy() >= optimum - tolerance
    later = np.cumsum(good[::-1])[::-1] / np.arange(len(good), 0, -1)
    enough = np.arange(len(good), 0, -1) >= (5 if share else 1)
    first = np.nonzero(good & enough & (later >= share))[0]
    return int(frame["episodes"][int(first[0])]) if len(first) else None


def summary(frame: pl.DataFrame) -> pl.DataFrame:
    """For each case: seeds, first optimal and stable episode (median and worst), seeds that hold, mean final return."""
    rows = []
    for (recipe, task, setting), group in frame.group_by(["recipe", "task", "setting"], maintain_order=True):
        optimum = attainable(case_of(str(recipe), str(task), str(setting)).config().make_env()) or 0.0
        # Where chance decides, an evaluation is a mean of noisy returns.
        tolerance = 0.1 if "stochastic" in str(setting) or "random_start" in str(setting) else 1e-3
        runs = [run.sort("evaluation") for _, run in group.group_by("seed", maintain_order=True)]
        stable = [stable_from(run, optimum, tolerance) for run in runs]
        first = [stable_from(run, optimum, tolerance, 0.0) for run in runs]
        held = [s for s in stable if s is not None]
        rows.append(
            {
                "case": f"{recipe} {task} {setting}".strip(),
                "seeds": len(runs),
                "episodes": int(group["episodes"].max()),  # pyright: ignore
                "reach": sum(f is not None for f in first),
                "hold": len(held),
                "first": " ".join(str(f) for f in first),
                "stable": " ".join(str(s) for s in stable),
                "final": round(float(np.mean([run["return"][-10:].to_numpy().mean() for run in runs])), 3),
                "optimum": round(optimum, 3),
                "seconds": round(float(group["seconds"].mean()), 1),  # pyright: ignore
            }
        )
    return pl.DataFrame(rows)


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
            print(summary(new).row(0, named=True), flush=True)
    if frame is not None:
        with pl.Config(tbl_rows=-1, tbl_cols=-1, fmt_str_lengths=120, tbl_width_chars=240):
            print(summary(frame))


if __name__ == "__main__":
    main()
