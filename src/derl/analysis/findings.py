"""What a claim's test finds: an effect, and the bound that decides about the claim."""

import dataclasses
from collections.abc import Sequence
from typing import Literal

import numpy as np

from derl.analysis.effects import Effect, mean_effect
from derl.training.recipes import TABLE_1

Side = Literal["above", "below"]
BASELINE_OF = {"dea2c": "a2c", "deppo": "ppo", "dedqn": "a2c"}
"""What each decoupled algorithm is compared with: the same agent alone. DeDQN's explorer is A2C, there is no DQN."""
DECOUPLED = tuple(name for name in TABLE_1 if name.partition("-")[0] in BASELINE_OF)
BASELINES = tuple(name for name in TABLE_1 if name not in DECOUPLED)
SENSITIVE, SIMILAR, SAVING, SOLVED = 0.1, -0.05, 0.4, 0.5
ENOUGH_VALUES = 3
"""A spread over fewer values says little."""
TOO_FEW_CASES = "of too few cases to judge"
LEARNT = 0.1
"""Below this normalised return nothing was learnt that could be reached sooner."""


@dataclasses.dataclass(frozen=True)
class Finding:
    """One measurement."""

    measure: str
    subject: str
    effect: Effect | None
    bound: float
    side: Side
    published: float | None = None
    overall: bool = False
    lacks: str = ""
    """What is missing, if there is no effect."""
    note: str = ""
    too_few: str = ""
    """Why it cannot be judged, whatever its interval: of less than half of the cases, or of too few runs."""


def baseline_of(recipe: str) -> str:
    """The baseline a decoupled recipe is compared with."""
    algorithm, _, bonus = recipe.partition("-")
    return f"{BASELINE_OF[algorithm]}-{bonus}"


def with_whole(findings: Sequence[Finding], subject: str = "all") -> list[Finding]:
    """Findings of one measure, and before them their mean as the finding about the whole."""
    first = findings[0]
    there = [f for f in findings if f.effect is not None]
    effects = [f.effect for f in there if f.effect is not None]
    known = [f.published for f in findings if f.published is not None]
    whole = dataclasses.replace(
        first,
        subject=subject,
        effect=mean_effect(effects) if effects else None,
        published=float(np.mean(known)) if len(known) == len(findings) else None,
        overall=True,
        too_few="" if 2 * sum(not f.too_few for f in there) >= len(findings) else TOO_FEW_CASES,
        note=f"Mean of {len(there)} of {len(findings)} cases." if effects else "",
        lacks="" if effects else "no case has been run",
    )
    return [whole, *findings]
