"""Writing files: by one process at a time, whole or not at all, with one line of explanation where it fails."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from derl.core.errors import DerlError

LOCK = ".lock"
"""The file by which a process claims a folder."""


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """For a block that writes `path`: makes its folder first, and tells in one line what went wrong."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise DerlError(f"cannot write {path}: {error.strerror or error}") from None


def write_atomically(path: Path, data: bytes) -> None:
    """Replace `path` by `data` whole or, if anything goes wrong, leave it as it was."""
    temporary = path.with_name(path.name + ".tmp")
    try:
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        # Where the file cannot be written, its removal may fail for the same reason.
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise DerlError(f"cannot write {path}: {error.strerror or error}; what was saved before is intact") from None


def try_lock(folder: Path) -> int | None:
    """Claim a folder for this process and those that inherit the file descriptor; None if another has it."""
    try:
        handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise DerlError(f"cannot write in {folder}: {error.strerror or error}; choose another folder") from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle
