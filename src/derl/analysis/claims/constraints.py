"""The measurements behind the paper's claims about divergence constraints and about intrinsic rewards alone."""

import dataclasses
from itertools import product

from derl.analysis.claims.divergence import RECIPE, Group, Variant, main_groups
from derl.analysis.claims.findings import SOLVED, Finding, contradicted, whole_of, with_whole
from derl.analysis.claims.returns import lack_of, narrower
from derl.analysis.claims.sensitivity import KINDS, sweep
from derl.analysis.measures.effects import Effect, average_effect, maximum_effect
from derl.analysis.measures.frames import Results
from derl.analysis.measures.spreads import can_tell, deviation_gap
from derl.experiments.cases import Case
from derl.experiments.paper import KL_TASKS, REWARDS, SENSITIVITY_TASKS, constraint, row_name

KL = "KL divergence with constraints minus without"
DEVIATION = "deviation of returns over runs with constraints minus without"
NOT_BOTH = "not run with and without"
ALONE = "of too few runs to judge alone"
BEST = "best mean return of the exploiter"
BEYOND = "return of the exploiter minus that of its explorer"


def closeness(results: Results, evaluations: int) -> list[Finding]:
    """KL divergence and deviation of returns with the paper's constraints, minus without."""
    divergence, deviation = [], []
    groups = _groups(results)
    for task, reward in product(KL_TASKS, REWARDS):
        plain, tied = Variant(0.0, 0.0, reward), Variant(*constraint(task), reward)
        subject = f"{row_name(RECIPE)} on {task}, {_reward(reward)}"
        kl, gap, alone, lacks, group = None, None, "", NOT_BOTH, groups.get(task)
        if group is not None and plain in group.cases and tied in group.cases:
            cases, length = (group.cases[tied], group.cases[plain]), _length(group, evaluations)
            kl = _kl_gap(results, *cases, length)
            gap = deviation_gap(results, *cases, length)
            alone = "" if can_tell(*(_finished(results, case, length) for case in cases)) else ALONE
            lacks = " and ".join(dict.fromkeys(lack_of(results, case, length, "kl") for case in cases))
        divergence.append(Finding(KL, subject, kl, 0.0, "below", task=task, lacks=lacks))
        deviation.append((Finding(DEVIATION, subject, gap, 0.0, "below", task=task, lacks=lacks), alone))
    single = [dataclasses.replace(finding, too_few=alone) for finding, alone in deviation]
    # Together they can be judged, but what cannot be judged alone contradicts nothing.
    whole = contradicted(whole_of([finding for finding, _ in deviation])[0], single)
    return [*with_whole(divergence), whole, *single]


def _finished(results: Results, case: Case, evaluations: int) -> int:
    runs = results.finished(case, evaluations=evaluations)
    return 0 if runs is None else len(runs)


def _length(group: Group, evaluations: int) -> int:
    """How many evaluations count: as many as of all runs, but for experiments that were planned to be shorter."""
    return min(evaluations, group.evaluations)


def _groups(results: Results) -> dict[str, Group]:
    """Those of the experiment with constraints. One value of the sensitivity experiments is like them, elsewhere."""
    return {group.task: group for group in main_groups(results) if group.task in KL_TASKS}


def _reward(reward: str) -> str:
    return "both rewards" if reward == "both" else "intrinsic rewards alone"


def _kl_gap(results: Results, tied: Case, plain: Case, evaluations: int) -> Effect | None:
    ours, theirs = (average_effect(results, case, evaluations, "kl") for case in (tied, plain))
    return None if ours is None or theirs is None else ours - theirs


def constrained_robustness(results: Results, evaluations: int) -> list[Finding]:
    """Spread over lambda and decay with constraints, minus that of plain DeA2C Count."""
    found = []
    for kind in KINDS:
        for task in SENSITIVITY_TASKS:
            plain = sweep(results, RECIPE, task, kind, evaluations=evaluations)
            for reward in REWARDS:
                tied = sweep(results, f"{RECIPE}-kl", task, kind, reward, evaluations)
                finding = narrower(tied, plain)
                found.append(
                    dataclasses.replace(
                        finding,
                        measure="spread over values with constraints minus without",
                        subject=f"{row_name(RECIPE)} on {task}, {kind}, {_reward(reward)}",
                    )
                )
    return with_whole(found)


def exploration(results: Results, evaluations: int) -> list[Finding]:
    """How good exploiters become whose explorers never saw extrinsic rewards."""
    best, beyond = [], []
    groups = _groups(results)
    for task in KL_TASKS:
        group = groups.get(task)
        length = evaluations if group is None else _length(group, evaluations)
        for alphas in ((0.0, 0.0), constraint(task)):
            case = None if group is None else group.cases.get(Variant(*alphas, "intrinsic"))
            words = "constraints" if any(alphas) else "no constraints"
            subject = f"{row_name(RECIPE)} on {task}, {words}"
            top = None if case is None else maximum_effect(results, case, length)
            lacks = "not run" if case is None else lack_of(results, case, length, "explorer_return")
            best.append(Finding(BEST, subject, top, SOLVED, "above", task=task, lacks=lacks))
            pair = [
                None if case is None else average_effect(results, case, length, column)
                for column in ("return", "explorer_return")
            ]
            gap = None if pair[0] is None or pair[1] is None else pair[0] - pair[1]
            beyond.append(Finding(BEYOND, subject, gap, 0.0, "above", task=task, lacks=lacks))
    return [*with_whole(best), *with_whole(beyond)]
