"""A run short enough for tests that need one, trained once per process."""

import atexit
import tempfile
from functools import cache
from pathlib import Path

import jax

import derl
from derl.analysis.runs.result import Result


@cache
def tiny_run() -> Result:
    """DeA2C on DeepSea-5: two seeds, two values of lambda, three evaluations."""
    folder = tempfile.TemporaryDirectory(prefix="derl-tests-")
    atexit.register(folder.cleanup)
    # Compiling takes nearly all of the time, and the little there is to run does not need it optimised.
    jax.config.update("jax_disable_most_optimizations", True)
    try:
        return train_in(Path(folder.name) / "run")
    finally:
        jax.config.update("jax_disable_most_optimizations", False)


def train_in(folder: Path) -> Result:
    return derl.train(
        "DeepSea-5",
        "dea2c-count",
        seeds=2,
        vary={"bonus.scale": [0.5, 2.0]},
        out=folder,
        protocol__episodes=240,
        protocol__evaluate_every=80,
        protocol__evaluation_episodes=2,
        cores=1,
    )
