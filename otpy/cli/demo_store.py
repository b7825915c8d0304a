"""Where `otpy demo` keeps a run: a place for each folder, which is there as long as a run is not done."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from otpy.cli.lazy import CommandError
from otpy.jobs.declared import whole_path
from otpy.jobs.store.where import is_server, lacking, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["FilePlace", "Place", "run_of", "store_of", "taken"]

BESIDE = ("", "-wal", "-shm", "-open", "-demo")
"""What is in the place of a store: its file, and those that SQLite, otpy and this one put beside it."""
OWNER_ONLY = 0o600


def store_of(folder: str, without: tuple[str, ...]) -> Path:
    """The usual place for a run on this folder: that of the user for what programs keep."""
    state = os.environ.get("XDG_STATE_HOME")
    try:
        home = Path(state) if state else Path.home() / ".local" / "state"
    except RuntimeError as error:  # nobody knows this user, as in some containers
        raise CommandError(f"there is no place for what is done ({error}); --store FILE names one") from error
    return home / "otpy" / f"demo-{run_of(folder, without)}.db"


def run_of(folder: str, without: tuple[str, ...]) -> str:
    """What tells a run on this folder from others."""
    words = "\0".join([str(Path(folder).resolve()), *without])
    return sha256(os.fsencode(words)).hexdigest()[:12]


class Place(Protocol):
    """Where a run is kept, in the hands of a program that counts into it."""

    address: str
    """What the engine is given."""
    shown: str
    """How it is called."""
    beside: str
    """What a program does there beside another one."""
    is_shared: bool
    """Whether another program counts into it."""
    is_resumed: bool
    """Whether a run had been begun before."""

    def finish(self) -> None:
        """All is done: forget the run, unless another program is in it; then that one does."""

    def leave(self) -> None:
        """Let go of it; a run that is not finished stays there."""


class FilePlace:
    """The file of a run."""

    beside = "this one waits, and goes on when that one ends or is killed"

    def __init__(self, store: Path, *, is_fresh: bool) -> None:
        """Take it, together with others; alone it begins anew if asked to.

        Raises:
            CommandError: it cannot be kept there, or others count into it and it was to be begun anew.
        """
        self.store = store
        self.address = self.shown = str(store)
        try:
            if not store.parent.exists():
                store.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.is_shared = self._take()
        except OSError as error:
            raise CommandError(f"{error}; --store FILE keeps what is done elsewhere") from error
        if is_fresh and self.is_shared:
            self.leave()
            raise CommandError(f"another program counts into {store}: stop it first, or name another file by --store")
        if is_fresh:
            self._remove(BESIDE[:-1])
        self.is_resumed = store.exists()
        fcntl.flock(self._fd, fcntl.LOCK_SH)  # if it was alone it is not any more

    def finish(self) -> None:
        """All is done: forget the run, unless another program is in it; then that one does."""
        fcntl.flock(self._fd, fcntl.LOCK_UN)  # so that of two that end together the second is alone
        if self._is_alone():
            self._remove(BESIDE)

    def leave(self) -> None:
        """Let go of it; a run that is not finished stays there."""
        os.close(self._fd)

    def _take(self) -> bool:
        """Have it alone, or with others, which is returned; a file that was removed meanwhile is nobody's."""
        path = Path(f"{self.store}-demo")
        while True:
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, OWNER_ONLY)
            is_shared = not self._is_alone()
            if is_shared:
                fcntl.flock(self._fd, fcntl.LOCK_SH)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(self._fd), path.stat()):
                    return is_shared
            os.close(self._fd)

    def _is_alone(self) -> bool:
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _remove(self, endings: tuple[str, ...]) -> None:
        for ending in endings:
            Path(f"{self.store}{ending}").unlink(missing_ok=True)


@contextmanager
def taken(store: str, run: str, *, is_fresh: bool) -> Iterator[Place]:
    """Have it as long as the block lasts: a file, or the schema of this run on a server.

    Raises:
        SpecError: it is an address, and not one that is understood.
    """
    whole_path("--store", store)
    place = _on_server(store, run, is_fresh=is_fresh) if is_server(store) else FilePlace(Path(store), is_fresh=is_fresh)
    try:
        yield place
    finally:
        place.leave()


def _on_server(address: str, run: str, *, is_fresh: bool) -> Place:
    try:
        from otpy.cli.demo_server import ServerPlace  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise CommandError(f"{shown(address)}: {lacking(error)}") from None
    return ServerPlace(address, f"otpy_demo_{run}", is_fresh=is_fresh)
