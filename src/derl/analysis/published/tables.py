"""The paper's tables with results: what each shows, and what makes its numbers again."""

import dataclasses
from typing import Literal

from derl.core.errors import UnknownNameError


@dataclasses.dataclass(frozen=True)
class PaperTable:
    """A table of the paper."""

    label: str
    """Its label in the paper's source."""
    experiment: str
    """The name `derl reproduce` knows it by."""
    title: str
    best: Literal["column", "row"] = "row"
    """Within what the best is bold."""

    @property
    def page(self) -> str:
        """The name of its page, without ending."""
        return self.label.removeprefix("tab:").replace("_", "-")

    @property
    def swept(self) -> str:
        """What its columns vary, where they are values of a setting."""
        if self.experiment == "table-1":
            return ""
        if "intrinsic_coef" in self.label:
            return "λ"
        return "learning rate" if "_deep_" in self.label else "increment"

    @property
    def command(self) -> str:
        """What regenerates its numbers."""
        return f"derl reproduce {self.experiment}"


def _pair(stem: str, experiment: str, title: str, average: str = "mean", suffix: str = "") -> list[PaperTable]:
    """A table of averages and one of maxima."""
    return [
        PaperTable(f"tab:{stem}_{average}{suffix}", experiment, f"Average evaluation returns {title}"),
        PaperTable(f"tab:{stem}_max{suffix}", experiment, f"Maximum evaluation returns {title}"),
    ]


TABLES: tuple[PaperTable, ...] = (
    PaperTable("tab:mean_returns", "table-1", "Average evaluation returns in all tasks (Table 1)", "column"),
    PaperTable("tab:deepsea_max_returns", "table-1", "Maximum evaluation returns in DeepSea", "column"),
    PaperTable("tab:hallway_max_returns", "table-1", "Maximum evaluation returns in Hallway", "column"),
    *_pair("deepsea_10_intrinsic_coef", "lambda", "in DeepSea 10 by λ"),
    *_pair("hallway10_10_intrinsic_coef", "lambda", "in Hallway 10-10 by λ"),
    *_pair("decay_sensitivity_count_deepsea", "decay", "in DeepSea 10 by count increment"),
    *_pair("decay_sensitivity_deep_deepsea", "decay", "in DeepSea 10 by learning rate of the bonus"),
    *_pair("decay_sensitivity_count_hallway10_10", "decay", "in Hallway 10-10 by count increment"),
    *_pair("decay_sensitivity_deep_hallway10_10", "decay", "in Hallway 10-10 by learning rate of the bonus"),
    *_pair("deepsea_10_intrinsic_coef", "kl", "in DeepSea 10 by λ, with KL constraints", suffix="_kl"),
    *_pair("hallway10_10_intrinsic_coef", "kl", "in Hallway 10-10 by λ, with KL constraints", suffix="_kl"),
    *_pair("deepsea_decay_sensitivity", "kl", "in DeepSea 10 by count increment, with KL constraints", suffix="_kl"),
    *_pair(
        "hallway_decay_sensitivity",
        "kl",
        "in Hallway 10-10 by count increment, with KL constraints",
        average="average",
        suffix="_kl",
    ),
)
"""All tables with results, in the paper's order but for the averages, which come first."""


def table_of(label: str) -> PaperTable:
    """The table with a label."""
    for table in TABLES:
        if table.label == label:
            return table
    raise UnknownNameError("table", label, [table.label for table in TABLES])


def of_the_same_runs(label: str, other: str) -> bool:
    """Whether two tables show the same runs where they show the same case: its averages in one, its maxima in the
    other."""
    experiments = {table.label: table.experiment for table in TABLES}
    return label in experiments and experiments[label] == experiments.get(other)
