"""All figures like the paper's from a frame of results, each as PDF and PNG; what was not run is not drawn."""

from collections.abc import Iterator, Sequence
from functools import cache, partial
from pathlib import Path

import polars as pl
from matplotlib.figure import Figure

from derl.analysis.claims.divergence import main_groups
from derl.analysis.claims.paper import Claim
from derl.analysis.claims.sensitivity import KINDS
from derl.analysis.figures import style
from derl.analysis.figures.aggregates import aggregates_figure
from derl.analysis.figures.curves import (
    ALGORITHMS,
    best_recipes,
    coverage_figure,
    family_grid,
    task_grid,
    weights_figure,
)
from derl.analysis.figures.kl import coefficients_figure, four_panels, pair_figure
from derl.analysis.figures.normalised import normalised_figure
from derl.analysis.figures.sensitivity import sensitivity_figure
from derl.analysis.measures.frames import EVALUATIONS, Results, as_results
from derl.analysis.pages.reproduction import cautioned, write_pages, write_text
from derl.analysis.published.cautions import cautions
from derl.analysis.published.first_runs import counted_runs
from derl.analysis.published.ours import DRAWN
from derl.analysis.published.verdicts import Verdict
from derl.envs.registry import PAPER_TASKS
from derl.experiments.builtin import experiment
from derl.experiments.cases import Case
from derl.experiments.paper import SENSITIVITY_TASKS, column_name
from derl.training.recipes import TABLE_1

ENVIRONMENTS = {name: [t for t in PAPER_TASKS if t.startswith(name)] for name in ("DeepSea", "Hallway")}
FAMILIES = {
    "A2C": [r for r in TABLE_1 if r.partition("-")[0] == "a2c"],
    "PPO": [r for r in TABLE_1 if r.partition("-")[0] == "ppo"],
    "DeRL": [r for r in TABLE_1 if r.startswith("de")],
}
MAIN = [f"{algorithm}-{bonus}" for bonus in ("count", "icm") for algorithm in ALGORITHMS]
OTHERS = [f"{algorithm}-{bonus}" for algorithm in ("a2c", "ppo") for bonus in ("hash-count", "rnd", "ride")]
CONSTRAINED = ["dea2c-count", "dea2c-count-kl"]
OF_MAIN, OF_OTHERS, OF_CONSTRAINED = "Count and ICM", "other bonuses", "with KL constraints"
EXPLORERS = ["a2c", "a2c-count", "a2c-icm", "a2c-rnd", "ppo-count", "dea2c-count"]

ABOUT = (
    f"Where the paper has a number, the runs are those of the tables: the first {DRAWN} seeds. Shading and lines "
    "across bars are 95 % bootstrap intervals over runs. Those across bars are widened by √(n / (n - 1)) for n runs, "
    "because few runs drawn from themselves vary too little, and cut off at the lowest and the best possible return."
)

Named = tuple[str, str, Figure | None]
"""A file's name, what the figure shows, and the figure, if there is anything to show."""


def write_figures(frame: pl.DataFrame | Results, folder: Path | str, *, evaluations: int = EVALUATIONS) -> list[Path]:
    """Draw everything there is, as PNG and PDF, with a page that shows it."""
    results = as_results(frame)
    lines, paths, missing = ["# Figures", ABOUT], [], []
    for name, caption, figure in figures(results, evaluations):
        if figure is None:
            missing.append(f"- {caption}")
            continue
        paths += style.save(figure, Path(folder) / name)
        lines += [f"## {caption}", f"![{caption}]({name}.png)", f"[PDF]({name}.pdf)"]
    if missing:
        lines += ["## Not run", "\n".join(missing)]
    text = cautioned("\n\n".join(lines) + "\n", cautions(results, evaluations))
    return [*paths, write_text(Path(folder) / "README.md", text)]


def write_all(
    frame: pl.DataFrame | Results,
    folder: Path | str,
    *,
    evaluations: int = EVALUATIONS,
    judged: Sequence[Verdict] | None = None,
    tested: Sequence[Claim] | None = None,
) -> list[Path]:
    """Everything about a frame of results: pages of tables, verdicts and claims, and in `figures` the figures.

    Only runs with at least `evaluations` evaluations are judged, and only so many of them; learning curves show all.
    `judged` and `tested` are their verdicts and claims, if they are known already.
    """
    results, link = as_results(frame), "figures/README.md"
    pages = write_pages(results, folder, evaluations=evaluations, figures=link, judged=judged, tested=tested)
    return [*pages, *write_figures(results, Path(folder) / "figures", evaluations=evaluations)]


def figures(results: Results, evaluations: int = EVALUATIONS) -> Iterator[Named]:
    """All figures, one after the other, of the runs that the tables count."""
    results = counted_runs(results, evaluations)
    yield from curve_figures(results, evaluations)
    yield from sensitivity_figures(results, evaluations)
    yield from divergence_figures(results)


def curve_figures(results: Results, evaluations: int = EVALUATIONS) -> Iterator[Named]:
    """Learning curves, normalised returns, aggregates, importance weights and coverage."""
    run = {case.task for case in results.cases if not case.changes and case.recipe in TABLE_1}
    tasks = [task for task in PAPER_TASKS if task in run]
    caption = "Learning curves in all tasks, best bonus of each algorithm"
    yield "curves-all", caption, task_grid(results, tasks, best_recipes(results, tasks), caption) if tasks else None
    for environment, whole in ENVIRONMENTS.items():
        there = [task for task in whole if task in run]
        caption = f"Learning curves in {environment}, best bonus of each algorithm there"
        best = task_grid(results, there, best_recipes(results, there), caption) if there else None
        yield f"curves-{environment.lower()}-best", caption, best
        caption = f"Learning curves in {environment}, all recipes"
        every = family_grid(results, there, FAMILIES, caption) if there else None
        yield f"curves-{environment.lower()}-families", caption, every
        caption = f"Aggregates over {environment}"
        aggregates = aggregates_figure(results, environment, whole, evaluations)
        yield f"aggregates-{environment.lower()}", caption, aggregates
    caption = "Normalised evaluation returns"
    present = {name: whole for name, whole in ENVIRONMENTS.items() if run & set(whole)}
    yield "normalised", caption, normalised_figure(results, present) if present else None
    case = Case.of("dea2c-count", "DeepSea-14")
    weights = weights_figure(results, case) if case in results else None
    yield "importance-weights", "Returns and importance weights of DeA2C Count in DeepSea 14", weights
    explorers = [recipe for recipe in EXPLORERS if any(Case.of(recipe, task) in results for task in tasks)]
    covered = explorers and "coverage" in results.frame.columns
    yield "coverage", "States visited", coverage_figure(results, tasks, explorers) if covered else None


def sensitivity_figures(results: Results, evaluations: int = EVALUATIONS) -> Iterator[Named]:
    """Bars of every sweep."""
    for task in SENSITIVITY_TASKS:
        for kind in KINDS:
            stem = f"{kind}-{task.lower()}"
            what = f"Sensitivity to {'λ' if kind == 'lambda' else 'decay'} in {column_name(task)}"
            draw = partial(sensitivity_figure, results, task, kind, evaluations=evaluations)
            yield stem, f"{what}, {OF_MAIN}", draw(MAIN, 5, what=OF_MAIN)
            yield f"{stem}-others", f"{what}, {OF_OTHERS}", draw(OTHERS, 3, what=OF_OTHERS)
            tied = draw(CONSTRAINED, 3, ("both", "intrinsic"), what=OF_CONSTRAINED)
            # Without runs of the recipe with constraints this would repeat a panel of the first figure.
            tied = tied if any(case.recipe == CONSTRAINED[1] and case.task == task for case in results.cases) else None
            yield f"{stem}-kl", f"{what}, {OF_CONSTRAINED}", tied


@cache
def coefficient_tasks() -> frozenset[str]:
    """The tasks in which the paper varies the coefficients of constraints."""
    varied = {"decoupling.alpha_explorer", "decoupling.alpha_exploiter"}
    return frozenset(case.task for case in experiment("kl").cases if varied & dict(case.changes).keys())


def divergence_figures(results: Results) -> Iterator[Named]:
    """Divergence of the two policies."""
    found = False
    for group in main_groups(results):
        found = True
        name, stem = column_name(group.task), f"kl-{group.task.lower()}"
        yield stem, f"KL constraints and intrinsic rewards alone in {name}", four_panels(results, group)
        maps = coefficients_figure(results, group)
        # Elsewhere the paper has constraints of one strength alone, and nothing is missing.
        if maps is not None or group.task in coefficient_tasks():
            yield f"{stem}-coefficients", f"All coefficients of constraints in {name}", maps
        for alphas in sorted({(v.alpha_explorer, v.alpha_exploiter) for v in group.cases}):
            explorer, exploiter = (f"{alpha:g}" for alpha in alphas)
            # Without dots, which would end the file's name.
            file = f"{stem}-explorer-{explorer}-exploiter-{exploiter}".replace(".", "_")
            caption = f"KL constraints in {name}, α_β = {explorer}, α_e = {exploiter}"
            yield file, caption, pair_figure(results, group, alphas)
    if not found:
        yield "kl", "KL constraints and intrinsic rewards alone", None
