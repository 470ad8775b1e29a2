"""What a claim's test finds: an effect, and the bound that decides about the claim."""

import dataclasses
from collections.abc import Sequence
from typing import Literal

import numpy as np

from derl.analysis.measures.aggregates import Estimate
from derl.analysis.measures.effects import Effect, mean_effect
from derl.analysis.measures.statistics import LEVEL
from derl.training.recipes import TABLE_1

Side = Literal["above", "below"]
Outcome = Literal["holds", "does not hold", "mixed", "undecided", "not enough data"]
OPEN: tuple[Outcome, ...] = ("undecided", "not enough data")
"""Outcomes that say nothing: the interval does not decide, or what was run cannot be judged."""
BASELINE_OF = {"dea2c": "a2c", "deppo": "ppo", "dedqn": "a2c"}
"""What each decoupled algorithm is compared with: the same agent alone. DeDQN's explorer is A2C, there is no DQN."""
DECOUPLED = tuple(name for name in TABLE_1 if name.partition("-")[0] in BASELINE_OF)
BASELINES = tuple(name for name in TABLE_1 if name not in DECOUPLED)
SENSITIVE, SIMILAR, SAVING, SOLVED = 0.1, -0.05, 0.4, 0.5
ENOUGH_VALUES = 3
"""A spread over fewer values says little."""
TOO_FEW_CASES = "of too few cases to judge"
TOO_FEW_TASKS = "of too few tasks to judge"
CONTRADICTING = 0.1
"""A whole is mixed if more than this share of its cases contradict it."""
ONE_RUN = "one run only"
LEARNT = 0.1
"""Below this normalised return nothing was learnt that could be reached sooner."""


@dataclasses.dataclass(frozen=True)
class Finding:
    """One measurement."""

    measure: str
    subject: str
    effect: Effect | Estimate | None
    """With its draws, where something is still to be made of it."""
    bound: float
    side: Side
    published: Effect | None = None
    """The same effect in the paper's own numbers."""
    overall: bool = False
    task: str = ""
    """Where it was measured, if in one task alone."""
    mixed: str = ""
    """Of a whole whose single cases contradict it: how many."""
    lacks: str = ""
    """What is missing, if there is no effect."""
    note: str = ""
    too_few: str = ""
    """Why it is not judged, whatever its interval: fewer than half of the cases were run, not more than half of the
    tasks, or too few runs."""

    @property
    def estimate(self) -> Estimate | None:
        """The effect with its interval."""
        return self.estimated(LEVEL)

    def estimated(self, level: float) -> Estimate | None:
        """The effect with an interval of some level, if it has draws."""
        return self.effect.estimate(level) if isinstance(self.effect, Effect) else self.effect


def baseline_of(recipe: str) -> str:
    """The baseline a decoupled recipe is compared with."""
    algorithm, _, bonus = recipe.partition("-")
    return f"{BASELINE_OF[algorithm]}-{bonus}"


def decide(effect: Estimate | None, bound: float, side: Side) -> Outcome:
    """On which side of the bound the interval lies."""
    if effect is None or not np.isfinite(effect).all():
        return "not enough data"
    if side == "below":
        effect, bound = Estimate(-effect.value, -effect.high, -effect.low), -bound
    if effect.high <= bound:
        return "does not hold"
    if effect.low > bound:
        return "holds"
    return "undecided"


def outcome_of(finding: Finding, level: float = LEVEL) -> Outcome:
    """What follows from a finding and its interval of some level."""
    if finding.too_few:
        return "not enough data"
    decided = decide(finding.estimated(level), finding.bound, finding.side)
    return "mixed" if finding.mixed and decided not in OPEN else decided


def with_whole(findings: Sequence[Finding], subject: str = "all") -> list[Finding]:
    """Findings of one measure, and before them the finding about the whole."""
    return [contradicted(*whole_of(findings, subject)), *findings]


def whole_of(findings: Sequence[Finding], subject: str = "all") -> tuple[Finding, list[Finding]]:
    """The mean of findings of one measure, and those that it is the mean of.

    Every task counts the same, however many of its cases were run; the paper's own mean is over the same cases, and
    over all of them only where none was run. What is of too little to be judged by itself does not count in the whole,
    unless there is hardly anything else, and then the whole cannot be judged either. Nor can it by half of
    the tasks or less: what holds in one of two may not in the other.
    """
    there = [f for f in findings if f.effect is not None]
    sound = [f for f in there if not f.too_few]
    enough = 2 * len(sound) >= len(findings)
    there = sound if enough else there
    tasks, known = ({f.task for f in some if f.task} for some in (findings, sound))
    few = "" if enough else TOO_FEW_CASES
    few = few or (TOO_FEW_TASKS if tasks and 2 * len(known) <= len(tasks) else "")
    whole = dataclasses.replace(
        findings[0],
        subject=subject,
        effect=_mean_over_tasks(there),
        published=_published_over_tasks(there or findings),
        overall=True,
        task="",
        mixed="",
        too_few=few,
        note=f"Mean of {len(there)} of {len(findings)} cases." if there else "",
        lacks="" if there else _why_none(findings),
    )
    return whole, there


def _by_task(findings: Sequence[Finding]) -> list[list[Finding]]:
    """Findings of the same task together; one of no single task stays alone."""
    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(finding.task or finding.subject, []).append(finding)
    return list(groups.values())


def _mean_over_tasks(findings: Sequence[Finding]) -> Effect | None:
    groups = [[f.effect for f in group if isinstance(f.effect, Effect)] for group in _by_task(findings)]
    return mean_effect([mean_effect(group) for group in groups]) if groups else None


def _published_over_tasks(findings: Sequence[Finding]) -> Effect | None:
    groups = [[f.published for f in group if f.published is not None] for group in _by_task(findings)]
    whole = sum(map(len, groups)) == len(findings)
    return mean_effect([mean_effect(group) for group in groups]) if whole else None


def _why_none(findings: Sequence[Finding]) -> str:
    once = any(ONE_RUN in f.lacks for f in findings)
    return "no case has been run more than once" if once else "no case has been run"


def contradicted(whole: Finding, there: Sequence[Finding]) -> Finding:
    """A whole, and how many cases say the opposite of it: with more than a few it is mixed.

    Of many intervals of 95 % chance puts some on the wrong side. So a case contradicts only if an interval does that
    all cases together would leave in one of twenty experiments alone.
    """
    own = outcome_of(whole)
    level = 1 - (1 - LEVEL) / max(len(there), 1)
    decided = [outcome for f in there if (outcome := outcome_of(f, level)) not in OPEN]
    against = sum(outcome != own for outcome in decided)
    if own in OPEN or against == 0:
        return whole
    # A case is mixed where it is a mean itself.
    also = f", and is mixed in {decided.count('mixed')}," if "mixed" in decided else ""
    holds, does_not = decided.count("holds"), decided.count("does not hold")
    words = f"beyond chance it holds in {holds} and does not in {does_not}{also} of {len(there)} cases"
    if against > CONTRADICTING * len(there):
        return dataclasses.replace(whole, mixed=words)
    return dataclasses.replace(whole, note=f"{whole.note} {words[0].upper()}{words[1:]}.".strip())
