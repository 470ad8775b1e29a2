"""The small version of Table 1, as a newcomer runs it."""

import subprocess
import sys

import pytest

from derl.experiments.paper import row_name
from derl.training.recipes import TABLE_1


@pytest.mark.slow
def test_the_quick_version_ends_with_the_table_verdicts_and_the_report(tmp_path):
    """Every algorithm is trained, from an empty store. How long that takes is in docs/performance."""
    command = [sys.executable, "-m", "derl", "reproduce", "table-1", "--quick", "--store", "store"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    table = done.stdout[done.stdout.index("Average evaluation returns in all tasks") :]
    for recipe in TABLE_1:
        (line,) = [line for line in table.split("Maximum")[0].splitlines() if line.startswith(f"{row_name(recipe)}  ")]
        assert "✓" in line or "≠" in line
    assert "Trained for less than the paper did" in done.stdout
    assert "trained for less than the paper's, which makes a difference by itself" in done.stdout
    folder = tmp_path / "reproduction" / "table-1-quick"
    assert done.stdout.rstrip().endswith("report: reproduction/table-1-quick/report.html")
    assert {"report.html", "README.md", "verdicts.csv", "mean-returns.md", "figures"} <= {
        p.name for p in folder.iterdir()
    }
    again = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "none made now" in again.stdout
