"""Seconds from typing `derl train` to its first progress: `python benchmarks/start.py [RECIPE ...]`.

First with an empty cache of compiled programs, then with the one that this left behind.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RECIPES = ("a2c-count", "dea2c-count", "dedqn-count", "ppo-count")


def seconds_to_progress(recipe: str, folder: Path) -> float:
    """Start a training, wait for its first line of progress, and end it."""
    command = [sys.executable, "-m", "derl", "train", "DeepSea-10", "--recipe", recipe, "--seeds", "5"]
    environment = {**os.environ, "JAX_COMPILATION_CACHE_DIR": str(folder / "xla")}
    begun = time.perf_counter()
    with (
        tempfile.TemporaryDirectory(dir=folder) as out,
        subprocess.Popen(
            [*command, "--out", f"{out}/run"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment,
        ) as training,
    ):
        assert training.stdout is not None
        said = []
        for line in training.stdout:
            said.append(line)
            if "steps/s" in line:
                break
        else:
            raise SystemExit("".join(said))
        seconds = time.perf_counter() - begun
        training.kill()
    return seconds


def main() -> None:
    """One line per recipe."""
    for recipe in sys.argv[1:] or RECIPES:
        with tempfile.TemporaryDirectory() as folder:
            cold = seconds_to_progress(recipe, Path(folder))
            warm = min(seconds_to_progress(recipe, Path(folder)) for _ in range(2))
        print(f"{recipe:<14} {cold:.1f} s with an empty cache, {warm:.1f} s with a warm one", flush=True)


if __name__ == "__main__":
    main()
