"""`derl resume`: continue an interrupted run."""

import dataclasses

from derl.api import resume
from derl.cli.display import showing
from derl.cli.flags import RunPath, parsed
from derl.cli.returns import report
from derl.training.folder import RunFolder


@dataclasses.dataclass(frozen=True)
class Resume:
    """Continue an interrupted run where its last checkpoint left it."""

    run: RunPath
    """The run folder."""
    cores: int | None = None
    """Cores to use; by default all."""


def main(args: list[str]) -> None:
    """Resume, and report."""
    command = parsed(Resume, args, "derl resume")
    config = RunFolder(command.run).open()[0]
    with showing(f"{config.task} {config.recipe}", config.exploiter is not None) as show:
        result = resume(command.run, show=show, cores=command.cores)
    report(result)
