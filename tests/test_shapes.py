"""The shapes in the types of the engine are those that arrive."""

import subprocess
import sys
from pathlib import Path


def test_annotations_hold_in_every_kind_of_recipe():
    script = Path(__file__).with_name("shapes.py")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines()[-1] == "a wrong shape is noticed"
