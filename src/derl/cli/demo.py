"""`derl demo`: the whole idea in two minutes."""

import dataclasses
import time
from pathlib import Path

from rich.table import Table

from derl.analysis.figures.run import plot_comparison, plot_decoupling
from derl.analysis.runs.result import Result
from derl.api import train
from derl.cli.display import console, duration, say, showing, spread, value
from derl.cli.flags import parsed
from derl.cli.modules import command_line
from derl.cli.returns import is_published
from derl.core.errors import require
from derl.experiments.paper import published, row_name
from derl.training.config import Config
from derl.training.recipes import recipe
from derl.training.seeds import seeds_named


@dataclasses.dataclass(frozen=True)
class Demo:
    """Train A2C + Count and DeA2C + Count on DeepSea-10 as the paper did, and compare with its numbers."""

    task: str = "DeepSea-10"
    """The task."""
    recipes: tuple[str, ...] = ("a2c-count", "dea2c-count")
    """The recipes to compare."""
    seeds: str = "5"
    """Seeds of each: how many (0, 1, ...), or which: 3,7,11 or 10-19."""
    episodes: int = 100_000
    """Training episodes of each seed."""
    out: Path | None = None
    """Where runs and pictures go; by default a folder named after the time, below runs/."""

    def config(self, name: str) -> Config:
        """What to train, with at least one evaluation."""
        config = recipe(name, self.task)
        counted = config.protocol.steps is None
        require(counted, f"the demo counts episodes, and {self.task} has some of different lengths; use derl train")
        config = config.with_value("protocol.episodes", self.episodes)
        return config.with_value("protocol.evaluate_every", min(config.protocol.evaluate_every, self.episodes))


def compare(results: list[Result]) -> Table:
    """Averages over all evaluations, beside the published ones."""
    table = Table(title="Average evaluation return", title_justify="left", box=None, header_style="bold")
    for name in ("algorithm", "here", "published", "maximum here", "maximum published"):
        table.add_column(name, justify="left" if name == "algorithm" else "right")
    for result in results:
        row = result.summary().row(0, named=True)
        config = result.config
        family = config.task.split("-")[0].lower()
        tables = ("tab:mean_returns", f"tab:{family}_max_returns")
        # Shorter training, say, is something else.
        known = is_published(result)
        mean, best = (published(table, config.recipe, config.task) if known else None for table in tables)
        table.add_row(
            row_name(config.recipe),
            spread(row["average"], row["average_std"]),
            spread(mean.mean, mean.std) if mean else "–",
            value(row["maximum"]),
            value(best.mean) if best else "–",
        )
    return table


def tell_what_it_shows(command: Demo, configs: list[Config]) -> None:
    """Say what the table shows, and what to run to see more: on an easy task no return tells the recipes apart."""
    decoupled = [config for config in configs if config.exploiter is not None]
    if (command.task, command.recipes, command.episodes) == (Demo.task, Demo.recipes, Demo.episodes):
        say("This task is so easy that both learn it, and their returns are alike.")
    if decoupled:
        words = ["train", command.task, "--recipe", decoupled[-1].recipe, "--explorer-reward", "intrinsic"]
        more = command_line(*words, "--protocol.episodes", "10000")
        say(f"Decoupling lets the explorer follow the bonus alone, and the exploiter still learns the task: {more}")


def tell_what_next(folders: list[Path]) -> None:
    """Say where the runs are, and what can be done with one."""
    say(f"runs: {', '.join(map(str, folders))}", markup=False)
    watch, plot = (command_line(name, str(folders[-1])) for name in ("watch", "plot"))
    say(f"go on with: {watch}, {plot}", markup=False)


def main(args: list[str]) -> None:
    """Train, compare, draw."""
    command = parsed(Demo, args, "derl demo")
    seeds = seeds_named(command.seeds)
    require(len(command.recipes) > 0, "--recipes needs at least one recipe; see derl list")
    require(len(set(command.recipes)) == len(command.recipes), "--recipes has a recipe twice")
    # All of them now: a mistake in the second is not to cost the first one's training.
    configs = {name: command.config(name) for name in command.recipes}
    out = command.out or Path("runs") / f"demo_{time.strftime('%Y%m%d-%H%M%S')}"
    begun, results = time.monotonic(), []
    for name, config in configs.items():
        with showing(f"{command.task} {row_name(name)}", config.exploiter is not None) as show:
            results.append(train(config, seeds=seeds, out=out / name, show=show))
        console.print(f"{row_name(name)}: done after {duration(time.monotonic() - begun)}")
    console.print()
    console.print(compare(results))
    env = results[0].config.make_env()
    if env.optimal_return is not None:
        console.print(f"The best possible return is {env.optimal_return:.2f}.")
    tell_what_it_shows(command, [result.config for result in results])
    pictures = plot_comparison(results, out / "curves")
    if env.grid_shape is not None:
        pictures += plot_decoupling(results[-1], 0, out / "decoupling")
    for path in pictures:
        console.print(f"picture: {path}", soft_wrap=True, markup=False)
    tell_what_next([out / name for name in configs])
