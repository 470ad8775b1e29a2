"""The report in a real Chromium, used as a reader would: by mouse, by keyboard, on a phone, in the dark, on paper."""

import base64
import re

import numpy as np
import polars as pl
import pytest

from analysis.chromium import Browser, find_chromium
from analysis.made_up import claim
from analysis.synthetic import NASTY, made_up
from derl.analysis.measures.aggregates import Estimate
from derl.analysis.report import Facts, write_report
from derl.experiments.cases import Case
from derl.experiments.paper import cells

pytestmark = pytest.mark.skipif(
    find_chromium() is None, reason="no Chromium is installed (Debian: apt-get install chromium)"
)

TASKS = ("DeepSea-10", "DeepSea-14", "Hallway-10-10")
RECIPES = ("a2c-count", "dea2c-count", "dea2c-icm")
CASES = [
    *(Case.of(recipe, task) for recipe in RECIPES for task in TASKS),
    *(Case.of("dea2c-count", "DeepSea-10", {"bonus.scale": value}) for value in (0.01, 0.1, 10.0)),
    *(
        Case.of("dea2c-count", "DeepSea-10", {"decoupling.alpha_explorer": a, "decoupling.alpha_exploiter": b})
        for a in (0.1, 0.01)
        for b in (0.1, 0.01)
    ),
]
EVALUATIONS = 20
CLAIMS = [
    claim(effect=Estimate(0.3, 0.2, 0.4), words="It does.", published=0.25, overall=True),
    claim(effect=Estimate(0.3, 0.2, 0.4), subject="DeepSea-10"),
]
OVERFLOWING = """[...document.querySelectorAll("body *")].filter((e) => {
  const box = e.getBoundingClientRect();
  return box.width && box.right > innerWidth + 1 && !e.closest(".scroll, .sr, .skip, svg");
}).map((e) => e.outerHTML.slice(0, 120))"""
# Text against the nearest background that is not see-through, both painted on a canvas to get plain numbers.
FAINT_TEXT = """(() => {
  const paint = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (under, over) => {
    for (const colour of [under, over]) { paint.fillStyle = colour; paint.fillRect(0, 0, 1, 1); }
    return [...paint.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = (c) => c.map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const page = getComputedStyle(document.body).backgroundColor;
  const clear = (colour) => colour === "rgba(0, 0, 0, 0)" || colour === "transparent";
  const faint = [];
  for (const element of document.querySelectorAll("body *")) {
    if (!element.checkVisibility() || element.closest("svg, .sr, .skip, script, option")) continue;
    if (![...element.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) continue;
    let behind = element;
    while (behind !== document.body && clear(getComputedStyle(behind).backgroundColor)) behind = behind.parentElement;
    const back = `rgb(${rgb(page, getComputedStyle(behind).backgroundColor)})`;
    const [a, b] = [light(rgb(back, back)), light(rgb(back, getComputedStyle(element).color))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) faint.push(`${element.outerHTML.slice(0, 80)}: ${contrast.toFixed(2)}`);
  }
  return faint;
})()"""
TIP_ENDS = "(({ left, right }) => [left, right])(document.getElementById('tip').getBoundingClientRect())"
FOCUSED = """(({ id, name, className, tagName }) => id || name || className || tagName)(document.activeElement)"""
ROWS = """[...document.querySelector("#curve-panels .values table").rows]
  .map((row) => [...row.cells].map((cell) => cell.textContent))"""
VISIBLE_TABLE = "document.querySelector('.panel:not(.away) table')"


@pytest.fixture(scope="module")
def frame():
    return made_up(CASES, seeds=3, evaluations=EVALUATIONS)


@pytest.fixture(scope="module")
def page(frame, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    facts = Facts(version="1.2.3", finished="1 May", seconds=10, machine="two cores")
    return write_report(frame, path, facts=facts, claims=CLAIMS, evaluations=EVALUATIONS)


@pytest.fixture(scope="module")
def started(tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


@pytest.fixture
def browser(started, page):
    started.open(page)
    yield started
    assert started.problems() == []
    assert started.requests() == [page.resolve().as_uri()]


def mean_at(frame, case: Case, evaluation: int, column: str = "return") -> float:
    chosen = frame.filter(
        (pl.col("recipe") == case.recipe)
        & (pl.col("task") == case.task)
        & (pl.col("setting") == case.setting)
        & (pl.col("evaluation") == evaluation)
    )
    return float(chosen[column].mean())


def readout(browser, chart: int = 0) -> dict[str, str]:
    """What stands below a chart: value by name."""
    rows = browser.run(
        f"[...document.querySelectorAll('#curve-panels .chart')[{chart}].querySelectorAll('.readout li')]"
        ".map((li) => [li.querySelector('.name').textContent, li.querySelector('.value').textContent])"
    )
    return dict(rows)


def numbers(text: str) -> list[float]:
    return [float(x) for x in re.findall(r"-?\d+\.\d+", text.replace("−", "-"))]


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
    for word in ("ours:", "95 % interval", "3 seeds", "published:", "difference:"):
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


def test_a_click_keeps_the_tip_and_its_button_opens_the_curve(browser):
    browser.point(*browser.middle(".panel:not(.away) td[data-tip^='DeA2C ICM on DeepSea 14']"), click=True)
    browser.wait("document.querySelector('#tip button')")
    browser.point(600, 5)  # Other cells on the way to the button do not take the tip away.
    assert browser.run("document.getElementById('tip').innerText").startswith("DeA2C ICM on DeepSea 14")
    box = "document.querySelector('#tip button').getBoundingClientRect()"
    x, y = browser.run(f"(({{ left, top }}) => [left + 10, top + 10])({box})")
    browser.point(x, y, click=True)
    assert list(readout(browser)) == ["DeA2C ICM"]
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
    browser.press("ArrowRight")
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
    assert rows[0] == ["training episodes", "A2C Count", "DeA2C Count"]
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


@pytest.mark.parametrize("dark", [False, True])
def test_a_phone_s_width_needs_no_sideways_scrolling(started, page, dark):
    started.open(page, width=360, height=740, dark=dark)
    for setup in ("0", "document.querySelectorAll('details').forEach((d) => (d.open = true))"):
        started.run(setup)
        started.wait("document.querySelector('#curve-panels svg')")
        assert started.run("document.documentElement.scrollWidth") <= 360
        assert started.run(OVERFLOWING) == []
    started.point(*started.middle(".panel:not(.away) td"), click=True)
    left, right = started.run(TIP_ENDS)
    assert left >= 0
    assert right <= 360
    assert started.problems() == []


def test_on_a_phone_no_focused_cell_hides_beneath_the_name_of_its_row(started, page):
    started.open(page, width=375, height=740)
    started.run(f"{VISIBLE_TABLE}.querySelector('td').focus()")
    started.press("ArrowRight", 10)
    hidden = []
    for _ in range(10):
        started.press("ArrowLeft")
        cell, name = "document.activeElement", "document.activeElement.parentElement.querySelector('th')"
        left, end = (
            started.run(f"{part}.getBoundingClientRect().{side}") for part, side in ((cell, "left"), (name, "right"))
        )
        hidden.append(left < end)
    assert not any(hidden)


@pytest.mark.parametrize("dark", [False, True])
def test_text_stands_out_in_light_and_dark(started, page, dark):
    started.open(page, dark=dark)
    for view in range(3):
        started.run(f"document.querySelectorAll('input[name=table-view]')[{view}].click()")
        assert started.run(FAINT_TEXT) == []
    before = started.run("getComputedStyle(document.body).backgroundColor")
    started.run("document.getElementById('theme').click()")
    assert started.run("getComputedStyle(document.body).backgroundColor") != before
    assert started.run("document.getElementById('theme').getAttribute('aria-pressed')") == str(not dark).lower()
    assert started.run(FAINT_TEXT) == []


def test_everything_to_operate_has_a_name_and_a_role(browser):
    browser.call("Accessibility.enable")
    nodes = [n for n in browser.call("Accessibility.getFullAXTree")["nodes"] if not n["ignored"]]
    browser.call("Accessibility.disable")
    kinds: dict[str, list[str]] = {}
    for node in nodes:
        kinds.setdefault(node["role"]["value"], []).append(node.get("name", {}).get("value", "").strip())
    for role in ("button", "link", "checkbox", "radio", "combobox", "slider", "image", "region", "grid", "heading"):
        assert kinds.get(role), f"there is no {role}"
        assert all(kinds[role]), f"a {role} without a name"
    assert browser.run("[...document.querySelectorAll('fieldset')].every((f) => f.querySelector('legend').textContent)")
    for landmark in ("main", "navigation", "banner"):
        assert len(kinds[landmark]) == 1
    assert kinds["gridcell"]
    assert kinds["rowheader"]
    assert kinds["columnheader"]
    assert "Evaluation return on DeepSea 10 over training episodes" in kinds["slider"]


def test_tab_reaches_every_control_and_shows_where_it_is(browser):
    browser.run("document.body.focus()")
    seen = []
    for _ in range(200):
        browser.press("Tab")
        where = browser.run(FOCUSED)
        if where == "BODY":
            break
        seen.append(where)
    for control in (
        "theme",
        "table-choice",
        "table-view",
        "task",
        "recipe",
        "metric",
        "curve-view",
        "plot",
        "sensitivity-choice",
        "published",
        "kl-view",
        "copy",
    ):
        assert control in seen, control


def test_copy_buttons_copy(browser):
    browser.call("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
    browser.run("document.querySelector('[data-copy=\"derl report\"]').focus()")
    browser.press("Enter")
    browser.wait("document.querySelector('[data-copy=\"derl report\"]').textContent === 'Copied'")


def test_it_prints_all_tables_and_keeps_still_if_asked(started, page):
    started.open(page)
    started.call("Emulation.setEmulatedMedia", media="print", features=[])
    assert started.run("[...document.querySelectorAll('.panel')].every((p) => p.checkVisibility())")
    assert not started.run("[...document.querySelectorAll('nav, .controls')].some((p) => p.checkVisibility())")
    printed = base64.b64decode(started.call("Page.printToPDF", printBackground=True)["data"])
    assert printed.startswith(b"%PDF")
    features = [{"name": "prefers-reduced-motion", "value": "reduce"}]
    started.call("Emulation.setEmulatedMedia", media="", features=features)
    assert started.run("getComputedStyle(document.documentElement).scrollBehavior") == "auto"
    started.call("Emulation.setEmulatedMedia", media="", features=[])


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
