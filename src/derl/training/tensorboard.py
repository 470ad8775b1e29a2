"""Results as TensorBoard scalars, one log per run of the population."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from derl.core.errors import DerlError
from derl.training.config import Run

SKIPPED = {"run", "seed", "evaluation", "steps", "failed_at_step"}


def writer_class() -> Any:
    """The writer, or an error that says how to get it."""
    try:
        from tensorboardX import SummaryWriter
    except ImportError:
        raise DerlError("TensorBoard output needs tensorboardX: pip install 'derl[log]'") from None
    return SummaryWriter


class TensorBoard:
    """Writes each evaluation's row as scalars over environment steps."""

    def __init__(self, folder: Path, runs: Sequence[Run], from_step: int = 0):
        writer, root = writer_class(), folder / "tensorboard"
        # After a resumption, what was written past the checkpoint is superseded.
        self.writers = [writer(str(root / self.name(run)), purge_step=from_step + 1) for run in runs]

    @staticmethod
    def name(run: Run) -> str:
        """What tells the run from the others."""
        return "_".join([f"seed{run.seed}", *[f"{k}={v:g}" for k, v in run.values.items()]])

    def write(self, rows: Sequence[dict[str, Any]]) -> None:
        """Add the rows of one evaluation."""
        for row in rows:
            for name, value in row.items():
                if name not in SKIPPED and isinstance(value, int | float):
                    self.writers[row["run"]].add_scalar(name, value, row["steps"])

    def close(self) -> None:
        """Finish the files."""
        for writer in self.writers:
            writer.close()
