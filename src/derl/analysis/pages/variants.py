"""Variants of a recipe beside the published numbers: with which of them do these appear?"""

from collections.abc import Mapping, Sequence

from derl.analysis.measures.frames import Results
from derl.analysis.pages.markdown import markdown_table
from derl.analysis.pages.tables import MARKS, number
from derl.analysis.published.ours import DRAWN, our_numbers
from derl.experiments.cases import Case, Setting, normal_form
from derl.experiments.paper import column_name, published, row_name

Changes = Mapping[str, Setting]
TABLE_1 = "tab:mean_returns"


def variants_table(results: Results, cases: Sequence[tuple[str, str]], columns: Mapping[str, Sequence[Changes]]) -> str:
    """Averages of Table 1 as Markdown: for every recipe and task the published one and that of each column's variant,
    marked as consistent or different.

    A column has the changes that make it of the recipe, one mapping for every case or one for all.
    """
    rows = []
    for i, (recipe, task) in enumerate(cases):
        cell = published(TABLE_1, recipe, task)
        assert cell is not None
        row = [f"{row_name(recipe)}, {column_name(task)}", number(cell.mean, cell.std)]
        for variants in columns.values():
            changes = variants[i if len(variants) > 1 else 0]
            row.append(_marked(results, normal_form(recipe, task, changes), cell.mean))
        rows.append(row)
    return markdown_table("l" + "r" * (1 + len(columns)), ["average return", "published", *columns], rows)


def _marked(results: Results, case: Case, mean: float) -> str:
    ours = our_numbers(results, [(case, "average")], runs=DRAWN).get((case, "average"))
    if ours is None:
        return MARKS["not run"]
    return f"{number(*ours.score)} {MARKS['consistent' if ours.agrees_with(mean) else 'differs']}"
