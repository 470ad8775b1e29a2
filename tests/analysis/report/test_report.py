"""The report without a browser: what is in it, that data stays data, and that equal results give equal bytes."""

import json
import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest

from analysis.made_up import claim
from analysis.synthetic import NASTY, made_up
from derl.analysis.claims.paper import STATEMENTS
from derl.analysis.measures.aggregates import Estimate
from derl.analysis.pages.tables import LEGEND
from derl.analysis.published.experiments_run import each_once
from derl.analysis.published.tables import TABLES
from derl.analysis.published.verdicts import verdicts
from derl.analysis.report import Facts, Number, Table, write_report
from derl.analysis.report.claims import claims_section
from derl.analysis.report.closing import MOST_FAILURES as MOST
from derl.analysis.report.closing import failures_section
from derl.analysis.report.heat import MARKS, difference_shade, shade
from derl.analysis.report.html import Html, asset, embed_json, h, large, long_duration, number
from derl.analysis.report.model import Failure
from derl.analysis.report.names import setting_key, setting_label
from derl.analysis.report.numbers import grouped_results, tables_of
from derl.analysis.report.page import SCRIPTS
from derl.analysis.report.sections import stored_facts
from derl.cli.report import Report
from derl.core.errors import DerlError
from derl.experiments.builtin import DESCRIPTIONS
from derl.experiments.cases import Case
from derl.experiments.paper import cells, row_name

CASES = [
    *(Case.of(recipe, task) for recipe in ("a2c-count", "dea2c-count") for task in ("DeepSea-10", "Hallway-10-10")),
    *(Case.of("dea2c-count", "DeepSea-10", {"bonus.scale": value}) for value in (0.01, 10.0)),
    Case.of("dea2c-count-kl", "DeepSea-10"),
]
EVALUATIONS = 20


@pytest.fixture(scope="module")
def frame():
    return made_up(CASES, seeds=3, evaluations=EVALUATIONS)


@pytest.fixture(scope="module")
def page(frame, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    return write_report(frame, path, facts=Facts(version="1.2.3", seconds=4000), evaluations=EVALUATIONS).read_text()


class Structure(HTMLParser):
    """Tags with their attributes, text by tag, and whether all that opens closes."""

    def __init__(self, text: str):
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "input", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append((self.open[-1] if self.open else "", data))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]

    def data(self) -> dict:
        return json.loads(next(text for tag, text in self.texts if tag == "script"))


def test_the_page_is_whole_and_asks_for_nothing(page):
    found = Structure(page)
    assert found.open == []
    assert all(a.get("src") is None for _, a in found.tags)
    assert [a["href"] for a in found.all("link")] == ["data:,"]
    assert all((a["href"] or "").startswith("#") for a in found.all("a"))
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", page)
    policy = next(a["content"] for a in found.all("meta") if a.get("http-equiv"))
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_headings_tables_and_labels(page):
    found = Structure(page)
    levels = [int(tag[1]) for tag, _ in found.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))
    assert all(a.get("scope") in ("row", "col") for a in found.all("th"))
    assert len(found.all("caption")) == len(found.all("table"))
    identities = [a["id"] for _, a in found.tags if "id" in a]
    assert len(identities) == len(set(identities))
    assert found.all("html")[0]["lang"] == "en"


def test_every_published_number_has_a_cell(page):
    found = Structure(page)
    cells_shown = [a for a in found.all("td") if a.get("data-tip") and "Published" in str(a["data-tip"])]
    assert len(cells_shown) == len(cells()) == 1684
    assert "derl reproduce table-1" in page
    assert "1 h 6 min" in page
    assert "derl 1.2.3" in page


def test_cells_show_what_the_verdicts_say(frame, page):
    table = tables_of(verdicts(grouped_results(frame), evaluations=EVALUATIONS))[0]
    one = table.numbers["DeA2C Count", "DeepSea 10"]
    returns = frame.filter(
        (pl.col("recipe") == "dea2c-count") & (pl.col("task") == "DeepSea-10") & (pl.col("setting") == "")
    )
    assert one.ours == pytest.approx(returns["return"].mean())
    assert one.seeds == 3
    assert one.verdict in ("consistent", "differs")
    assert one.published is not None
    tip = next(
        a["data-tip"]
        for a in Structure(page).all("td")
        if str(a.get("data-tip")).startswith("DeA2C Count on DeepSea 10\n")
    )
    assert f"Ours: {number(one.ours, 3)}" in str(tip)
    assert f"Published: {one.published:.2f}" in str(tip)
    assert table.counts()["not run"] == 198 - 4


def test_the_same_results_give_the_same_bytes_in_any_order(frame, page, tmp_path):
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=1)
    facts = Facts(version="1.2.3", seconds=4000)
    again = write_report(shuffled, tmp_path / "again.html", facts=facts, evaluations=EVALUATIONS).read_text()
    assert again == page


def test_names_in_the_data_stay_text(tmp_path):
    cases = [Case.of(NASTY, "DeepSea-10"), Case.of("a2c", f'"><img src=x onerror=alert(1)>{NASTY}', {NASTY: 1.0})]
    frame = made_up(cases, seeds=2, evaluations=3)
    facts = Facts(machine=NASTY, more={NASTY: NASTY})
    claims = [
        claim(measure=NASTY, subject=NASTY, words=NASTY, overall=True),
        claim(measure=NASTY, subject=NASTY, words=NASTY),
    ]
    nasty = Number(ours=1.0, published=1.0, verdict="differs", reason=NASTY, recipe=NASTY, task=NASTY)
    table = Table(NASTY, NASTY, (NASTY,), ("1.0",), {(NASTY, "1.0"): nasty}, NASTY, swept=NASTY)
    path = write_report(frame, tmp_path / "nasty.html", title=NASTY, facts=facts, tables=[table], claims=claims)
    text = path.read_text()
    found = Structure(text)
    assert "window.pwned=1</script>" not in text
    assert len(found.all("script")) == 2
    assert not found.all("img")
    assert not any(name.startswith("on") for _, attributes in found.tags for name in attributes)
    assert found.data()["recipes"][-1]["name"] == NASTY


def test_elements_escape_their_children_and_attributes():
    assert h("p", "<b>", title='"&') == '<p title="&quot;&amp;">&lt;b&gt;</p>'
    assert h("p", h("b", "x"), None, False, class_="a") == '<p class="a"><b>x</b></p>'
    assert h("input", checked=True, disabled=False) == "<input checked>"
    assert "<" not in embed_json("d", {"a": "</script>\u2028"}).removeprefix("<script").removesuffix("</script>")


def test_an_empty_frame_and_a_wrong_one(frame, tmp_path):
    text = write_report(frame.clear(), tmp_path / "empty.html", evaluations=EVALUATIONS).read_text()
    assert "None of these runs failed" in text
    assert Structure(text).open == []
    with pytest.raises(DerlError, match="missing: failed_at_step"):
        write_report(frame.drop("failed_at_step"), tmp_path / "x.html")
    (tmp_path / "file").write_text("")
    with pytest.raises(DerlError, match="cannot write"):
        write_report(frame, tmp_path / "file" / "x.html", evaluations=EVALUATIONS)


def test_times_and_engines_of_stored_results(frame):
    stored = frame.with_columns(pl.lit(2).alias("engine"), pl.lit(60.0).alias("seconds"))
    assert stored_facts(stored) == {"Time on one core": "21 min 0 s", "Version of the engine": "2"}
    unknown = stored.with_columns(pl.when(pl.col("run") > 0).then(0.0).otherwise(60.0).alias("seconds"))
    assert stored_facts(unknown)["Time on one core"] == "1 min 0 s (20 runs were not timed)"
    assert stored_facts(frame) == {}


def test_failures_are_listed(frame, tmp_path):
    broken = frame.with_columns(pl.when(pl.col("run") == 4).then(1234).alias("failed_at_step"))
    text = write_report(broken, tmp_path / "r.html", evaluations=EVALUATIONS, claims=()).read_text()
    assert "1 run ended with numbers that were not finite" in text
    assert '<td data-label="Failed at step">1,234</td>' in text
    # Under another name it is still one run.
    again = broken.filter(pl.col("run") == 4).with_columns(run=pl.lit(999, pl.Int64), setting=pl.lit("bonus.scale=3"))
    stored = pl.concat([broken, again], how="vertical_relaxed").with_columns(
        key=pl.col("run").replace(999, 4).cast(pl.String)
    )
    assert "1 run ended" in failures_section(stored)


def test_runs_that_could_not_be_finished_are_listed(frame, tmp_path):
    """They have no rows: the page said that no run failed."""
    crashed = [Failure("a2c", "Boom-4", "bonus.scale=3", seed, "RuntimeError: <boom>") for seed in range(MOST + 1)]
    facts = Facts(failures=crashed)
    broken = frame.with_columns(pl.when(pl.col("run") == 4).then(1234).alias("failed_at_step"))
    text = write_report(broken, tmp_path / "r.html", facts=facts, evaluations=EVALUATIONS, claims=()).read_text()
    assert Structure(text).open == []
    assert f"{MOST + 1} runs could not be finished" in text
    assert text.count('<td data-label="Error">RuntimeError: &lt;boom&gt;</td>') == MOST
    assert f"The first {MOST} are listed." in text
    assert "1 run ended with numbers that were not finite" in text
    assert "None of these runs failed" not in text
    assert f"<dt>Failed runs</dt><dd>{MOST + 2} ({MOST + 1} could not be finished)</dd>" in text


def test_tasks_and_recipes_of_a_user_s_own_are_drawn(frame, tmp_path):
    own = made_up([Case.of("dea2c-count", "Maze-7"), Case.of("mine", "DeepSea-10")], seeds=1, evaluations=EVALUATIONS)
    both = pl.concat([frame, own.with_columns(pl.col("run") + 1000)], how="diagonal_relaxed")
    data = Structure(write_report(both, tmp_path / "r.html", evaluations=EVALUATIONS).read_text()).data()
    assert "Maze-7" in [task["name"] for task in data["tasks"]]
    assert "mine" in [recipe["name"] for recipe in data["recipes"]]


def test_claims_are_grouped_with_their_cases():
    tests = [
        claim(
            effect=Estimate(0.5, 0.4, 0.6), measure="m", published=0.3, subject="largest of 2", bound=0.4, overall=True
        ),
        claim(outcome="does not hold", subject="case one", bound=0.0),
        claim(effect=None, outcome="not enough data", measure="n", overall=True),
        claim(outcome="undecided", measure="o", overall=True),
    ]
    text = claims_section(tests)
    assert text.count("<h3>") == 1
    assert STATEMENTS[1] in text
    assert "1 part" in text
    # Where it was measured, and what is wanted of the whole and of its cases, which need not be the same.
    assert "Largest of 2: 0.500, 95 % interval 0.400 to 0.600; in the paper 0.300" in text
    assert "wanted <b>above 0.4</b>" in text
    assert "Case by case: m, wanted above 0<" in text
    assert '<span class="badge open">? undecided</span>' in text
    assert '<span class="badge none">– not enough data</span>' in text
    assert claims_section([]).startswith("<p")


def test_names():
    assert row_name("dea2c-count-kl") == "DeA2C Count KL"
    assert row_name("ppo-hash-count") == "PPO Hash-Count"
    assert setting_label("bonus.scale=0.1, explorer_reward=intrinsic") == "λ = 0.1, explorer's reward = λ rⁱ"
    settings = ["bonus.scale=10", "", "bonus.scale=2", "bonus.increment=5"]
    assert sorted(settings, key=setting_key) == ["", "bonus.increment=5", "bonus.scale=2", "bonus.scale=10"]


def test_pages_and_report_say_the_same(frame, page):
    """Titles, marks and what each command makes have one source."""
    tables = tables_of(verdicts(grouped_results(frame), evaluations=EVALUATIONS))
    assert {table.title for table in tables} == {table.title for table in TABLES}
    assert {table.label: table.part for table in tables} == {table.label: table.experiment for table in TABLES}
    assert MARKS["differs"] in LEGEND
    assert {table.swept for table in tables if table.part == "table-1"} == {""}
    for name, text in DESCRIPTIONS.items():
        assert f"derl reproduce {name}" in page
        assert text in page


def test_numbers_for_programs(frame, tmp_path):
    frame.write_parquet(tmp_path / "runs.parquet")
    report = Report(tmp_path / "r.html", (tmp_path / "runs.parquet",), csv=tmp_path / "csv", evaluations=EVALUATIONS)
    report.execute()
    judged = pl.read_csv(tmp_path / "csv" / "verdicts.csv", infer_schema_length=None)
    assert len(judged) == 1684
    assert judged.filter(pl.col("verdict") != "not run")["seeds"].unique().to_list() == [3]
    tested = pl.read_csv(tmp_path / "csv" / "claims.csv", infer_schema_length=None)
    assert set(tested["number"]) == {1, 2, 3, 4, 5}
    assert set(tested["outcome"]) <= {"holds", "does not hold", "undecided", "not enough data"}
    # The document has every column, in order, and no other.
    text = (Path(__file__).parents[3] / "docs" / "report.md").read_text()
    for name, table in (("verdicts.csv", judged), ("claims.csv", tested)):
        rows = text.partition(f"\n`{name}` has a row")[2].partition("|---|---|\n")[2].partition("\n\n")[0].splitlines()
        assert [column for row in rows for column in re.findall(r"`(\w+)`", row.split("|")[1])] == table.columns


def test_numbers_as_text():
    assert [number(x) for x in (-0.001, -0.5, None, float("nan"))] == ["0.00", "−0.50", "–", "–"]
    assert [large(x) for x in (3.04e9, 45e6, 1234)] == ["3.04 billion", "45 million", "1,234"]
    assert [long_duration(x) for x in (0, 59.6, 3600, 25920, 90000)] == [
        "0 s",
        "1 min 0 s",
        "1 h 0 min",
        "7 h 12 min",
        "1 d 1 h",
    ]
    assert [shade(x, 0.99) for x in (0.99, 2.0, -1.0, 0.5, None)] == ["h10", "h10", "h0", "h5", ""]
    assert [difference_shade(x, 1.0) for x in (0.01, -0.5, 0.25, None)] == ["h0", "n10", "p5", ""]


def test_assets_are_packaged_and_plain():
    for name in ("style.css", *SCRIPTS):
        text = asset(name)
        assert "innerHTML" not in text
        assert "</" not in text, "would end the element it is embedded in"
    assert isinstance(h("p"), Html)


def test_a_run_with_several_names_counts_once_among_the_facts():
    """lambda = 1 is the recipe as it is: results have such a run under both names."""
    frame = pl.DataFrame({"key": ["a", "a", "b", None, None], "run": [0, 1, 2, 3, 4], "seconds": [2.0] * 5})
    assert each_once(frame)["run"].to_list() == [0, 2, 3, 4]
    assert each_once(frame.drop("key"))["run"].to_list() == [0, 1, 2, 3, 4]
