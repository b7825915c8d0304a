"""What is counted: which files are found, what reading them yields, and what is a problem."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otpy.demo import files
from otpy.demo.files import MODULUS, Count, File, Problem, find, read

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DEEP = 1_100
"""Folders below each other, more than Python recurses."""


def listed(path: Path) -> File:
    """One file, as `find` lists it."""
    found = next(entry for entry in find(str(path.parent)) if entry.path == str(path))
    assert isinstance(found, File)
    return found


def naive(*contents: bytes) -> Count:
    """What a few files hold, by the simplest means."""
    return Count(
        len(contents),
        sum(map(len, contents)),
        sum(text.count(b"\n") for text in contents),
        sum(len(text.split()) for text in contents),
        sum(int(hashlib.sha256(text).hexdigest(), 16) for text in contents) % MODULUS,
    )


def test_it_finds_what_rglob_finds_in_order(folder: Path) -> None:
    paths = [entry.path for entry in find(str(folder))]

    assert paths == [str(folder / "top.bin"), *sorted(str(path) for path in (folder / "below").iterdir())]
    assert set(paths) == {str(path) for path in folder.rglob("*") if path.is_file()}


def test_a_link_to_a_file_is_a_file_more_and_no_other_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "round").symlink_to(".", target_is_directory=True)
    (tmp_path / "broken").symlink_to("nowhere")
    (tmp_path / "self").symlink_to("self")

    found = {os.path.basename(entry.path): entry for entry in find(str(tmp_path))}  # noqa: PTH119 - paths are text

    assert {name for name, entry in found.items() if isinstance(entry, File)} == {"file", "link"}
    assert {name: entry.text for name, entry in found.items() if isinstance(entry, Problem)} == {
        "broken": "No such file or directory",
        "self": "Too many levels of symbolic links",
    }


def test_pipes_are_left_out(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert list(find(str(tmp_path))) == []


def test_a_folder_that_cannot_be_listed_is_a_problem_and_the_rest_is_found(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.scandir

    def scandir(path: str) -> Iterator[os.DirEntry[str]]:
        if path.endswith("below"):
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)

    assert [type(entry) for entry in find(str(folder))] == [File, Problem]
    assert Problem(str(folder / "below"), "Permission denied") in find(str(folder))


def test_a_folder_that_is_not_there_is_a_problem(tmp_path: Path) -> None:
    gone = str(tmp_path / "gone")
    assert list(find(gone)) == [Problem(gone, "No such file or directory")]


def test_folders_may_be_nested_deeper_than_python_recurses(tmp_path: Path) -> None:
    below = [tmp_path]
    for _ in range(DEEP):
        below.append(below[-1] / "d")
        below[-1].mkdir()
    (below[-1] / "f").write_text("x")

    found = list(find(str(tmp_path)))

    (below[-1] / "f").unlink()  # by hand: `shutil.rmtree` recurses
    for path in reversed(below[1:]):
        path.rmdir()
    assert [entry.path for entry in found] == [str(below[-1] / "f")]


@pytest.mark.parametrize("content", [b"", b"\n", b"one", b"two words\nand three", bytes(range(256)) * 3, b" x" * 999])
def test_a_file_is_counted(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "f").write_bytes(content)
    assert read(listed(tmp_path / "f")) == naive(content)


@given(st.lists(st.binary(max_size=4)))
def test_a_word_or_line_that_lies_on_two_chunks_counts_once(chunks: list[bytes]) -> None:
    pieces = iter([*filter(None, chunks), b""])
    assert files._count(lambda: next(pieces), lambda: None) == naive(b"".join(chunks))


def test_a_large_file_is_read_in_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "CHUNK_BYTES", 4)
    (tmp_path / "f").write_bytes(b"0123456789")
    calls: list[int] = []

    assert read(listed(tmp_path / "f"), each_chunk=lambda: calls.append(1)) == naive(b"0123456789")
    assert len(calls) == 4


@given(st.lists(st.binary(max_size=40), max_size=5))
def test_counts_add_up_in_any_order(contents: list[bytes]) -> None:
    each = [naive(content) for content in contents]
    assert sum(each, Count()) == sum(reversed(each), Count()) == naive(*contents)


def test_a_file_that_changed_since_it_was_listed_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("one")
    file = listed(tmp_path / "f")
    (tmp_path / "f").write_text("longer")
    assert read(file) == Problem(file.path, "changed since it was listed")


def test_a_file_that_grows_while_it_is_read_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("one")
    file = listed(tmp_path / "f")

    def grow() -> None:
        if (tmp_path / "f").stat().st_size < 9:
            (tmp_path / "f").write_text("one more..")

    assert read(file, each_chunk=grow) == Problem(file.path, "changed while it was read")


def test_a_file_that_vanished_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("one")
    file = listed(tmp_path / "f")
    (tmp_path / "f").unlink()
    assert read(file) == Problem(file.path, "No such file or directory")


def test_a_file_in_whose_place_is_a_folder_or_a_pipe_is_a_problem_and_nobody_waits_for_the_pipe(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("one")
    file = listed(tmp_path / "f")
    (tmp_path / "f").unlink()
    (tmp_path / "f").mkdir()
    assert read(file) == Problem(file.path, "Is a directory")
    (tmp_path / "f").rmdir()
    os.mkfifo(tmp_path / "f")
    assert read(file) == Problem(file.path, "changed since it was listed")


def test_a_file_that_may_not_be_read_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "f").write_text("one")
    file = listed(tmp_path / "f")

    def refuse(path: str, flags: int) -> int:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(files, "_open", refuse)
    assert read(file) == Problem(file.path, "Permission denied")


def test_what_the_caller_raises_between_two_chunks_passes(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("one")

    def crash() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        read(listed(tmp_path / "f"), each_chunk=crash)


def test_folders_that_are_left_out_are_not_entered(tmp_path: Path) -> None:
    for name in ("in", "out", "in/out"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()

    found = [entry.path for entry in find(str(tmp_path), without={str(tmp_path / "out")})]

    assert found == [str(tmp_path / "in/file"), str(tmp_path / "in/out/file")]
