"""Draws the documentation's figures and fills in its tables, from the results in results/.

derl reproduce table-1                                                       # makes them
derl store export results/paper/table-1.parquet --experiment table-1         # keeps them (columns: CONTRIBUTING.md)
python docs/build.py                                                         # draws and fills in
python docs/build.py speed                                                   # only what the speeds fill

Lines of further recipes: derl bench --recipes ppo-icm --out benchmarks/speed.csv; those of others stay.
"""

import sys
from collections.abc import Iterable
from pathlib import Path

import polars as pl

import derl
from derl.analysis.claims.paper import Claim, claims, overall
from derl.analysis.figures import style
from derl.analysis.figures.beyond import best_published
from derl.analysis.figures.run import draw_line, plot_decoupling
from derl.analysis.measures.curves import learning_curves
from derl.analysis.measures.frames import Results, newest
from derl.analysis.measures.holding import holdings, longest
from derl.analysis.measures.numbers import signed
from derl.analysis.pages.beyond import FRESH, write_beyond
from derl.analysis.pages.figures import write_all
from derl.analysis.pages.markdown import markdown_table
from derl.analysis.pages.reproduction import expected_by_luck
from derl.analysis.pages.tables import MARKS, number
from derl.analysis.pages.variants import grid_sentence, learning_table, variants_table
from derl.analysis.published.counted import grounds_of
from derl.analysis.published.first_runs import counted_runs
from derl.analysis.published.ours import DRAWN
from derl.analysis.published.runs_behind import MAXIMA
from derl.analysis.published.verdicts import Verdict, count_outcomes, count_standings, verdicts
from derl.envs.registry import PAPER_TASKS
from derl.experiments.cases import Setting
from derl.experiments.exchange import read_results
from derl.experiments.paper import Cell, column_name, published, row_name
from derl.experiments.reference import REFERENCE, reference_speed

ROOT = Path(__file__).parents[1]
RESULTS, FIGURES = ROOT / "results" / "paper", ROOT / "docs" / "figures"
TASKS = ("DeepSea-10", "Hallway-10-10")
README_ROWS = ("a2c", "a2c-count", "dea2c-count", "dedqn-count")

AS_IT_IS: dict[str, Setting] = {}
PPO = ("ppo", "ppo-count", "ppo-hash-count", "ppo-icm", "ppo-rnd", "ppo-ride")
COUNTED: dict[str, Setting] = {"bonus.counts": "state"}
TABLE_1, LAMBDA_HALLWAY = "tab:mean_returns", "tab:hallway10_10_intrinsic_coef_mean"


def averages(recipes: Iterable[str], *tasks: str) -> list[Cell]:
    """The averages of Table 1 of recipes on tasks."""
    return [found_in(TABLE_1, recipe, task) for task in tasks for recipe in recipes]


def found_in(table: str, recipe: str, task: str, **changes: Setting) -> Cell:
    """A published number."""
    cell = published(table, recipe, task, dotted(changes))
    assert cell is not None
    return cell


def dotted(changes: dict[str, Setting]) -> dict[str, Setting]:
    """Settings by their names, written as arguments are."""
    return {name.replace("__", "."): value for name, value in changes.items()}


IN_HALLWAY = [*averages(PPO, "Hallway-10-0"), *averages(["ppo-icm"], "Hallway-10-10", "Hallway-20-20")]
HALLWAYS = tuple(task for task in PAPER_TASKS if task.startswith("Hallway"))


def but_ride(**changes: Setting) -> list[dict[str, Setting]]:
    """Changes of PPO in Hallway, in which RIDE counts: that it does not goes with normalised observations alone."""
    return [dotted(changes) | (COUNTED if cell.case.recipe == "ppo-ride" else {}) for cell in IN_HALLWAY]


DEDQN_UNCONFIGURED: dict[str, Setting] = {
    "bonus.scale": 0.5,
    "explorer.learning_rate": 3e-4,
    "explorer.entropy_coef": 0.005,
    "exploiter.batch_size": 1024,
    "exploiter.target_rate": 0.001,
    "exploiter.activation": "relu",
}
ICM_UNCONFIGURED: dict[str, Setting] = {
    "bonus.scale": 0.5,
    "bonus.learning_rate": 1e-5,
    "bonus.forward_coef": 10.0,
    "bonus.inverse_coef": 0.1,
}
"""What the paper's code has where no configuration says otherwise."""
VARIANTS = {
    ("algorithms/a2c.md", "greedy"): (
        averages(("a2c-count", "a2c-hash-count"), "Hallway-30-0", "Hallway-30-30"),
        {"greedy": [AS_IT_IS], "sampled": [{"protocol.evaluation": "sampled"}]},
    ),
    ("algorithms/ppo.md", "normalised"): (
        IN_HALLWAY,
        {
            "nothing normalised": but_ride(normalise_observations=False, normalise_rewards=False),
            "for the agent alone": but_ride(bonus_observations="raw", protocol__evaluation_statistics="training"),
            "all as the code": [AS_IT_IS],
        },
    ),
    ("algorithms/ppo.md", "lambda"): (
        [*averages(("ppo-count", "a2c-icm"), "DeepSea-20"), *averages(("a2c-icm", "ppo-icm"), "Hallway-10-10")],
        {"lambda 1": [AS_IT_IS], "lambda 0.5": [{"bonus.scale": 0.5}]},
    ),
    ("algorithms/decoupled-dqn.md", "search"): (
        averages(["dedqn-count"], "DeepSea-20"),
        {
            "recipe": [AS_IT_IS],
            "targets not frozen": [{"exploiter.frozen_targets": False}],
            "prioritised replay": [{"exploiter.prioritised": True}],
            "lambda 0.5": [{"bonus.scale": 0.5}],
            "lambda 0.01": [{"bonus.scale": 0.01}],
            "intrinsic rewards alone": [{"explorer_reward": "intrinsic"}],
            "explorer PPO": [{"explorer_kind": "ppo"}],
            "both agents as unconfigured": [DEDQN_UNCONFIGURED],
        },
    ),
    ("algorithms/decoupled-actor-critic.md", "order"): (
        averages(["deppo-count"], "DeepSea-10", "DeepSea-14", "Hallway-10-10"),
        {"as in the code": [AS_IT_IS], "in order": [{"decoupling.stale_segments": False}]},
    ),
    ("bonuses/count.md", "memory"): (
        [found_in(LAMBDA_HALLWAY, "ppo-count", "Hallway-10-10", bonus__scale=value) for value in (2, 4, 10, 100)],
        {"states": [AS_IT_IS], "those of the same time step": [{"bonus.memory": "step"}]},
    ),
    ("bonuses/icm.md", "half"): (
        averages(["a2c-icm"], "DeepSea-20", "Hallway-10-0", "Hallway-10-10", "Hallway-20-20", "Hallway-30-30"),
        {"half, as the code": [AS_IT_IS], "whole, as the paper": [{"bonus.halve": False}]},
    ),
    ("bonuses/ride.md", "counts"): (
        averages(["ppo-ride"], *HALLWAYS),
        {"with episodic counts": [COUNTED], "without": [AS_IT_IS]},
    ),
}
"""What documents compare: which published numbers, and in which variants."""
LEARNING = {
    ("bonuses/icm.md", "learning"): (
        averages(["a2c-icm"], "DeepSea-20", "Hallway-10-0", "Hallway-10-10"),
        {
            "half": AS_IT_IS,
            "whole": {"bonus.halve": False},
            "half, lambda 0.5": {"bonus.scale": 0.5},
            "half, all as the code has it unless configured": ICM_UNCONFIGURED,
            "half, forward weight 0.5": {"bonus.forward_coef": 0.5},
        },
    ),
    ("algorithms/decoupled-actor-critic.md", "deep"): (
        averages(["dea2c-count"], "DeepSea-30"),
        {
            "lambda 1": AS_IT_IS,
            "lambda 0.5": {"bonus.scale": 0.5},
            "weights divided by the policy that acted": {"decoupling.denominator": "collected"},
        },
    ),
}
"""Where documents tell how many of all runs learn."""


def frames(whole: pl.DataFrame) -> dict[tuple[str, str], pl.DataFrame]:
    """The recipes as they are on the two tasks of the README, by task and recipe."""
    plain = whole.filter(pl.col("task").is_in(TASKS), pl.col("setting") == "")
    return {(str(task), str(name)): part for (task, name), part in plain.group_by(["task", "recipe"])}


def draw_recipe(recipe: str, by_task: dict[str, pl.DataFrame]) -> None:
    """A recipe's learning curves on both tasks."""
    with style.styled():
        figure = style.new_figure(8.4, 3.2)
        panels = figure.subplots(1, len(by_task), squeeze=False)[0]
        decoupled = recipe.startswith("de")
        for axes, (task, frame) in zip(panels, by_task.items(), strict=True):
            curve = learning_curves(frame, [])
            draw_line(axes, curve, "", "exploiter (evaluation)" if decoupled else "evaluation", style.BLUE, 0)
            draw_line(axes, curve, "explorer_", "explorer (training)", style.VERMILLION, 1)
            optimum = derl.make(task).optimal_return
            if optimum is not None:
                axes.axhline(optimum, color=style.INK, linewidth=1.1, linestyle=(0, (5, 3)), label="best possible")
            style.style_curves(axes, task)
        panels[0].set_ylabel("Return (mean, 95 % interval)")
        style.add_title(figure, row_name(recipe))
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=9)
        figure.savefig(FIGURES / f"{recipe}.png", dpi=130, metadata={"Software": None})


def table(judged: list[Verdict]) -> str:
    """Average evaluation returns beside the published ones, as Markdown."""
    found = {(v.cell.case.task, v.cell.case.recipe): v for v in judged if v.cell.table == TABLE_1}
    head, rows = ["average return", *(name for task in TASKS for name in (f"{task} here", "published"))], []
    for recipe in README_ROWS:
        verdicts = [found[task, recipe] for task in TASKS]
        ours = [f"{number(*v.ours)} {MARKS[v.outcome]}" if v.ours else "not run" for v in verdicts]
        cells = [(text, number(v.cell.mean, v.cell.std)) for text, v in zip(ours, verdicts, strict=True)]
        rows.append([row_name(recipe), *(text for pair in cells for text in pair)])
    return markdown_table("l" + "rr" * len(TASKS), head, rows)


def progress(judged: list[Verdict]) -> str:
    """How much of the paper has been run, and how it compares."""
    table_1 = [v for v in judged if v.cell.table == TABLE_1]
    counts, standings, expected = count_outcomes(table_1), count_standings(table_1), expected_by_luck(table_1)
    assert expected is not None
    done = [verdict for verdict in table_1 if verdict.outcome != "not run"]
    fewer = sum(verdict.seeds < DRAWN for verdict in done)
    run = "All" if len(done) == len(table_1) else f"{len(done)} of the"
    whole = count_outcomes(judged)
    left = f", {whole['not run']} have not been run" if whole["not run"] else ""
    return (
        f"Five seeds each{f' (fewer for {fewer} so far)' if fewer else ''}. {run} {len(table_1)} averages of Table 1 "
        f"were run: {counts['consistent']} are consistent with the published ones and {counts['differs']} differ; "
        f"about {expected} would differ by chance alone. {standings['explained']} of the differences are explained: "
        f"{grounds_of(table_1)}. Of all {len(judged):,} numbers of the paper's tables {whole['consistent']:,} are "
        f"consistent and {whole['differs']} differ{left}; {count_standings(judged)['explained']} of these differences "
        "are explained so far ([all numbers](docs/reproduction/README.md))."
    )


def benefit(tested: list[Claim]) -> str:
    """What decoupling brings, by the tests of the paper's claims, in a sentence."""
    found = {(claim.number, claim.measure): claim.effect for claim in overall(tested) if claim.subject == "all DeRL"}

    def told(number: int, measure: str) -> str:
        effect = found[number, f"{measure}minus that of the baseline"]
        assert effect is not None
        return "{} (95 % interval {} to {})".format(*map(signed, effect))

    return (
        "**What decoupling brings**, by [tests of the paper's claims](docs/reproduction/README.md#claims), in shares "
        "of the best possible return: the spread of a recipe's average returns over values of λ, minus that of its "
        f"baseline, is {told(2, 'spread over values of lambda, ')}, and over values of the bonus's decay "
        f"{told(2, 'spread over values of decay, ')}. The average return in all tasks, minus that of the baseline, is "
        f"{told(3, 'average return ')}."
    )


def speed_table() -> str:
    """The committed measurements, as Markdown."""
    head = ("recipe", "task", "runs", "steps/s", "bare update", "overhead", "compile s", "state MB")
    rows = []
    for row in pl.read_csv(ROOT / "benchmarks" / "speed.csv").iter_rows(named=True):
        speed, recipe, task = row["steps_per_second"], row["recipe"], row["task"]
        cells = [recipe, task, str(row["population"]), f"{speed:,.0f}", f"{row['bare_steps_per_second']:,.0f}"]
        cells += [f"{row['overhead']:.2f}", f"{row['compile_seconds']:.1f}", f"{row['state_megabytes']:.1f}"]
        # Of the paper's code some rows were not measured, and of what is not the paper's there is none.
        times = f"{speed / reference_speed(recipe, task):.0f}" if recipe in REFERENCE else "–"
        rows.append([*cells, times])
    return markdown_table("llrrrrrrr", (*head, "paper's code, times"), rows)


def speed_sentence() -> str:
    """How much faster than the paper's code: a run alone, and several at once."""
    speeds = pl.read_csv(ROOT / "benchmarks" / "speed.csv").filter(pl.col("recipe").is_in(list(REFERENCE)))
    names = speeds.select("recipe", "task").iter_rows()
    times = pl.Series([reference_speed(recipe, task) for recipe, task in names])
    speeds = speeds.with_columns((pl.col("steps_per_second") / times).alias("times"))
    alone = speeds.filter(pl.col("population") == 1)["times"].to_list()
    return (
        "Compiled end to end with JAX; seeds and hyper-parameters train together in one program. On one core, a single "
        f"run is {min(alone):.0f} to {max(alone):.0f} times as fast as\nwith the "
        "[paper](https://arxiv.org/abs/2107.08966)'s own code, and several runs together up to "
        f"{max(speeds['times'].to_list()):.0f} times ([measured](docs/performance.md) for {len(REFERENCE)} of its 18 "
        "algorithms)."
    )


def own_table(frame: pl.DataFrame) -> str:
    """The library's own recipe on the paper's tasks beside the best published averages, as Markdown."""
    plain = longest(frame).filter(pl.col("recipe") == "derl", pl.col("setting") == "")
    by_task, fresh = ({h.case.task: h for h in holdings(plain.filter(kept))} for kept in (~FRESH, FRESH))
    found = [by_task[task] for task in PAPER_TASKS if task in by_task]
    others = [fresh.get(h.case.task) for h in found]
    rows = {
        "best possible return": [f"{h.optimum:.2f}" for h in found],
        "best published average": [f"{best_published(h.case.task).mean:.2f}" for h in found],
        "best published maximum": [f"{best_published(h.case.task, MAXIMA).mean:.2f}" for h in found],
        "`derl`, average": [f"{h.average:.2f}" for h in found],
        "`derl`, at the end": [f"{h.final:.2f}" for h in found],
        "seeds that hold the optimum": [f"{len(h.held)} of {h.runs}" for h in found],
        "of seeds nothing was chosen on": [f"{len(h.held)} of {h.runs}" if h else "–" for h in others],
        "held from episode (median)": ["–" if h.median is None else f"{h.median:.0f}" for h in found],
    }
    head = ["", *(column_name(h.case.task) for h in found)]
    return markdown_table("l" + "r" * len(found), head, [[name, *cells] for name, cells in rows.items()])


def fill_in(path: Path, text: str, name: str = "results") -> None:
    """Replace what stands between the markers of a document."""
    begin, end = f"<!-- {name}: python docs/build.py -->", f"<!-- /{name} -->"
    head, rest = path.read_text().split(begin)
    path.write_text(f"{head}{begin}\n{text}\n{end}{rest.split(end)[1]}")


def draw_decoupling() -> None:
    """The README's picture: an explorer that seeks novelty alone, and an exploiter that learns the task from it."""
    result = derl.train("DeepSea-10", "dea2c-count", seeds=2, protocol__episodes=10_000, explorer_reward="intrinsic")
    for path in plot_decoupling(result, 0, FIGURES / "decoupling"):
        if path.suffix == ".pdf":
            path.unlink()


def main() -> None:
    """Build the documents from the results."""
    fill_in(ROOT / "docs" / "performance.md", speed_table())
    fill_in(ROOT / "README.md", speed_sentence(), "speed")
    if sys.argv[1:] == ["speed"]:
        return
    FIGURES.mkdir(exist_ok=True)
    whole = newest(read_results([RESULTS]))
    results = Results(whole)
    found = frames(counted_runs(results).frame)
    for recipe in sorted({recipe for _, recipe in found}):
        draw_recipe(recipe, {task: found[task, recipe] for task in TASKS if (task, recipe) in found})
    for (page, name), (cells, columns) in VARIANTS.items():
        fill_in(ROOT / "docs" / page, variants_table(results, cells, columns), name)
    for (page, name), (cells, kinds) in LEARNING.items():
        fill_in(ROOT / "docs" / page, learning_table(results, cells, kinds), name)
    tried = grid_sentence(results, "dedqn-count", "DeepSea-20", most=3)
    fill_in(ROOT / "docs" / "algorithms" / "decoupled-dqn.md", tried, "grid")
    judged = verdicts(whole)
    fill_in(ROOT / "README.md", f"{table(judged)}\n\n{progress(judged)}\n\n{benefit(claims(whole))}")
    write_all(whole, ROOT / "docs" / "reproduction", judged=judged)
    own = newest(read_results([ROOT / "results" / "beyond"]))
    fill_in(ROOT / "README.md", own_table(own), "own")
    write_beyond(own, ROOT / "docs" / "beyond", whole)
    draw_decoupling()


if __name__ == "__main__":
    main()
