"""Which runs would tell why numbers differ."""

from collections.abc import Sequence

from derl.analysis.published.reasons import reasons_for
from derl.analysis.published.verdicts import Verdict
from derl.experiments.experiment import Experiment, Part


def explaining(judged: list[Verdict], parts: Sequence[Part]) -> Experiment:
    """The runs that tell whether the reasons for differences are the reasons, with the seeds of what differs."""
    differing = [v.cell for v in judged if v.outcome == "differs"]
    tests = []
    for part in parts:
        ours = [cell for cell in differing if cell.case in part.cases]
        cases = [reason.test(cell.case) for cell in ours for reason in reasons_for(cell)]
        tests.append(Part(tuple(dict.fromkeys(case for case in cases if case is not None)), part.seeds))
    parts = tuple(part for part in tests if part.cases)
    return Experiment("explanations", parts, "Tests of reasons for differences")
