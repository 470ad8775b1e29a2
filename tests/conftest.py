"""Shared by all tests: where their helpers are found."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
