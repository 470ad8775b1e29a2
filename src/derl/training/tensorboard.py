"""Results as TensorBoard scalars, one log per run of the population."""

import contextlib
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from derl.core.errors import DerlError
from derl.training.members import Run

SKIPPED = {"run", "seed", "evaluation", "steps", "failed_at_step"}


def file_format() -> tuple[Any, Any, Any]:
    """tensorboardX's writer of event files and the messages in them, or an error that says how to get it."""
    try:
        from tensorboardX.event_file_writer import EventsWriter
        from tensorboardX.proto import event_pb2, summary_pb2
    except ImportError:
        raise DerlError("TensorBoard output needs tensorboardX: pip install tensorboardX") from None
    return EventsWriter, event_pb2, summary_pb2


@contextlib.contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DerlError(f"cannot write TensorBoard files in {folder}: {error.strerror or error}") from None


class TensorBoard:
    """Writes each evaluation's row as scalars over environment steps.

    With tensorboardX's file format, but not with its writer: that one writes in a thread of its own, which a full disk
    ends without a word, and whoever adds something then waits for it for ever.
    """

    def __init__(self, folder: Path, runs: Sequence[Run], from_step: int = 0):
        writer, events, _ = file_format()
        self.folder = folder / "tensorboard"
        self.writers: list[Any] = []
        with _writing(self.folder):
            for run in runs:
                place = self.folder / self.name(run)
                place.mkdir(parents=True, exist_ok=True)
                self.writers.append(writer(str(place / "events")))
                # After a resumption, what was written past the checkpoint is superseded.
                start = events.SessionLog(status=events.SessionLog.START)
                self.writers[-1].write_event(events.Event(step=from_step + 1, wall_time=time.time(), session_log=start))

    @staticmethod
    def name(run: Run) -> str:
        """What tells the run from the others."""
        return "_".join([f"seed{run.seed}", *[f"{k}={v:g}" for k, v in run.values.items()]])

    def write(self, rows: Sequence[dict[str, Any]]) -> None:
        """Add the rows of one evaluation."""
        _, events, summaries = file_format()
        with _writing(self.folder):
            for row in rows:
                numbers = {k: v for k, v in row.items() if k not in SKIPPED and isinstance(v, int | float)}
                values = [summaries.Summary.Value(tag=k, simple_value=float(v)) for k, v in numbers.items()]
                summary = summaries.Summary(value=values)
                event = events.Event(step=row["steps"], wall_time=time.time(), summary=summary)
                self.writers[row["run"]].write_event(event)
                self.writers[row["run"]].flush()

    def close(self) -> None:
        """Finish the files. Whatever could not be written was told when it was written."""
        for writer in self.writers:
            with contextlib.suppress(OSError):
                writer.close()
