"""The report of a sweep of a user's own: nothing in it is a number of the paper, and its curves are what matters."""

import re

from analysis.report.reading import EVALUATIONS, needs_chromium, readout
from analysis.synthetic import made_up
from derl.analysis.report import write_report
from derl.experiments.cases import Case

SECTIONS = ("about", "tables", "curves", "sensitivity", "kl", "claims", "differences", "missing")
FOLDED = re.compile(r'</h2><div class="folds"><details><summary>(Nothing|No published)')
"""A section whose parts are all in one fold."""


def test_of_a_sweep_the_paper_s_parts_are_folded(page, tmp_path):
    """198 hatched cells stood above the curves, and 13 claims without data below."""
    case = Case.of("a2c-count", "DeepSea-10", {"protocol.episodes": 20, "protocol.evaluate_every": 1})
    text = write_report(made_up([case], 2, EVALUATIONS), tmp_path / "r.html", evaluations=EVALUATIONS).read_text()
    parts = {name: text.partition(f'<section id="{name}"')[2].partition("<section id=")[0] for name in SECTIONS}
    folded = [name for name, part in parts.items() if FOLDED.search(part)]
    assert folded == ["tables", "claims", "missing"]
    assert "Trained for 20 episodes, the paper&#x27;s runs for 100,000" in text
    assert 'class="tiles"' not in text
    # What it brought comes first, and nothing is said of differences and constraints that it has not.
    names = re.findall(r'<section id="([a-z]+)"', text)
    assert names == re.findall(r'<a href="#(?!main)([a-z]+)"', text)
    assert names[:3] == ["returns", "curves", "sensitivity"]
    assert not {"differences", "kl"} & set(names)
    assert "returns" not in re.findall(r'<section id="([a-z]+)"', page.read_text())
    # One number is enough.
    assert not FOLDED.search(page.read_text())
    assert 'class="tiles"' in page.read_text()


@needs_chromium
def test_of_a_sweep_all_values_are_drawn_and_what_all_share_is_said_once(started, tmp_path):
    """Of values of lambda one was drawn, the others were folded away."""
    short = {"protocol.episodes": 5000}
    sweep = [Case.of("a2c-count", "DeepSea-10", {**short, "bonus.scale": value}) for value in (0.1, 1.5, 10.0)]
    other = [Case.of("a2c", "DeepSea-10", {"protocol.episodes": value}) for value in (2000, 3000)]
    hallway = [Case.of("a2c-count", "Hallway-10-10", {**short, "bonus.scale": 10.0}), Case.of("ppo", "Maze-7")]
    frame = made_up([*sweep, *other, *hallway], seeds=2, evaluations=5)
    started.open(write_report(frame, tmp_path / "sweep.html", claims=(), evaluations=5))
    drawn = "[...document.querySelectorAll('#curve-panels h3')].map((h) => h.textContent)"
    assert started.run(drawn) == ["DeepSea 10", "Hallway 10-10", "Maze 7"]
    values = [f"A2C Count, λ = {value}, episodes = 5000" for value in ("0.1", "1.5", "10")]
    assert list(readout(started, 0)) == ["A2C, episodes = 2000", "A2C, episodes = 3000", *values]
    assert list(readout(started, 1)) == values[2:]
    started.open(write_report(made_up(sweep, 2, 5), tmp_path / "alone.html", claims=(), evaluations=5))
    assert list(readout(started)) == ["A2C Count, λ = 0.1", "A2C Count, λ = 1.5", "A2C Count, λ = 10"]
    # As many as can be told apart, and the others beside their boxes.
    many = [Case.of("a2c-count", "DeepSea-10", {**short, "bonus.scale": value}) for value in range(2, 13)]
    started.open(write_report(made_up(many, 1, 5), tmp_path / "many.html", claims=(), evaluations=5))
    assert list(readout(started)) == [f"A2C Count, λ = {value}" for value in range(2, 10)]
    boxes = "[...document.querySelectorAll('input[name=setting]')].filter((box) => box.checkVisibility()).length"
    assert started.run(boxes) == 11
    assert started.problems() == []


@needs_chromium
def test_beside_the_paper_s_numbers_a_recipe_s_own_setting_is_drawn(started, tmp_path):
    """Settings that only other recipes have draw nothing. The recipe's own is preferred where there is one."""
    sweep = [Case.of("a2c-count", "DeepSea-10", {"bonus.scale": value}) for value in (0.3, 3.0)]
    sweep.append(Case.of("dea2c-count", "DeepSea-10", {"bonus.scale": 3.0}))
    plain = made_up([*sweep, Case.of("a2c-count", "DeepSea-10")], seeds=2, evaluations=EVALUATIONS)
    started.open(write_report(plain, tmp_path / "plain.html", claims=(), evaluations=EVALUATIONS))
    assert list(readout(started)) == ["A2C Count", "A2C Count, λ = 3", "DeA2C Count, λ = 3"]
    assert started.problems() == []


@needs_chromium
def test_of_what_the_paper_has_no_number_all_seeds_count(started, tmp_path):
    """The label of the first view said "first five seeds" over the mean of eight."""
    frame = made_up([Case.of("derl", "DeepSea-10")], seeds=8, evaluations=EVALUATIONS)
    started.open(write_report(frame, tmp_path / "r.html", claims=(), evaluations=EVALUATIONS))
    assert started.run("document.querySelector('#curve-panels .detail').textContent.trim()") == "8 seeds"
    label = "document.querySelector('input[name=curve-view]:checked').parentElement.textContent"
    assert started.run(label) == "Mean of the seeds that count"


@needs_chromium
def test_two_runs_have_no_interval(started, tmp_path):
    """Its ends would be the runs themselves; a band that is drawn says as much."""
    cases = [Case.of("a2c-count", "DeepSea-10", {"bonus.scale": value}) for value in (0.1, 10.0)]
    cases.append(Case.of("a2c-count", "DeepSea-10"))
    for seeds, ends in ((2, False), (3, True)):
        frame = made_up(cases, seeds=seeds, evaluations=EVALUATIONS)
        text = write_report(frame, tmp_path / f"{seeds}.html", claims=(), evaluations=EVALUATIONS).read_text()
        assert (re.search(r"Ours: [\d.]+ ± [\d.]+, 95 % interval", text) is not None) == ends
        started.open(tmp_path / f"{seeds}.html")
        for chart in ("#curve-panels", "#sensitivity"):
            shown = started.run(f"document.querySelector('{chart} .readout').textContent")
            assert ("(" in shown and " to " in shown) == ends, shown
    assert started.problems() == []
