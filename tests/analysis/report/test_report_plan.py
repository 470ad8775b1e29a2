"""What the report says of the paper's plan: its grids, what of it was not run, and what runs each part."""

import polars as pl
import pytest

from analysis.synthetic import made_up
from derl.analysis.measures.frames import Results
from derl.analysis.published.experiments_run import other_runs, runs_of
from derl.analysis.published.not_run import untabled_cases
from derl.analysis.published.verdicts import verdicts
from derl.analysis.report.closing import commands_section, runs_told
from derl.analysis.report.kl import Scales, grid_section, kl_grids, planned
from derl.analysis.report.missing import missing_section
from derl.analysis.report.numbers import grouped_results, tables_of
from derl.experiments.builtin import DESCRIPTIONS, experiment
from derl.experiments.cases import Case
from derl.experiments.paper import ALPHAS, KL_TASKS

SHORT = {"protocol.episodes": 20_000.0, "protocol.evaluate_every": 200.0}


def constrained(alphas: tuple[float, float], task: str = "DeepSea-10", **changes) -> Case:
    settings = dict(zip(("decoupling.alpha_explorer", "decoupling.alpha_exploiter"), alphas, strict=True))
    return Case.of("dea2c-count", task, {**{n: v for n, v in settings.items() if v}, **SHORT, **changes})


def test_the_grids_are_those_of_the_paper():
    pairs = {(a, b) for a in ALPHAS for b in ALPHAS}
    assert planned() == {(task, 20_000): pairs for task in KL_TASKS}


def test_constraints_are_read_from_cases():
    cases = [constrained((0.0, 0.0)), constrained((0.1, 0.01)), constrained((0.5, 0.0))]
    frame = made_up(cases, seeds=3, evaluations=20)
    (grid,) = kl_grids(Results(frame), 20)
    assert (grid.task, grid.reward, grid.episodes) == ("DeepSea-10", "both", 20_000)
    assert set(grid.pairs) == {(0.0, 0.0), (0.1, 0.01), (0.5, 0.0)}
    rows = frame.filter(pl.col("setting") == cases[1].setting)
    assert grid.pairs[0.1, 0.01].divergence == pytest.approx(rows["kl"].mean())
    by_run = rows.group_by("run").agg(pl.col("return").mean())
    assert grid.pairs[0.1, 0.01].spread == pytest.approx(by_run["return"].std(ddof=0))
    # Only so many evaluations count, of runs that have had them.
    (first,) = kl_grids(Results(frame), 5)
    assert first.pairs[0.1, 0.01].divergence == pytest.approx(rows.filter(pl.col("evaluation") <= 5)["kl"].mean())
    assert kl_grids(Results(frame), 21) == []
    # The whole plan is shown, and a reader's own coefficient beside it.
    text = grid_section(grid, Scales.of([grid]), {})
    assert text.count('<th scope="row">') == len(ALPHAS) + 1
    assert text.count("<td") - text.count('class="none"') == len(cases)


def test_pairs_that_are_no_part_of_a_grid_make_none():
    """The sensitivity of the constrained algorithm has two pairs in Hallway 10-10, and trains for longer."""
    cases = [
        Case.of(recipe, task)
        for recipe in ("dea2c-count", "dea2c-count-kl")
        for task in ("DeepSea-10", "Hallway-10-10")
    ]
    cases += [constrained((0.0, 0.0), "Hallway-10-10"), constrained((0.1, 0.1), "Hallway-10-10")]
    assert kl_grids(Results(made_up(cases, seeds=2, evaluations=4)), 4) == []


def test_what_no_table_shows_is_said_to_be_missing():
    task = "Hallway-20-20"
    run = [constrained((0.0, 0.0), task), constrained((0.1, 0.1), task)]
    cut = made_up([constrained((0.01, 0.1), task)], seeds=1, evaluations=3).with_columns(run=pl.lit(99, pl.Int64))
    results = grouped_results(pl.concat([made_up(run, seeds=1, evaluations=5), cut]))
    text = missing_section([], untabled_cases(results, 5))
    assert "Divergence constraints, Hallway 20-20: 48 of 50 settings" in text
    assert "Divergence constraints, DeepSea 10: 50 of 50 settings" in text
    assert "Exploration by intrinsic rewards alone, Hallway 20-20: 1 of 2 settings" in text
    assert "derl reproduce kl --only Hallway-20-20" in text
    # What has a number in a table is missing there.
    assert not any(one.part in ("table-1", "lambda", "decay") for one in untabled_cases(results, 5))
    whole = grouped_results(made_up(experiment("kl").cases, seeds=1, evaluations=2))
    assert not any(one.absent for one in untabled_cases(whole, 2) if one.part in ("kl", "pure-exploration"))
    assert "Hallway 20-20" not in missing_section([], untabled_cases(whole, 2))


@pytest.fixture
def runs():
    """Table 1's first and a further seed, another setting, and a case that two experiments have."""
    plain, other = Case.of("a2c-count", "DeepSea-10"), Case.of("a2c-count", "DeepSea-10", {"explorer.gamma": 0.5})
    swept = Case.of("dea2c-count", "DeepSea-10", {"bonus.scale": 10.0})
    frame = made_up([plain, other, swept], seeds=6, evaluations=3)
    return frame.with_columns(pl.lit(60.0).alias("seconds"), pl.format("k{}", "run").alias("key"))


def test_runs_are_counted_where_a_command_makes_them(runs):
    assert runs_told(runs_of(runs, "table-1")) == "5 runs, 5 min 0 s"
    assert runs_told(runs_of(runs, "lambda")) == "10 runs, 10 min 0 s"  # With the scale of the recipe among its values.
    assert runs_told(runs_of(runs, "grid-search")) == "none"
    assert runs_told(other_runs(runs)) == "8 runs, 8 min 0 s"  # Six of another setting, and two sixth seeds.
    twice = pl.concat(
        [runs, runs.filter(pl.col("run") == 0).with_columns(run=pl.lit(77, pl.Int64), setting=pl.lit("x=1"))]
    )
    assert runs_told(other_runs(twice)) == "8 runs, 8 min 0 s"  # One of an experiment's by another name.


def test_runs_with_other_seeds_are_of_their_experiment(runs):
    """With `--seeds 5-9` all of them were told to be further seeds, and Table 1 to have none."""
    moved = runs.with_columns(pl.col("seed") + 5)
    told = [runs_told(part) for part in (runs_of(moved, "table-1"), runs_of(moved, "lambda"), other_runs(moved))]
    assert told == ["5 runs, 5 min 0 s", "10 runs, 10 min 0 s", "8 runs, 8 min 0 s"]


def test_every_experiment_that_differs_has_a_command_that_tells_why(runs):
    lower = runs.filter(pl.col("recipe") == "a2c-count").with_columns(pl.lit(-0.5).alias("return"))
    tables = tables_of(verdicts(grouped_results(lower), evaluations=3))
    differing = {table.part for table in tables if table.counts()["differs"]}
    assert differing == {"table-1", "lambda", "decay"}
    text = commands_section(lower, tables, "derl report")
    for part in DESCRIPTIONS:
        assert (f"derl reproduce {part} --explain<" in text) == (part in differing)
    # A sixth seed is one of `--explain`, another setting that no reason has is a sweep's.
    assert ">1 run, 1 min 0 s<" in text
    assert "derl sweep YOUR-FILE.toml" in text
    assert ">6 runs, 6 min 0 s<" in text
    alone = runs_of(runs, "table-1")
    assert "--explain" not in commands_section(alone, [], "derl report")
    assert "Further seeds" not in commands_section(alone, [], "derl report")
