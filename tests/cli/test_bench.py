"""`derl bench` without the measuring: what becomes of its file, and its mistakes."""

import importlib.util
import io
from pathlib import Path

import pytest
from rich.console import Console

from derl.cli import bench
from derl.cli.main import main
from derl.training.benchmark import Measurement

ROOT = Path(__file__).parents[2]
SPEEDS = ROOT / "benchmarks" / "speed.csv"


@pytest.fixture
def fake(monkeypatch):
    """Measurements that cost nothing, and no core of our own to be kept on."""
    made = []

    def measure(config, population, seconds):
        made.append((config.recipe, config.task, population))
        return Measurement(config.task, config.recipe, population, 1000.0 * len(made), 2.0, 3.0, 4.0, 5.0, 6.0)

    monkeypatch.setattr(bench, "measure", measure)
    monkeypatch.setattr(bench, "forget_programs", lambda: None)
    monkeypatch.delattr(bench.os, "sched_setaffinity", raising=False)
    return made


def run(out: Path, recipes: str, tasks: str = "DeepSea-10", populations: str = "1 8") -> int:
    args = ["--recipes", *recipes.split(), "--tasks", *tasks.split(), "--populations", *populations.split()]
    return main(["bench", *args, "--out", str(out)])


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines()


def test_a_file_keeps_the_lines_of_what_is_not_measured_again(fake, tmp_path):
    out = tmp_path / "new" / "speed.csv"
    assert run(out, "ppo-icm a2c") == 0
    assert [line.split(",")[:4] for line in lines(out)[1:]] == [
        ["DeepSea-10", "a2c", "1", "3000.000"],
        ["DeepSea-10", "a2c", "8", "4000.000"],
        ["DeepSea-10", "ppo-icm", "1", "1000.000"],
        ["DeepSea-10", "ppo-icm", "8", "2000.000"],
    ]
    before = lines(out)
    assert run(out, "a2c derl", "Hallway-10-10 DeepSea-10", "8") == 0
    after = lines(out)
    # A line measured again, two of another task or recipe, all others as they were.
    assert set(before) - set(after) == {before[2]}
    assert [line.split(",")[:3] for line in after[1:]] == [
        ["DeepSea-10", "a2c", "1"],
        ["DeepSea-10", "a2c", "8"],
        ["Hallway-10-10", "a2c", "8"],
        ["DeepSea-10", "ppo-icm", "1"],
        ["DeepSea-10", "ppo-icm", "8"],
        ["DeepSea-10", "derl", "8"],
        ["Hallway-10-10", "derl", "8"],
    ]


def test_the_committed_lines_survive_a_further_one(fake, tmp_path):
    out = tmp_path / "speed.csv"
    out.write_bytes(SPEEDS.read_bytes())
    assert run(out, "ppo-ride", populations="3") == 0
    assert len(fake) == 1
    assert set(lines(SPEEDS)) < set(lines(out))
    assert len(lines(out)) == len(lines(SPEEDS)) + 1


def test_a_file_of_something_else_is_refused_before_anything_is_measured(fake, tmp_path, capsys):
    other = tmp_path / "other.csv"
    for text in ("a,b\n1,2\n", "", "task,recipe,population\nx,y,z\n"):
        other.write_text(text)
        assert run(other, "a2c") == 2
        told = capsys.readouterr().err
        assert "holds no measurements of derl bench" in told
        assert told.count("\n") == 1
        assert other.read_text() == text
    assert run(tmp_path, "a2c") == 2
    assert "is a folder" in capsys.readouterr().err
    assert main(["bench", "--recipes"]) == 2
    assert "--recipes needs at least one" in capsys.readouterr().err
    assert fake == []


def test_a_narrow_terminal_has_fewer_columns_but_whole_numbers(fake, monkeypatch):
    """At 80 columns the numbers were broken in two: "294,78" and "8" below it."""
    output = io.StringIO()
    narrow = Console(file=output, force_terminal=True, width=80, highlight=False, color_system=None)
    monkeypatch.setattr("derl.cli.display.console", narrow)
    fake += [None] * 123_456
    assert main(["bench", "--recipes", "a2c-hash-count", "--tasks", "Hallway-30-30", "--populations", "64"]) == 0
    head, line, note = [text for text in output.getvalue().splitlines() if "environment steps" not in text]
    assert line.split() == ["a2c-hash-count", "Hallway-30-30", "64", "123,457,000", "2", "3.00", "4.0", "91926x"]
    assert head.split()[-3:] == ["compile", "s", "reference"]
    assert note == "no room for: peak MB, state MB"


def test_the_document_s_table_takes_any_recipe(monkeypatch, tmp_path):
    """The paper has no code of the library's own recipes to compare with."""
    spec = importlib.util.spec_from_file_location("build", ROOT / "docs" / "build.py")
    assert spec is not None
    assert spec.loader is not None
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    monkeypatch.setattr(build, "ROOT", tmp_path)
    (tmp_path / "benchmarks").mkdir()
    rows = [Measurement("DeepSea-10", name, 1, 2040.0, 2.0, 3.0, 4.0, 5.0, 6.0) for name in ("a2c-count", "derl")]
    bench.write(tmp_path / "benchmarks" / "speed.csv", rows)
    *_, paper, own = build.speed_table().splitlines()
    assert paper.endswith("| 2 |")
    assert own.endswith("| – |")
