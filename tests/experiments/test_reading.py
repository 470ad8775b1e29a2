"""Reading a file that somebody writes to at the same time."""

import contextlib
import sqlite3
from pathlib import Path

import pytest

from derl.experiments.reading import ATTEMPTS, read


def numbers(db: sqlite3.Connection) -> list[int]:
    return [row[0] for row in db.execute("SELECT number FROM t")]


def write(file: Path, number: int) -> None:
    with contextlib.closing(sqlite3.connect(file)) as db, db:
        db.execute("CREATE TABLE IF NOT EXISTS t (number INTEGER)")
        db.execute("INSERT INTO t VALUES (?)", (number,))


@pytest.fixture
def file(tmp_path):
    write(tmp_path / "a.sqlite", 1)
    return tmp_path / "a.sqlite"


def test_what_was_written_meanwhile_is_read_again(file):
    """Without locks a query may see half of what is being written: it counts only if nothing was."""
    asked = []

    def query(db):
        asked.append(numbers(db))
        if len(asked) == 1:
            write(file, 2)
        return asked[-1]

    assert read(file, query) == [1, 2]
    assert len(asked) == 2


def test_a_file_that_changes_all_the_time_is_given_up(file, monkeypatch):
    monkeypatch.setattr("derl.experiments.reading.time.sleep", lambda seconds: None)
    asked = []

    def query(db):
        asked.append(numbers(db))
        write(file, len(asked))

    with pytest.raises(sqlite3.OperationalError, match="changed all the time"):
        read(file, query)
    assert len(asked) == ATTEMPTS
