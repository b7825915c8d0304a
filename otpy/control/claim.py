"""A system's own name, unique among the user's running programs, and the socket that carries it.

Whoever holds the file lock on `shop.lock` is `shop` until it lets go or dies; the kernel frees the lock of a dead
program, so a `shop.sock` whose lock can be taken is stale. Nothing else ever takes the lock, not even to look.
"""

from __future__ import annotations

import fcntl
import os
import socket
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from otpy.control.directory import (
    default_directory,
    examine_directory,
    open_directory,
    opened_directory,
    search,
    socket_address,
)
from otpy.control.errors import DirectoryError, SystemNameError
from otpy.control.forks import after_fork, forget

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "NameClaim",
    "check_name",
    "claim_name",
    "free_name",
    "holder_pid",
    "is_alive_in",
    "listed_names",
    "socket_file",
]

MAX_NAME_BYTES = 64
"""A name's length as a file name, so that a socket path through a directory's descriptor always fits."""

SOCKET, LOCK = ".sock", ".lock"
BACKLOG = 128
"""Clients that may knock at once before the loop has taken them."""
SURROGATES = "surrogatepass"
"""Names that come from file names may hold lone surrogates."""


def claim_name(name: str, directory: Path | None = None) -> NameClaim:
    """Take `name`, or the first of `name-2`, `name-3`, … that no running program of this user has.

    Take it before the `System` is made, so that its paths begin with the name that people will type. Two programs
    that start at the same moment get two names. `directory` is made when missing; see `default_directory`.

    Raises:
        SystemNameError: the name is empty, too long, or has a `/` in it.
        DirectoryError: the directory is not safe to use.
    """
    check_name(name)
    folder = default_directory() if directory is None else directory
    elsewhere = search()[1:] if directory is None else []
    descriptor = open_directory(folder, create=True)
    try:
        taken, lock = _first_free(name, folder, descriptor, elsewhere)
    except OSError as error:
        os.close(descriptor)
        raise DirectoryError(folder, f"cannot be used: {error.strerror}") from error
    except BaseException:
        os.close(descriptor)
        raise
    return NameClaim(taken, folder, descriptor, lock, None if taken == name else _holder(name, descriptor, elsewhere))


def free_name(name: str, directory: Path | None = None) -> str:
    """The name that `claim_name` would take now; takes, makes and removes nothing.

    Raises:
        SystemNameError, DirectoryError: as `claim_name`.
    """
    check_name(name)
    folder = default_directory() if directory is None else directory
    examine_directory(folder)
    places = [folder] if directory is not None else search()
    free = (each for each in _candidates(name) if not any(is_alive_in(place, each) for place in places))
    return next(free)


def socket_file(name: str) -> str:
    """The file name of a system's socket."""
    return quote(name, safe=" +@=,~", errors=SURROGATES) + SOCKET


def listed_names(directory: int) -> list[str]:
    """The names for which an opened directory has a socket, stale ones too."""
    files = [Path(file) for file in os.listdir(directory)]
    return sorted(unquote(file.stem, errors=SURROGATES) for file in files if file.suffix == SOCKET)


def holder_pid(directory: int, name: str) -> int | None:
    """The process that wrote itself into a name's lock file, in an opened directory; it may be long dead."""
    try:
        lock = os.open(_lock_file(name), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
        with os.fdopen(lock, encoding="ascii") as file:
            return int(file.read(32))
    except (OSError, ValueError):
        return None


def is_alive_in(place: Path, name: str) -> bool:
    """Whether a program of this name runs, by its socket in this directory; a stale one takes no connection."""
    try:
        with opened_directory(place) as descriptor:
            return _answers(socket_address(place, descriptor, socket_file(name)))
    except DirectoryError:
        return False


class NameClaim:
    """A name held by this program, until `release`."""

    def __init__(self, name: str, directory: Path, descriptor: int, lock: int, holder: int | None) -> None:
        self.name = name
        """The name that was free."""
        self.holder = holder
        """The process that has the name that was wanted, as far as known; None when it was free."""
        self.path = directory / socket_file(name)
        """Where the socket is, once `listen` was called."""
        self._directory = directory
        self._descriptor = descriptor
        self._lock = lock
        self._owner = os.getpid()
        self._listens = False
        self._hook = after_fork(self._let_go)

    def listen(self) -> socket.socket:
        """A socket under this name, for this user alone; a stale one is replaced."""
        try:
            return self._bind(socket_address(self._directory, self._descriptor, self.path.name))
        except OSError as error:
            raise DirectoryError(self._directory, f"takes no socket: {error.strerror}") from error

    def release(self) -> None:
        """Give the name back: socket and lock file are gone. In a forked child it only lets go of its copies."""
        forget(self._hook)
        if self._lock < 0:
            return
        if os.getpid() == self._owner:
            # Under the lock, so that neither file can be the next program's.
            for file in [self.path.name] * self._listens + [_lock_file(self.name)]:
                with suppress(OSError):
                    os.unlink(file, dir_fd=self._descriptor)
        self._let_go()

    def _bind(self, address: str) -> socket.socket:
        with suppress(FileNotFoundError):
            os.unlink(self.path.name, dir_fd=self._descriptor)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            listener.bind(address)
            self._listens = True
            os.chmod(self.path.name, 0o600, dir_fd=self._descriptor)
            listener.settimeout(0.0)
            listener.listen(BACKLOG)
        except BaseException:
            listener.close()
            raise
        return listener

    def _let_go(self) -> None:
        lock, self._lock = self._lock, -1
        if lock >= 0:
            os.close(lock)
            os.close(self._descriptor)


def check_name(name: str) -> None:
    """Refuse a name that cannot be a system's and its socket's. Raises SystemNameError."""
    if not name or "/" in name or name in {".", ".."}:
        raise SystemNameError(name, "must be a word without '/', for paths begin with it")
    if len(socket_file(name)) > MAX_NAME_BYTES + len(SOCKET):
        raise SystemNameError(name, f"is too long: at most {MAX_NAME_BYTES} bytes, and special ones count thrice")


def _candidates(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}-{number}" for number in count(2))


def _lock_file(name: str) -> str:
    return socket_file(name).removesuffix(SOCKET) + LOCK


def _first_free(name: str, folder: Path, directory: int, elsewhere: list[Path]) -> tuple[str, int]:
    for candidate in _candidates(name):
        if not any(is_alive_in(place, candidate) for place in elsewhere):
            lock = _take(folder, directory, candidate)
            if lock is not None:
                return candidate, lock
    raise AssertionError  # the candidates never end


def _holder(name: str, directory: int, elsewhere: list[Path]) -> int | None:
    """The process that has a name which is taken: in another place where one of it runs, or in the opened directory."""
    for place in elsewhere:
        if is_alive_in(place, name):
            with suppress(DirectoryError), opened_directory(place) as descriptor:
                return holder_pid(descriptor, name)
    return holder_pid(directory, name)


def _take(folder: Path, directory: int, name: str) -> int | None:
    """The lock of a name that is free, or None."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    while True:
        lock = os.open(_lock_file(name), flags, 0o600, dir_fd=directory)
        try:
            if not _locked(lock):
                break
            if not _is_still_there(lock, directory, name):  # its holder removed it between our open and our lock
                os.close(lock)
                continue
            if _answers(socket_address(folder, directory, socket_file(name))):
                # Somebody's lock file was cleaned away, but the program lives: the name is taken all the same.
                break
            os.ftruncate(lock, 0)
            os.write(lock, b"%d\n" % os.getpid())
        except BaseException:
            os.close(lock)
            raise
        return lock
    os.close(lock)
    return None


def _locked(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_still_there(lock: int, directory: int, name: str) -> bool:
    try:
        named = os.stat(_lock_file(name), dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return os.path.samestat(named, os.fstat(lock))


def _answers(address: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(0.0)
        try:
            probe.connect(address)
        except BlockingIOError:  # its backlog is full: it lives
            return True
        except OSError:
            return False
        return True
