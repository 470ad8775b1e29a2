"""Files are written whole or not at all, and what prevents it is told."""

import errno
import os
from pathlib import Path

import pytest

from derl.core.errors import DerlError
from derl.core.files import write_atomically, writing


def full(*args):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_file_is_replaced(tmp_path):
    path = tmp_path / "file"
    for data in (b"old", b"new"):
        write_atomically(path, data)
        assert path.read_bytes() == data
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("broken", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_file_alone(broken, tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, broken, full)
    with pytest.raises(DerlError, match=r"No space left on device.*intact"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_what_is_no_file_stays_what_it_is(tmp_path):
    """A pipe stands for a device here: both would be replaced by a file, and success be reported."""
    pipe, folder, circle, link = (tmp_path / name for name in ("pipe", "folder", "circle", "link"))
    os.mkfifo(pipe)
    folder.mkdir()
    circle.symlink_to(circle)
    link.symlink_to(pipe)
    for path, what in ((pipe, "no regular file"), (link, "no regular file"), (folder, "a folder"), (circle, "a link")):
        with pytest.raises(DerlError, match=rf"cannot write .*{path.name}: it is {what}.*; choose another name"):
            write_atomically(path, b"new")
    assert (pipe.is_fifo(), folder.is_dir(), circle.is_symlink(), link.is_symlink()) == (True,) * 4


def test_a_link_is_written_through(tmp_path):
    (tmp_path / "there").mkdir()
    for name in ("there/old", "there/new"):
        link = tmp_path / f"to-{Path(name).name}"
        link.symlink_to(name)
        write_atomically(link, b"data")
        assert link.is_symlink()
        assert (tmp_path / name).read_bytes() == b"data"
        write_atomically(link, b"again")
        assert (tmp_path / name).read_bytes() == b"again"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["there", "to-new", "to-old"]


def test_a_file_in_place_of_the_folder_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DerlError, match=r"cannot write .*page"):
        write_atomically(tmp_path / "file" / "page", b"new")
    with pytest.raises(DerlError, match=r"cannot write .*page"), writing(tmp_path / "file" / "page"):
        pass


def test_folders_are_made(tmp_path):
    path = tmp_path / "some" / "where" / "page"
    with writing(path):
        path.write_text("text")
    assert path.read_text() == "text"
