"""Which runs would tell why numbers differ: first the same with further seeds, then with the options of reasons."""

from collections.abc import Sequence

from derl.analysis.published.ours import DRAWN
from derl.analysis.published.reasons import reasons_for
from derl.analysis.published.verdicts import FURTHER, Verdict
from derl.experiments.cases import Case
from derl.experiments.experiment import Experiment, Part
from derl.experiments.planner import Member, members_of
from derl.experiments.store import Store


def repeating(judged: list[Verdict], parts: Sequence[Part], further: int = FURTHER) -> Experiment:
    """What differs with so many further seeds: five runs may differ from five others by luck alone.

    Not what has fewer than five yet: further ones would count among the first and change its verdict.
    """
    judged = [verdict for verdict in judged if verdict.seeds >= DRAWN]
    tests = [Part(tuple(_differing(judged, part)), _following(part.seeds, further)) for part in parts]
    return _experiment(tests, "Further seeds of what differs")


def explaining(judged: list[Verdict], parts: Sequence[Part]) -> Experiment:
    """The runs that tell about the reasons of differences that nothing explains yet, with the seeds of what differs."""
    tests, unexplained = [], [v for v in judged if v.standing != "explained"]
    for part in parts:
        ours = _differing(unexplained, part)
        cells = [v.cell for v in unexplained if v.outcome == "differs" and v.cell.case in ours]
        cases = [reason.test(cell.case) for cell in cells for reason in reasons_for(cell)]
        tests.append(Part(tuple(dict.fromkeys(case for case in cases if case is not None)), part.seeds))
    return _experiment(tests, "Tests of reasons for differences")


def tests_made(store: Store, judged: list[Verdict], parts: Sequence[Part]) -> list[Member]:
    """Those of all these runs that are in a store, whatever their seeds: further ones may be many."""
    seeds = sorted({entry.seed for entry in store.entries()})
    cases = (*repeating(judged, parts).cases, *explaining(judged, parts).cases)
    stored = store.keys()
    return [member for member in members_of([(c, seed) for c in cases for seed in seeds]) if member.key in stored]


def _differing(judged: list[Verdict], part: Part) -> dict[Case, None]:
    """The cases of a part of which a number differs, each once, in order."""
    there = set(part.cases)
    return dict.fromkeys(v.cell.case for v in judged if v.outcome == "differs" and v.cell.case in there)


def _following(seeds: Sequence[int], count: int) -> tuple[int, ...]:
    first = max(seeds) + 1
    return tuple(range(first, first + count))


def _experiment(parts: Sequence[Part], title: str) -> Experiment:
    return Experiment("explanations", tuple(part for part in parts if part.cases), title)
