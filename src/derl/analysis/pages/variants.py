"""Variants of a recipe beside the published numbers: with which of them do these appear?"""

from collections.abc import Mapping, Sequence

import numpy as np

from derl.analysis.measures.frames import Results
from derl.analysis.measures.numbers import signed
from derl.analysis.measures.statistics import average_return
from derl.analysis.pages.markdown import markdown_table
from derl.analysis.pages.tables import MARKS, number
from derl.analysis.published.ours import DRAWN, our_numbers
from derl.experiments.builtin import experiment
from derl.experiments.cases import Case, Setting, normal_form
from derl.experiments.paper import Cell, column_name, row_name

Changes = Mapping[str, Setting]


def variants_table(results: Results, cells: Sequence[Cell], columns: Mapping[str, Sequence[Changes]]) -> str:
    """Published averages as Markdown, each beside that of every column's variant, marked as consistent or different.

    A column has the changes that make it of a published case, one mapping for every number or one for all.
    """
    rows = []
    for i, cell in enumerate(cells):
        row = [case_name(cell.case), number(cell.mean, cell.std)]
        for variants in columns.values():
            row.append(_marked(results, variant(cell.case, variants[i if len(variants) > 1 else 0]), cell.mean))
        rows.append(row)
    return markdown_table("l" + "r" * (1 + len(columns)), ["average return", "published", *columns], rows)


def learning_table(results: Results, cells: Sequence[Cell], columns: Mapping[str, Changes]) -> str:
    """What all runs of a case and its variants came to, with their further seeds: how many, how many of them never
    had a positive return, and the average."""
    rows = []
    for cell in cells:
        for name, changes in columns.items():
            returns = results.finished(variant(cell.case, changes))
            if returns is None:
                continue
            never, average = (~(returns > 0).any(1)).sum(), average_return(returns).value
            rows.append([case_name(cell.case), name, f"{len(returns)}", f"{never}", signed(average)])
    return markdown_table("llrrr", ["", "", "runs", "of them never learn", "average return"], rows)


def grid_sentence(results: Results, recipe: str, task: str, most: int) -> str:
    """What the settings of a grid of the paper's search came to, of each the runs with the first seeds."""
    cases = dict.fromkeys(c for c, _ in experiment("grid-search").members() if (c.recipe, c.task) == (recipe, task))
    returns = [found[:most] for case in cases if (found := results.finished(case)) is not None]
    if not returns:
        return f"None of the grid's {len(cases)} settings was tried."
    whole = np.concatenate(returns)
    return (
        f"{len(returns)} of the grid's {len(cases)} settings were tried, in {len(whole)} runs (at most {most} each). "
        f"Every run reaches {whole.max(1).min():.2f}, and their average is {signed(whole.mean())}."
    )


def variant(case: Case, changes: Changes) -> Case:
    """A case with further changes."""
    return normal_form(case.recipe, case.task, {**dict(case.changes), **changes})


def case_name(case: Case) -> str:
    """A case as a line of a table calls it."""
    setting = f", `{case.setting}`" if case.setting else ""
    return f"{row_name(case.recipe)}, {column_name(case.task)}{setting}"


def _marked(results: Results, case: Case, mean: float) -> str:
    ours = our_numbers(results, [(case, "average")], runs=DRAWN).get((case, "average"))
    if ours is None:
        return MARKS["not run"]
    return f"{number(*ours.score)} {MARKS['consistent' if ours.agrees_with(mean) else 'differs']}"
