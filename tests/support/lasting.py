"""Actors for processes that do not end when they are asked to, each in its own way."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any

import otpy

__all__ = ["FREE", "Holding", "Lasting", "LoopSticky", "Sticky"]

FREE = threading.Event()
"""Ends all `Sticky.stick`s of this process."""


def answer(actor: otpy.GenServer) -> None:
    """Reply to who calls it, which goes on."""
    assert actor.caller is not None
    actor.caller.reply(None)


class Lasting(otpy.GenServer):
    """Computes for ever when it is told to, and notes in a folder what it is told by signals."""

    def init(self, folder: str, at_sigterm: str = "default", *, traps: bool = False) -> None:
        self.folder = Path(folder)
        self.trap_exit = traps
        self.is_told = False
        match at_sigterm:
            case "ignore":
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
            case "note":
                signal.signal(signal.SIGTERM, self._note)
            case "leave":
                signal.signal(signal.SIGTERM, self._leave)

    @otpy.call
    def pid(self) -> int:
        return os.getpid()

    @otpy.call
    def spin(self) -> None:
        """Answer, then compute for ever."""
        answer(self)
        while True:
            pass

    @otpy.call
    def heir(self, at_sigterm: str) -> int:
        """Have a process of its own that winds up at SIGTERM, or does not; returns its id when it is ready for it."""
        trap = "" if at_sigterm == "ignore" else f"echo done > {self.folder}/heir; exit"
        script = f"trap '{trap}' TERM; echo ready; while :; do sleep 0.02; done"
        heir = subprocess.Popen(["/bin/sh", "-c", script], stdout=subprocess.PIPE)
        assert heir.stdout is not None
        assert heir.stdout.readline() == b"ready\n"
        return heir.pid

    def _note(self, *_: Any) -> None:
        (self.folder / "told").write_text("")
        self.is_told = True

    def _leave(self, *_: Any) -> None:
        (self.folder / "told").write_text("")
        os._exit(0)

    def terminate(self, reason: otpy.Reason) -> None:
        while not self.is_told:
            pass


class Holding(otpy.GenServer):
    """Is busy with Python code, which gives way to other threads, or with C code that does not."""

    @otpy.call
    def pid(self) -> int:
        return os.getpid()

    @otpy.call
    def compute(self) -> None:
        """Answer, then compute for ever."""
        answer(self)
        while True:
            pass

    @otpy.call
    def keep_interpreter(self, pipe: str) -> None:
        """Answer, then wait in C code that never releases the interpreter, until somebody opens this pipe and ends."""
        answer(self)
        os.close(ctypes.PyDLL(None).open(os.fsencode(pipe), os.O_RDONLY))


class Sticky(otpy.GenServer):
    """Gets stuck in its code, outside of otpy."""

    @otpy.call
    def pid(self) -> int:
        return os.getpid()

    @otpy.call
    def stick(self) -> None:
        """Answer, then wait where nobody can end it."""
        answer(self)
        FREE.wait()

    @otpy.call
    def nap(self) -> None:
        """Answer, then wait in otpy, which ends that when the actor is killed."""
        answer(self)
        otpy.sleep(1e6)


class LoopSticky(otpy.GenServer):
    """Blocks its event loop, where a cancellation does not reach it."""

    @otpy.call
    async def pid(self) -> int:
        return os.getpid()

    @otpy.call
    async def stick(self) -> None:
        """Answer, then wait where nobody can end it."""
        answer(self)
        FREE.wait()
