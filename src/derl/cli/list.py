"""`derl list`: what there is to choose from."""

from dataclasses import dataclass

from rich.table import Table

from derl.agents import AGENTS
from derl.agents.divergences import DIVERGENCES
from derl.bonuses import BONUSES
from derl.cli.display import console, show_table
from derl.cli.flags import parsed
from derl.envs import PAPER_TASKS, make
from derl.envs.registry import families
from derl.experiments.paper import row_name
from derl.training.recipes import DESCRIPTIONS, RECIPES, TABLE_1


@dataclass(frozen=True)
class List:
    """List tasks, recipes, agents, bonuses and divergences."""


def first_line(thing: object) -> str:
    """The first line of a docstring."""
    return (thing.__doc__ or "").strip().splitlines()[0]


def main(args: list[str]) -> None:
    """Print the lists."""
    parsed(List, args, "derl list")
    tasks = Table("task", "best return", "episode", title="Tasks of the paper", title_justify="left", box=None)
    for name in PAPER_TASKS:
        env = make(name)
        tasks.add_row(name, f"{env.optimal_return:.2f}", f"{env.episode_length} steps")
    show_table(tasks)
    console.print(f"Any size works; families: {', '.join(families())}\n")
    table = Table("recipe", "what it is", title="Recipes", title_justify="left", box=None)
    for name in RECIPES:
        table.add_row(name, row_name(name) if name in TABLE_1 else DESCRIPTIONS[name])
    show_table(table)
    for title, things in (("Agents", AGENTS), ("Bonuses", BONUSES), ("Divergences", DIVERGENCES)):
        console.print()
        listing = Table("name", "", title=title, title_justify="left", box=None)
        for name, thing in things.items():
            listing.add_row(name, first_line(thing))
        show_table(listing)
