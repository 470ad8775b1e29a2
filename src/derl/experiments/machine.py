"""What a machine offers: cores, room on its disk, and whether JAX finds more than a CPU on it."""

import functools
import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import jax

from derl.core.errors import DerlError, require

PROBE = """
import jax
name, limit = jax.default_backend(), 0
try:
    limit = jax.devices()[0].memory_stats()["bytes_limit"]
except Exception:  # Not every device says.
    pass
print(name, limit)
"""
"""What asks JAX where it computes, and how much memory it may use there; 0 if it does not say."""

WORKER = "derl.experiments.worker"
"""The module that a worker process runs; after it come the store and the core on its command line."""

DISK_BYTES = 50_000_000
"""Less free room than this, and a sweep does not begin."""


class Accelerator(NamedTuple):
    """What JAX computes on where it is not a CPU."""

    name: str
    memory: int | None
    """How many bytes JAX may use of its memory; None if it does not say."""


def stay_on_cpu() -> None:
    """Keep JAX off accelerators in this process, which only plans: it would take most of a GPU's memory at once.

    Workers are not concerned: they inherit the environment, not this. In a process that has used JAX already it does
    nothing.
    """
    jax.config.update("jax_platforms", "cpu")


@functools.cache
def accelerator() -> Accelerator | None:
    """What workers will compute on if it is not a CPU.

    Asked of another process, for JAX takes hold of a GPU when it is asked; and not at all where the answer is known.
    """
    chosen = os.environ.get("JAX_PLATFORMS", "").split(",")[0]
    plugins = any(importlib.metadata.entry_points(group="jax_plugins")) or any(
        importlib.util.find_spec(name) is not None for name in ("jax_plugins", "libtpu")
    )
    if chosen == "cpu" or (not chosen and not plugins):
        return None
    environment = {**os.environ, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    answer = subprocess.run([sys.executable, "-c", PROBE], env=environment, capture_output=True, text=True)
    if answer.returncode != 0:
        words = (answer.stderr.strip().splitlines() or ["no reason given"])[-1][:300]
        raise DerlError(f"JAX cannot start ({words}); set JAX_PLATFORMS=cpu to run without accelerators")
    return understood(answer.stdout)


def understood(answer: str) -> Accelerator | None:
    """What the probe's last line says."""
    name, limit = answer.split()[-2:]
    return None if name == "cpu" else Accelerator(name, int(limit) or None)


def quiet_cores(count: int, root: Path = Path("/proc")) -> list[int]:
    """The cores that workers should be fixed to: those that the fewest workers of other sweeps are fixed to.

    Empty if there are not so many, or if the system does not fix processes to cores.
    """
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    taken = Counter(_cores_of_workers(root))
    return sorted(cores, key=lambda core: (taken[core], core))[:count] if count <= len(cores) else []


def _cores_of_workers(root: Path) -> Iterator[int]:
    """The core of each worker on this machine, as its command line names it: it says so before it has begun."""
    for file in root.glob("[0-9]*/cmdline"):
        try:
            words = file.read_bytes().decode(errors="replace").split("\0")
        except OSError:
            # It has just ended, or it is somebody else's business.
            continue
        if WORKER in words:
            core = words[words.index(WORKER) + 2 :][:1]
            yield from (int(word) for word in core if word.isdigit())


def enough_room(path: Path) -> None:
    """Raise if there is hardly any room left on the disk of a folder, or of where it is to be made."""
    free = shutil.disk_usage(nearest(path)).free
    require(free > DISK_BYTES, f"there are only {free / 1e6:.0f} MB left on the disk of {path}; make room first")


def nearest(path: Path) -> Path:
    """A folder, or its nearest existing parent."""
    try:
        return next(place for place in (path, *path.absolute().parents) if place.exists())
    except OSError as error:
        # Whether it is there cannot be asked in a folder of somebody else.
        raise DerlError(f"cannot use {path}: {error.strerror or error}; choose another folder") from None


def check_output(path: Path, flag: str = "--out") -> None:
    """Raise now if the output folder, which a flag names, will not be writable later."""
    place = nearest(path)
    good = place.is_dir() and os.access(place, os.W_OK)
    require(good, f"cannot write in {path}; choose another folder with {flag}")
    enough_room(path)


def try_writing(path: Path) -> None:
    """Raise if nothing can be written in a folder: a quota may be used up that the disk does not know of."""
    probe = path / ".probe"
    try:
        probe.write_bytes(b"0" * 4096)
        probe.unlink()
    except OSError as error:
        raise DerlError(f"cannot write in {path}: {error.strerror}; choose another folder with --store") from None
