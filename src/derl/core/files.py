"""Writing files: whole or not at all, and with one line of explanation where it cannot be done."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from derl.core.errors import DerlError


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
