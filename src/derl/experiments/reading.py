"""Reading a SQLite file without leaving a trace: nothing is written to it, and nothing made beside it.

SQLite itself makes two files beside a database that it reads, NAME-wal and NAME-shm, and gives up where it cannot: in
a folder of somebody else, on a disk mounted read-only. Results are to be read there too.
"""

import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TypeVar

Found = TypeVar("Found")

ATTEMPTS = 20


def read(file: Path, query: Callable[[sqlite3.Connection], Found]) -> Found:
    """What `query` finds in a database that others may be writing to at the same time."""
    for _ in range(ATTEMPTS):
        wal, shared = (file.with_name(file.name + end) for end in ("-wal", "-shm"))
        before = _state(file, wal)
        if wal.exists() and shared.exists():
            # Somebody has it open, or was killed: SQLite's locks work, and what it needs is there.
            return _ask(file, "mode=ro", query)
        try:
            # What is in the -wal file was written by somebody who did not come to put it into the database.
            found = _ask_copy(file, wal, query) if before[-1] else _ask(file, "immutable=1", query)
        except (sqlite3.DatabaseError, OSError):
            if _state(file, wal) == before:
                raise
        else:
            # Without locks a writer may have come in between: then it is read again.
            if _state(file, wal) == before:
                return found
        time.sleep(0.05)
    raise sqlite3.OperationalError("it is being changed all the time")


def _state(file: Path, wal: Path) -> tuple[int, ...]:
    facts = file.stat()
    try:
        ahead = wal.stat().st_size
    except FileNotFoundError:
        ahead = 0
    return facts.st_ino, facts.st_size, facts.st_mtime_ns, ahead


def _ask(file: Path, how: str, query: Callable[[sqlite3.Connection], Found]) -> Found:
    with closing(sqlite3.connect(f"{file.absolute().as_uri()}?{how}", uri=True, timeout=60.0)) as db:
        return query(db)


def _ask_copy(file: Path, wal: Path, query: Callable[[sqlite3.Connection], Found]) -> Found:
    with tempfile.TemporaryDirectory() as folder:
        for one in (file, wal):
            shutil.copyfile(one, Path(folder) / one.name)
        return _ask(Path(folder) / file.name, "mode=rw", query)
