"""The result store: one entry per run, found by its content, in a SQLite file that several processes can use at once.

SQLite gives what a store needs and files in a folder do not: an entry is there whole or not at all even after kill -9,
writers wait for each other, and ten thousand entries are one query away.
"""

import contextlib
import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from derl.core.errors import DerlError, require
from derl.experiments.packing import LABELS, STORED, TEXT, Entry, is_sound, packed, unpacked
from derl.experiments.reading import Found, read

SCHEMA = 1
FILE = "runs.sqlite"
PATIENCE = 60
"""For so many seconds a writer waits for others."""
MADE_BY = "CREATE TABLE IF NOT EXISTS made_by (key TEXT PRIMARY KEY, version TEXT)"
"""Which derl made a run. A table of its own: older stores lack it until something is added to them, and older versions
of derl that write to the same store need not know of it.
"""
TABLES = f"""
{MADE_BY};
CREATE TABLE IF NOT EXISTS runs (
  key TEXT PRIMARY KEY, recipe TEXT, task TEXT, setting TEXT, seed INTEGER, engine INTEGER, steps INTEGER,
  seconds REAL, finished TEXT, failed_at INTEGER, columns TEXT, evaluations INTEGER, data BLOB
);
CREATE TABLE IF NOT EXISTS failures (
  key TEXT PRIMARY KEY, recipe TEXT, task TEXT, setting TEXT, seed INTEGER, error TEXT
);
CREATE INDEX IF NOT EXISTS by_case ON runs (recipe, task, setting);
"""


def is_store(path: Path) -> bool:
    """Whether there is a store in a folder.

    A file without content is what a full disk leaves of the attempt to make one, and one without a version what a
    process leaves that was killed at it, or has just begun.
    """
    file = path / FILE
    try:
        return file.stat().st_size > 0 and read(file, _version) != 0
    except FileNotFoundError:
        return False
    except OSError as error:
        raise DerlError(f"cannot read {path}: {error.strerror}; choose another folder with --store") from None
    except sqlite3.Error:
        # Whoever opens it is told what is wrong with it.
        return True


def _version(db: sqlite3.Connection) -> int:
    return db.execute("PRAGMA user_version").fetchone()[0]


def _advice(error: sqlite3.Error) -> str:
    """What to do if the store cannot be written to."""
    rights = any(words in str(error) for words in ("unable to open", "readonly", "read-only"))
    where = "change the rights of its folder and the files in it, or choose another with --store; " if rights else ""
    return f"{where}what was stored before is intact"


class Store:
    """A folder of results. Opening one that does not exist makes it, unless it is only to be read.

    To read it takes no right to write: see `reading`.
    """

    def __init__(self, path: Path | str, *, read_only: bool = False):
        self.path, self._file = Path(path), Path(path) / FILE
        self._db: sqlite3.Connection | None = None
        try:
            if read_only:
                nothing = f"there are no results in {self.path} yet; --store names the folder of results"
                require(is_store(self.path) and self._version() != 0, nothing)
                return
            self.path.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(self._file, timeout=PATIENCE, isolation_level=None)
            self._db.execute(f"PRAGMA busy_timeout = {1000 * PATIENCE}")
            if self._version() == 0:
                self._create()
        except sqlite3.Error as error:
            raise DerlError(f"cannot use the store {self.path}: {error}; choose another with --store") from None
        except OSError as error:
            reason = error.strerror or error
            raise DerlError(f"cannot use the store {self.path}: {reason}; choose another with --store") from None

    def _version(self) -> int:
        version = self._ask(_version)
        require(
            version in (0, SCHEMA),
            f"{self._file} has format {version}, this derl reads {SCHEMA}; choose another folder with --store",
        )
        return version

    def _ask(self, query: Callable[[sqlite3.Connection], Found]) -> Found:
        return read(self._file, query) if self._db is None else query(self._db)

    def _rows(self, query: str, parameters: Sequence[Any] = ()) -> list[tuple]:
        """The rows a query finds."""
        try:
            return self._ask(lambda db: db.execute(query, parameters).fetchall())
        except (sqlite3.Error, OSError) as error:
            raise DerlError(f"cannot read {self._file}: {error}; choose another folder with --store") from None

    @property
    def _writing(self) -> sqlite3.Connection:
        if self._db is None:
            raise DerlError(f"the store {self.path} was opened for reading only")
        return self._db

    def _create(self) -> None:
        # Readers go on while a worker writes, and a killed writer leaves nothing half done.
        self._switch_to_wal()
        with self.transaction() as db:
            db.execute(f"PRAGMA user_version = {SCHEMA}")
            for statement in TABLES.split(";"):
                db.execute(statement)

    def _switch_to_wal(self) -> None:
        """Another process may be making the same store: SQLite does not wait for it here, as it does elsewhere."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                self._writing.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
            time.sleep(0.05)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All of it is written, or nothing."""
        db = self._writing
        try:
            db.execute("BEGIN IMMEDIATE")
            yield db
            db.execute("COMMIT")
        except sqlite3.Error as error:
            with contextlib.suppress(sqlite3.Error):
                db.execute("ROLLBACK")
            raise DerlError(f"cannot write to {self.path}: {error}; {_advice(error)}") from None
        except BaseException:
            db.execute("ROLLBACK")
            raise

    def close(self) -> None:
        """Let go of the file."""
        if self._db is not None:
            self._db.close()

    def add(self, entries: Sequence[Entry], frames: Sequence[pl.DataFrame]) -> None:
        """Put finished runs in, all or none. A run that is there already is left as it is."""
        rows = [packed(entry, frame) for entry, frame in zip(entries, frames, strict=True)]
        origins = [(entry.key, entry.version, entry.key) for entry in entries if entry.version is not None]
        with self.transaction() as db:
            db.execute(MADE_BY)
            # Before the runs: what is there already was made by whoever made it then.
            missing = "WHERE NOT EXISTS (SELECT 1 FROM runs WHERE key = ?)"
            db.executemany(f"INSERT OR REPLACE INTO made_by SELECT ?, ? {missing}", origins)
            db.executemany(f"INSERT OR IGNORE INTO runs VALUES ({','.join('?' * 13)})", rows)
            db.executemany("DELETE FROM failures WHERE key = ?", [(entry.key,) for entry in entries])

    def check_writable(self) -> None:
        """Raise now if runs could not be entered later: the file may be somebody else's, in a folder that is not."""
        with self.transaction() as db:
            # The same value again. To begin a transaction alone would do for a file that can only be read.
            db.execute(f"PRAGMA user_version = {SCHEMA}")

    def add_failures(self, entries: Sequence[Entry], error: str) -> None:
        """Note runs that could not be finished, and why."""
        with self.transaction() as db:
            db.executemany(
                "INSERT OR REPLACE INTO failures VALUES (?,?,?,?,?,?)", [(*entry[:5], error) for entry in entries]
            )

    def remove(self, runs: Iterable[str], failures: Iterable[str]) -> None:
        """Take runs and failures out, all or none, and give their room on the disk back."""
        gone = [(key,) for key in runs]
        with self.transaction() as db:
            db.execute(MADE_BY)
            db.executemany("DELETE FROM runs WHERE key = ?", gone)
            db.executemany("DELETE FROM made_by WHERE key = ?", gone)
            db.executemany("DELETE FROM failures WHERE key = ?", [(key,) for key in failures])
        # It needs as much room again for a while. Without, new runs take the place of those removed.
        with contextlib.suppress(sqlite3.Error):
            self._writing.execute("VACUUM")

    def keys(self) -> set[str]:
        """Every run that is there."""
        return {key for (key,) in self._rows("SELECT key FROM runs")}

    def failures(self) -> pl.DataFrame:
        """Runs that could not be finished."""
        rows = self._rows("SELECT * FROM failures ORDER BY recipe, task, setting, seed")
        schema = {"key": pl.String, **TEXT, "seed": pl.Int64, "error": pl.String}
        return pl.DataFrame(rows, schema=schema, orient="row")

    def summary(self) -> pl.DataFrame:
        """Runs, steps and seconds of every case; not every run that was taken in says how long it took."""
        query = (
            "SELECT recipe, task, setting, engine, COUNT(*), SUM(steps), SUM(seconds), SUM(failed_at IS NOT NULL), "
            "SUM(seconds > 0) FROM runs GROUP BY recipe, task, setting, engine ORDER BY recipe, task, setting, engine"
        )
        schema = {
            **TEXT,
            **dict.fromkeys(("engine", "runs", "steps"), pl.Int64),
            "seconds": pl.Float64,
            **dict.fromkeys(("failed", "timed"), pl.Int64),
        }
        return pl.DataFrame(self._rows(query), schema=schema, orient="row")

    def diverged(self) -> set[str]:
        """The runs whose numbers ceased to be finite."""
        return {key for (key,) in self._rows("SELECT key FROM runs WHERE failed_at IS NOT NULL")}

    def frame(self, keys: Iterable[str] | None = None, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """The results frame of some runs (else of all): one row per run and evaluation.

        `columns` names the numbers wanted, beside those that name a run; reading few is faster.
        """
        # As one text: there may be more keys than a query may have parameters.
        wanted = None if keys is None else json.dumps(sorted(keys))
        some = "" if wanted is None else "WHERE key IN (SELECT value FROM json_each(?))"
        found = self._rows(f"SELECT {', '.join(STORED)} FROM runs {some}", () if wanted is None else (wanted,))
        for row in found:
            if not is_sound(row):
                name = "{1} on {2} ({3}) with seed {4}, {0},".format(*row)
                remedy = f"derl store prune --store {self.path} removes what is damaged, and sweeps make it again"
                raise DerlError(f"{self._file} is damaged: {name} cannot be read; {remedy}")
        # Sorted here by recipe, task, setting, seed and key: SQLite would carry all numbers along.
        return unpacked(sorted(found, key=lambda row: (*row[1:5], row[0])), columns)

    def damaged(self) -> list[Entry]:
        """Runs whose entry cannot be read."""
        found = self._rows(f"SELECT {', '.join(STORED)} FROM runs")
        return [Entry(*row[:7]) for row in found if not is_sound(row)]

    def seconds_of(self) -> Mapping[tuple[str, str], float]:
        """Seconds per step of every recipe and task that has been run for long enough to tell, by the quickest quarter
        of its runs: others may have been made beside other work, by older code, or compiled for most of their time."""
        query = "SELECT recipe, task, steps, seconds / steps FROM runs WHERE seconds > 0 AND steps > 0"
        schema = {"recipe": pl.String, "task": pl.String, "steps": pl.Int64, "rate": pl.Float64}
        runs = pl.DataFrame(self._rows(query), schema=schema, orient="row")
        known = runs.group_by("recipe", "task").agg(pl.sum("steps"), pl.quantile("rate", 0.25, "lower"))
        return {(recipe, task): rate for recipe, task, steps, rate in known.iter_rows() if steps >= 100_000}

    def entries(self) -> list[Entry]:
        """What is there, without the numbers."""
        known = self._rows("SELECT 1 FROM sqlite_master WHERE name = 'made_by'")
        version, join = ("version", "LEFT JOIN made_by USING (key)") if known else ("NULL", "")
        return [
            Entry(*row) for row in self._rows(f"SELECT key, {', '.join(LABELS)}, finished, {version} FROM runs {join}")
        ]
