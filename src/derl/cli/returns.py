"""What a run has reached, as a table, beside the published numbers where there are some."""

from rich.table import Table

from derl.analysis.runs.result import Result
from derl.cli.display import console, show_table, spread, tell_failures, value
from derl.cli.modules import imported_modules
from derl.core.errors import require
from derl.experiments.paper import published
from derl.training import recipes


def is_published(result: Result) -> bool:
    """Whether this is one of the paper's experiments, with nothing changed."""
    config = result.config
    return (
        config.env is None
        and config.recipe in recipes.TABLE_1
        and not result.runs[0].values
        and config == recipes.recipe(config.recipe, config.task)
    )


def report(result: Result) -> None:
    """The returns of a run, beside the published ones where there are any."""
    table = Table(box=None, header_style="bold")
    keys = list(result.runs[0].values)
    for name in (*keys, "runs", "average return", "maximum", "final"):
        table.add_column(name, justify="right")
    known = published("tab:mean_returns", result.config.recipe, result.config.task) if is_published(result) else None
    if known is not None:
        table.add_column("published average", justify="right")
    for row in result.summary().iter_rows(named=True):
        cells = [f"{row[k]:g}" for k in keys] + [str(row["runs"])]
        cells += [spread(row["average"], row["average_std"]), value(row["maximum"]), value(row["final"])]
        table.add_row(*cells, *([spread(known.mean, known.std)] if known else []))
    show_table(table)
    tell_failures(result)
    optimum = result.optimal_return
    if optimum is not None:
        # Where chance decides, an evaluation of a few episodes can be above it.
        console.print(f"the best possible mean return of {result.config.task} is {optimum:.2f}")
    if result.folder is not None:
        path = result.folder.path
        derl = " ".join(["derl", *(f"--import {module}" for module in imported_modules())])
        console.print(
            f"saved in {path}; see it with: {derl} plot {path}, {derl} watch {path}", soft_wrap=True, markup=False
        )
    some = len(result.failed) < len(result.runs)
    require(some, "every run failed: its numbers were no longer finite; try a smaller learning rate or bonus.scale")
