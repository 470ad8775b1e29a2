"""How much memory there is."""

import os
from collections.abc import Iterator
from pathlib import Path


def memory_bytes(root: Path = Path("/")) -> int | None:
    """The memory that processes like this one may use together: the machine's, or less if a container has less.

    None if the system does not say. It is what there is, not what is free: it has to be the same tomorrow.
    """
    try:
        limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    except (ValueError, OSError, AttributeError):
        limits = []
    for file in _limit_files(root):
        try:
            text = file.read_text().strip()
        except OSError:
            continue
        # Without a limit it says max, or a number beyond all memory.
        limits += [int(text)] if text.isdigit() else []
    return min((limit for limit in limits if limit > 0), default=None)


def _limit_files(root: Path) -> Iterator[Path]:
    """Where Linux keeps the limits of this process' control group and of those round it, in both of its versions."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, kinds, place = line.split(":", 2)
        if kinds and "memory" not in kinds.split(","):
            continue
        base, name = ("memory", "memory.limit_in_bytes") if kinds else ("", "memory.max")
        inside = Path(place.strip("/"))
        for folder in (inside, *inside.parents):
            yield root / "sys/fs/cgroup" / base / folder / name
