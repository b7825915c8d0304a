"""The parent's end: all process children of a system, from the wish for one to the news of its end."""

from __future__ import annotations

import os
import signal
import threading
import time
import weakref
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from otpy.core.reason import NoConnection, Reason
from otpy.errors import SystemStoppedError
from otpy.places.process.child import Child
from otpy.places.process.circles import Circles
from otpy.places.process.helm import Helm
from otpy.places.process.listener import Listener
from otpy.places.process.memory_killer import MemoryKiller
from otpy.places.process.output import Output
from otpy.places.process.pulse import Heartbeats
from otpy.places.process.say import Say
from otpy.places.process.spares import Spares
from otpy.places.process.states import Clerk

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.core.spec import Options
    from otpy.places.process.origin import Origin
    from otpy.runtime.ref import Ref
    from otpy.runtime.seat import Seat
    from otpy.runtime.system import System

__all__ = ["Ports", "ports_of"]

LAST = 2.0
"""Seconds the end of a system waits for the ends of its processes."""


class Ports:
    """All process children of one system, their helper, and the thread that listens to them.

    The system lists it among the homes of actors with threads of their own, and so closes it in the end.
    """

    place = "process"
    settle = None
    obey = None

    def __init__(self, system: System) -> None:
        """Start nothing yet."""
        self.queue: deque[Any] = deque()
        self.free: list[Any] = []
        self.spares = Spares()
        self.listener = Listener(self._is_over, self._end)
        self.heartbeats = Heartbeats(self.listener)
        self.circles = Circles(self.listener)
        self.helm = Helm(self.listener, self._hear, self._lose_helper)
        self.clerk = Clerk()
        self._system = system
        # Guards `_children`, the spares and `_closing`. RLock: who ends all forgets each.
        self._lock = threading.RLock()
        self._children: dict[int, Child] = {}
        self._numbers = 0
        self._output = Output(system.pool.notice_idle)
        self._closing = False
        self._memory_killer: MemoryKiller | None = None

    # As a home of the system.

    def is_idle(self) -> bool:
        """Whether no child is asked anything or being made, and nothing is left of those that have ended."""
        # In this order: who is buried leaves its pipe behind, and is forgotten then.
        return not any(child.is_under_way() for child in list(self._children.values())) and self._output.is_idle()

    def engage(self) -> bool:
        """Nobody takes turns here."""
        return True

    def seats(self) -> list[Seat]:
        """No code of an actor runs here."""
        return []

    def turns(self) -> int:
        """The same."""
        return 0

    def in_line(self) -> int:
        """The same."""
        return 0

    def release(self) -> None:
        """Nobody lives here."""

    def close(self) -> None:
        """End all processes that are left, the helper and the threads; waits a moment for it."""
        with self._lock:
            self._closing = True
            self.listener.until = self.listener.until or time.monotonic() + LAST
            spares = list(self.spares.by_module.values())
        for spare in spares:
            spare.interrupt()
        thread = self.listener.thread
        if thread is None:
            self._system.threads.discard(self)
            return
        self.listener.wake()
        if thread is not threading.current_thread():
            thread.join(LAST + 1.0)

    # Starting.

    def start(
        self,
        origin: Origin,
        ref: Ref[Any],
        on_born: Callable[[Ref[Any], int, Reason | None], None],
        on_end: Callable[[Ref[Any], Reason], None],
        options: Options,
    ) -> Child:
        """A process for a port: a spare one that has imported the module already, or a new one; see `Child.bind`.

        Raises:
            SystemStoppedError: the system has ended.
            OSError: no descriptor or memory is free for it.
            RuntimeError: no thread can be started for it.
        """
        with self._lock:
            if self._closing:
                raise SystemStoppedError("the system has stopped and starts no process")
            child = self.spares.take(origin.module) or self._fork(origin)
            child.bind(ref, on_born, on_end, options)  # with the lock held: it may end at any moment
            self.add_spare(origin)  # now: it is made while this one runs its `init`, and starts in a row overlap
        return child

    def add_spare(self, origin: Origin) -> None:
        """Have another process ready that has imported the module of one that was started; none when that fails."""
        with self._lock, suppress(OSError, RuntimeError):
            child = None if self._closing else self.spares.add(origin.module, lambda: self._fork(origin))
            if child is not None:
                child.line.say(Say.PRELOAD, origin.module, list(origin.surroundings))

    def _fork(self, origin: Origin) -> Child:
        """Ask for a new process; it may be spoken to at once. Called with the lock held. Raises as `start`."""
        self.listener.start()
        self._memory_killer = self._memory_killer or MemoryKiller()
        self._system.threads.add(self)
        self._numbers += 1
        child = Child(self._numbers, self, origin)
        try:
            child.output, far_output = self._output.add(child.path)
            try:
                self._children[child.number] = child
                self.listener.watch(child.line.socket.fileno(), child.read)
                self.helm.fork(child.number, [child.far.fileno(), far_output])
            finally:
                os.close(far_output)
                child.far.close()
        except BaseException:
            self._children.pop(child.number, None)
            child.discard()
            if child.output is not None:
                self._output.end(child.output)
            raise
        return child

    def blame(self) -> str:
        """Who has sent a SIGKILL that was not sent from here, as far as that can be known."""
        return "" if self._memory_killer is None else self._memory_killer.blame()

    def let_go(self) -> None:
        """In a copy of the program, made by `os.fork`: the processes are those of the original.

        The copy must not speak to them or end them, nor keep them alive when the original is gone, as it would with its
        ends of their pipes. It takes no lock, for the thread that held one may not be in it.
        """
        self._lock = threading.RLock()
        self._closing = True
        for child in self._children.values():
            child.let_go()
        self._children = {}
        self.helm.let_go()
        self.listener.let_go()
        self._output.let_go()

    # News of the helper; in the listener's thread.

    def _hear(self, word: bytes, number: int, value: int, pidfd: int | None) -> None:
        child = self._children.get(number)
        if child is None:
            if pidfd is not None:
                os.close(pidfd)
        elif word == b"B":
            child.is_born(value, pidfd)
            self._system.pool.notice_idle()
        elif word == b"E":
            self._forget(child, value)
        else:
            child.end_reason = child.end_reason or NoConnection(f"no process could be started: {os.strerror(value)}")
            self._forget(child, 0)

    def _forget(self, child: Child, status: int) -> None:
        with self._lock:
            self.spares.drop(child)
        try:
            child.has_ended(status)
            if child.output is not None:
                self._output.end(child.output)
        finally:
            with self._lock:
                self._children.pop(child.number, None)  # at last: who waits for rest waits for all of that
            self._system.pool.notice_idle()

    def _lose_helper(self) -> None:
        """Somebody has killed the helper, and with it all its children: the next start makes a new one."""
        with self._lock:
            lost = list(self._children.values())
            self.spares.clear()  # at once: nobody may be given one of them now
            self.helm.close()
        for child in lost:
            child.lose_helper()
            self._forget(child, 0)

    # The end.

    def _is_over(self) -> bool:
        until = self.listener.until
        return until is not None and (not self._children or time.monotonic() > until)

    def _end(self) -> None:
        with self._lock:
            for child in list(self._children.values()):
                child.interrupt()
            self.helm.close()  # which kills whatever is left
            for child in list(self._children.values()):
                self.listener.unwatch(child.line.socket.fileno())
                self._forget(child, signal.SIGKILL)
        self._output.close()
        self._system.threads.discard(self)
        self._system.pool.notice_idle()


_PORTS: weakref.WeakKeyDictionary[System, Ports] = weakref.WeakKeyDictionary()
_GUARD = threading.Lock()


def _in_copy() -> None:
    for ports in list(_PORTS.values()):
        ports.let_go()


os.register_at_fork(after_in_child=_in_copy)
"""Held while one is made: a system has one."""


def ports_of(system: System) -> Ports:
    """The ports of a system, made on first use."""
    with _GUARD:
        found = _PORTS.get(system)
        if found is None:
            found = _PORTS[system] = Ports(system)
        return found
