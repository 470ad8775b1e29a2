"""`derl plot`: draw a run's learning curves and what decoupling does."""

import dataclasses
from pathlib import Path

from derl.analysis.figures.run import plot_curves, plot_decoupling
from derl.analysis.runs.behaviour import on_grid
from derl.api import load
from derl.cli.display import console, tell_failures
from derl.cli.flags import RunPath, parsed
from derl.core.errors import require
from derl.experiments.machine import check_output
from derl.training.cache import use_compilation_cache
from derl.training.config import require_episodes


@dataclasses.dataclass(frozen=True)
class Plot:
    """Draw a run's learning curves, and where its two policies go, as PNG and PDF."""

    run: RunPath
    """The run folder."""
    out: Path | None = None
    """The folder for the figures; by default the run folder."""
    number: int = 0
    """Whose policies to draw: the run's number in the results (see derl evaluate)."""
    episodes: int = 1000
    """Episodes in which the exploiter's visits are counted."""
    seed: int = 0
    """Decides the episodes' randomness."""

    def execute(self) -> list[Path]:
        """Write the figures."""
        require_episodes(self.episodes, "--episodes")
        require(0 <= self.seed < 2**31, f"--seed must be from 0 to {2**31 - 1}, not {self.seed}")
        use_compilation_cache()
        result = load(self.run)
        out = self.run if self.out is None else self.out
        check_output(out)
        # Asked for first: a wrong number should be told before anything is written.
        env = result.policy(self.number).env
        paths = plot_curves(result, out / "curves")
        if on_grid(env):
            path = out / "decoupling"
            paths += plot_decoupling(result, self.number, path, episodes=self.episodes, seed=self.seed)
        tell_failures(result)
        return paths


def main(args: list[str]) -> None:
    """Draw, and tell where."""
    for path in parsed(Plot, args, "derl plot").execute():
        console.print(str(path), soft_wrap=True, markup=False)
