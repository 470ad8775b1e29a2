"""What commands show: tables that fit, titles and sentences in lines of their own, help without noise."""

import io

import polars as pl
import pytest
from rich.console import Console
from rich.table import Table

from derl.cli.display import say, show_table
from derl.cli.flags import COLOURS
from derl.cli.main import main
from derl.cli.sweep import show_returns
from derl.experiments.experiment import Experiment, Part, product


@pytest.mark.parametrize("terminal", [True, False])
def test_the_table_of_a_sweep_shows_what_was_varied(terminal, capsys, monkeypatch):
    """At 80 columns the setting was a single "…"."""
    output = io.StringIO()
    narrow = Console(file=output, force_terminal=terminal, width=80, highlight=False, color_system=None)
    monkeypatch.setattr("derl.cli.display.console", narrow)
    # In the order of the file, which is not that of their names.
    varied = {"bonus.scale": [10.0, 0.1], "explorer.entropy_coef": [1e-4]}
    cases = product(["Hallway-10-10"], ["dea2c-hash-count"], vary=varied, fixed={"explorer.n_steps": 8})
    mine = Experiment("mine", (Part(cases, (0, 1, 2)),))
    rows = [
        {"run": 3 * i + seed, "seed": seed, "recipe": case.recipe, "task": case.task, "setting": case.setting}
        | {"evaluation": 1, "steps": 10, "episodes": 1.0, "return": 0.5 + seed, "failed_at_step": None}
        for i, case in enumerate(cases)
        for seed in range(3)
    ]
    show_returns(mine, pl.DataFrame(rows, infer_schema_length=None))
    text = output.getvalue()
    assert "…" not in text
    assert all(word in text for word in ("bonus.scale=0.1", "bonus.scale=10", "Hallway-10-10"))
    *lines, told = text.rstrip().splitlines()
    assert told.startswith("± is the deviation over evaluations")
    assert all(len(line) <= 80 for line in lines) if terminal else len(lines) == 4
    # What there is no room for is left out whole, and said: a column cut through its middle reads as another number.
    shown = [name for name in ("interval", "maximum", "final") if name in "".join(lines[:-1])]
    assert shown == (["maximum", "final"] if terminal else ["interval", "maximum", "final"])
    assert (lines[-1] == "no room for: 95 % interval") == terminal
    assert text.count("1.50 ± 0.00") == 2
    assert text.index("bonus.scale=10") < text.index("bonus.scale=0.1")


def test_one_or_two_runs_have_no_interval(capsys, monkeypatch):
    monkeypatch.setattr("derl.cli.display.console", Console(width=200))
    cases = product(["DeepSea-4"], ["a2c"])
    names = {"recipe": "a2c", "task": "DeepSea-4", "setting": "", "evaluation": 1, "steps": 10, "episodes": 1.0}
    rows = [{"run": seed, "seed": seed, **names, "return": 0.1 + seed, "failed_at_step": None} for seed in (0, 1, 2)]
    for count, interval in ((1, "–"), (2, "–"), (3, "0.10 to 2.10")):
        show_returns(Experiment("mine", (Part(cases, (0,)),)), pl.DataFrame(rows[:count], infer_schema_length=None))
        out = capsys.readouterr().out
        assert interval in out
        assert ("that of the mean over runs" in out) == (count == 3)


def test_a_terminal_with_a_little_less_room_loses_one_column(monkeypatch):
    output = io.StringIO()
    console = Console(file=output, force_terminal=True, width=80, highlight=False, color_system=None)
    monkeypatch.setattr("derl.cli.display.console", console)
    cases = product(["DeepSea-6"], ["dea2c-count"], vary={"bonus.scale": [0.1]})
    row = {"run": 0, "seed": 0, "recipe": "dea2c-count", "task": "DeepSea-6", "setting": cases[0].setting}
    row |= {"evaluation": 1, "steps": 10, "episodes": 1.0, "return": 0.5, "failed_at_step": None}
    frame = pl.DataFrame([row], infer_schema_length=None)
    show_returns(Experiment("mine", (Part((*cases, *product(["DeepSea-6"], ["a2c"])), (0,)),)), frame)
    words = output.getvalue().split()
    assert words[-3:] == ["95", "%", "interval"]
    assert {"maximum", "final", "bonus.scale=0.1"} < set(words)


def test_a_title_is_a_line_of_its_own(monkeypatch):
    """Rich breaks it where the table ends: a narrow table had it in eight lines."""
    for terminal in (True, False):
        output = io.StringIO()
        console = Console(file=output, force_terminal=terminal, width=60, highlight=False, color_system=None)
        monkeypatch.setattr("derl.cli.display.console", console)
        table = Table("a", title="Sensitivity to the scale of intrinsic rewards")
        table.add_row("1")
        show_table(table)
        assert output.getvalue().splitlines()[0] == "Sensitivity to the scale of intrinsic rewards"


def test_sentences_break_between_words_on_a_terminal_alone(monkeypatch):
    sentence = "one two three four five six seven eight nine ten"
    for terminal, lines in ((True, 3), (False, 1)):
        output = io.StringIO()
        console = Console(file=output, force_terminal=terminal, width=20, highlight=False, color_system=None)
        monkeypatch.setattr("derl.cli.display.console", console)
        say(sentence)
        found = output.getvalue().splitlines()
        assert (len(found), " ".join(line.strip() for line in found)) == (lines, sentence)


def test_help_without_none_and_colours(capsys, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    for colours in ("", "1"):
        monkeypatch.setenv("NO_COLOR", colours)
        with pytest.raises(SystemExit):
            main(["status", "--help"])
        out = capsys.readouterr().out
        assert "{None}" not in out
        assert "--seeds" in COLOURS.sub("", out)
        assert ("\x1b[" in out) == (not colours)
        assert not [line for line in COLOURS.sub("", out).splitlines() if line.endswith(" ")]
