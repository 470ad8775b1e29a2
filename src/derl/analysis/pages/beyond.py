"""The experiment `beyond` as a page and figures: the library's own recipe beside the paper's best."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from derl.analysis.figures import style
from derl.analysis.figures.beyond import (
    AVERAGES,
    INCREMENT,
    OWN,
    SWEPT,
    best_published,
    changed,
    curves_figure,
    file_name,
    held_figure,
    part_figure,
    sensitivity_figure,
    swept,
)
from derl.analysis.measures.frames import as_results
from derl.analysis.measures.holding import Holding, holdings, longest
from derl.analysis.measures.numbers import signed
from derl.analysis.pages.markdown import markdown_table
from derl.analysis.pages.reproduction import write_text
from derl.analysis.published.runs_behind import MAXIMA
from derl.envs.registry import PAPER_TASKS
from derl.experiments.beyond import (
    ABLATION_TASKS,
    ABLATIONS,
    BASELINE_TASKS,
    CHANCE,
    DEEP,
    EARLY,
    HELD_OUT,
    HELD_OUT_SEEDS,
    HOLDING,
    KNOBS,
    LARGER_TASKS,
    NEEDED_LATER,
    OTHER_BONUSES,
    UNHELD,
)
from derl.experiments.cases import Case, Setting
from derl.experiments.paper import SENSITIVITY_TASKS, column_name

ON_LARGER = ", larger tasks"
LARGER = {name + ON_LARGER: ABLATIONS[name] for name in NEEDED_LATER}
"""The parts that are tried on larger tasks, by the names of their pictures."""
FRESH = (pl.col("seed") >= HELD_OUT_SEEDS[0]) & (pl.col("setting") == "") & pl.col("task").is_in(PAPER_TASKS)
"""The paper's tasks are there twice: with the seeds that settings were chosen on, and with others, these."""


def write_beyond(frame: pl.DataFrame, folder: Path | str, paper: pl.DataFrame | None = None) -> list[Path]:
    """The page and its figures. `paper` holds our runs of the paper's recipes, to draw beside."""
    frame = longest(frame)
    unseen = {holding.case: holding for holding in holdings(frame.filter(FRESH))}
    frame = frame.filter(~FRESH)
    results = as_results(frame)
    found = {holding.case: holding for holding in holdings(frame)}
    published = None if paper is None else as_results(paper)
    figures = {"curves": curves_figure(results, published), "time": curves_figure(results, published, axis="seconds")}
    figures["sensitivity"] = sensitivity_figure(found)
    for tasks, ablations in ((ABLATION_TASKS, ABLATIONS), (LARGER_TASKS, LARGER | HOLDING)):
        for name, changes in ablations.items():
            figures[file_name(name)] = part_figure(results, name.removesuffix(ON_LARGER), changed(tasks, changes))
    for recipe, others in ((DEEP[0], UNHELD), (CHANCE, EARLY)):
        for name, case in others.items():
            figures[file_name(name)] = held_figure(results, name, recipe, case)
    shown = [name for name, figure in figures.items() if figure is not None]
    # First, for by this page the folder is known to be derl's if the rest is not written.
    paths = [write_text(Path(folder) / "README.md", beyond_page(found, unseen, shown))]
    for name, figure in figures.items():
        paths += [] if figure is None else style.save(figure, Path(folder) / name)
    return paths


class Section(NamedTuple):
    """A part of the page: a table of cases, then what is said about it, then its figures."""

    title: str
    rows: Sequence[tuple[str, Case]] = ()
    """What a line is called, and its case."""
    note: str = ""
    figures: Mapping[str, str] = {}
    """Files without ending, and what they show."""
    published: bool = False
    """Whether the paper's numbers stand beside."""
    unseen: bool = False
    """Whether it is about seeds nothing was chosen on."""


def outline() -> tuple[Section, ...]:
    """The page from top to bottom."""
    tasks = _plain(PAPER_TASKS)
    needed = {name: ABLATIONS[name] for name in NEEDED_LATER}
    time, sensitivity = {"time": "Returns over core seconds"}, {"sensitivity": "Sensitivity to lambda and increments"}
    return (
        Section("The paper's tasks", tasks, published=True),
        Section("The same with seeds nothing was chosen on", tasks, unseen=True),
        Section("The same in time", note=TIME, figures=time),
        Section("Sensitivity", note=SENSITIVITY, figures=sensitivity),
        Section("Every increment", _increments()),
        Section("The recipe's own numbers, a third and three times as large", _knobs()),
        Section("Other bonuses", _bonuses()),
        Section("Held out", list(HELD_OUT.items()), BLIND),
        Section("Without each part", _changed(ABLATION_TASKS, ABLATIONS), figures=_pictures(ABLATIONS)),
        Section("Without some parts, larger tasks", _changed(LARGER_TASKS, needed), figures=_pictures(LARGER)),
        Section("With a short average of weights", _changed(LARGER_TASKS, HOLDING), figures=_pictures(HOLDING)),
        Section("Where chance decides", _early(), figures=_pictures(EARLY)),
        Section("Larger tasks than the paper's", _deep(), figures=_pictures(UNHELD)),
        Section("Bootstrapped DQN with random priors", _plain(BASELINE_TASKS, "bootdqn")),
    )


def _plain(tasks: Iterable[str], recipe: str = OWN) -> list[tuple[str, Case]]:
    return [(column_name(task), Case.of(recipe, task)) for task in tasks]


def _changed(tasks: Iterable[str], parts: Mapping[str, Mapping[str, Setting]]) -> list[tuple[str, Case]]:
    return [(f"{column_name(t)}: {name}", Case.of(OWN, t, changes)) for t in tasks for name, changes in parts.items()]


def _increments() -> list[tuple[str, Case]]:
    pairs = [(task, value) for task in SENSITIVITY_TASKS for value in SWEPT[INCREMENT]]
    return [(f"{column_name(task)}: `{INCREMENT}={value:g}`", swept(task, INCREMENT, value)) for task, value in pairs]


def _knobs() -> list[tuple[str, Case]]:
    return [
        (f"{column_name(task)}: `{name}={value:g}`", Case.of(OWN, task, {name: value}))
        for task in ABLATION_TASKS
        for name, values in KNOBS.items()
        for value in values
    ]


def _bonuses() -> list[tuple[str, Case]]:
    tasks = (*SENSITIVITY_TASKS, "DeepSea-20")
    return [(f"{column_name(task)}: {r}", Case.of(r, task)) for task in tasks for r in OTHER_BONUSES]


def _early() -> list[tuple[str, Case]]:
    return [("DeepSea 20, stochastic", CHANCE), *((f"the same: {name}", case) for name, case in EARLY.items())]


def _deep() -> list[tuple[str, Case]]:
    unheld = [(f"{column_name(case.task)}: {name}", case) for name, case in UNHELD.items()]
    return [*((column_name(case.task), case) for case in DEEP), *unheld]


def _pictures(names: Iterable[str]) -> dict[str, str]:
    return {file_name(name): name for name in names}


def beyond_page(
    found: Mapping[Case, Holding], unseen: Mapping[Case, Holding] | None = None, figures: Sequence[str] = ()
) -> str:
    """What the recipe reaches and holds, in tables. `unseen` are the paper's tasks with other seeds."""
    parts = [f"# {TITLE}", INTRODUCTION]
    if "curves" in figures:
        parts += ["![Returns over episodes](curves.png)", CURVES]
    for section in outline():
        parts += _section(section, (unseen or {}) if section.unseen else found, figures)
    return "\n\n".join(parts) + "\n"


BLIND = (
    "Other mappings, shapes and starts, and chance, with seeds from 1000 on. No setting's value was chosen on them. "
    "But the entropy bonus falls as late as it does because two earlier runs failed on the stochastic DeepSea, so "
    "that row is no longer a blind test."
)

TITLE = "Beyond the paper"
INTRODUCTION = (
    "`derl reproduce beyond` makes all of this at full length. The page is generated from the runs there are, and says "
    "for how many episodes they were trained.\n\n"
    "- **Hold.** A run *holds* the optimum from an episode on if the greedy evaluation there, the last one, and at "
    "least 95 % of all from there on are optimal, for at least the last quarter of its training.\n"
    "- **At the end** is the mean of the last tenth of its evaluations.\n"
    "- **Last run** is the episode from which on the slowest run holds the optimum, or how many runs do not.\n"
    "- **Evaluations** are made every 10 episodes (every 50 in DeepSea 100, in stochastic DeepSea and with random "
    "starts). Where chance decides returns (random starts, stochastic DeepSea), an evaluation counts as optimal if it "
    "is at most 0.1 below the best possible.\n"
    "- **Best possible** is what a policy that sees only the observation can reach.\n"
    "- **Published** numbers are of the best of the paper's 18 algorithms in each task, over 100,000 episodes: the "
    "average over all evaluations, and the highest mean of an evaluation."
)


CURVES = (
    "Means over runs, with 95 % intervals for `derl` and Bootstrapped DQN. Dashes at the right are the published "
    "averages of the paper's 18 algorithms. Grey lines, if there are any, are the same algorithms rerun here with the "
    "paper's settings. All evaluations are greedy."
)

TIME = (
    "A run's time is its share of the core time of the population it was trained in, compilation included, spread "
    "evenly over its evaluations, on machines that were not idle: an order of magnitude, not a benchmark. Dashes are "
    "the published averages again, at the time when the paper's own code reaches its 100,000 episodes. This follows "
    "from its speed on one core of such a machine: measured for ten of its 18 algorithms, and for the others that of "
    "the same algorithm with Count. Grey lines, if there are any, are reruns here whose time was taken. By the "
    "table above and that of [performance](../performance.md), a step of `derl` costs 60 (Hallway-10-10) to 300 times "
    "(DeepSea-10) as much as one of A2C Count, but it needs far fewer of them."
)

SENSITIVITY = (
    "The average return over the whole training, the early part included, of the recipe and of the paper's algorithms "
    "with Count as published. The recipe divides the bonus by its own recent size, so a factor lambda would cancel. "
    "Lambda is therefore not read, and its line is one set of runs, those of the first table. The recipe does read the "
    "count increment, which cancels but for rounding."
)


def _section(section: Section, found: Mapping[Case, Holding], figures: Sequence[str]) -> list[str]:
    """A section's paragraphs; none of one that is about a figure alone that was not drawn."""
    shown = [f"![{text}]({file}.png)" for file, text in section.figures.items() if file in figures]
    if not section.rows and not shown:
        return []
    there = [(name, found[case]) for name, case in section.rows if case in found]
    missing = [name for name, case in section.rows if case not in found]
    parts = [f"## {section.title}"]
    if there:
        parts.append(holding_table(there, _beside([holding for _, holding in there]) if section.published else {}))
    if missing:
        parts.append(f"Not run: {'; '.join(missing)}.")
    return [*parts, *filter(None, [section.note]), *shown]


def holding_table(rows: Sequence[tuple[str, Holding]], extra: Mapping[str, Sequence[str]] | None = None) -> str:
    """Who reaches and holds the optimum; `extra` adds columns after the name."""
    extra = extra or {}
    head = ["", *extra, "best possible", "at the end", "episodes", "runs", "reach it", "hold it", "held from (median)"]
    head += ["last run"]
    lines = []
    for i, (name, h) in enumerate(rows):
        reached = sum(episode is not None for episode in h.first)
        median = "–" if h.median is None else f"{h.median:,.0f}"
        lost = h.runs - len(h.held)
        last = f"{lost} do{'es' if lost == 1 else ''} not" if lost else f"{max(h.held):,}"
        numbers = [f"{h.optimum:.2f}", signed(h.final), f"{h.episodes:,}", h.runs, reached, len(h.held), median, last]
        lines.append([name, *(column[i] for column in extra.values()), *numbers])
    return markdown_table("l" + "r" * (len(head) - 1), head, lines)


def _beside(there: Sequence[Holding]) -> dict[str, list[str]]:
    """The best published numbers of the same tasks, and ours that compare with them."""
    best = {
        f"best published {name}": [best_published(h.case.task, tables) for h in there]
        for name, tables in (("average", AVERAGES), ("maximum", MAXIMA))
    }
    extra = {name: [f"{c.mean:.2f} ({c.row})" for c in found] for name, found in best.items()}
    extra["average"] = [f"{h.average:.2f}" for h in there]
    extra["core seconds a run"] = ["–" if not h.seconds else f"{h.seconds:,.0f}" for h in there]
    return extra
