"""What can befall a program at a point: ends, waits, errors, clocks that jump, links that are cut."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import sqlite3
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from otpy.core.number import is_number
from otpy.core.text import safe_repr
from otpy.runtime.awaited import asleep
from otpy.runtime.nap import sleep
from otpy.runtime.seat import here
from otpy.testing.clock import VirtualClock
from otpy.testing.errors import FaultError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from otpy.core.points import Medium
    from otpy.testing.faults.holding import Holding

__all__ = [
    "Fault",
    "Met",
    "Severed",
    "cut",
    "disk_full",
    "drop",
    "fsync_error",
    "half",
    "hang",
    "jump",
    "kill",
    "kill_actor",
    "raises",
    "slow",
]


@dataclass(frozen=True, slots=True)
class Met:
    """A fault and who has met it."""

    point: str
    number: int
    """How often somebody has come by that point, this time included."""
    medium: Medium
    holding: Holding


@dataclass(frozen=True, slots=True)
class Fault:
    """What befalls whoever comes by; made by the functions of this module, and used as often as it is armed."""

    name: str
    """As the function is called, and as `OTPY_FAULTS` says it."""
    act: Callable[[Met], object]
    aact: Callable[[Met], Awaitable[object]] | None = None
    """The same in a coroutine, where it waits."""
    on: tuple[Medium, ...] = ()
    """What it can befall; nothing: everything but a link."""

    def __repr__(self) -> str:
        """Its name."""
        return self.name


class Severed(Exception):  # noqa: N818 - a word between a fault and its link, which nobody else sees
    """What a `Link` is to do with what it carries: `cut`, `drop`, `half`."""

    def __init__(self, how: Literal["cut", "drop", "half"]) -> None:
        self.how = how
        super().__init__(how)


def kill() -> Fault:
    """The program is killed by SIGKILL: nothing of it runs any more, no `finally`, no `atexit`."""
    return Fault("kill", lambda _: os.kill(os.getpid(), signal.SIGKILL))


def kill_actor() -> Fault:
    """The actor that comes by is killed, as by `ref.kill()`: its links hear `Killed()`, `terminate` does not run."""
    return Fault("kill_actor", _kill_actor)


def hang(*, deaf: bool = False) -> Fault:
    """Who comes by waits until `Script.release()`, or the end of the block in which the script is armed.

    An actor that waits so rests, as in `otpy.sleep`, and leaves its code when it is told to stop or killed.

    Args:
        deaf: nothing but the release ends it, as in C code: who is killed meanwhile is a zombie. A task hears a cancel
            all the same.
    """
    return Fault("hang", lambda met: met.holding.wait(deaf=deaf), lambda met: met.holding.await_release())


def slow(seconds: float, *, real: bool = False) -> Fault:
    """Who comes by takes so much longer: an actor on its system's clock, anybody else in real time.

    Args:
        seconds: how long.
        real: in real time also where the clock is virtual; it then blocks the thread, and hears nobody.

    Raises:
        FaultError: that is no time.
    """
    if not is_number(seconds) or not 0 <= seconds < float("inf"):
        raise FaultError(f"slow({safe_repr(seconds)}): seconds >= 0")
    if real:
        return Fault("slow", lambda _: time.sleep(seconds), lambda _: asyncio.sleep(seconds))
    return Fault("slow", lambda _: sleep(seconds), lambda _: asleep(seconds))


def raises(error: Callable[..., BaseException], *args: object) -> Fault:
    """An error is raised.

    Args:
        error: its class, or what makes one: called at each firing.
        args: what it is called with; nothing: a sentence that names the point.

    Raises:
        FaultError: it cannot be called.
    """
    if not callable(error):
        raise FaultError(f"raises({safe_repr(error)}): the class of an error, or a function that makes one")

    def act(met: Met) -> None:
        raise error(*(args or (f"a fault at {met.point}, the {met.number}. time",)))

    return Fault("raise", act)


def disk_full(*, sqlite: bool = False) -> Fault:
    """There is no room: `OSError` with ENOSPC, or what SQLite or PostgreSQL says where one of them is about to write.

    Args:
        sqlite: say it as SQLite does, at a point of your own.
    """
    return _disk("disk_full", errno.ENOSPC, ("SQLITE_FULL", 13, "database or disk is full"), "DiskFull", sqlite=sqlite)


def fsync_error(*, sqlite: bool = False) -> Fault:
    """The disk does not keep what was written: `OSError` with EIO, or what the database says of it.

    Args:
        sqlite: say it as SQLite does, at a point of your own.
    """
    return _disk("fsync_error", errno.EIO, ("SQLITE_IOERR_FSYNC", 1034, "disk I/O error"), "IoError", sqlite=sqlite)


def jump(seconds: float, *, clock: Literal["wall", "system"] = "wall") -> Fault:
    """A clock jumps.

    Args:
        seconds: how far; less than 0 is back.
        clock: `wall` is the time of day that otpy's own parts read: run times of jobs, ages of rows. The script takes
            its jumps back in the end. `system` is the virtual clock of the actor that comes by, which never goes back:
            what would have come due is late, as after a machine was suspended.

    Raises:
        FaultError: that cannot be.
    """
    if not is_number(seconds) or abs(seconds) == float("inf") or clock not in ("wall", "system"):
        raise FaultError(f"jump({safe_repr(seconds)}, clock={safe_repr(clock)}): seconds, and 'wall' or 'system'")
    if clock == "wall":
        return Fault("jump", lambda met: met.holding.set_wall(round(seconds * 1_000)))
    if seconds < 0:
        raise FaultError(f"jump({seconds:g}, clock='system'): no system's clock goes back")
    return Fault("jump", lambda _: _leap(seconds))


def cut() -> Fault:
    """At a point of a `Link`: its connection is reset, in both directions; at `NAME.reply` the answer is so lost."""
    return Fault("cut", lambda _: _sever("cut"), on=("link",))


def drop() -> Fault:
    """At a point of a `Link`: what was to be passed on is lost, and the connection stays: its peer waits in vain."""
    return Fault("drop", lambda _: _sever("drop"), on=("link",))


def half() -> Fault:
    """At a point of a `Link`: the first half of what was to be passed on still arrives; then as `cut`."""
    return Fault("half", lambda _: _sever("half"), on=("link",))


def _kill_actor(met: Met) -> None:
    ref = here().ref
    if ref is None:
        raise FaultError(f"kill_actor() at {met.point}: no actor runs here; kill() ends the program")
    ref.kill()


def _disk(name: str, number: int, sqlite_says: tuple[str, int, str], state: str, *, sqlite: bool) -> Fault:
    def act(met: Met) -> None:
        if met.medium == "postgres":
            import psycopg  # noqa: PLC0415 - who comes by such a point has it

            raise getattr(psycopg.errors, state)(os.strerror(number))
        if met.medium == "sqlite" or sqlite:
            errorname, code, text = sqlite_says
            error = sqlite3.OperationalError(text)
            error.sqlite_errorname, error.sqlite_errorcode = errorname, code
            raise error
        raise OSError(number, os.strerror(number))

    return Fault(name, act)


def _leap(seconds: float) -> None:
    ref = here().ref
    clock: Any = None if ref is None else ref.system.clock
    if not isinstance(clock, VirtualClock):
        raise FaultError("jump(…, clock='system') is for actors of a system with a VirtualClock")
    clock.leap(seconds)


def _sever(how: Literal["cut", "drop", "half"]) -> None:
    raise Severed(how)
