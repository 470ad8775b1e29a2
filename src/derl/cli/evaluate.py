"""`derl evaluate`: evaluate the policies of a run."""

import dataclasses

from rich.table import Table

from derl.analysis.figures.animation import title
from derl.analysis.measures.numbers import signed
from derl.api import load
from derl.cli.display import show_table, tell_failures
from derl.cli.flags import RunPath, parsed
from derl.core.errors import require
from derl.training.cache import use_compilation_cache
from derl.training.config import require_episodes


@dataclasses.dataclass(frozen=True)
class Evaluate:
    """Evaluate the exploitation and the exploration policy of every run in a folder."""

    run: RunPath
    """The run folder."""
    episodes: int = 100
    """Episodes for each policy."""
    sampled: bool = False
    """Sample actions from the policies instead of taking the most valued one."""
    seed: int = 0
    """Decides the episodes' randomness."""


def main(args: list[str]) -> None:
    """Evaluate and print a table."""
    command = parsed(Evaluate, args, "derl evaluate")
    require_episodes(command.episodes, "--episodes")
    require(0 <= command.seed < 2**31, f"--seed must be from 0 to {2**31 - 1}, not {command.seed}")
    use_compilation_cache()
    result = load(command.run)
    seats = ("exploiter", "explorer") if result.config.exploiter is not None else ("explorer",)
    table = Table(box=None, header_style="bold")
    names = [f"{title(seat, len(seats) == 1).lower()} return" for seat in seats]
    for name in ("run", "seed", *result.runs[0].values, *names):
        table.add_column(name, justify="right")
    returns = {
        seat: result.evaluate(seat, episodes=command.episodes, deterministic=not command.sampled, seed=command.seed)
        for seat in seats
    }
    for i, run in enumerate(result.runs):
        cells = [f"{signed(returns[seat][i].mean(), '.3f')} ± {returns[seat][i].std():.3f}" for seat in seats]
        cells = ["failed"] * len(seats) if i in result.failed else cells
        table.add_row(str(i), str(run.seed), *[f"{v:g}" for v in run.values.values()], *cells)
    show_table(table)
    tell_failures(result)
