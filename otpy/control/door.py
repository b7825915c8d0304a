"""The door of a server with one thread for all its sockets: who comes, who may be served, and what wakes the thread."""

from __future__ import annotations

import selectors
import socket
import time
from contextlib import suppress
from math import inf
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Door"]

REST = 0.1
"""Seconds without accepting when the process has no file descriptor left."""
ACCEPTS = 16
"""Connections taken in one round, so that a flood of them leaves room for those who are here."""


class Door:
    """A listening socket, and the sockets that came by it, in one poll; all but `wake` in the server's thread."""

    def __init__(self, listener: socket.socket) -> None:
        """Own a socket that listens; nothing waits before `open`."""
        self._listener = listener
        self._wake_in, self._wake_out = socket.socketpair()
        for one in (listener, self._wake_in, self._wake_out):
            one.settimeout(0.0)
        # Not epoll: its set is shared with forked children, who must not change the parent's.
        self._selector = selectors.PollSelector()
        self._has_callers = False
        self._rest_until = inf

    def open(self) -> None:
        """Look out for those who come from now on."""
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._wake_in, selectors.EVENT_READ)

    def wake(self) -> None:
        """Have `wait` return; from any thread."""
        with suppress(OSError):  # full: it is about to look; closed: it has ended
            self._wake_out.send(b"\0")

    def wait(self, now: float, until: float) -> Iterator[tuple[Any, int]]:  # Any: what was given to `watch`
        """Wait until a moment of the monotonic clock, or that something happens; then who may do what, one by one."""
        if self._rest_until <= now:
            self._rest_until = inf
            self._selector.register(self._listener, selectors.EVENT_READ)
        until = min(until, self._rest_until)
        for key, events in self._selector.select(None if until == inf else max(0.0, until - now)):
            if key.data is not None:
                yield key.data, events
            elif key.fileobj is self._wake_in:
                with suppress(BlockingIOError):
                    self._wake_in.recv(4096)
            else:
                self._has_callers = True

    def callers(self) -> Iterator[socket.socket]:
        """Who has come; asked last in a round, so that nobody makes room for them whose request is already here."""
        for _ in range(ACCEPTS if self._has_callers else 0):
            try:
                connected, _ = self._listener.accept()
            except (BlockingIOError, ConnectionAbortedError):
                break
            except OSError:  # no descriptor left: rest, for poll would call at once
                self._rest_until = time.monotonic() + REST
                self._selector.unregister(self._listener)
                break
            connected.settimeout(0.0)
            yield connected
        self._has_callers = False

    def watch(self, connected: socket.socket, events: int, data: object) -> None:
        """Have `wait` tell, with this, when one of these events may be done; for none it is not looked at."""
        known = connected in self._selector.get_map()
        if not events and known:
            self._selector.unregister(connected)
        elif events and known:
            self._selector.modify(connected, events, data)
        elif events:
            self._selector.register(connected, events, data)

    def drop(self, connected: socket.socket) -> None:
        """Close it, and look at it no more; again is fine."""
        with suppress(KeyError, ValueError):
            self._selector.unregister(connected)
        connected.close()

    def close(self, inside: Iterable[socket.socket]) -> None:
        """Close all sockets, with those that came by it; takes no lock: a forked child does so with its copies."""
        for held in [*inside, self._listener, self._wake_in, self._wake_out]:
            held.close()
