"""The report in a real Chromium, used as a reader would: by mouse and by keyboard."""

import re

import numpy as np
import polars as pl
import pytest

from analysis.report.reading import (
    EVALUATIONS,
    TASKS,
    TIP_ENDS,
    VISIBLE_TABLE,
    mean_at,
    needs_chromium,
    numbers,
    readout,
)
from analysis.synthetic import NASTY, made_up
from derl.analysis.report import write_report
from derl.experiments.cases import Case
from derl.experiments.paper import cells

pytestmark = needs_chromium

ROWS = """[...document.querySelector("#curve-panels .values table").rows]
  .map((row) => [...row.cells].map((cell) => cell.textContent))"""


def test_one_table_shows_and_the_choice_changes_it_by_keyboard(browser):
    shown = "[...document.querySelectorAll('.panel h3')].filter((h) => h.checkVisibility()).map((h) => h.textContent)"
    assert browser.run(shown) == ["Average evaluation returns in all tasks (Table 1)"]
    browser.run("document.getElementById('table-choice').focus()")
    browser.press("ArrowDown")
    assert browser.run(shown) == ["Maximum evaluation returns in DeepSea"]


def test_cells_switch_between_ours_published_and_difference_by_keyboard(browser, frame):
    case = Case.of("dea2c-count", "DeepSea-10")
    published = next(c.mean for c in cells() if c.case == case and c.table == "tab:mean_returns")
    ours = float(np.mean([mean_at(frame, case, i) for i in range(1, EVALUATIONS + 1)]))
    selector = ".panel:not(.away) td[data-tip^='DeA2C Count on DeepSea 10'] .v"
    text = f'document.querySelector("{selector}").textContent'
    assert numbers(browser.run(text)) == [pytest.approx(ours, abs=0.0051)]
    browser.run("document.querySelector('input[name=table-view]').focus()")
    browser.press("ArrowRight")
    assert numbers(browser.run(text)) == [published]
    browser.press("ArrowRight")
    assert float(browser.run(text).replace("−", "-")) == pytest.approx(ours - published, abs=0.0051)
    assert browser.run("document.querySelector('.legend-difference').checkVisibility()")
    assert not browser.run("document.querySelector('.legend-returns').checkVisibility()")


def test_pointing_at_a_cell_tells_all_about_it(browser):
    selector = ".panel:not(.away) td[data-tip^='DeA2C Count on DeepSea 10']"
    browser.point(*browser.middle(selector))
    tip = browser.run("document.getElementById('tip').innerText")
    assert tip.split("\n") == browser.run(f'document.querySelector("{selector}").dataset.tip').split("\n")
    for word in ("Ours:", "95 % interval", "3 seeds", "Published:", "difference "):
        assert word in tip
    left, right = browser.run(TIP_ENDS)
    assert left >= 0
    assert right <= 1200
    browser.press("Escape")
    assert not browser.run("document.getElementById('tip').checkVisibility()")


def test_arrow_keys_go_through_a_table_and_enter_opens_the_curve(browser, frame):
    browser.run(f"{VISIBLE_TABLE}.querySelector('td').focus()")
    browser.press("ArrowDown", 12)
    browser.press("ArrowRight", 6)
    browser.wait("!document.getElementById('tip').hidden")
    tip = browser.run("document.getElementById('tip').innerText")
    assert tip.startswith("DeA2C Count on Hallway 10-10")
    assert browser.run("document.querySelector('[aria-live=polite]').textContent") == "; ".join(tip.split("\n"))
    stops = f"[...{VISIBLE_TABLE}.querySelectorAll('[tabindex=\"0\"]')].length"
    assert browser.run(stops) == 1
    browser.press("Enter")
    assert list(readout(browser)) == ["DeA2C Count"]
    assert (
        browser.run("document.activeElement.getAttribute('aria-label')")
        == "Evaluation return on Hallway 10-10 over training episodes"
    )


def test_a_cell_shows_its_curve_whatever_was_chosen_before(browser):
    """A metric that the case has not, and seeds that are not ticked, are exchanged for some that it has."""
    browser.run("document.querySelectorAll('input[name=curve-view]')[2].click()")
    browser.run("document.querySelectorAll('input[name=seed]').forEach((box) => box.click())")
    kl = "[...document.getElementById('metric').options].find((o) => /KL/.test(o.textContent)).value"
    browser.run(f"document.getElementById('metric').value = {kl}")
    browser.run("document.getElementById('metric').dispatchEvent(new Event('change'))")
    browser.run("document.querySelector(\".panel:not(.away) td[data-tip^='A2C Count on DeepSea 10']\").focus()")
    browser.press("Enter")
    assert list(readout(browser)) == ["A2C Count"]
    assert browser.run("document.getElementById('metric').selectedOptions[0].textContent") == "Evaluation return"
    assert browser.run("[...document.querySelectorAll('input[name=seed]')].every((box) => box.checked)")


def test_a_click_keeps_the_tip_and_its_button_opens_the_curve(browser):
    browser.point(*browser.middle(".panel:not(.away) td[data-tip^='DeA2C ICM on DeepSea 14']"), click=True)
    browser.wait("document.querySelector('#tip button')")
    browser.point(600, 5)  # Other cells on the way to the button do not take the tip away.
    assert browser.run("document.getElementById('tip').innerText").startswith("DeA2C ICM on DeepSea 14")
    box = "document.querySelector('#tip button').getBoundingClientRect()"
    x, y = browser.run(f"(({{ left, top }}) => [left + 10, top + 10])({box})")
    browser.point(x, y, click=True)
    assert list(readout(browser)) == ["DeA2C ICM"]
    # The browser may report the mouse where it rests, now above what lay beneath the button.
    browser.point(x, y)
    assert not browser.run("document.getElementById('tip').checkVisibility()")


def test_curves_have_the_frame_s_values_by_mouse_and_keyboard(browser, frame):
    assert list(readout(browser)) == ["A2C Count", "DeA2C Count"]
    case = Case.of("dea2c-count", "DeepSea-10")
    mean, low, high = numbers(readout(browser)["DeA2C Count"])
    assert mean == pytest.approx(mean_at(frame, case, EVALUATIONS), abs=0.0006)
    assert low <= mean <= high
    browser.run("document.querySelector('#curve-panels .plot').focus()")
    browser.press("Home")
    browser.press("ArrowRight", 4)
    assert numbers(readout(browser)["DeA2C Count"])[0] == pytest.approx(mean_at(frame, case, 5), abs=0.0006)
    spoken = browser.run("document.activeElement.getAttribute('aria-valuetext')")
    assert spoken.startswith("5,000 episodes; A2C Count ")
    x, y = browser.middle("#curve-panels .plot")
    browser.point(x, y)
    at = browser.run("document.querySelector('#curve-panels .at').textContent")
    episodes = int(at.removeprefix("at ").removesuffix(" episodes").replace(",", ""))
    assert 8000 <= episodes <= 12000
    assert numbers(readout(browser)["DeA2C Count"])[0] == pytest.approx(
        mean_at(frame, case, episodes // 1000), abs=0.0006
    )


def test_tasks_recipes_metrics_and_seeds_are_chosen_by_keyboard(browser, frame):
    charts = "[...document.querySelectorAll('#curve-panels h3')].map((h) => h.textContent)"
    assert browser.run(charts) == ["DeepSea 10", "Hallway 10-10"]
    browser.run("document.querySelector('input[name=task][value=\"1\"]').focus()")
    browser.press(" ")
    assert browser.run(charts) == ["DeepSea 10", "DeepSea 14", "Hallway 10-10"]
    browser.press("Tab", 2)  # Past Hallway, on to "all / none", which ticks or empties the whole row.
    browser.press("Enter")
    assert browser.run(charts) == []
    assert "Nothing to draw" in browser.run("document.getElementById('curve-panels').textContent")
    browser.press("Enter")
    browser.run("document.querySelector('input[name=recipe][value=\"2\"]').focus()")
    browser.press(" ")
    assert list(readout(browser)) == ["A2C Count", "DeA2C Count", "DeA2C ICM"]
    browser.run("document.getElementById('metric').focus()")
    browser.press("End")
    assert browser.run("document.getElementById('metric').selectedOptions[0].textContent") == "States visited"
    last = mean_at(frame, Case.of("dea2c-icm", "DeepSea-10"), EVALUATIONS, "coverage")
    assert numbers(readout(browser)["DeA2C ICM"])[0] == pytest.approx(last)
    browser.run("document.querySelector('input[name=curve-view]').focus()")
    browser.press("ArrowRight", 2)
    assert re.fullmatch(r"seed 0: \S+, seed 1: \S+, seed 2: \S+", readout(browser)["DeA2C ICM"])
    browser.run("document.querySelector('input[name=seed]').focus()")
    browser.press(" ")
    assert re.fullmatch(r"seed 1: \S+, seed 2: \S+", readout(browser)["DeA2C ICM"])
    # Every seed has markers of its own, and a dot where the cursor is. A chart is drawn once its width is known.
    browser.wait("document.querySelector('#curve-panels .thin')")
    of_both = "[...document.querySelectorAll('#curve-panels svg')].map((s) => s.querySelectorAll('%s').length)"
    lines, dots = browser.run(of_both % ".thin"), browser.run(of_both % ".cursor circle")
    assert lines == dots
    assert max(lines) > 1
    assert all(m >= 4 * n for m, n in zip(browser.run(of_both % ".marker"), lines, strict=True))


def test_changed_settings_can_be_drawn(browser):
    browser.run("document.querySelector('.folded summary').click()")
    boxes = "[...document.querySelectorAll('input[name=setting]')]"
    browser.run(f"{boxes}.find((box) => box.parentElement.textContent === 'λ = 10').click()")
    assert list(readout(browser)) == ["A2C Count", "DeA2C Count", "DeA2C Count, λ = 10"]


def test_every_chart_has_a_table_of_its_values(browser, frame):
    browser.run("document.querySelector('#curve-panels .values summary').click()")
    browser.wait("document.querySelector('#curve-panels .values table')")
    rows = browser.run(ROWS)
    assert rows[0] == ["training episodes", "A2C Count, 3 seeds", "DeA2C Count, 3 seeds"]
    assert len(rows) == EVALUATIONS + 1
    assert rows[5][0] == "5,000"
    assert numbers(rows[5][2])[0] == pytest.approx(mean_at(frame, Case.of("dea2c-count", "DeepSea-10"), 5), abs=0.0006)


def test_sensitivity_and_constraints_are_drawn(browser, frame):
    about = "document.querySelector('#sensitivity-panels .plot').getAttribute('aria-valuetext')"
    browser.run("document.querySelector('#sensitivity-panels .plot').focus()")
    browser.press("Home")
    case = Case.of("dea2c-count", "DeepSea-10", {"bonus.scale": 0.01})
    ours = np.mean([mean_at(frame, case, i) for i in range(1, EVALUATIONS + 1)])
    spoken = next(part for part in browser.run(about).split("; ") if part.startswith("DeA2C Count"))
    assert numbers(spoken)[0] == pytest.approx(ours, abs=0.0006)
    assert "published" in spoken
    assert browser.run("document.querySelectorAll('#sensitivity-panels .hollow').length") > 0
    browser.run("document.getElementById('published').click()")
    assert browser.run("document.querySelectorAll('#sensitivity-panels .hollow').length") == 0
    grid = "[...document.querySelectorAll('#kl-box td')].map((td) => td.textContent)"
    returns = browser.run(grid)
    browser.run("document.querySelector('input[name=kl-view]').focus()")
    browser.press("ArrowRight", 2)
    assert browser.run(grid) != returns


def test_what_was_not_run_is_hatched_in_every_view_of_the_constraints(browser):
    absent = "getComputedStyle(document.querySelector('#kl-box td.none')).backgroundImage"
    legend = "document.querySelector('#kl .legend .always').checkVisibility()"
    for view in range(3):
        browser.run(f"document.querySelectorAll('input[name=kl-view]')[{view}].click()")
        assert "repeating-linear-gradient" in browser.run(absent)
        assert browser.run(legend)
    # Of the tables' numbers that were not run the published ones are shown.
    browser.run("document.querySelectorAll('input[name=table-view]')[1].click()")
    assert browser.run("getComputedStyle(document.querySelector('#tables td.none')).backgroundImage") == "none"


def test_copy_buttons_copy(browser):
    browser.call("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
    browser.run("document.querySelector('[data-copy=\"derl report\"]').focus()")
    browser.press("Enter")
    browser.wait("document.querySelector('[data-copy=\"derl report\"]').firstChild.textContent === 'Copied'")
    assert browser.run("document.getElementById('said').textContent") == "Copied derl report"


def test_a_cell_s_curve_is_in_sight_and_leads_back(browser):
    browser.run("document.documentElement.style.scrollBehavior = 'auto'")
    browser.run("document.querySelector(\".panel:not(.away) td[data-tip^='A2C Count on DeepSea 10']\").focus()")
    browser.press("Enter")
    top, bottom = browser.run(
        "(({ top, bottom }) => [top, bottom])(document.querySelector('#curve-panels .plot').getBoundingClientRect())"
    )
    assert 0 <= top < bottom <= 900
    browser.run("document.querySelector('.back').click()")
    assert browser.run("document.activeElement.dataset.tip").startswith("A2C Count on DeepSea 10")


def test_a_reader_s_place_is_kept_and_is_the_same_in_all_charts(browser):
    at = "[...document.querySelectorAll('#curve-panels .at')].map((p) => p.textContent)"
    browser.run("document.querySelector('#curve-panels .plot').focus()")
    browser.press("Home")
    browser.press("ArrowRight", 4)
    assert browser.run(at) == ["at 5,000 episodes"] * 2
    browser.run("document.querySelector('#curve-panels .values summary').click()")
    browser.wait("document.querySelector('#curve-panels .values table')")
    browser.run("document.querySelector('input[name=recipe][value=\"2\"]').click()")
    assert browser.run(at) == ["at 5,000 episodes"] * 2
    browser.wait("document.querySelector('#curve-panels .values table')")


def test_only_settings_that_the_choice_has_are_offered(browser):
    shown = "[...document.querySelectorAll('input[name=setting]')].filter((i) => !i.parentElement.hidden).length"
    before = browser.run(shown)
    browser.run("document.querySelector('input[name=recipe][value=\"1\"]').click()")  # no more DeA2C Count
    assert browser.run(shown) == 1 < before


def test_tables_and_curves_count_the_same_seeds(started, tmp_path):
    """Further seeds test luck. They are drawn where all are asked for, and nowhere else."""
    case = Case.of("a2c-count", "DeepSea-10")
    frame = made_up([case], seeds=8, evaluations=EVALUATIONS)
    started.open(write_report(frame, tmp_path / "r.html", claims=(), evaluations=EVALUATIONS))
    detail = "document.querySelector('#curve-panels .detail').textContent.trim()"
    first = frame.filter(pl.col("seed") < 5)
    assert started.run(detail) == "5 of 8 seeds"
    assert numbers(readout(started)["A2C Count"])[0] == pytest.approx(mean_at(first, case, EVALUATIONS), abs=0.0006)
    started.run("document.querySelectorAll('input[name=curve-view]')[1].click()")
    assert started.run(detail) == "8 seeds"
    mean, low, high = numbers(readout(started)["A2C Count"])
    assert mean == pytest.approx(mean_at(frame, case, EVALUATIONS), abs=0.0006)
    assert low <= mean <= high


def test_nothing_in_the_data_runs(started, tmp_path):
    nasty = '"><img src=x onerror="window.pwned=1">' + NASTY
    cases = [Case.of(nasty, "DeepSea-10"), Case.of("a2c", nasty, {nasty: 1.0})]
    path = write_report(made_up(cases, seeds=2, evaluations=3), tmp_path / "nasty.html", title=nasty, claims=())
    started.open(path)
    started.run("document.querySelectorAll('input[type=checkbox]:not(:checked)').forEach((i) => i.click())")
    assert started.run("window.pwned") is None
    assert nasty.split("--")[0] in started.run("document.getElementById('curve-controls').textContent")
    assert started.run("document.images.length") == 0
    assert started.problems() == []
    assert started.requests() == [path.resolve().as_uri()]


def test_very_many_points_are_drawn(started, tmp_path, monkeypatch):
    """More than a call of a function can take as arguments, as when all seeds of many recipes are shown."""
    monkeypatch.setattr("derl.analysis.report.series.MOST_POINTS", 10**6)
    frame = made_up([Case.of("a2c", "DeepSea-10")], seeds=1, evaluations=100_000)
    started.open(write_report(frame, tmp_path / "long.html", claims=()))
    assert started.run("document.querySelectorAll('#curve-panels svg path.line').length") == 1
    assert started.problems() == []


def test_the_whole_paper_is_not_too_large(started, tmp_path):
    frame = made_up([Case.of("dea2c-count", task) for task in TASKS], seeds=5, evaluations=100)
    path = write_report(frame, tmp_path / "r.html", claims=())
    # 843 cases make up the paper, each with fewer metrics than these.
    empty = write_report(frame.clear(), tmp_path / "empty.html", claims=()).stat().st_size
    assert empty < 1e6
    assert (path.stat().st_size - empty) / len(TASKS) * 198 < 4e6
