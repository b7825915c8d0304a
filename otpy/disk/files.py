"""A database's file and those beside it: where they may be, who may read them, and who has them open."""

from __future__ import annotations

import fcntl
import os
import stat
import time
from contextlib import suppress
from pathlib import Path
from weakref import WeakSet

from otpy.errors import OtpyError

__all__ = [
    "OWNER_ONLY",
    "FileError",
    "FileLock",
    "file_system_of",
    "make_file",
    "refuse_network",
    "rights_of_others",
    "seal_if_new",
    "sync",
]

PAUSE = 0.01
"""Seconds between two looks whether another program has opened the file."""

OWNER_ONLY = 0o600
OTHERS = 0o066
"""Rights to read or write of those who do not own it."""

NETWORK = {
    *("afs", "beegfs", "ceph", "cifs", "davfs", "glusterfs", "lustre", "ncpfs", "nfs", "nfs4", "orangefs", "smb3"),
    *("fuse.ceph", "fuse.davfs2", "fuse.gcsfuse", "fuse.glusterfs", "fuse.rclone", "fuse.s3fs", "fuse.sshfs", "smbfs"),
}
"""File systems of other machines: their locks do not hold what SQLite needs of them, and files were spoilt so."""


class FileError(OtpyError):
    """A file cannot be used; who opens it for somebody says so in the words of its own users.

    Attributes:
        path: the file.
        problem: what stands in the way.
        is_busy: whether that is another program.
    """

    def __init__(self, path: str, problem: str, *, is_busy: bool = False) -> None:
        """Keep them."""
        self.path, self.problem, self.is_busy = path, problem, is_busy
        super().__init__(f"{path}: {problem}")


def make_file(path: Path) -> None:
    """Have a file that only its owner can read; SQLite gives those beside it the same rights.

    One that is there is not even opened: to close it would let go of all locks of this process on it, also those of
    another connection.
    """
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, OWNER_ONLY)
    except FileExistsError:
        return
    os.fchmod(fd, OWNER_ONLY)  # whatever the umask
    os.close(fd)
    sync(path.parent)


def seal_if_new(path: Path) -> None:
    """Let only its owner read a file in which nothing is yet, before the first row is: SQLite makes one for all."""
    with suppress(OSError):  # somebody else's: who opens it says who may read it
        if path.stat().st_size == 0:
            path.chmod(OWNER_ONLY)


def rights_of_others(path: Path) -> int | None:
    """Its mode when others can read or write it; None for one of its owner alone."""
    mode = stat.S_IMODE(path.stat().st_mode)
    return mode if mode & OTHERS else None


def sync(path: Path) -> None:
    """What is in a file, or which files are in a folder, outlives a power failure from now on."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def refuse_network(path: Path) -> None:
    """Raises FileError for a file on another machine; where the system does not say what is mounted, for none."""
    try:
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return
    kind = file_system_of(path, mounts)
    if kind in NETWORK:
        problem = f"it is on a network file system ({kind}), whose locks cannot be relied on: use a local disk"
        raise FileError(str(path), problem)


def file_system_of(path: Path, mounts: str) -> str | None:
    """The kind of file system a path is on, by the text of /proc/self/mountinfo; the last one that covers it counts."""
    best, found, whole = -1, None, str(path)
    for line in mounts.splitlines():
        left, _, right = line.partition(" - ")
        text = left.split(" ")[4].encode("utf-8", "surrogateescape").decode("unicode_escape")
        if not whole.startswith(text):  # a machine has many mounts, and a program many files
            continue
        place = Path(text)
        if path.is_relative_to(place) and len(place.parts) >= best:
            best, found = len(place.parts), right.split(" ")[0]
    return found


class FileLock:
    """Says that a program has the file open: who comes and is alone knows that nobody is in the middle of anything."""

    def __init__(self, path: Path, patience: float) -> None:
        """Take it, alone if nobody else has it, until `share`.

        Raises:
            FileError: somebody has been opening the file for longer than `patience` seconds.
        """
        self._fd = os.open(f"{path}-open", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, OWNER_ONLY)
        os.fchmod(self._fd, OWNER_ONLY)
        self.is_alone = self._wait(str(path), time.monotonic() + patience)
        log = Path(f"{path}-wal")
        self.was_unclean = self.is_alone and log.exists() and log.stat().st_size > 0
        """Whether nobody has it open, and its last user has left without closing it."""
        _LOCKS.add(self)

    def share(self) -> None:
        """Let others have it open, too."""
        fcntl.flock(self._fd, fcntl.LOCK_SH)

    def release(self) -> None:
        """It is closed."""
        _LOCKS.discard(self)
        os.close(self._fd)

    def leave(self) -> None:
        """In a forked child: the parent has it open, and alone decides when it is not."""
        os.close(self._fd)

    def _wait(self, path: str, until: float) -> bool:
        while not self._can(fcntl.LOCK_EX):
            if self._can(fcntl.LOCK_SH):
                return False
            if time.monotonic() > until:
                os.close(self._fd)
                raise FileError(path, "another program has begun to open it and does not get on", is_busy=True)
            time.sleep(PAUSE)
        return True

    def _can(self, how: int) -> bool:
        try:
            fcntl.flock(self._fd, how | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


_LOCKS: WeakSet[FileLock] = WeakSet()


def _leave_all() -> None:
    for lock in list(_LOCKS):
        lock.leave()
    _LOCKS.clear()


os.register_at_fork(after_in_child=_leave_all)
