"""The report in a real Chromium on a phone, in the dark, without a mouse or a screen, and on paper."""

import base64

import pytest

from analysis.report.reading import FAINT_TEXT, OVERFLOWING, TIP_ENDS, VISIBLE_TABLE, needs_chromium

pytestmark = needs_chromium

FOCUSED = """(({ id, name, className, tagName }) => id || name || className || tagName)(document.activeElement)"""


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


def test_on_a_phone_tables_of_words_show_all_their_values_with_names(started, page):
    started.open(page, width=375, height=740)
    started.run("document.querySelectorAll('details').forEach((d) => (d.open = true))")
    boxes = "[...document.querySelectorAll('.plain.stacked')].map((t) => t.parentElement)"
    hidden = started.run(f"{boxes}.filter((b) => b.scrollWidth > b.clientWidth).map((b) => b.ariaLabel)")
    assert hidden == []
    labels = started.run(
        "[...document.querySelectorAll('.commands tbody tr:first-child td')]"
        ".map((td) => getComputedStyle(td, '::before').content)"
    )
    assert "Command" in labels[0]
    # They are tables to a screen reader all the same.
    started.call("Accessibility.enable")
    nodes = started.call("Accessibility.getFullAXTree")["nodes"]
    started.call("Accessibility.disable")
    tables = [n["name"]["value"] for n in nodes if n.get("role", {}).get("value") == "table"]
    assert "Commands" in tables
    assert any(name.startswith("Case by case") for name in tables)
    started.open(page)
    row = "document.querySelector('.commands tbody tr')"
    assert started.run(f"getComputedStyle({row}).display") == "table-row"


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
    label = "document.getElementById('theme').textContent"
    assert started.run(label) == ("Dark theme" if dark else "Light theme"), "what a press does next"
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
