"""What the report shows of a sweep of a user's own: its table of returns, its sensitivity, and what makes it again."""

import re
from itertools import product

import polars as pl
import pytest

from analysis.report.reading import FAINT_TEXT, OVERFLOWING, needs_chromium, numbers
from analysis.synthetic import made_up
from derl.analysis.measures.frames import Results
from derl.analysis.report import write_report
from derl.analysis.report.closing import commands_section
from derl.analysis.report.own import MANY, names_of_settings, own_cases, returns_table, shared_changes
from derl.analysis.report.swept import of_sweep
from derl.cli.sweep import show_returns
from derl.experiments.cases import Case, normal_form
from derl.experiments.experiment import from_data

SHORT = {"protocol.episodes": 500.0, "protocol.evaluate_every": 50.0}
FILE = {
    "tasks": ["DeepSea-5"],
    "recipes": ["a2c-count"],
    "seeds": 3,
    "vary": {"bonus.scale": [0.1, 1.0]},
    "protocol": {"episodes": 500, "evaluate_every": 50},
}


def stored(task: str = "DeepSea-5", recipe: str = "a2c-count", **changes) -> Case:
    """A case as results have it: without the changes that are the recipe's own values."""
    return normal_form(recipe, task, {**SHORT, **{name.replace("__", "."): value for name, value in changes.items()}})


def own(frame: pl.DataFrame):
    results = Results(frame)
    return own_cases(results, results.cases)


def table_of(html: str) -> list[list[str]]:
    """The rows of a table's body."""
    rows = re.findall(r"<tr>(.*?)</tr>", html.partition("<tbody>")[2])
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in rows]


@pytest.fixture(scope="module")
def swept():
    return made_up([stored(bonus__scale=value) for value in (0.1, 1.0)], seeds=3, evaluations=10)


def test_the_table_is_the_one_that_derl_sweep_prints(swept, capsys):
    """The report of a sweep had no table of its returns at all."""
    experiment = from_data(FILE, "mine")
    show_returns(experiment, swept)
    printed = [line for line in capsys.readouterr().out.splitlines() if line.startswith("a2c-count")]
    rows = sorted(table_of(returns_table(own(swept))), key=lambda row: row[2])
    assert [row[:4] for row in rows] == [["A2C Count", "DeepSea 5", f"λ = {value}", "3"] for value in ("0.1", "1")]
    assert sorted(numbers(" ".join(row[4:])) for row in rows) == sorted(numbers(line)[-6:] for line in printed)


def test_what_is_said_of_a_case(swept):
    """The recipe's own value of what is varied is told, though results do not name it."""
    cases = [case for case, *_ in own(swept)]
    assert sorted(case.setting.count("bonus.scale") for case in cases) == [0, 1]
    assert shared_changes(cases) == SHORT
    assert set(names_of_settings(cases).values()) == {"bonus.scale=0.1", "bonus.scale=1"}
    assert "All have: episodes = 500." in returns_table(own(swept))
    # Where it is another value in another recipe, the setting keeps its own words.
    both = [*cases, stored(bonus__increment=3.0), stored(recipe="a2c-rnd"), stored(recipe="a2c-rnd", bonus__scale=7.0)]
    assert names_of_settings(both)[stored().setting] == ""
    # Nobody knows the values of a recipe that is not registered.
    foreign = [Case.of("mine", "DeepSea-5"), Case.of("mine", "DeepSea-5", {"x": 2.0})]
    assert set(names_of_settings(foreign).values()) == {"", "x=2"}
    assert [row[2] for row in table_of(returns_table(own(made_up(foreign, 2, 4))))] == ["as in the recipe", "x = 2"]


def test_failures_and_few_runs_are_said(swept):
    frame = swept.with_columns(pl.when(pl.col("run") == 0).then(3).alias("failed_at_step"))
    (row,) = table_of(returns_table(own(frame.filter(pl.col("run") < 3))))
    assert row[3] == "3, 1 failed"
    assert row[5] == "–"


def test_a_long_table_scrolls_by_itself():
    cases = [stored(bonus__scale=float(value)) for value in range(1, MANY + 2)]
    assert 'class="long-table"' in returns_table(own(made_up(cases, 1, 2)))
    assert 'class="long-table"' not in returns_table(own(made_up(cases[1:], 1, 2)))


def test_any_setting_with_several_numbers_has_a_line_for_what_differs_in_it_alone():
    """Sensitivity was said not to have been run, though lambda was varied: only the paper's tasks had charts."""
    values = list(product((0.1, 1.0), (1e-4, 1e-3)))
    cases = [stored(bonus__scale=scale, explorer__entropy_coef=coef) for scale, coef in values]
    cases += [stored(recipe="a2c"), stored("DeepSea-6", bonus__scale=3.0), stored("DeepSea-6", bonus__scale=1.0)]
    cases += [stored("DeepSea-7", "dedqn-count", exploiter__frozen_targets=value) for value in (True, False)]
    frame = made_up(cases, seeds=3, evaluations=10)
    plots = {(plot["task"], plot["swept"]): plot for plot in of_sweep(own(frame))}
    assert set(plots) == {("DeepSea-5", "λ"), ("DeepSea-5", "explorer.entropy_coef"), ("DeepSea-6", "λ")}
    one = plots["DeepSea-5", "λ"]
    assert one["values"] == [0.1, 1.0]
    assert len(one["rows"]) == 2
    low = next(row for row in one["rows"] if "0.0001" in row["label"])
    expected = frame.filter(pl.col("setting") == stored(bonus__scale=0.1, explorer__entropy_coef=1e-4).setting)
    assert low["ours"][0] == pytest.approx(expected["return"].mean(), abs=1e-4)
    assert low["low"][0] <= low["ours"][0] <= low["high"][0]
    assert plots["DeepSea-6", "λ"]["values"] == [1.0, 3.0]


def test_a_sweep_is_made_again_by_its_file(swept):
    """Six commands stood there whose runs were none, and not the one that made the page."""
    timed = swept.with_columns(pl.lit(4.0).alias("seconds"), pl.format("k{}", "run").alias("key"))
    text = commands_section(timed, [], "derl report --results out.parquet", sweep=True)
    rows = [re.sub("<[^>]*>", " ", row) for row in re.findall("<tr>(.*?)</tr>", text)][1:]
    assert "derl sweep YOUR-FILE.toml" in rows[0]
    assert "6 runs, 24 s" in rows[0]
    assert "derl reproduce" not in text
    # A part of the paper's plan that has no published number is made by its own command.
    short = made_up([Case.of("dea2c-count", "DeepSea-10", {"explorer_reward": "intrinsic", **LONGER})], 3, 4)
    assert "derl reproduce pure-exploration" in commands_section(short, [], "derl report", sweep=True)
    assert "derl sweep" not in commands_section(short, [], "derl report", sweep=True)


LONGER = {"protocol.episodes": 20_000.0, "protocol.evaluate_every": 200.0}


@needs_chromium
def test_the_sensitivity_of_a_sweep_is_drawn(started, tmp_path, swept):
    path = write_report(swept, tmp_path / "own.html", claims=(), evaluations=10)
    started.open(path)
    box = "document.querySelector('#sensitivity-panels %s')"
    assert started.run("document.getElementById('sensitivity-choice').selectedOptions[0].textContent") == "λ"
    assert started.run(f"{box % '.plot'}.getAttribute('aria-valuetext')").startswith("λ 1; A2C Count ")
    expected = own(swept)[1 if own(swept)[0].label() == "λ = 0.1" else 0].average
    assert numbers(started.run(f"{box % '.value'}.textContent"))[0] == pytest.approx(expected, abs=0.0006)
    # There are no published numbers of it to be shown or hidden.
    assert started.run("document.getElementById('published')") is None
    # Values close to each other are not spread by their logarithms, and do not begin at zero.
    narrow = made_up([stored(explorer__gamma=value) for value in (0.9, 0.92, 0.98)], seeds=1, evaluations=10)
    started.open(write_report(narrow, tmp_path / "narrow.html", claims=(), evaluations=10))
    started.wait(box % ".tick")
    places = "[...%s.querySelectorAll('.marker')].map((m) => m.getAttribute('transform'))" % (box % "svg")
    left, middle, right = (float(place.removeprefix("translate(").split()[0]) for place in started.run(places))
    assert (middle - left) / (right - left) == pytest.approx(0.25, abs=0.01)
    assert left < 100
    assert started.problems() == []


@needs_chromium
def test_on_a_phone_a_sweep_needs_no_sideways_scrolling(started, tmp_path):
    values = product((0.1, 1.0, 10.0), (1e-4, 1e-3))
    cases = [
        stored(task, bonus__scale=scale, explorer__entropy_coef=coef)
        for scale, coef in values
        for task in ("DeepSea-5", "DeepSea-6")
    ]
    path = write_report(made_up(cases, seeds=3, evaluations=10), tmp_path / "phone.html", claims=(), evaluations=10)
    started.open(path, width=360, height=740)
    started.wait("document.querySelector('#sensitivity-panels svg')")
    assert started.run("document.documentElement.scrollWidth") <= 360
    assert started.run(OVERFLOWING) == []
    assert started.run(FAINT_TEXT) == []
    box = "document.querySelector('.returns').parentElement"
    assert started.run(f"{box}.scrollWidth <= {box}.clientWidth")
    assert started.problems() == []
