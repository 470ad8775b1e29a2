"""Cases of the paper's experiments that no table shows, and which of them have not been run."""

from collections.abc import Sequence
from typing import NamedTuple

from derl.analysis.measures.frames import Results
from derl.experiments.builtin import DESCRIPTIONS, experiment
from derl.experiments.cases import Case
from derl.experiments.paper import cells, column_name


class Untabled(NamedTuple):
    """The cases of an experiment in a task of which the paper has no number, and those of them that were not run."""

    part: str
    task: str
    cases: Sequence[Case]
    absent: Sequence[Case]

    @property
    def name(self) -> str:
        """What they are called, without the place in the paper."""
        return f"{DESCRIPTIONS[self.part].partition(' (')[0]}, {column_name(self.task)}"

    @property
    def command(self) -> str:
        """What runs them."""
        return f"derl reproduce {self.part} --only {self.task}"


def untabled_cases(results: Results, evaluations: int) -> list[Untabled]:
    """Everything the paper's experiments have beside its tables. Only runs with so many evaluations count."""
    shown, found = {cell.case for cell in cells()}, []
    for part in DESCRIPTIONS:
        by_task: dict[str, list[Case]] = {}
        for case in experiment(part).cases:
            if case not in shown:
                by_task.setdefault(case.task, []).append(case)
        for task, there in by_task.items():
            absent = [case for case in there if results.finished(case, evaluations=evaluations) is None]
            found.append(Untabled(part, task, there, absent))
    return found
