"""The measurements behind the paper's claims about divergence constraints and about intrinsic rewards alone."""

import dataclasses
from collections.abc import Callable, Iterator, Sequence

from derl.analysis.claim_tests import narrower, spread_in_paper
from derl.analysis.divergence import RECIPE, REWARDS, Group, Variant, constraint, main_groups
from derl.analysis.effects import Effect, average_effect, deviation_effect, maximum_effect
from derl.analysis.findings import SOLVED, Finding, with_whole
from derl.analysis.frames import Results
from derl.analysis.sensitivity import KINDS, sweep
from derl.experiments.cases import Case
from derl.experiments.paper import SENSITIVITY_TASKS, row_name

KL = "KL divergence with constraints minus without"
DEVIATION = "deviation of returns over runs with constraints minus without"
BEST = "best mean return of the exploiter"
BEYOND = "return of the exploiter minus that of its explorer"


def closeness(results: Results, evaluations: int) -> list[Finding]:
    """KL divergence and deviation of returns with the paper's constraints, minus without."""
    divergence, deviation = [], []
    for group, reward in _rewards(results):
        plain, tied = Variant(0.0, 0.0, reward), Variant(*constraint(group.task), reward)
        subject = f"{row_name(RECIPE)} on {group.task}, {_reward(reward)}"
        cases = [group.cases.get(variant) for variant in (tied, plain)]
        divergence.append(
            Finding(
                KL,
                subject,
                _gap(results, group, cases, _kl),
                0.0,
                "below",
                lacks="not run with and without",
            )
        )
        deviation.append(
            Finding(
                DEVIATION,
                subject,
                _gap(results, group, cases, deviation_effect),
                0.0,
                "below",
                lacks="not run with and without",
            )
        )
    # Where nothing was run the claim is still listed.
    divergence = divergence or [Finding(KL, row_name(RECIPE), None, 0.0, "below")]
    deviation = deviation or [Finding(DEVIATION, row_name(RECIPE), None, 0.0, "below")]
    return [*with_whole(divergence), *with_whole(deviation)]


def _rewards(results: Results) -> Iterator[tuple[Group, str]]:
    return ((group, reward) for group in main_groups(results) for reward in REWARDS)


def _reward(reward: str) -> str:
    return "both rewards" if reward == "both" else "intrinsic rewards alone"


def _kl(results: Results, case: Case, evaluations: int) -> Effect | None:
    return average_effect(results, case, evaluations, "kl")


def _gap(results: Results, group: Group, cases: Sequence[Case | None], measure: Callable) -> Effect | None:
    effects = [None if case is None else measure(results, case, group.evaluations) for case in cases]
    return None if effects[0] is None or effects[1] is None else effects[0] - effects[1]


def constrained_robustness(results: Results, evaluations: int) -> list[Finding]:
    """Spread over lambda and decay with constraints, minus that of plain DeA2C Count."""
    found = []
    for kind in KINDS:
        for task in SENSITIVITY_TASKS:
            plain = sweep(results, RECIPE, task, kind, evaluations=evaluations)
            for reward in REWARDS:
                tied = sweep(results, f"{RECIPE}-kl", task, kind, reward, evaluations)
                finding = narrower(tied, plain)
                known = spread_in_paper(tied, None), spread_in_paper(plain, None)
                found.append(
                    dataclasses.replace(
                        finding,
                        measure="spread over values with constraints minus without",
                        subject=f"{row_name(RECIPE)} on {task}, {kind}, {_reward(reward)}",
                        published=None if known[0] is None or known[1] is None else known[0] - known[1],
                    )
                )
    return with_whole(found)


def exploration(results: Results, evaluations: int) -> list[Finding]:
    """How good exploiters become whose explorers never saw extrinsic rewards."""
    best, beyond = [], []
    for group in main_groups(results):
        for alphas in ((0.0, 0.0), constraint(group.task)):
            case = group.cases.get(Variant(*alphas, "intrinsic"))
            words = "constraints" if any(alphas) else "no constraints"
            subject = f"{row_name(RECIPE)} on {group.task}, {words}"
            top = None if case is None else maximum_effect(results, case, group.evaluations)
            best.append(Finding(BEST, subject, top, SOLVED, "above"))
            pair = [
                None if case is None else average_effect(results, case, group.evaluations, column)
                for column in ("return", "explorer_return")
            ]
            gap = None if pair[0] is None or pair[1] is None else pair[0] - pair[1]
            beyond.append(Finding(BEYOND, subject, gap, 0.0, "above"))
    best = best or [Finding(BEST, row_name(RECIPE), None, SOLVED, "above")]
    beyond = beyond or [Finding(BEYOND, row_name(RECIPE), None, 0.0, "above")]
    return [*with_whole(best), *with_whole(beyond)]
