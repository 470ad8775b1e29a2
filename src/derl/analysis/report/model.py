"""What a report is made of, as plain data: numbers beside published ones, claims, and the facts of the runs."""

import dataclasses
from collections.abc import Mapping
from typing import Literal

from derl._version import __version__
from derl.analysis.explanations import Standing

Verdict = Literal["consistent", "differs", "not run"]
Outcome = Literal["holds", "does not hold", "not enough data"]
VERDICTS: tuple[Verdict, ...] = ("consistent", "differs", "not run")


@dataclasses.dataclass(frozen=True)
class Number:
    """One cell of a table: ours with its 95 % interval, beside the published number. None is unknown."""

    published: float | None = None
    published_std: float | None = None
    bold: bool = False
    """Whether the paper prints it in bold."""
    ours: float | None = None
    std: float | None = None
    low: float | None = None
    high: float | None = None
    seeds: int = 0
    verdict: Verdict = "not run"
    reason: str = ""
    """Why it may differ, and what is known about that."""
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

    def counts(self) -> dict[Verdict, int]:
        """How many numbers have each verdict."""
        verdicts = [number.verdict for number in self.numbers.values()]
        return {verdict: verdicts.count(verdict) for verdict in VERDICTS}


@dataclasses.dataclass(frozen=True)
class Claim:
    """One test of one of the paper's claims: an effect with its interval, and what follows from it."""

    claim: str
    """What the paper says; tests of the same claim stand together."""
    outcome: Outcome
    effect: float | None = None
    low: float | None = None
    high: float | None = None
    text: str = ""
    """The outcome as a sentence."""
    measure: str = ""
    """What the effect is."""
    subject: str = ""
    """Where it was measured."""
    bound: float = 0.0
    """What the effect has to be above, or below, for the claim to hold."""
    published: float | None = None
    """The same effect in the paper's own numbers."""
    overall: bool = True
    """Whether this is the claim as a whole; the others are single cases of the one before them."""


@dataclasses.dataclass(frozen=True)
class Facts:
    """What the results themselves do not tell. The page has no clock of its own, so equal inputs give equal bytes."""

    version: str = __version__
    finished: str = ""
    """When the last run ended, as it should be printed."""
    seconds: float | None = None
    """How long all runs took together."""
    machine: str = ""
    more: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Further lines: name and value."""
