"""The paper's claims, each as a test: an effect with its 95 % interval, and in plain words what follows from it.

Returns are normalised (see `aggregates`), so that effects on them are shares of the best possible return. For every
effect there is a bound. If the whole interval lies on the right side of it the claim holds, if on the wrong side it
does not, and if the bound lies within the interval it is undecided. What was not run, or in too few runs, cases or
tasks, cannot be judged: there is not enough data. The overall effect is the mean over tasks of the mean over their
cases (of spreads, the root of their mean variance). It is mixed where more than one in ten of its cases contradict it,
each beyond what chance makes of so many cases.

| claim | effect | it holds if it is |
|---|---|---|
| 1 | spread: standard deviation, over the varied values, of the average return, without seeds' noise | above 0.1 |
| 2 | spread of DeRL minus that of its baseline, over the values both have | below 0 |
|   | average return over all those values, DeRL minus baseline | above 0 |
| 3 | average return, DeRL minus its baseline with the same bonus | above -0.05 ("similar or better") |
|   | share of episodes saved until 90 % of the baseline's final return is held (see `savings`) | above 0 |
|   | the same in the task where it is largest ("up to 40 %") | above 0.4 |
| 4 | KL divergence with constraints minus without | below 0 |
|   | deviation of returns over runs, and spread over values, with minus without | below 0 |
|   | (a deviation's interval is that of dealing all runs anew to the two sides, see `spreads`) | |
| 5 | best mean return of an exploiter whose explorer never saw extrinsic rewards | above 0.5 |
|   | average return of that exploiter minus that of its explorer | above 0 |

"""

import dataclasses
from collections.abc import Callable, Iterable

import polars as pl

from derl.analysis.claims.constraints import closeness, constrained_robustness, exploration
from derl.analysis.claims.findings import Finding, Outcome, Side, outcome_of
from derl.analysis.claims.returns import returns, robustness, sensitivity
from derl.analysis.claims.savings import efficiency
from derl.analysis.measures.aggregates import Estimate
from derl.analysis.measures.frames import EVALUATIONS, Results, as_results
from derl.analysis.measures.numbers import signed
from derl.analysis.published.cautions import trained_for_less
from derl.analysis.published.first_runs import counted_runs

STATEMENTS = {
    1: "Intrinsically motivated RL is sensitive to the scale and decay of intrinsic rewards.",
    2: "Decoupled RL is less sensitive to them.",
    3: "Decoupled RL reaches similar or better returns, with up to 40 % fewer episodes.",
    4: "Divergence constraints keep the two policies close and reduce the spread of returns.",
    5: "Exploration by intrinsic rewards alone works.",
}

TESTS: tuple[tuple[int, Callable[[Results, int], list[Finding]]], ...] = (
    (1, sensitivity),
    (2, robustness),
    (3, returns),
    (3, efficiency),
    (4, closeness),
    (4, constrained_robustness),
    (5, exploration),
)


@dataclasses.dataclass(frozen=True)
class Claim:
    """The outcome of one test of a claim."""

    number: int
    measure: str
    """What the effect is."""
    subject: str
    """Where it was measured, such as "A2C Count on DeepSea-10"; "all" for the claim as a whole."""
    effect: Estimate | None
    bound: float
    side: Side
    outcome: Outcome
    words: str
    published: float | None = None
    """The same effect in the paper's own numbers."""
    overall: bool = False
    """Whether this is the claim as a whole, not one case of it."""
    because: str = ""
    """Why it cannot be judged whatever its interval."""
    note: str = ""
    """What is to be known of the outcome: what is missing, what contradicts it, of how many cases it is."""

    @property
    def wanted(self) -> str:
        """The bound in words."""
        return f"{self.side} {signed(self.bound, 'g')}"

    @property
    def holds_in_paper(self) -> bool | None:
        """Whether the paper's own numbers would pass; None if it has none."""
        if self.published is None:
            return None
        return self.published > self.bound if self.side == "above" else self.published < self.bound


def claims(frame: pl.DataFrame | Results, *, evaluations: int = EVALUATIONS) -> list[Claim]:
    """Every test of every claim: for each measure the whole first, then case by case.

    As in the tables the first seeds count: only what differed from the paper was run with further ones, so that these
    would move some cases towards it and leave others where luck put them.
    """
    results = counted_runs(as_results(frame), evaluations)
    short = trained_for_less(results)
    found: list[Claim] = []
    for number, test in TESTS:
        findings = test(results, evaluations)
        if short:
            # Of shorter training the paper claims nothing.
            findings = [dataclasses.replace(f, effect=None, lacks=short[0].lower() + short[1:]) for f in findings]
        found += [_claim(number, finding) for finding in findings]
    return found


def _claim(number: int, finding: Finding) -> Claim:
    effect = finding.estimate
    outcome = outcome_of(finding)
    return Claim(
        number,
        finding.measure,
        finding.subject,
        effect,
        finding.bound,
        finding.side,
        outcome,
        in_words(finding, effect, outcome),
        None if finding.published is None else finding.published.value,
        finding.overall,
        finding.too_few if effect is not None else "",
        _note(finding, effect, outcome),
    )


def _note(finding: Finding, effect: Estimate | None, outcome: Outcome) -> str:
    """What a reader who sees the effect, its interval and the outcome does not see."""
    if effect is None:
        return f"{finding.lacks or 'not run'}."
    parts = [finding.too_few, finding.mixed if outcome == "mixed" else ""]
    return " ".join([*(f"{part[0].upper()}{part[1:]}." for part in parts if part), finding.note]).strip()


def in_words(finding: Finding, effect: Estimate | None, outcome: Outcome) -> str:
    """One sentence a reader understands without the table."""
    start = f"{finding.subject}: {finding.measure}"
    if effect is None:
        return f"{start}: {finding.lacks or 'not run'}."
    numbers = f"{signed(effect.value)} [{signed(effect.low)}, {signed(effect.high)}]"
    wanted = f"{finding.side} {signed(finding.bound, 'g')}"
    verb = {
        "holds": f"as claimed ({wanted})",
        "does not hold": f"which is not {wanted}",
        "mixed": f"wanted {wanted}: {finding.mixed}",
        "undecided": f"too uncertain to tell whether it is {wanted}",
        "not enough data": finding.too_few or "which cannot be judged",
    }[outcome]
    return f"{start} is {numbers}, {verb}." + (f" {finding.note}" if finding.note else "")


def overall(tests: Iterable[Claim]) -> list[Claim]:
    """The claims as wholes."""
    return [claim for claim in tests if claim.overall]


def claim_frame(tests: Iterable[Claim]) -> pl.DataFrame:
    """Claims as a table, one row per test."""
    rows = []
    for claim in tests:
        value, low, high = claim.effect or (None, None, None)
        row = {f.name: getattr(claim, f.name) for f in dataclasses.fields(claim) if f.name != "effect"}
        rows.append({**row, "effect": value, "low": low, "high": high})
    return pl.DataFrame(rows, infer_schema_length=None)
