"""Actors that do in their process what a well behaved one does not."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import otpy

__all__ = ["Nest", "Slow", "Wild", "WildLater"]


class Wild(otpy.GenServer):
    """Floods, forks, leaves things behind."""

    @otpy.call
    def pid(self) -> int:
        return os.getpid()

    @otpy.call
    def leave_at(self, number: int, code: int) -> None:
        """From now on end at this signal, as programs do."""
        signal.signal(number, lambda *_: sys.exit(code))

    @otpy.call
    def helper(self) -> int:
        return os.getppid()

    @otpy.cast
    def spin(self) -> None:
        while True:
            pass

    @otpy.cast
    def sleep_in_c(self) -> None:
        """Wait in C code that never releases the interpreter."""
        ctypes.PyDLL(None).sleep(1_000)

    @otpy.call
    def start_heir(self) -> int:
        """Have a process of its own that does not mind SIGTERM."""
        code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(1e6)"
        return subprocess.Popen([sys.executable, "-S", "-c", code]).pid

    @otpy.call
    def leave_orphans(self, count: int) -> list[int]:
        """Start processes through others that end at once; they end soon, and nobody here waits for them. Which."""
        script = "setsid sh -c 'exit 0' >&2 & echo $!; sleep 0.01 >&2 & echo $!; exit 0"
        told = [subprocess.run(["/bin/sh", "-c", script], check=True, stdout=-1).stdout for _ in range(count)]
        return [int(pid) for pid in b"".join(told).split()]

    @otpy.cast
    def flood(self, near: Any, count: int) -> None:
        """Print and send as fast as it goes."""
        for number in range(count):
            print("x" * 1_000)  # noqa: T201 - that is what it is for
            near.tell(number)

    @otpy.call
    def fork_and_leave(self) -> int:
        """Make a copy that ends by itself; returns how it ended."""
        pid = os.fork()
        if pid == 0:
            os._exit(3)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    @otpy.call
    def fork_and_come_back(self) -> tuple[bool, int]:
        """Make a copy that answers the call, too; returns whether this is the copy, and its process id."""
        pid = os.fork()
        return pid == 0, pid

    @otpy.call
    def wait_for(self, pid: int) -> int:
        """How a process that it has started has ended."""
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    @otpy.cast
    def fork_and_go_on(self, path: str) -> None:
        _fork_and_go_on(self, Wild.note, path)

    @otpy.cast
    def note(self, path: str) -> None:
        _note(path)

    @otpy.call
    def end_of_copy(self) -> int:
        return _end_of(self)

    @otpy.cast
    def die(self, number: int) -> None:
        os.kill(os.getpid(), number)


class WildLater(otpy.GenServer):
    """Does so on an event loop."""

    @otpy.cast
    async def fork_and_go_on(self, path: str) -> None:
        _fork_and_go_on(self, WildLater.note, path)

    @otpy.cast
    def note(self, path: str) -> None:
        _note(path)

    @otpy.call
    def end_of_copy(self) -> int:
        return _end_of(self)


class Nest(otpy.GenServer):
    """Has a wild one in the pool of its process."""

    def init(self) -> None:
        self.wild = self.spawn_link(Wild)

    @otpy.call
    def inmate(self) -> Any:
        return self.wild


def _fork_and_go_on(actor: Any, note: Any, path: str) -> None:
    """Make a copy while a message waits, and come back from the handler in both."""
    actor.ref.cast(note, path)
    actor.copy = os.fork()


def _note(path: str) -> None:
    with Path(path).open("a", encoding="ascii") as file:
        file.write("x")


def _end_of(actor: Any) -> int:
    """How the copy has ended."""
    return os.waitstatus_to_exitcode(os.waitpid(actor.copy, 0)[1])


class Slow(otpy.GenServer):
    """Tells where it is when it is in the middle of its start, or of its end, and stays there."""

    trap_exit = True

    def init(self, post: Any, where: str) -> None:
        self.post, self.where = post, where
        self._stay("start")

    def terminate(self, reason: otpy.Reason) -> None:
        self._stay("end")

    def _stay(self, where: str) -> None:
        if where == self.where:
            self.post.tell(os.getpid())
            otpy.sleep(1e6)
