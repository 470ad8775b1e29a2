"""`derl reproduce`: run one of the paper's experiments, and put every number beside the published one."""

import dataclasses
import functools
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from derl.analysis.claims.paper import STATEMENTS, Claim, claims, overall
from derl.analysis.claims.selection import choices
from derl.analysis.pages.beyond import write_beyond
from derl.analysis.pages.claims import selection_page
from derl.analysis.pages.figures import write_all
from derl.analysis.pages.folder import CHOICES, REPORT, check_folder, own_files, remove_stale
from derl.analysis.pages.reproduction import write_text
from derl.analysis.pages.tables import LEGEND, Grid, grid_of, text
from derl.analysis.published.explaining import explaining, repeating, tests_made
from derl.analysis.published.ours import DRAWN
from derl.analysis.published.tables import TABLES
from derl.analysis.published.verdicts import FURTHER, Verdict, count_outcomes, verdicts
from derl.analysis.report import Facts, write_report
from derl.analysis.report.files import failures_of
from derl.cli.display import console, say
from derl.cli.flags import ExperimentName, parsed
from derl.cli.modules import command_line, imported_modules
from derl.cli.selection import Names
from derl.cli.sweep import Running, complain, run_experiment, show_returns
from derl.core.errors import require
from derl.experiments.builtin import EXPERIMENTS, experiment
from derl.experiments.experiment import Experiment
from derl.experiments.machine import check_output
from derl.experiments.planner import Member, members_of, results_of
from derl.experiments.store import Store, is_store


@dataclasses.dataclass(frozen=True)
class Reproduce(Running):
    """Run one of the paper's experiments and put its numbers beside the published ones."""

    name: ExperimentName = ""
    """The experiment: table-1, lambda, decay, pure-exploration, kl, grid-search or beyond."""
    quick: bool = False
    """A small version: every algorithm, but two tasks at most (the second for those with Count or no bonus), two
    seeds, few values and 2,000 episodes."""
    explain: bool = False
    """Run what differs with further seeds, and what still differs with the options that test the known reasons."""
    further: int = FURTHER
    """How many further seeds --explain runs. Ten are too few to tell where one run in five learns."""
    out: Path | None = None
    """Where tables, figures and the report go; by default reproduction/ and the experiment's name."""

    def chosen(self) -> tuple[Experiment, Names]:
        """The experiment to run, and for each of its cases the paper's: the same, but for the length of training."""
        whole = experiment(self.name)
        chosen = self.narrow(whole, self.quick)
        names = self.originals(whole, chosen, self.quick)
        require(len(chosen.members()) > 0, f"{self.name}: nothing is left of it with these options")
        return chosen, names

    def folder(self) -> Path:
        """Where results go. Parts and short versions do not overwrite the whole."""
        parts = [self.name, *(["quick"] if self.quick else []), *(["short"] if self.episodes else [])]
        return self.out or Path("reproduction") / "-".join([*parts, *(["part"] if self.only or self.seeds else [])])


def frame_of(store: Store, members: Sequence[Member], names: Names) -> pl.DataFrame:
    """The results, under the names the paper's tables have for them."""
    return results_of(store, [dataclasses.replace(m, case=case) for m in members for case in names[m.case]])


class Made:
    """The runs that an experiment has made so far, and what they say about the paper."""

    def __init__(self, store: Store, names: Names):
        self.store, self.names = store, dict(names)
        self.members: tuple[Member, ...] = ()
        self.frame = pl.DataFrame()

    def add(self, members: Sequence[Member]) -> None:
        """Runs that are in the store by now. Tests of reasons are called what they are."""
        self.members += tuple(members)
        self.names |= {member.case: [member.case] for member in members if member.case not in self.names}
        self.frame = frame_of(self.store, self.members, self.names)
        self.__dict__.pop("judged", None)

    @property
    def failures(self) -> pl.DataFrame:
        """What the store has noted of those that could not be finished."""
        return self.store.failures().filter(pl.col("key").is_in([member.key for member in self.members]))

    @functools.cached_property
    def judged(self) -> list[Verdict]:
        """The verdicts on these runs: worked out once, for that takes longest."""
        return verdicts(self.frame)


def is_shorter(chosen: Experiment, names: Names) -> bool:
    """Whether something is trained for less than the paper did."""
    return any(case != original for case in chosen.cases for original in names[case])


def show_tables(name: str, judged: list[Verdict]) -> bool:
    """The tables of an experiment, as far as it was run, on the terminal, and how many of their numbers agree.

    Tells whether there are any.
    """
    shown: list[Verdict] = []
    for table in TABLES:
        grid = grid_of(judged, table.label)
        if table.experiment == name and any(v.outcome != "not run" for v in grid.verdicts.values()):
            say(f"\n[bold]{table.title}[/]")
            width = console.width if console.is_terminal else None
            console.print(text(as_run(grid), width), markup=False, soft_wrap=True)
            shown += grid.verdicts.values()
    counts = count_outcomes(shown)
    if shown:
        starred = any(grid_of(shown, label).starred for label in {verdict.cell.table for verdict in shown})
        say(f"\n{LEGEND}" + (" * is the best of ours, with all within its standard deviation." if starred else ""))
        say(
            f"Consistent with ours: {counts['consistent']} of the {len(shown)} numbers of these tables; different: "
            f"{counts['differs']}; not run: {counts['not run']}"
        )
        if not all(verdict.asked for verdict in shown):
            say("[yellow]These runs were trained for less than the paper's, which makes a difference by itself.[/]")
    return bool(shown)


def show_claims(tested: Sequence[Claim]) -> None:
    """The paper's claims that these runs can judge, on the terminal: a line for each test."""
    known = [claim for claim in overall(tested) if claim.effect is not None]
    decided = [claim for claim in known if claim.outcome != "not enough data"]
    if known:
        say("\n[bold]The paper's claims, as far as these runs can judge them[/]")
    if known and not decided:
        say("Too little was run to judge any.")
    for number in dict.fromkeys(claim.number for claim in decided):
        console.print(f"{number}. {STATEMENTS[number]}", markup=False, soft_wrap=True)
        for claim in decided:
            if claim.number == number:
                console.print(f"   {claim.outcome}: {claim.words}", markup=False, soft_wrap=True)


def as_run(grid: Grid) -> Grid:
    """A table without the rows and columns of which nothing was run; its counts are still of all its numbers."""
    run = [key for key, verdict in grid.verdicts.items() if verdict.outcome != "not run"]
    rows, columns = ({key[i] for key in run} for i in (0, 1))
    kept_rows = [name for name in grid.rows if name in rows]
    return dataclasses.replace(grid, rows=kept_rows, columns=[name for name in grid.columns if name in columns])


def finished_on(store: Store, frame: pl.DataFrame) -> str:
    """The day on which the last of these runs ended, which may be long ago: the store kept them."""
    keys = set(frame["key"])
    return max((entry.finished or "" for entry in store.entries() if entry.key in keys), default="")[:10]


def show_explaining(command: Reproduce, chosen: Experiment, names: Names) -> None:
    """In a dry run: what would test the differences of those runs that are in the store already, at most."""
    members = members_of(chosen.members())
    frame = frame_of(Store(command.store, read_only=True), members, names) if is_store(command.store) else None
    judged = [] if frame is None or len(frame) == 0 else verdicts(frame)
    console.print()
    if not judged:
        say("None of these runs is in the store yet: what --explain adds depends on what they make")
    elif not any(verdict.outcome == "differs" for verdict in judged):
        say("No number in the store differs")
    for tests in (repeating(judged, chosen.parts, command.further), explaining(judged, chosen.parts)):
        if tests.cases:
            run_experiment(tests, command)


def main(args: list[str]) -> None:
    """Run, compare, draw, and tell where everything is."""
    command = parsed(Reproduce, args, "derl reproduce")
    require(bool(command.name), f"derl reproduce needs an experiment: {', '.join(EXPERIMENTS)}")
    is_file = command.name not in EXPERIMENTS and Path(command.name).is_file()
    require(not is_file, f"{command.name} is a file, not an experiment of the paper: derl sweep {command.name}")
    chosen, names = command.chosen()
    tables = {table.experiment for table in TABLES}
    untold = f"--explain tells why numbers differ from the paper's tables, and {command.name} has none: leave it out"
    require(not command.explain or command.name in tables, untold)
    require(
        not (command.explain and is_shorter(chosen, names)),
        "--explain needs the whole length of training: leave out --quick, --episodes",
    )
    seeds = command.other_seeds()
    require(
        not command.explain or seeds is None or len(seeds) >= DRAWN,
        f"--explain needs {DRAWN} seeds or more: further ones tell about a verdict of {DRAWN}, and would change it",
    )
    require(command.further >= 1, f"--further must be at least 1, not {command.further}")
    require(command.explain or command.further == FURTHER, "--further belongs to --explain")
    if not command.dry_run:
        # Told now, not after hours of training.
        check_output(command.folder())
        check_folder(command.folder())
    done = run_experiment(chosen, command, imported_modules())
    if done is None:
        if command.explain:
            show_explaining(command, chosen, names)
        return
    plan, failed = done
    made = Made(Store(command.store, read_only=True), names)
    made.add(plan.members)
    why = command_line("status", "--store", str(command.store))
    require(len(made.frame) > 0, f"no run was finished; to see why: {why}")
    if not is_shorter(chosen, names) and seeds is None:
        # What tells about differences and is there already, from an import or an earlier --explain.
        made.add(tests_made(made.store, made.judged, chosen.parts))
    repeated = functools.partial(repeating, further=command.further)
    for tests_of in (repeated, explaining) if command.explain else ():
        tests = tests_of(made.judged, chosen.parts)
        more = run_experiment(tests, command, imported_modules()) if tests.cases else None
        if more is not None:
            made.add(more[0].members)
            failed += more[1]
    write_out(command, chosen, made, args)
    complain(failed, command.store)


def write_out(command: Reproduce, chosen: Experiment, made: Made, args: list[str]) -> None:
    """Tables on the terminal; pages, figures and the report on disk."""
    out, frame = command.folder(), made.frame
    before = own_files(out)
    if command.name == "beyond":
        remove_stale(before, write_beyond(frame, out))
        console.print((out / "README.md").read_text(), markup=False, soft_wrap=True)
        console.print(f"page and figures: {out}", soft_wrap=True, markup=False)
        return
    if is_shorter(chosen, made.names):
        say("[yellow]Trained for less than the paper did: expect differences, and agreement by luck.[/]")
    judged = made.judged
    selection = selection_page(choices(frame)) if command.name == "grid-search" else ""
    if selection:
        # What was chosen, rather than a line for each of two thousand configurations.
        console.print(selection, markup=False, soft_wrap=True)
    elif not show_tables(command.name, judged):
        # Pure exploration is a figure in the paper: ours alone, then.
        show_returns(chosen, frame)
    tested = claims(frame)
    show_claims(tested)
    written = write_all(frame, out, judged=judged, tested=tested)
    if selection:
        written.append(write_text(out / CHOICES, selection))
    finished, again = finished_on(made.store, frame), command_line("reproduce", *args)
    facts = Facts(finished=finished, command=again, failures=failures_of(made.failures))
    path = write_report(frame, out / REPORT, facts=facts, claims=tested, judged=judged)
    remove_stale(before, [*written, path])
    console.print(f"tables and figures: {out}; report: {path}", soft_wrap=True, markup=False)
