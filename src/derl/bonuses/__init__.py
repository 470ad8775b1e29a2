"""Intrinsic rewards. `make_bonus` finds one by its name; see `derl.bonuses.base.Bonus` for what each can do."""

from derl.bonuses.base import AnyBonus, Bonus, Looks, looked_at
from derl.bonuses.count import Count
from derl.bonuses.hash_count import HashCount
from derl.bonuses.icm import ICM
from derl.bonuses.none import NoBonus
from derl.bonuses.ride import RIDE
from derl.bonuses.rnd import RND
from derl.core.errors import UnknownNameError
from derl.core.naming import add_kind

BONUSES: dict[str, type[AnyBonus]] = {
    "none": NoBonus,
    "count": Count,
    "hash-count": HashCount,
    "icm": ICM,
    "rnd": RND,
    "ride": RIDE,
}


def register_bonus(name: str, kind: type[AnyBonus]) -> None:
    """Let a bonus of your own be named: by `--bonus-kind NAME`, in run folders, and in sweeps."""
    add_kind(BONUSES, name, kind)


def make_bonus(name: str) -> AnyBonus:
    """A bonus with default hyper-parameters, by name."""
    if name.lower() not in BONUSES:
        raise UnknownNameError("bonus", name, BONUSES)
    return BONUSES[name.lower()]()


__all__ = [
    "BONUSES",
    "ICM",
    "RIDE",
    "RND",
    "AnyBonus",
    "Bonus",
    "Count",
    "HashCount",
    "Looks",
    "NoBonus",
    "looked_at",
    "make_bonus",
    "register_bonus",
]
