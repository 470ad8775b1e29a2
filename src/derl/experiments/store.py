"""The result store: one entry per run, found by its content, in a SQLite file that several processes can use at once.

SQLite gives what a store needs and files in a folder do not: an entry is there whole or not at all even after kill -9,
writers wait for each other, and ten thousand entries are one query away.
"""

import contextlib
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from derl.core.errors import DerlError, require
from derl.experiments.reading import Found, read

SCHEMA = 1
FILE = "runs.sqlite"
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


class Entry(NamedTuple):
    """What a run is called, what it cost, and where it comes from."""

    key: str
    recipe: str
    task: str
    setting: str
    seed: int
    engine: int
    seconds: float
    finished: str | None = None
    """When, in UTC; None if nobody knows."""
    version: str | None = None
    """Of the derl that made it; None if nobody knows."""


LABELS = ("recipe", "task", "setting", "seed", "engine", "seconds")
TEXT = {"recipe": pl.String, "task": pl.String, "setting": pl.String}


def is_store(path: Path) -> bool:
    """Whether there is a store in a folder. A file without content is what a full disk leaves of the attempt."""
    try:
        return (path / FILE).stat().st_size > 0
    except FileNotFoundError:
        return False
    except OSError as error:
        raise DerlError(f"cannot read {path}: {error.strerror}; choose another folder with --store") from None


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
            self._db = sqlite3.connect(self._file, timeout=60.0, isolation_level=None)
            self._db.execute("PRAGMA busy_timeout = 60000")
            if self._version() == 0:
                self._create()
        except sqlite3.Error as error:
            raise DerlError(f"cannot use the store {self.path}: {error}; choose another with --store") from None
        except OSError as error:
            reason = error.strerror or error
            raise DerlError(f"cannot use the store {self.path}: {reason}; choose another with --store") from None

    def _version(self) -> int:
        version = self._ask(lambda db: db.execute("PRAGMA user_version").fetchone()[0])
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
        self._writing.execute("PRAGMA journal_mode = WAL")
        with self.transaction() as db:
            db.execute(f"PRAGMA user_version = {SCHEMA}")
            for statement in TABLES.split(";"):
                db.execute(statement)

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
            raise DerlError(f"cannot write to {self.path}: {error}; what was stored before is intact") from None
        except BaseException:
            db.execute("ROLLBACK")
            raise

    def close(self) -> None:
        """Let go of the file."""
        if self._db is not None:
            self._db.close()

    def add(self, entries: Sequence[Entry], frames: Sequence[pl.DataFrame]) -> None:
        """Put finished runs in, all or none. A run that is there already is left as it is."""
        rows = [_pack(entry, frame) for entry, frame in zip(entries, frames, strict=True)]
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

    def frame(self, keys: Iterable[str] | None = None, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """The results frame of some runs (else of all): one row per run and evaluation.

        `columns` names the numbers wanted, beside those that name a run; reading few is faster.
        """
        # As one text: there may be more keys than a query may have parameters.
        wanted = None if keys is None else json.dumps(sorted(keys))
        some = "" if wanted is None else "WHERE key IN (SELECT value FROM json_each(?))"
        query = f"SELECT key, {', '.join(LABELS)}, columns, evaluations, data FROM runs {some}"
        groups: dict[str, tuple[list[tuple], list[np.ndarray]]] = {}
        # Sorted here by recipe, task, setting, seed and key: SQLite would carry all numbers along.
        found = sorted(self._rows(query, () if wanted is None else (wanted,)), key=lambda row: (*row[1:5], row[0]))
        for number, (key, *labels, names, evaluations, data) in enumerate(found):
            rows, blobs = groups.setdefault(names, ([], []))
            rows.append((number, key, *labels))
            blobs.append(np.frombuffer(data).reshape(-1, evaluations))
        frames = [_unpack(json.loads(names), *group, columns) for names, group in groups.items()]
        return _in_order(pl.concat(frames, how="diagonal")) if frames else empty_frame()

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


def _in_order(frame: pl.DataFrame) -> pl.DataFrame:
    """Sorted by run and evaluation. It mostly is: runs with the same columns were read in order."""
    run, evaluation = (np.diff(frame[name].to_numpy()) for name in ("run", "evaluation"))
    return frame if ((run > 0) | ((run == 0) & (evaluation > 0))).all() else frame.sort("run", "evaluation")


def relabelled(frame: pl.DataFrame, names: Iterable[tuple[str, str, str, str]]) -> pl.DataFrame:
    """A results frame with runs called by other names: content address, recipe, task and setting.

    A run is stored under the name it was first asked for by; lambda = 1 may be the recipe as it is. A run that is asked
    for by several names appears under each, as a run of its own.
    """
    schema = {"key": pl.String, **TEXT}
    wanted = pl.DataFrame(list(dict.fromkeys(names)), schema=schema, orient="row")
    renamed = frame.drop(list(TEXT)).join(wanted, on="key", how="inner", maintain_order="left").select(frame.columns)
    number = pl.struct("run", *TEXT).rank("dense").cast(pl.Int64) - 1
    return renamed.with_columns(number.alias("run")).sort("run", "evaluation")


def empty_frame() -> pl.DataFrame:
    """A results frame without rows."""
    schema: dict[str, Any] = {"run": pl.Int64, "key": pl.String, **TEXT, "seed": pl.Int64, "evaluation": pl.Int64}
    return pl.DataFrame(schema={**schema, "episodes": pl.Int64, "return": pl.Float64, "failed_at_step": pl.Int64})


INTEGERS = ("evaluation", "steps", "episodes", "coverage", "failed_at_step")


def _pack(entry: Entry, frame: pl.DataFrame) -> tuple:
    numbers = frame.drop("run", *LABELS, strict=False).cast(pl.Float64)
    data = np.ascontiguousarray(numbers.fill_null(np.nan).to_numpy().T)
    failed = frame["failed_at_step"].drop_nulls()
    labels = (entry.key, entry.recipe, entry.task, entry.setting, entry.seed, entry.engine)
    steps = int(numbers["steps"].to_numpy().max())
    failed_at = int(failed[0]) if len(failed) else None
    names = json.dumps(numbers.columns)
    return (*labels, steps, entry.seconds, entry.finished, failed_at, names, len(frame), data.tobytes())


def _unpack(
    names: Sequence[str], rows: Sequence[tuple], blobs: Sequence[np.ndarray], columns: Sequence[str] | None
) -> pl.DataFrame:
    lengths = [blob.shape[1] for blob in blobs]
    labels = pl.DataFrame(rows, schema=["run", "key", *LABELS], orient="row")
    repeated = labels[np.repeat(np.arange(len(rows)), lengths)]
    kept = [n for n in names if columns is None or n in columns or n in ("evaluation", "episodes", "failed_at_step")]
    data = {name: np.concatenate([blob[names.index(name)] for blob in blobs]) for name in kept}
    frame = repeated.with_columns(**{name: pl.Series(values, nan_to_null=False) for name, values in data.items()})
    whole = [pl.col(name).fill_nan(None).cast(pl.Int64) for name in INTEGERS if name in kept]
    return frame.with_columns(whole)
