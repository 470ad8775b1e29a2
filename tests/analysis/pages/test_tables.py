"""Tables and pages: arranged as in the paper, the best in bold, the same every time."""

import dataclasses
import re
from types import SimpleNamespace

import polars as pl
import pytest

from analysis.made_up import frame_of, like_the_paper
from derl.analysis.measures.frames import Results
from derl.analysis.measures.statistics import Score
from derl.analysis.pages.reproduction import index_page, page, write_pages
from derl.analysis.pages.tables import best_of, grid_of, mark_of, markdown, number, plain_row, text
from derl.analysis.published.tables import TABLES, table_of
from derl.analysis.published.verdicts import verdicts
from derl.cli.reproduce import finished_on, show_tables
from derl.core.errors import DerlError
from derl.experiments.cases import Case
from derl.experiments.paper import cells

TABLE_1 = [cell for cell in cells() if cell.table == "tab:mean_returns"]


def test_every_table_of_the_paper_is_there():
    assert {table.label for table in TABLES} == {cell.table for cell in cells()}
    assert len(TABLES) == 23
    assert len({table.page for table in TABLES}) == 23
    assert {table.experiment for table in TABLES} == {"table-1", "lambda", "decay", "kl"}
    with pytest.raises(DerlError, match="unknown table"):
        table_of("tab:nonsense")


def test_averages_and_maxima_are_called_so():
    for cell in cells():
        title = table_of(cell.table).title.lower()
        assert cell.statistic in title
        assert cell.case.task.split("-")[0].lower() in title or "all tasks" in title
        assert ("λ" in title) == ("intrinsic_coef" in cell.table)
        assert ("kl" in title) == cell.table.endswith("_kl")


def test_numbers():
    assert number(0.984, 0.071) == "0.98 ± 0.07"
    assert number(-0.001, 0.0) == "0.00 ± 0.00"
    assert number(-0.25, 0.1) == "−0.25 ± 0.10"


def test_rows_without_tex():
    assert plain_row("A2C Hash-Count") == "A2C Hash-Count"
    row = "DeA2C Count ($\\alpha_\\beta=\\alpha_e=0.1$, $r=r^e + \\lambda r^i$)"
    assert plain_row(row) == "DeA2C Count (αᵦ = αₑ = 0.1, r = rᵉ + λ rⁱ)"
    assert not any(re.search(r"[\\$^{}]", plain_row(cell.row)) for cell in cells())


def grid(levels: dict[str, list[float]]):
    """Table 1 with only DeepSea-10 run: for each recipe an early and a late level."""
    frame = frame_of({Case.of(recipe, "DeepSea-10"): [[a] * 50 + [b] * 50] for recipe, (a, b) in levels.items()})
    return grid_of(verdicts(frame, TABLE_1), "tab:mean_returns")


def test_the_best_of_a_task_is_bold_with_all_within_its_deviation():
    table = grid({"a2c": [0.4, 0.6], "ppo": [0.42, 0.4], "a2c-icm": [0.39, 0.39], "ppo-icm": [-1, 1]})
    # The best is A2C with 0.5 ± 0.1: 0.41 is within, 0.39 is not, however much PPO ICM varies.
    assert table.bold == {("A2C", "DeepSea 10"), ("PPO", "DeepSea 10")}


def test_one_of_a_task_is_not_the_best():
    alone = {Case.of("a2c", "DeepSea-10"): [[0.5] * 100] * 2}
    beside = {Case.of(recipe, "DeepSea-14"): [[level] * 100] * 2 for recipe, level in (("a2c", 0.2), ("ppo", 0.4))}
    table = grid_of(verdicts(frame_of(alone | beside), TABLE_1), "tab:mean_returns")
    assert table.bold == {("PPO", "DeepSea 14")}
    assert "| 0.50 ± 0.00 ≠₂<br>" in markdown(table)
    assert "*0.50" not in text(table)
    assert "*0.40" in text(table)


def test_one_value_of_a_sweep_is_not_the_best():
    """There rows are compared, however many recipes were run with the same value."""
    swept = [cell for cell in cells() if cell.table == "tab:deepsea_10_intrinsic_coef_mean"]
    first, second = swept[0].column, swept[1].column
    assert first != second
    runs = {cell.case: [[0.5] * 100] * 2 for cell in swept if cell.column == first}
    assert grid_of(verdicts(frame_of(runs), swept), swept[0].table).bold == set()
    runs[swept[1].case] = [[0.7] * 100] * 2
    assert grid_of(verdicts(frame_of(runs), swept), swept[0].table).bold == {(swept[1].row, second)}


def test_a_terminal_marks_no_best_of_shortened_training():
    levels = {"a2c": 0.5, "ppo": 0.4}
    runs = {Case.of(recipe, "DeepSea-10"): [[level] * 100] * 2 for recipe, level in levels.items()}
    whole, short = (grid_of(verdicts(frame_of(runs, n), TABLE_1), "tab:mean_returns") for n in (1000, 20))
    assert whole.bold == short.bold == {("A2C", "DeepSea 10")}
    assert text(whole).count("*") == 1
    assert text(short).split() == text(whole).replace("*", "").split()


def test_the_paper_has_the_same_in_bold():
    """The rule, applied to the published numbers of Table 1, gives the published bold ones."""
    frame = frame_of({Case.of("a2c", "DeepSea-10"): [[0.0] * 100]})
    found = {}
    for verdict in verdicts(frame, TABLE_1):
        cell = verdict.cell
        found[cell.row, cell.column] = dataclasses.replace(verdict, ours=Score(cell.mean, cell.std))
    assert set(best_of(found, "column")) == {(c.row, c.column) for c in TABLE_1 if c.bold}


def test_markdown():
    lines = markdown(grid({"a2c": [0.93, 0.93], "ppo": [0.5, 0.5]})).splitlines()
    assert len(lines) == 2 + 18
    assert {line.count("|") for line in lines} == {13}
    assert lines[2].startswith("| A2C | **0.93 ± 0.00** ✓₁<br>*0.93 ± 0.22* | ·<br>*0.00 ± 0.00* |")
    assert "| PPO | 0.50 ± 0.00 ≠₁<br>*0.00 ± 0.00* |" in lines[8]


def test_text():
    lines = text(grid({"a2c": [0.93, 0.93], "ppo": [0.5, 0.5]})).splitlines()
    assert lines[0].endswith("  Hallway 30-30")
    assert lines[1].split()[:5] == ["A2C", "*0.93", "±", "0.00", "✓₁"]
    # Every number has the published one below it, run or not.
    assert lines[2].split()[:4] == ["published", "0.93", "±", "0.22"]
    assert lines[1].index("0.93") == lines[2].index("0.93")
    assert lines[3].split()[2] == "·"
    assert lines[4].split()[:4] == ["published", "0.98", "±", "0.07"]
    assert len(lines) == 1 + 2 * 18 + 1
    assert lines[-1] == "1 consistent, 1 different, 196 not run"


def test_a_narrow_terminal_has_a_table_s_columns_below_each_other():
    """Table 1 has lines of 190 characters, which a terminal of 80 columns broke in three."""
    made = grid({"a2c": [0.93, 0.93], "ppo": [0.5, 0.5]})
    lines = text(made, 80).splitlines()
    assert max(map(len, lines)) <= 80
    assert not any(line.endswith(" ") for line in lines)
    heads = [line for line in lines if line.startswith("    ")]
    assert " ".join(" ".join(heads).split()) == " ".join(text(made).splitlines()[0].split())
    assert lines.count("") == len(heads) - 1 > 0
    assert sum(line.startswith("A2C  ") for line in lines) == len(heads)
    assert lines[-1] == text(made).splitlines()[-1]
    # What is narrower than a column has one at a time.
    assert text(made, 5).splitlines().count("") == len(made.columns) - 1


def test_the_terminal_shows_a_title_once_and_counts_what_it_shows(capsys):
    levels = {"a2c-count": 0.98, "ppo": 0.5}
    frame = frame_of({Case.of(name, "DeepSea-10"): [[level] * 100] * 2 for name, level in levels.items()})
    judged = verdicts(frame)
    # The same runs stand for numbers of other experiments' tables as well.
    assert sum(v.outcome != "not run" for v in judged) > 4
    show_tables("table-1", judged)
    shown = capsys.readouterr().out
    assert shown.count("Average evaluation returns in all tasks") == 1
    counts = [list(map(int, re.findall(r"\d+", line))) for line in re.findall(r"^\d+ consistent.*$", shown, re.M)]
    total = [sum(column) for column in zip(*counts, strict=True)]
    (closing,) = re.findall(
        r"ours: (\d+) of the (\d+) numbers of these tables; different: (\d+); not run: (\d+)", shown
    )
    agree, every, *others = map(int, closing)
    assert [every, agree, *others] == [sum(total), *total]
    assert total[0] + total[1] == 4
    show_tables("pure-exploration", judged)
    assert capsys.readouterr().out == ""


def test_finished_is_when_runs_ended_not_when_they_are_shown():
    class Kept:
        def entries(self):
            days = {"a": "2024-05-01T10:00:00Z", "b": "2024-05-03T10:00:00Z", "c": "2025-01-01T00:00:00Z"}
            return [SimpleNamespace(key=key, finished=day) for key, day in days.items()]

    assert finished_on(Kept(), pl.DataFrame({"key": ["a", "b", "b"]})) == "2024-05-03"


def test_a_page_names_its_command_and_explains_differences():
    case = Case.of("deppo-count", "DeepSea-10")
    judged = verdicts(frame_of({case: [[0.0] * 100] * 2, Case.of("ppo", "DeepSea-10"): [[0.0] * 30]}))
    shown = page(table_of("tab:mean_returns"), judged)
    assert "`derl reproduce table-1`" in shown
    assert "Of 198 published numbers 0 are consistent, 1 differ, 197 have not been run" in shown
    assert (
        "| DePPO Count | DeepSea 10 | 0.00 ± 0.00 | – | 0.61 ± 0.20 | 2 | **possible** | "
        "the luck of a few runs, the order of DePPO's steps" in shown
    )
    assert "- *the order of DePPO's steps*: In the paper's code" in shown
    assert "- PPO, DeepSea 10: 1 of 1 runs unfinished (at evaluation 30)" in shown
    assert "- DePPO Count, DeepSea 10: from 2 runs only" in shown


def test_the_number_of_runs_is_shown_where_it_is_not_the_papers():
    assert [mark_of("consistent", runs) for runs in (1, 5, 20)] == ["✓₁", "✓", "✓₂₀"]
    assert mark_of("not run", 0) == "·"


def test_the_index_counts_what_is_explained_and_what_was_refuted():
    plain = {name: Case.of(name, "DeepSea-10") for name in ("dedqn-count", "deppo-count", "dea2c-count")}
    online = Case.of("dedqn-count", "DeepSea-10", {"exploiter.frozen_targets": False})
    runs = {case: [[-0.5] * 100] * 5 for case in (*plain.values(), online)}
    # Ten further runs of DeDQN, which do not have the published number either.
    frame = Results(frame_of({**runs, plain["dedqn-count"]: [[-0.5] * 100] * 15}))
    judged = verdicts(frame, [c for c in TABLE_1 if c.case in plain.values()])
    shown = index_page(frame, judged, [])
    rows = {line.split(" | ")[0]: line for line in shown.splitlines() if line.startswith("| ")}
    ends = {name: rows[f"| {name}"].split(" | ")[-1] for name in ("explained", "possible", "refuted", "none")}
    # Luck and DeDQN's option were tested and are not it, DeA2C's and DePPO's were not run.
    assert ends == {"explained": "0 |", "possible": "2 |", "refuted": "1 |", "none": "0 |"}
    assert rows["| DeDQN's frozen targets"].endswith("| 1 | 0 | 1 | 0 | 0 |")
    assert rows["| the order of DePPO's steps"].endswith("| `decoupling.stale_segments=false` | 1 | 0 | 0 | 0 | 1 |")


def test_pages_are_written_and_repeatable(tmp_path):
    frame = like_the_paper([cell.case for cell in TABLE_1[:40]])
    paths = write_pages(frame, tmp_path / "a")
    write_pages(Results(frame.sample(fraction=1, shuffle=True, seed=0)), tmp_path / "b")
    judged = pl.read_csv(tmp_path / "a" / "verdicts.csv", infer_schema_length=None)
    run = judged.filter(pl.col("verdict") != "not run")["table"].n_unique()
    assert 0 < run < judged["table"].n_unique()
    # A page for every table of which something was run, one with all, one about claims, and two for programs.
    assert len(paths) == run + 4
    for path in paths:
        content = path.read_text()
        assert content == (tmp_path / "b" / path.name).read_text()
        for link in re.findall(r"\]\(([^)]+)\)", content):
            assert (path.parent / link).exists()
    index = (tmp_path / "a" / "README.md").read_text()
    assert "1,684 published numbers" in index
    assert "| 198 | 40 | 0 | 158 |" in index
    for name in ("table-1", "lambda", "decay", "pure-exploration", "kl", "grid-search"):
        assert f"`derl reproduce {name}`" in index
    assert index.count("not enough data") >= 9
    assert judged["verdict"].value_counts(sort=True)["count"].sum() == 1684
    assert (judged.filter(pl.col("table") == "tab:mean_returns")["verdict"] == "consistent").sum() == 40
    assert "## Probability of improvement" in (tmp_path / "a" / "claims.md").read_text()
    (tmp_path / "file").write_text("")
    with pytest.raises(DerlError, match="cannot write"):
        write_pages(frame.filter(pl.col("run") == 0), tmp_path / "file")
