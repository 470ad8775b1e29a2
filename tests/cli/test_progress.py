"""What is shown while something runs, on terminals of different widths and in a pipe."""

import io
import re

import pytest
from rich.console import Console, RenderableType

from derl.cli import display, sweep
from derl.cli.display import Progress, Shower, counted, percent, showing
from derl.experiments.progress import SweepProgress

TITLE = "DeepSea-10 dea2c-count"
EVERYTHING = ("steps/s 466k", "episodes 12.3k", "explorer −0.15", "exploiter −0.14", "left 10:02:03", "failed 2")


def progress(**changes) -> Progress:
    values = {"steps": 45, "total_steps": 100, "steps_per_second": 466e3, "episodes": 12345.0, "failed": 0}
    return Progress(**values | {"explorer_return": -0.15, "exploiter_return": -0.14, "seconds_left": 36123.0} | changes)


def lines_of(view: RenderableType, width: int) -> list[str]:
    """What a terminal of this width shows."""
    output = io.StringIO()
    Console(file=output, force_terminal=True, width=width, color_system=None).print(view)
    return [line.rstrip() for line in output.getvalue().splitlines()]


class Caught:
    """Keeps what would be live on a terminal."""

    def update(self, view: RenderableType) -> None:
        self.view = view


def training(width: int, title: str = TITLE, **changes) -> list[str]:
    caught = Caught()
    Shower(title, True, caught)(progress(**changes))  # pyright: ignore[reportArgumentType]
    return lines_of(caught.view, width)


def test_a_wide_terminal_has_one_line():
    [line] = training(140)
    assert line.startswith(f"{TITLE}  ━")
    assert " 45%  steps/s 466k" in line
    assert all(word in line for word in EVERYTHING[:-1])


@pytest.mark.parametrize("width", [80, 90, 100, 120])
def test_at_80_columns_and_more_everything_can_be_read(width):
    """In a grid of its own columns every name and number was cut: "steps…  epis…"."""
    lines = training(width)
    assert len(lines) <= 2
    assert all(len(line) <= width for line in lines)
    assert TITLE in lines[0]
    assert "━━━" in lines[0]
    assert " 45%" in lines[0]
    assert all(word in " ".join(lines) for word in EVERYTHING[:-1])


@pytest.mark.parametrize(
    ("width", "gone"),
    [
        (86, 0),
        (80, 1),
        (60, 2),
        (45, 3),
        (30, 4),
        (13, 5),
        (8, 5),
    ],
)
def test_narrower_terminals_lose_the_least_important_first(width, gone):
    order = ("episodes", "explorer", "steps/s", "exploiter", "left", "failed")
    lines = training(width, failed=2)
    assert len(lines) == 2
    assert all(len(line) <= width for line in lines)
    assert re.findall(r"\b[a-z/]{4,}\b", lines[1]) == [w.split()[0] for w in EVERYTHING if w.split()[0] in order[gone:]]
    assert lines[0].endswith("45%")


def test_a_long_title_is_cut_and_brackets_are_no_markup():
    long = training(60, title="[red]Room[/]-10-10 " + "x" * 80)
    assert [len(line) <= 60 for line in long] == [True, True]
    assert long[0].startswith("[red]Room[/]-10-10 x")
    assert long[0].endswith("…   45%")


def test_a_return_that_rounds_to_zero_has_no_sign():
    assert (display.value(-0.001), display.value(-0.01), display.value(float("nan"))) == ("0.00", "−0.01", "–")
    assert display.spread(-0.004, 0.0) == "0.00 ± 0.00"


def test_one_is_not_several():
    assert [counted(number, "new run") for number in (0, 1, 2)] == ["0 new runs", "1 new run", "2 new runs"]


def test_what_is_not_done_is_not_100_percent():
    assert percent(999_999, 1_000_000) == " 99%"
    assert percent(1_000_000, 1_000_000) == "100%"
    assert percent(0, 0) == "  0%"


def sweep_progress(**changes) -> SweepProgress:
    running = ("dea2c-count on DeepSea-10 (layers=[64, 64])", "deppo-icm on Hallway-10-10 (" + "x" * 80 + ")")
    values = {"runs": 990, "done": 123, "found": 0, "failed": 0, "running": running, "running_runs": 12}
    values |= {"steps": 45, "total_steps": 100, "steps_per_second": 466e3, "seconds_left": 36123.0}
    return SweepProgress(**values | changes)


def sweeping(width: int, **changes) -> list[str]:
    return lines_of(sweep.progress_view("pure-exploration", sweep_progress(**changes)), width)


def test_a_sweep_tells_what_it_is_at_in_a_line_for_each_worker():
    for width in (60, 80, 120):
        lines = sweeping(width, failed=3)
        *head, first, second = lines
        assert all(len(line) <= width for line in lines)
        assert len(head) == (1 if width > 80 else 2)
        words = ("pure-exploration", "━", " 45%", "runs 123/990", "steps/s 466k", "left 10:02:03", "failed 3")
        assert all(word in " ".join(head) for word in words)
        assert first == "  dea2c-count on DeepSea-10 (layers=[64, 64])"
        assert second.startswith("  deppo-icm on Hallway-10-10 (x")
    assert sweeping(28)[1] == "runs 123/990  left 10:02:03"


def test_a_pipe_gets_plain_whole_lines(monkeypatch):
    output = io.StringIO()
    monkeypatch.setattr(display, "console", Console(file=output, width=40, highlight=False))
    with showing(TITLE, True) as show:
        show(progress(failed=2))
    assert output.getvalue() == "  ".join((TITLE, " 45%", *EVERYTHING)) + "\n"


def test_in_a_pipe_a_sweep_tells_how_many_runs_it_is_at(monkeypatch):
    output = io.StringIO()
    monkeypatch.setattr(sweep, "console", Console(file=output, width=40, highlight=False))
    with sweep.showing_sweep("kl") as show:
        show(sweep_progress(failed=3))
    assert output.getvalue() == "kl  runs 123/990  steps/s 466k  left 10:02:03  failed 3  running 12\n"
