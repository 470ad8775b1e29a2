"""Shared by all tests: where helpers are found, and a compilation cache that makes a second run of the suite fast."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
