"""A room imports only rooms before it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import derl

SOURCE = Path(derl.__file__).parent
ROOMS = ("core", "envs", "bonuses", "agents", "training", "experiments", "analysis", "api", "cli")
ANALYSIS = ("measures", "runs", "published", "claims", "figures", "pages", "report")


def imported(file: Path) -> Iterator[list[str]]:
    """The parts of every module of derl that a file imports."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        yield from (parts[1:] for parts in (name.split(".") for name in names) if parts[0] == "derl" and parts[1:])


def files(room: str) -> list[Path]:
    folder = SOURCE / room
    return sorted(folder.rglob("*.py")) if folder.is_dir() else [SOURCE / f"{room}.py"]


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_import_only_rooms_before_them(room):
    later = ROOMS[ROOMS.index(room) + 1 :]
    wrong = [(file.name, parts) for file in files(room) for parts in imported(file) if parts[0] in later]
    assert files(room)
    assert not wrong


@pytest.mark.parametrize("room", ANALYSIS)
def test_so_do_the_rooms_of_analysis(room):
    later = ANALYSIS[ANALYSIS.index(room) + 1 :]
    found = [parts for file in files(f"analysis/{room}") for parts in imported(file)]
    assert found
    assert not [parts for parts in found if parts[0] == "analysis" and parts[1] in later]


def test_every_file_is_in_a_room():
    top = {path.stem for path in SOURCE.iterdir() if not path.name.startswith("_") and path.name != "data"}
    assert top == set(ROOMS)
    inner = {path.stem for path in (SOURCE / "analysis").iterdir() if not path.name.startswith("_")}
    assert inner == set(ANALYSIS)
