"""Shared by all tests: where their helpers are found, and room for the programs they compile."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from derl.training.cache import forget_programs

sys.path.insert(0, str(Path(__file__).parent))

MAPS = Path("/proc/self/maps")
MOST_MAPS = 30_000
"""Each program holds one or two thousand pieces of memory, of which Linux allows a process 65,530."""


@pytest.fixture(autouse=True)
def room_for_programs() -> Iterator[None]:
    """Without room the compiler ends the process, and all tests with it."""
    yield
    if MAPS.exists() and MAPS.read_bytes().count(b"\n") > MOST_MAPS:
        forget_programs()
