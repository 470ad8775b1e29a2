"""The choices of learning curves that are figures of the paper: each shows the figure's lines and no others."""

import pytest

from analysis.report.reading import TASKS, needs_chromium, readout
from analysis.synthetic import made_up
from derl.analysis.measures.aggregates import optimal_return
from derl.analysis.report import write_report
from derl.envs.registry import PAPER_TASKS
from derl.experiments.builtin import experiment
from derl.experiments.cases import Case
from derl.experiments.paper import column_name, row_name

pytestmark = needs_chromium

RECIPES = ("a2c-count", "a2c-hash-count", "ppo-hash-count", "ppo-icm", "ppo-rnd", "dea2c-count", "dea2c-icm")
MISSING = Case.of("ppo-rnd", "DeepSea-20")
"""Without it PPO RND has no normalised returns in DeepSea."""
LABELS = "[...document.getElementById('preset').options].map((o) => o.textContent)"
METRIC = "document.getElementById('metric').selectedOptions[0].textContent"
TITLES = "[...document.querySelectorAll('#curve-panels h3')].map((h) => h.textContent)"


@pytest.fixture(scope="module")
def tried():
    """Many recipes in all tasks, and the experiment of section 6."""
    cases = [Case.of(recipe, task) for recipe in RECIPES for task in PAPER_TASKS]
    cases += experiment("pure-exploration").cases
    return made_up([case for case in cases if case != MISSING], seeds=2, evaluations=6)


@pytest.fixture(scope="module")
def tried_page(tried, tmp_path_factory):
    return write_report(tried, tmp_path_factory.mktemp("figures") / "r.html", claims=(), evaluations=6)


def shown(browser, label: str) -> dict[str, list[str]]:
    """The lines of each chart once a figure is chosen."""
    place = browser.run(LABELS).index(label) - 1
    browser.run(
        f"(() => {{ const s = document.getElementById('preset'); s.value = {place}; "
        "s.dispatchEvent(new Event('change')); })()"
    )
    return {title: list(readout(browser, i)) for i, title in enumerate(browser.run(TITLES))}


def best(frame, tasks) -> set[str]:
    """By its definition: the highest mean over tasks of the average return as a share of the best possible one."""
    scores: dict[str, list[float]] = {}
    for recipe, task, setting, value in (
        frame.group_by("recipe", "task", "setting").mean().select("recipe", "task", "setting", "return").iter_rows()
    ):
        if task in tasks and not setting:
            scores.setdefault(recipe, []).append(value / optimal_return(task))
    means = {recipe: sum(values) / len(values) for recipe, values in scores.items() if len(values) == len(tasks)}
    algorithms = {recipe.partition("-")[0] for recipe in means}
    own = [{r: m for r, m in means.items() if r.partition("-")[0] == algorithm} for algorithm in algorithms]
    return {row_name(max(one, key=lambda recipe: one[recipe])) for one in own}


def test_figures_of_the_paper_are_one_choice(browser):
    labels = browser.run(LABELS)
    assert labels[:2] == ["your own choice", "Count: the baselines and DeRL (section 5)"]
    assert not any("PPO" in label for label in labels)  # None of its runs is there.
    lines = shown(browser, "DeRL, all tasks")
    assert list(lines) == [column_name(task) for task in TASKS]
    assert set(map(tuple, lines.values())) == {("DeA2C Count", "DeA2C ICM")}
    browser.run("document.querySelectorAll('input[name=curve-view]')[2].click()")
    assert browser.run("document.getElementById('preset').selectedOptions[0].textContent") == "DeRL, all tasks"
    browser.run("document.querySelector('input[name=task]').click()")
    assert browser.run("document.getElementById('preset').selectedOptions[0].textContent") == "your own choice"


def test_figures_have_their_lines_and_no_others(started, tried_page):
    started.open(tried_page)
    lines = shown(started, "Count: the baselines and DeRL (section 5)")
    assert lines == {task: ["A2C Count", "DeA2C Count"] for task in ("DeepSea 10", "Hallway 10-10")}
    lines = shown(started, "Importance weights of DeA2C Count, DeepSea 14 (section 5.6)")
    assert lines == {"DeepSea 14": ["DeA2C Count"]}
    assert started.run(METRIC) == "Log importance weight"
    lines = shown(started, "Importance weights, intrinsic rewards alone (section 6)")
    assert list(lines) == ["DeepSea 10", "Hallway 20-20"]
    assert all(len(names) == 2 and "λ rⁱ" in names[1] for names in lines.values())
    hallway = [column_name(task) for task in PAPER_TASKS if task.startswith("Hallway")]
    lines = shown(started, "PPO with every bonus, Hallway")
    assert lines == {task: ["PPO Hash-Count", "PPO ICM", "PPO RND"] for task in hallway}


def test_the_best_of_each_algorithm_is_that_of_what_is_drawn(started, tried, tried_page):
    started.open(tried_page)
    label = "Normalised returns, the best bonus of each algorithm (section 5.6)"
    families = [[task for task in PAPER_TASKS if task.startswith(name)] for name in ("DeepSea", "Hallway")]
    expected = [best(tried, tasks) for tasks in families]
    assert expected[0] != expected[1]  # Else this would not tell whether each has its own.
    assert [set(names) for names in shown(started, label).values()] == expected
    notes = "[...document.querySelectorAll('#curve-panels .chart > .note')].map((n) => n.textContent).join()"
    assert started.run(notes) == "not run here: PPO RND"  # And nothing of what is run but not drawn.
    lines = shown(started, "The best bonus of each algorithm, all tasks")
    assert list(lines) == [column_name(task) for task in PAPER_TASKS]
    together = set.union(*(set(names) for names in lines.values()))
    assert len(together) == 3
    assert together - {"PPO RND"} <= best(tried, PAPER_TASKS)
    # From there a reader goes on with every recipe that is ticked, in all tasks.
    shown(started, label)
    started.run("document.querySelectorAll('input[name=recipe]:not(:checked)')[0].click()")
    assert set(readout(started, 1)) > expected[0] | expected[1]
