"""`derl report`: results beside the paper's, as one HTML page."""

import dataclasses
from pathlib import Path
from typing import Annotated

import polars as pl
import tyro

from derl.analysis.measures.frames import EVALUATIONS, newest
from derl.analysis.report import TITLE, write_report
from derl.analysis.report.files import failures_of, read_facts
from derl.analysis.report.model import Failure
from derl.cli.display import console, say
from derl.cli.flags import parsed
from derl.cli.modules import command_line
from derl.core.errors import require
from derl.core.files import file_to_write
from derl.experiments.exchange import read_results
from derl.experiments.machine import check_output
from derl.experiments.pruning import failures
from derl.experiments.store import Store

MANY = 1000
"""From so many runs on a page takes more than a moment."""


@dataclasses.dataclass(frozen=True)
class Report:
    """Write results beside the paper's as one HTML page that opens offline."""

    out: Path = Path("report.html")
    """The page."""
    results: Annotated[tuple[Path, ...] | None, tyro.conf.arg(metavar="PATH ...")] = None
    """Folders of Parquet files, or the files themselves. By default results/paper, or nothing beside a store."""
    store: Path | None = None
    """A folder of results as sweeps and derl store import make it, read as it is."""
    title: str = TITLE
    """The page's title."""
    csv: Path | None = None
    """A folder for verdicts.csv and claims.csv, which say for programs what the page says for people."""
    evaluations: int = EVALUATIONS
    """A run counts in tables and claims once it has had so many evaluations, and only its first so many count."""

    def execute(self) -> Path:
        """Read, and write the page."""
        require(self.evaluations >= 1, f"--evaluations must be at least 1, not {self.evaluations}")
        require(not self.out.is_dir(), f"{self.out} is a folder; give the name of a file")
        good = self.out.suffix.lower() in (".html", ".htm")
        require(good, f"derl report writes HTML: give {self.out} a name that ends in .html")
        require(self.results != (), "--results needs files or folders of results")
        # Told now, not after a minute of work.
        check_output(file_to_write(self.out).parent)
        if self.csv is not None:
            require(self.csv.is_dir() or not self.csv.exists(), f"{self.csv} is a file; --csv takes a folder")
            check_output(self.csv, "--csv")
        missing = next((path for path in self.paths if not path.exists()), None)
        where = "name results with --results FILE.parquet, or their store with --store FOLDER"
        require(missing is None, f"there is no {missing}; {where}")
        store = None if self.store is None else Store(self.store, read_only=True)
        say(f"reading {', '.join(map(str, self.places))}", markup=False)
        whole = read_results(self.paths, store)
        require(len(whole) > 0, self.nothing)
        frame = newest(whole)
        left_out = whole["run"].n_unique() - frame["run"].n_unique()
        if left_out:
            console.print(f"{left_out} runs are left out: of an older engine, or of a recipe that has changed since")
        unfinished = () if store is None else self.unfinished(store, whole)
        facts = dataclasses.replace(read_facts(self.places), command=self.command, failures=unfinished)
        runs = frame["run"].n_unique()
        patience = "; this takes a minute or two" if runs > MANY else ""
        say(f"{runs:,} runs: comparing them with the paper, testing its claims, drawing{patience}")
        return write_report(frame, self.out, title=self.title, facts=facts, evaluations=self.evaluations, csv=self.csv)

    @staticmethod
    def unfinished(store: Store, whole: pl.DataFrame) -> tuple[Failure, ...]:
        """The failures that a store has noted, but for runs of which there are results, from a file say."""
        there = whole["key"].drop_nulls().unique().to_list()
        return failures_of(failures(store).open.filter(~pl.col("key").is_in(there)))

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files and folders of results."""
        return self.results or ((Path("results/paper"),) if self.store is None else ())

    @property
    def places(self) -> tuple[Path, ...]:
        """All that is read."""
        return self.paths if self.store is None else (self.store, *self.paths)

    @property
    def nothing(self) -> str:
        """What to do if no run is in these places."""
        empty = f"there is no finished run in {', '.join(map(str, self.places))}"
        if self.store is None:
            return f"{empty}; name files that derl store export wrote from a store with results"
        return f"{empty}; see what was begun or failed with: {command_line('status', '--store', str(self.store))}"

    @property
    def command(self) -> str:
        """What makes the same page again, wherever it is written to."""
        words = ["--results", *map(str, self.paths)] if self.paths else []
        words += [] if self.store is None else ["--store", str(self.store)]
        words += [] if self.evaluations == EVALUATIONS else ["--evaluations", str(self.evaluations)]
        words += [] if self.title == TITLE else ["--title", self.title]
        return command_line("report", *words)


def main(args: list[str]) -> None:
    """Write, and tell where."""
    path = parsed(Report, args, "derl report").execute()
    console.print(f"{path} ({path.stat().st_size / 1e6:.1f} MB); open it in a browser", soft_wrap=True, markup=False)
