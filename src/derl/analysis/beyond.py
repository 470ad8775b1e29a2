"""The experiment `beyond` as a page and figures: the library's own recipe beside the paper's best."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import polars as pl

from derl.analysis import style
from derl.analysis.beyond_figures import (
    AVERAGES,
    INCREMENT,
    MAXIMA,
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
from derl.analysis.frames import as_results
from derl.analysis.holding import Holding, holdings, longest, table
from derl.analysis.pages import write_text
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
    UNHELD,
)
from derl.experiments.cases import Case
from derl.experiments.paper import SENSITIVITY_TASKS, column_name


def write_beyond(frame: pl.DataFrame, folder: Path | str, paper: pl.DataFrame | None = None) -> list[Path]:
    """The page and its figures. `paper` holds our runs of the paper's recipes, to draw beside."""
    frame = longest(frame)
    # The paper's tasks are there twice: with the seeds that settings were chosen on, and with others.
    fresh = (pl.col("seed") >= HELD_OUT_SEEDS[0]) & (pl.col("setting") == "") & pl.col("task").is_in(PAPER_TASKS)
    unseen = {holding.case: holding for holding in holdings(frame.filter(fresh))}
    frame = frame.filter(~fresh)
    results = as_results(frame)
    found = {holding.case: holding for holding in holdings(frame)}
    published = None if paper is None else as_results(paper)
    paths = []
    figures = {"curves": curves_figure(results, published), "time": curves_figure(results, published, axis="seconds")}
    figures["sensitivity"] = sensitivity_figure(found)
    for tasks, ablations in ((ABLATION_TASKS, ABLATIONS), (LARGER_TASKS, HOLDING)):
        for name, changes in ablations.items():
            figures[file_name(name)] = part_figure(results, name, changed(tasks, changes))
    for recipe, others in ((DEEP[0], UNHELD), (CHANCE, EARLY)):
        for name, case in others.items():
            figures[file_name(name)] = held_figure(results, name, recipe, case)
    shown = []
    for name, figure in figures.items():
        if figure is not None:
            paths += style.save(figure, Path(folder) / name)
            shown.append(name)
    return [*paths, write_text(Path(folder) / "README.md", beyond_page(found, unseen, shown))]


def beyond_page(
    found: Mapping[Case, Holding], unseen: Mapping[Case, Holding] | None = None, figures: Sequence[str] = ()
) -> str:
    """What the recipe reaches and holds, in tables. `unseen` are the paper's tasks with other seeds."""
    parts = ["# Beyond the paper", INTRODUCTION]
    if "curves" in figures:
        parts.append(f"![Returns over episodes](curves.png)\n\n{CURVES}")
    tasks = [(column_name(t), Case.of(OWN, t)) for t in PAPER_TASKS]
    parts += _section("The paper's tasks", tasks, found, published=True)
    parts += _section("The same with seeds nothing was chosen on", tasks, unseen or {})
    if "time" in figures:
        parts.append(f"## The same in time\n\n{TIME}\n\n![Returns over core seconds](time.png)")
    if "sensitivity" in figures:
        parts.append(f"## Sensitivity\n\n{SENSITIVITY}\n\n![Sensitivity to lambda and increments](sensitivity.png)")
    steps = [(f"{column_name(t)}, {v:g}", swept(t, INCREMENT, v)) for t in SENSITIVITY_TASKS for v in SWEPT[INCREMENT]]
    parts += _section("Every increment", steps, found)
    own = [
        (f"{column_name(t)}, {name} {value:g}", Case.of(OWN, t, {name: value}))
        for t in ABLATION_TASKS
        for name, values in KNOBS.items()
        for value in values
    ]
    parts += _section("The recipe's own numbers, a third and three times as large", own, found)
    bonuses = [
        (f"{column_name(t)}, {r}", Case.of(r, t))
        for t in SENSITIVITY_TASKS
        for r in (f"{OWN}-hash-count", f"{OWN}-rnd")
    ]
    parts += _section("Other bonuses", bonuses, found)
    held_out = [Case.of(OWN, task, changes) for task, changes in HELD_OUT]
    parts += _section("Held out", [(f"{column_name(c.task)} {c.setting}".strip(), c) for c in held_out], found)
    parts.append(BLIND)
    ablated = [(f"{column_name(t)}: {n}", Case.of(OWN, t, c)) for t in ABLATION_TASKS for n, c in ABLATIONS.items()]
    parts += _section("Without each part", ablated, found)
    parts += [f"![{name}]({file_name(name)}.png)" for name in ABLATIONS if file_name(name) in figures]
    larger = [(f"{column_name(t)}: {n}", Case.of(OWN, t, ABLATIONS[n])) for t in LARGER_TASKS for n in NEEDED_LATER]
    parts += _section("Without some parts, larger tasks", larger, found)
    unheld = [(f"{column_name(t)}: {n}", Case.of(OWN, t, c)) for t in LARGER_TASKS for n, c in HOLDING.items()]
    parts += _section("Without what holds the optimum", unheld, found)
    parts += [f"![{name}]({file_name(name)}.png)" for name in HOLDING if file_name(name) in figures]
    early = [("DeepSea 20, stochastic", CHANCE), *((f"the same: {name}", case) for name, case in EARLY.items())]
    parts += _section("Where chance decides", early, found)
    parts += [f"![{name}]({file_name(name)}.png)" for name in EARLY if file_name(name) in figures]
    deep = [(column_name(c.task), c) for c in DEEP]
    deep += [(f"{column_name(case.task)}: {name}", case) for name, case in UNHELD.items()]
    parts += _section("Larger tasks than the paper's", deep, found)
    parts += [f"![{name}]({file_name(name)}.png)" for name in UNHELD if file_name(name) in figures]
    compared = [(column_name(t), Case.of("bootdqn", t)) for t in BASELINE_TASKS]
    parts += _section("Bootstrapped DQN with random priors", compared, found)
    return "\n\n".join(parts) + "\n"


BLIND = (
    "Other mappings, shapes, starts, and chance, with seeds from 1000 on. No setting's value was chosen on them, but "
    "the failure of two earlier runs on the stochastic DeepSea is why the entropy bonus falls as late as it does: that "
    "row is no longer a blind test."
)

INTRODUCTION = (
    "`derl reproduce beyond` makes all of this at full length; the page is generated from the runs there are, and says "
    "for how many episodes they were trained. A run *holds* the optimum from an episode on if the greedy evaluations "
    "then and at the end are optimal, at least 95 % of those from then on are, and that is for the last quarter of its "
    "training or longer. *At the end* is the mean of the last tenth of its evaluations, *last run* the episode from "
    "which on the slowest run holds it, or how many do not. An evaluation is made every 10 episodes, or every 50 where "
    "it says so; where chance decides returns (random starts, stochastic DeepSea) one counts "
    "as optimal from 0.1 below the best possible. Best possible is what a policy that sees only the observation can "
    "reach. The published numbers are of the best of the paper's 18 algorithms in each task, over "
    "100,000 episodes: the average over all evaluations, and the highest mean of an evaluation."
)


CURVES = (
    "Means over runs, with 95 % intervals for `derl` and Bootstrapped DQN. The paper's algorithms are rerun with the "
    "paper's settings; A2C and PPO sample their actions in evaluations, as in its code, all others are greedy."
)

TIME = (
    "A run's share of the core time of the population it was trained in, compilation included, spread evenly over its "
    "evaluations, on machines that were not idle: an order of magnitude, not a benchmark. A step of `derl` costs about "
    "a hundred times a step of A2C, and it needs far fewer of them. Runs whose time was not taken are left out."
)

SENSITIVITY = (
    "The average return over the whole training, the early part included, of the recipe and of the paper's algorithms "
    "with Count as published. The recipe does not read lambda at all: a bonus alone, measured by its own recent size, "
    "has nothing that lambda could weigh it against, so its line is one set of runs, those of the first table. The "
    "count increment it does read, and cancels."
)


def _section(
    title: str, rows: Iterable[tuple[str, Case]], found: Mapping[Case, Holding], published: bool = False
) -> list[str]:
    there = [(name, found[case]) for name, case in rows if case in found]
    missing = [name for name, case in rows if case not in found]
    if not there:
        return [f"## {title}", "Not run."] if missing else []
    extra = {}
    if published:
        best = {
            f"best published {name}": [best_published(h.case.task, tables) for _, h in there]
            for name, tables in (("average", AVERAGES), ("maximum", MAXIMA))
        }
        extra = {name: [f"{c.mean:.2f} ({c.row})" for c in found] for name, found in best.items()}
        extra["average"] = [f"{h.average:.2f}" for _, h in there]
        extra["core seconds a run"] = ["–" if not h.seconds else f"{h.seconds:,.0f}" for _, h in there]
    parts = [f"## {title}", table(there, extra)]
    return parts + ([f"Not run: {', '.join(missing)}."] if missing else [])
