"""The made-up results of the browser's tests, and how they read the page."""

import re

import polars as pl
import pytest

from analysis.chromium import Browser, find_chromium
from analysis.made_up import claim
from derl.analysis.measures.aggregates import Estimate
from derl.experiments.cases import Case

needs_chromium = pytest.mark.skipif(
    find_chromium() is None, reason="no Chromium is installed (Debian: apt-get install chromium)"
)

TASKS = ("DeepSea-10", "DeepSea-14", "Hallway-10-10")
RECIPES = ("a2c-count", "dea2c-count", "dea2c-icm")
CASES = [
    *(Case.of(recipe, task) for recipe in RECIPES for task in TASKS),
    *(Case.of("dea2c-count", "DeepSea-10", {"bonus.scale": value}) for value in (0.01, 0.1, 10.0)),
    *(
        Case.of(
            "dea2c-count",
            "DeepSea-10",
            {"decoupling.alpha_explorer": a, "decoupling.alpha_exploiter": b, "protocol.episodes": 20_000.0},
        )
        for a in (0.1, 0.01)
        for b in (0.1, 0.01)
    ),
]
EVALUATIONS = 20
CLAIMS = [
    claim(effect=Estimate(0.3, 0.2, 0.4), words="It does.", published=0.25, overall=True),
    claim(effect=Estimate(0.3, 0.2, 0.4), subject="DeepSea-10"),
]
TIP_ENDS = "(({ left, right }) => [left, right])(document.getElementById('tip').getBoundingClientRect())"
VISIBLE_TABLE = "document.querySelector('.panel:not(.away) table')"
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


def mean_at(frame: pl.DataFrame, case: Case, evaluation: int, column: str = "return") -> float:
    chosen = frame.filter(
        (pl.col("recipe") == case.recipe)
        & (pl.col("task") == case.task)
        & (pl.col("setting") == case.setting)
        & (pl.col("evaluation") == evaluation)
    )
    return float(chosen[column].mean())


def readout(browser: Browser, chart: int = 0) -> dict[str, str]:
    """What stands below a chart: value by name."""
    rows = browser.run(
        f"[...document.querySelectorAll('#curve-panels .chart')[{chart}].querySelectorAll('.readout li')]"
        ".map((li) => [li.querySelector('.name').textContent, li.querySelector('.value').textContent])"
    )
    return dict(rows)


def numbers(text: str) -> list[float]:
    return [float(x) for x in re.findall(r"-?\d+\.\d+", text.replace("−", "-"))]
