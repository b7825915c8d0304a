"""A file that is written as a whole is what it was, or what it is to be."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Any

import pytest

from otpy.disk.replacing import TEMPORARY, remove_temporary, replace_file

if TYPE_CHECKING:
    from pathlib import Path


def test_it_is_synced_before_it_is_there_and_the_folder_after(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    for step in ("open", "write", "fsync", "replace"):
        function = getattr(os, step)
        monkeypatch.setattr(os, step, lambda *args, _name=step, _do=function: steps.append(_name) or _do(*args))

    replace_file(tmp_path / "file", b"now")

    assert steps == ["open", "write", "fsync", "replace", "open", "fsync"]
    assert (tmp_path / "file").read_bytes() == b"now"
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o600


def test_a_system_that_writes_a_part_at_a_time_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, bytes(data[:3])))
    replace_file(tmp_path / "file", b"0123456789")
    assert (tmp_path / "file").read_bytes() == b"0123456789"


@pytest.mark.parametrize("step", ["open", "write", "fsync", "replace"])
def test_a_file_that_could_not_be_written_is_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    path = tmp_path / "file"
    replace_file(path, b"before")

    def fail(*_: Any) -> None:
        raise OSError(errno.EIO, "it fails")

    with monkeypatch.context() as patch:
        patch.setattr(os, step, fail)
        with pytest.raises(OSError, match="it fails"):
            replace_file(path, b"after")
    assert [(one.name, one.read_bytes()) for one in tmp_path.iterdir()] == [("file", b"before")]


def test_what_a_program_has_left_that_died_is_taken_away(tmp_path: Path) -> None:
    (tmp_path / f"file.12-0{TEMPORARY}").write_bytes(b"half")
    (tmp_path / "file").write_bytes(b"whole")
    remove_temporary(tmp_path)
    assert [one.name for one in tmp_path.iterdir()] == ["file"]
