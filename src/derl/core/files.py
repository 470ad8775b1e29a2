"""Writing files: by one process at a time, whole or not at all, with one line of explanation where it fails."""

import contextlib
import fcntl
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from derl.core.errors import DerlError, require

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


def file_to_write(path: Path) -> Path:
    """The file that is meant by `path`, at the end of its links. Raises if there is something else in its place: to
    replace a device would take it from everybody."""
    target = Path(os.path.realpath(path))
    try:
        mode = target.lstat().st_mode
    except OSError:
        # It is not there yet. If it cannot be made either, whoever writes it is told why.
        return target
    what = "a folder" if stat.S_ISDIR(mode) else "a link to itself" if stat.S_ISLNK(mode) else "no regular file"
    require(stat.S_ISREG(mode), f"cannot write {path}: it is {what}; choose another name")
    return target


def write_atomically(path: Path, data: bytes) -> None:
    """Replace `path` by `data` whole or, if anything goes wrong, leave it as it was. Links stay links."""
    target = file_to_write(path)
    temporary = target.with_name(target.name + ".tmp")
    try:
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
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
