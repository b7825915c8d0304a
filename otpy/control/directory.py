"""The directory in which a user's programs keep their control sockets: where it is, and whether it is safe to use."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from otpy.control.errors import DirectoryError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "MAX_SOCKET_PATH",
    "default_directory",
    "examine_directory",
    "open_directory",
    "opened_directory",
    "search",
    "socket_address",
]

MAX_SOCKET_PATH = 103
"""Bytes of a socket's path that every platform takes: `sun_path` holds 104 on macOS, 108 on Linux, with the final 0."""

ROOT = 0
PRIVATE = 0o700
_SHORT_CUT = "/proc/self/fd"


def default_directory() -> Path:
    """Where a program of this user puts its socket.

    `$XDG_RUNTIME_DIR/otpy`, or the same below `/run/user/<uid>` where a service was started without that variable,
    or `<tmp>/otpy-<uid>`. A runtime directory of another user, as `su` leaves it in the environment, is passed over.
    """
    return search()[0]


def search() -> list[Path]:
    """Every directory in which a program of this user may have put its socket, the likeliest first."""
    from tempfile import gettempdir  # noqa: PLC0415 - brings every kind of compression

    uid = os.geteuid()
    runtime = [os.environ.get("XDG_RUNTIME_DIR", ""), f"/run/user/{uid}"]
    homes = [Path(place) / "otpy" for place in runtime if place and _is_own_directory(place, uid)]
    return list(dict.fromkeys([*homes, Path(gettempdir()) / f"otpy-{uid}"]))


def open_directory(path: Path, *, create: bool = False) -> int:
    """A descriptor of the directory, which from now on means this very directory, whatever happens to its name.

    Raises:
        DirectoryError: it is missing, is no directory, is a symbolic link, belongs to another user (root may look
            into anybody's), or others may enter it.
    """
    try:
        if create:
            _make(path)
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise DirectoryError(path, _problem(path, error)) from error
    try:
        _check(path, os.fstat(descriptor), create=create)
    except DirectoryError:
        os.close(descriptor)
        raise
    return descriptor


def examine_directory(path: Path) -> None:
    """Whether a program of this user could put its socket there; makes nothing.

    Raises:
        DirectoryError: it could not be made, or is not safe to use.
    """
    try:
        status = path.lstat()
    except FileNotFoundError as error:
        if not path.parent.is_dir() or not os.access(path.parent, os.W_OK | os.X_OK):
            why = _problem(path, error) if not path.parent.is_dir() else "cannot be made: its parent is not yours"
            raise DirectoryError(path, why) from error
        return
    except OSError as error:
        raise DirectoryError(path, _problem(path, error)) from error
    if not stat.S_ISDIR(status.st_mode):
        raise DirectoryError(path, _problem(path, NotADirectoryError()))
    _check(path, status, create=True)


@contextmanager
def opened_directory(path: Path) -> Iterator[int]:
    """As `open_directory`, closed at the end."""
    descriptor = open_directory(path)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def socket_address(directory: Path, descriptor: int, file: str) -> str:
    """A path to bind or connect to; a directory with a long name is reached through its descriptor.

    Raises:
        DirectoryError: the path is too long for a socket, and the platform has no short cut.
    """
    path = str(directory / file)
    if len(os.fsencode(path)) <= MAX_SOCKET_PATH:
        return path
    short = f"{_SHORT_CUT}/{descriptor}"
    if Path(short).is_dir():
        return f"{short}/{file}"
    raise DirectoryError(
        directory, f"is too long for a socket: with {file} it has over {MAX_SOCKET_PATH} bytes; choose a shorter one"
    )


def _make(path: Path) -> None:
    try:
        path.mkdir(mode=PRIVATE)
    except FileExistsError:
        return


def _check(path: Path, status: os.stat_result, *, create: bool) -> None:
    own = os.geteuid()
    if status.st_uid != own and (create or own != ROOT):
        raise DirectoryError(path, f"belongs to user {status.st_uid}, not to {own}: remove it, or name another one")
    if stat.S_IMODE(status.st_mode) & 0o077:
        mode = stat.S_IMODE(status.st_mode)
        raise DirectoryError(path, f"has mode {mode:04o}, so others may enter it: chmod 700 it, or name another one")


def _problem(path: Path, error: OSError) -> str:
    if path.is_symlink():
        return "is a symbolic link, which is refused: name the directory itself"
    if isinstance(error, FileNotFoundError):
        return "cannot be made: its parent is missing" if not path.parent.is_dir() else "does not exist"
    if isinstance(error, NotADirectoryError | FileExistsError):
        return "is not a directory"
    return f"cannot be used: {error.strerror}"


def _is_own_directory(place: str, uid: int) -> bool:
    try:
        status = Path(place).stat()
    except (OSError, ValueError):
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == uid
