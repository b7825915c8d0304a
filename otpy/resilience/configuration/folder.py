"""The folder of a configuration: documents and the record of them, each written as a whole; one program has it."""

from __future__ import annotations

import errno
import os
import threading
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from otpy.disk.files import FileError, FileLock, refuse_network
from otpy.disk.replacing import remove_temporary, replace_file
from otpy.resilience.configuration.document import (
    DamagedError,
    Document,
    NewerError,
    digest_of,
    opened,
    sealed,
    unpacked,
)
from otpy.resilience.configuration.record import Record, packed_record, unpacked_record
from otpy.resilience.errors import ConfigurationFileError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otpy.disk.sqlite import Failure

__all__ = ["Folder"]

TAKEN = "another program, or another configuration of this one, has it open"
SLOTS = ("state-0", "state-1")
"""The record is written to these in turns, so that one which the disk has spoilt leaves that before it."""
DOCUMENT = "version-"


class Folder:
    """Opened and used by one actor of one program: while it is open nobody else can open it.

    Raises:
        ConfigurationFileError: it cannot be used, is in use, of a newer otpy, or on a network file system.
    """

    def __init__(self, path: str, *, lock: FileLock | None = None, patience: float = 5.0) -> None:
        """Open it; it is made when it is not there.

        Args:
            path: the folder.
            lock: from `hand_over` of the one before.
            patience: seconds to wait for who has it open.
        """
        self.path = path
        self.damaged: list[tuple[str, str]] = []
        """Files that were found so and moved aside since the last `take_damaged`: their new names, and why."""
        self._mutex = threading.Lock()  # held around each rename, so that none comes after `hand_over`
        self._is_over = False
        self._pid = os.getpid()
        self._folder = Path(os.path.realpath(path))
        with self._failures():
            self._lock = lock or self._locked(patience)
            try:
                remove_temporary(self._folder)
                self.record = self._read_record()
            except BaseException:
                self._lock.release()
                raise

    def read(self, version: int) -> tuple[Document, bytes] | None:
        """A document that is kept, and its digest; None when it is not there or not whole any more.

        Raises:
            ConfigurationFileError: it cannot be read, or was written by a newer otpy.
        """
        path = self._document(version)
        with self._failures():
            try:
                data = opened(path.read_bytes())
                found, digest = unpacked(data), digest_of(data)
            except FileNotFoundError:
                return None
            except DamagedError as error:
                self._set_aside(path, str(error))
                return None
            if found.version != version or self.record.digests.get(version, digest) != digest:
                self._set_aside(path, "it is another one than was written")
                return None
        return found, digest

    def write(self, document: Document) -> bytes:
        """Have a document on the disk; it is of no effect before a record names it. Gives its digest.

        Raises:
            ConfigurationFileError: the disk is full, or does not work.
            ConfigurationError: it cannot be kept.
        """
        data = document.packed()
        with self._failures():
            replace_file(self._document(document.version), sealed(data), self._guard)
        return digest_of(data)

    def commit(self, record: Record) -> Record:
        """Have a record on the disk: from then on it is what holds. Documents that it does not name are removed.

        Raises:
            ConfigurationFileError: it is not, and the one before holds.
        """
        new = replace(record, sequence=self.record.sequence + 1)
        with self._failures():
            slot = self._folder / SLOTS[new.sequence % len(SLOTS)]
            replace_file(slot, sealed(packed_record(new)), self._guard)
        self.record = new
        self.tidy()
        return new

    def tidy(self) -> None:
        """Remove documents that nobody needs: of a version that has failed, or of a write that was cut short."""
        for version in self._versions():
            if version not in self.record.digests:
                with self._guard(), suppress(OSError):  # what is left is removed another time
                    self._document(version).unlink(missing_ok=True)

    def hand_over(self) -> FileLock | None:
        """Its lock, for another incarnation: from now on this one writes nothing. None when it is closed."""
        with self._mutex:
            was_over, self._is_over = self._is_over, True
        return None if was_over else self._lock

    def close(self) -> None:
        """Let go of it."""
        with self._mutex:
            was_over, self._is_over = self._is_over, True
        if not was_over and self._pid == os.getpid():  # a forked child leaves it to its parent
            self._lock.release()

    @contextmanager
    def _guard(self) -> Iterator[None]:
        with self._mutex:
            if self._is_over:
                raise ConfigurationFileError(self.path, "it is kept by another incarnation by now")
            yield

    def _locked(self, patience: float) -> FileLock:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        refuse_network(self._folder)
        lock = FileLock(self._folder / "lock", patience)
        if not lock.is_alone:
            lock.release()
            raise FileError(self.path, TAKEN, is_busy=True)
        return lock

    def _read_record(self) -> Record:
        found = [record for name in SLOTS if (record := self._read_slot(self._folder / name)) is not None]
        if found:
            return max(found, key=lambda record: record.sequence)
        return Record(digests=self._adopted())

    def _read_slot(self, path: Path) -> Record | None:
        try:
            return unpacked_record(opened(path.read_bytes()))
        except FileNotFoundError:
            return None
        except DamagedError as error:
            self._set_aside(path, str(error))
            return None

    def _adopted(self) -> dict[int, bytes]:
        """Documents of which no record says anything: that was lost, or somebody has put them there."""
        self.record = Record()
        found = {version: self.read(version) for version in self._versions()}
        return {version: one[1] for version, one in sorted(found.items())[-2:] if one is not None}

    def _versions(self) -> list[int]:
        names = [path.name.removeprefix(DOCUMENT) for path in self._folder.glob(f"{DOCUMENT}*")]
        return [int(name) for name in names if name.isdecimal() and name.isascii() and str(int(name)) == name]

    def _document(self, version: int) -> Path:
        return self._folder / f"{DOCUMENT}{version}"

    def _set_aside(self, path: Path, problem: str) -> None:
        aside = path.with_name(f"damaged-{path.name}")  # one for each name: the disk is not filled with them
        with self._guard():
            path.replace(aside)
        self.damaged.append((str(aside), problem))

    @contextmanager
    def _failures(self) -> Iterator[None]:
        if self._pid != os.getpid():
            raise ConfigurationFileError(self.path, "it was opened before a fork: a child needs one of its own")
        try:
            yield
        except FileError as error:
            problem = TAKEN if error.is_busy else error.problem
            raise ConfigurationFileError(self.path, problem, "busy" if error.is_busy else "other") from None
        except NewerError as error:
            raise ConfigurationFileError(self.path, str(error)) from None
        except OSError as error:
            failure: Failure = "full" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "other"
            raise ConfigurationFileError(self.path, error.strerror or str(error), failure) from None
