"""What is counted: finds the regular files of a folder, and reads one of them.

Both may take long, so they look for a wish to stop now and then; outside of actors `checkpoint` does nothing.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

import otpy

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

__all__ = ["Count", "File", "Problem", "find", "read"]

CHUNK_BYTES = 256 * 1024
"""Read at once: large files need no more memory, and a stop or a crash comes between two chunks."""

MODULUS = 2**256
"""Checksums of files are added within the size of one SHA-256, so that order does not matter."""

WORDS = bytes(ord(" ") if bytes([byte]).isspace() else ord("x") for byte in range(256))
"""Turns text into spaces and x: a word begins at every ` x`. Splitting would make an object of each word."""

Stamp = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class File:
    """A regular file as it was when it was listed."""

    path: str
    """Where it is."""
    stamp: Stamp
    """Device, inode, size and time of the last change: another file, or another content, has another stamp."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A file or a folder that could not be read."""

    path: str
    """Where it is."""
    text: str
    """Why."""


@dataclass(frozen=True, slots=True)
class Count:
    """What one file, or many of them, hold; counts can be added in any order."""

    files: int = 0
    """How many files."""
    size_bytes: int = 0
    """Their bytes."""
    lines: int = 0
    """Their newline characters."""
    words: int = 0
    """Runs of bytes between ASCII whitespace."""
    checksum: int = 0
    """The SHA-256 of each file as a number, all of them added modulo 2**256."""

    def __add__(self, other: Count) -> Count:
        return Count(
            self.files + other.files,
            self.size_bytes + other.size_bytes,
            self.lines + other.lines,
            self.words + other.words,
            (self.checksum + other.checksum) % MODULUS,
        )


def find(folder: str, without: Collection[str] = ()) -> Iterator[File | Problem]:
    """The regular files below a folder, in order of their names; what cannot be looked at comes as a problem.

    A link to a regular file is a file more, as for `Path.is_file`; a broken one is a problem. Links to folders are
    left out, so no loop of links is ever entered, and so is what is no regular file: pipes, sockets, devices. The
    folders whose paths are in `without` are not entered.
    """
    folders = [folder]  # a list, not recursion: folders may be nested deeper than Python's stack
    while folders:
        here = folders.pop()
        otpy.checkpoint()
        try:
            with os.scandir(here) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            yield _problem(here, error)
            continue
        below = [entry.path for entry in found if entry.path not in without and _is_folder(entry)]
        for entry in found:
            if (file := _look_at(entry)) is not None:
                yield file
        folders += reversed(below)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:  # `_look_at` meets it again and reports it
        return False


def _look_at(entry: os.DirEntry[str]) -> File | Problem | None:
    try:
        found = entry.stat()
    except OSError as error:
        return _problem(entry.path, error)
    return File(entry.path, _stamp(found)) if stat.S_ISREG(found.st_mode) else None


def read(file: File, each_chunk: Callable[[], object] = lambda: None) -> Count | Problem:
    """Count one file; one that cannot be read, or is no longer what was listed, is a problem and no exception.

    Args:
        file: as it was listed.
        each_chunk: called after every piece that was read, the empty last one included; what it raises ends it all.
    """
    try:
        with open(file.path, "rb", buffering=0, opener=_open) as stream:
            if _stamp(os.fstat(stream.fileno())) != file.stamp:
                return Problem(file.path, "changed since it was listed")
            count = _count(lambda: stream.read(CHUNK_BYTES), each_chunk)
            if _stamp(os.fstat(stream.fileno())) != file.stamp:
                return Problem(file.path, "changed while it was read")
            return count
    except OSError as error:
        return _problem(file.path, error)


def _count(next_chunk: Callable[[], bytes], each_chunk: Callable[[], object]) -> Count:
    digest = sha256()
    size = lines = words = 0
    before = b" "
    while True:
        chunk = next_chunk()
        otpy.checkpoint()
        each_chunk()
        if not chunk:
            return Count(1, size, lines, words, int.from_bytes(digest.digest(), "big"))
        digest.update(chunk)
        size += len(chunk)
        lines += chunk.count(b"\n")
        text = before + chunk.translate(WORDS)
        words += text.count(b" x")
        before = text[-1:]


def _open(path: str, flags: int) -> int:
    """Open without waiting: what was a file may be a pipe by now, to which nobody writes."""
    return os.open(path, flags | os.O_NONBLOCK)


def _stamp(found: os.stat_result) -> Stamp:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _problem(path: str, error: OSError) -> Problem:
    return Problem(path, error.strerror or str(error))
