"""What a report is made of, as plain data: numbers beside published ones, and the facts of the runs."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from derl._version import __version__
from derl.analysis.claims.paper import Claim
from derl.analysis.measures.frames import EVALUATIONS
from derl.analysis.published.counted import CountedReason
from derl.analysis.published.explanations import Standing
from derl.analysis.published.verdicts import OUTCOMES, Outcome


@dataclasses.dataclass(frozen=True)
class Number:
    """One cell of a table: ours, with its 95 % interval if of enough runs, and the published one. None is unknown."""

    published: float | None = None
    published_std: float | None = None
    bold: bool = False
    """Whether the paper prints it in bold."""
    ours: float | None = None
    std: float | None = None
    low: float | None = None
    high: float | None = None
    seeds: int = 0
    verdict: Outcome = "not run"
    reason: str = ""
    """Why it may differ, and all that is known about that, line by line."""
    best_reason: str = ""
    """The same in one short sentence, for a tip."""
    standing: Standing | None = None
    """How well a difference is explained."""
    recipe: str = ""
    task: str = ""
    setting: str = ""
    """The case behind it, as named in the frame of results."""


@dataclasses.dataclass(frozen=True)
class Table:
    """A table of the paper."""

    label: str
    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    numbers: Mapping[tuple[str, str], Number]
    """By row and column."""
    part: str = ""
    """What `derl reproduce` calls the experiment behind it."""
    best: Mapping[str, float] = dataclasses.field(default_factory=dict)
    """The best possible return of each column's task, which is where the heat map ends."""
    swept: str = ""
    """What its columns vary, where they are values of a setting: these tables are drawn as curves as well."""
    task: str = ""
    statistic: str = "average"

    def place(self, row: str, column: str) -> str:
        """What the page calls the reasons for a difference in a number, so that its cell can lead there."""
        label = "".join(c if c.isalnum() else "-" for c in self.label.removeprefix("tab:"))
        return f"why-{label}-{self.rows.index(row)}-{self.columns.index(column)}"

    def counts(self) -> dict[Outcome, int]:
        """How many numbers have each verdict."""
        verdicts = [number.verdict for number in self.numbers.values()]
        return {verdict: verdicts.count(verdict) for verdict in OUTCOMES}


@dataclasses.dataclass(frozen=True)
class Comparison:
    """What a report says about the paper."""

    tables: Sequence[Table]
    claims: Sequence[Claim]
    reasons: Sequence[CountedReason] = ()
    """What came of each reason for a difference."""
    luck: str = ""
    """How many numbers would differ by luck alone."""
    evaluations: int = EVALUATIONS
    """A run counts once it has had so many."""

    @property
    def no_number_run(self) -> bool:
        """Whether none of the published numbers was run, as in a sweep of a user's own."""
        return bool(self.tables) and all(table.counts()["not run"] == len(table.numbers) for table in self.tables)

    @property
    def no_claim_tested(self) -> bool:
        """Whether nothing that a claim is about was run."""
        return all(claim.effect is None for claim in self.claims)


class Failure(NamedTuple):
    """A run that could not be finished, so that it has no results."""

    recipe: str
    task: str
    setting: str
    seed: int
    error: str


@dataclasses.dataclass(frozen=True)
class Facts:
    """What the results themselves do not tell. The page has no clock of its own, so equal inputs give equal bytes."""

    version: str = __version__
    finished: str = ""
    """When the last run ended, as it should be printed."""
    seconds: float | None = None
    """How long all runs took together."""
    machine: str = ""
    command: str = "derl report"
    """What makes the page again."""
    failures: Sequence[Failure] = ()
    """The runs that could not be finished, as a store has noted them; files of results do not tell of these."""
    more: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Further lines: name and value."""
