"""How tests find one claim among all."""

from derl.analysis.claims.paper import Claim


def find(tests: list[Claim], number: int, measure: str, subject: str) -> Claim:
    (found,) = [c for c in tests if c.number == number and measure in c.measure and c.subject.startswith(subject)]
    return found
