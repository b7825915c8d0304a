"""The control server's own thread: one loop over all its sockets, in which nothing ever waits for one client.

It writes no log while it serves: a logging handler may be the very thing that is stuck.
"""

from __future__ import annotations

import logging
import os
import selectors
import time
from collections import deque
from math import inf
from typing import TYPE_CHECKING

from otpy.control.commands import Commands
from otpy.control.connection import Connection
from otpy.control.door import Door
from otpy.control.errors import BusyError, WireError
from otpy.control.peers import may_talk, peer_of

if TYPE_CHECKING:
    import socket
    import threading

    from otpy.control.desk import Desk, Request
    from otpy.control.limits import Limits

__all__ = ["ControlLoop"]

LOG = logging.getLogger("otpy.control")


class ControlLoop:
    """Serves every client of one listening socket until it is told to close."""

    def __init__(self, listener: socket.socket, desk: Desk, limits: Limits) -> None:
        """Serve with the answers of `desk`; the loop owns the socket from now on."""
        self._door = Door(listener)
        self._desk = desk
        self._limits = limits
        self._clients: dict[socket.socket, Connection] = {}
        self._ready: deque[Connection] = deque()
        self._commands: Commands[Connection] = Commands(limits.max_commands, self.wake)
        self._looks: Commands[Connection] = Commands(limits.max_commands, self.wake)
        self._close_by: float | None = None

    def run(self) -> None:
        """Serve; the body of the server's thread."""
        try:
            self.open()
            while not self._is_over(now := time.monotonic()):
                self._round(now)
        except Exception:
            LOG.exception("the control socket of this program is gone; the program itself goes on")
        finally:
            self.let_go()

    def open(self) -> None:
        """Look out for clients from now on."""
        self._door.open()

    def wake(self) -> None:
        """Have the loop look around; from any thread."""
        self._door.wake()

    def close_by(self, moment: float) -> None:
        """Take no new client, end when running commands are answered, or at `moment` of the monotonic clock."""
        self._close_by = moment
        self.wake()

    def running(self) -> list[threading.Thread]:
        """The threads of commands that are not done."""
        return [*self._commands.running(), *self._looks.running()]

    def let_go(self) -> None:
        """Close every socket; also what a forked child does with its copies."""
        self._door.close(self._clients)
        self._clients.clear()

    def _is_over(self, now: float) -> bool:
        if self._close_by is None:
            return False
        return now >= self._close_by or not any(client.busy or client.has_to_write for client in self._clients.values())

    def _round(self, now: float) -> None:
        for client, events in self._door.wait(now, self._until(now)):
            self._serve(client, events)
        for connected in self._door.callers():
            self._welcome(connected)
        for client, reply in (*self._commands.finished(), *self._looks.finished()):
            client.busy = False
            self._send(client, reply)
        for _ in range(len(self._ready)):
            client = self._ready.popleft()
            client.in_line = False
            self._next_request(client)
        self._end_overdue(time.monotonic())

    def _until(self, now: float) -> float:
        """When it has something to do, whoever says something before."""
        if self._ready:
            return now
        first = min((client.deadline for client in self._clients.values()), default=inf)
        return first if self._close_by is None else min(first, self._close_by)

    def _welcome(self, connected: socket.socket) -> None:
        client = Connection(connected, self._limits, time.monotonic())
        refused = self._refusal(connected)
        self._clients[connected] = client
        self._door.watch(connected, selectors.EVENT_READ, client)
        client.ending = refused is not None
        self._send(client, self._desk.hello(refused, is_ending=self._close_by is not None))

    def _refusal(self, connected: socket.socket) -> str | None:
        if self._close_by is not None:
            return "this program is ending"
        if not may_talk(peer_of(connected), os.geteuid()):
            return "this program belongs to another user"
        if len(self._clients) < self._limits.max_clients:
            return None
        quiet = [client for client in self._clients.values() if not client.busy]
        if not quiet:
            return f"{len(self._clients)} clients are connected and all have commands running"
        self._drop(min(quiet, key=lambda client: client.quiet_since))
        return None

    def _serve(self, client: Connection, events: int) -> None:
        # Dropped earlier in this round, or its last requests are not all answered: what it sends meanwhile, were it
        # only that it hangs up, stays in the kernel. So none has more than two requests' bytes here, or two turns.
        if client.socket not in self._clients or client.in_line:
            return
        try:
            if events & selectors.EVENT_WRITE:
                client.flush()
            elif not client.receive(time.monotonic()):
                self._drop(client)
                return
        except BlockingIOError:
            return
        except OSError:
            self._drop(client)
            return
        self._go_on(client)

    def _next_request(self, client: Connection) -> None:
        if client.socket not in self._clients:
            return
        try:
            frame = client.next_frame(time.monotonic())
            request = None if frame is None else self._desk.read(frame, peer_of(client.socket))
        except WireError as error:
            client.ending = True
            self._send(client, self._desk.failure(error))
            return
        match request:
            case None:
                self._listen(client)
            case bytes():
                self._send(client, request)
            case _:
                self._run(client, request)

    def _run(self, client: Connection, request: Request) -> None:
        if not self._desk.waits(request):
            self._send(client, self._desk.answer(request))
            return
        # Looks are short, and have threads of their own: they are answered while all commands wait.
        commands = self._looks if request.verb.inline else self._commands
        try:
            commands.start(request.verb.name, client, lambda: self._desk.answer(request))
        except BusyError as error:
            self._send(client, self._desk.failure(error, request.number))
            return
        client.busy = True
        self._listen(client)

    def _send(self, client: Connection, frame: bytes) -> None:
        if client.socket not in self._clients:
            return
        try:
            client.send(frame, time.monotonic())
        except OSError:
            self._drop(client)
            return
        if client.has_to_write:
            self._make_room_beside(client)
        self._go_on(client)

    def _make_room_beside(self, newest: Connection) -> None:
        """Let go of those who leave so much untaken that it is too much together, the longest waiting first."""
        waiting = [client for client in self._clients.values() if client.has_to_write and client is not newest]
        waiting.sort(key=lambda client: client.quiet_since, reverse=True)
        while sum(client.waiting_bytes for client in waiting) > self._limits.max_waiting_bytes:
            self._drop(waiting.pop())

    def _go_on(self, client: Connection) -> None:
        """Decide what this client does next: takes the rest, goes, or has its next request looked at."""
        if client.ending and not client.has_to_write:
            self._drop(client)
        elif client.has_to_write or client.busy:
            self._listen(client)
        elif not client.in_line:
            client.in_line = True
            self._ready.append(client)

    def _listen(self, client: Connection) -> None:
        """Wait for what this client may do now; a busy one may do nothing and is not looked at."""
        wanted = selectors.EVENT_WRITE if client.has_to_write else 0 if client.busy else selectors.EVENT_READ
        self._door.watch(client.socket, wanted, client)

    def _drop(self, client: Connection) -> None:
        if self._clients.pop(client.socket, None) is not None:
            self._door.drop(client.socket)

    def _end_overdue(self, now: float) -> None:
        for client in [client for client in self._clients.values() if client.deadline <= now]:
            self._drop(client)
