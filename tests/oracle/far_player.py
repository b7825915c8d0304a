"""How the player comes to rest when the workers are in other processes."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from otpy.errors import NoSuchActorError
from otpy.runtime.caller import request_future

from .actors import Parent, Worker
from .far import Scribe
from .otpy_side import Player

if TYPE_CHECKING:
    import otpy

__all__ = ["FarPlayer"]

SLOWNESS = 2.0
"""Seconds that a process may need to end, on a busy machine."""

PATIENCE = 20.0
"""Real seconds within which a worker answers or ends."""


class Ping:
    """Waits for the answer of one worker, or for its end."""

    def __init__(self) -> None:
        self._is_there = threading.Event()
        self.has_failed = False

    def set(self, _: object) -> None:
        self._is_there.set()

    def set_exception(self, _: object) -> None:
        self.has_failed = True
        self._is_there.set()

    def wait(self) -> bool:
        """Whether it has ended."""
        assert self._is_there.wait(PATIENCE), "a worker neither answered nor ended"
        return self.has_failed


class FarPlayer(Player):
    """Nobody sees from outside whether another process is at rest: it asks all of them until nothing new has come."""

    def __init__(self, system: otpy.System, worker: type[Worker]) -> None:
        self.pings: dict[otpy.Ref[Any], Ping] = {}
        self.hanging: dict[otpy.Ref[Any], None] = {}
        super().__init__(system, worker)
        self.scribe = system.start(Scribe, self.book)
        self.helpers.append(self.scribe)
        self.book.slowness = SLOWNESS
        self.book.args = (self.scribe, self.gates)
        self.suspended: set[otpy.Ref[Any]] = set()

    def settle(self) -> None:
        while self.ask_all():
            pass

    def ask_all(self) -> bool:
        """Ask everybody who can answer; whether anything has happened meanwhile."""
        before, has_parent = self.book.events, self.parent.is_alive()
        if has_parent:
            self.ask(self.parent, Parent.ping)
        workers = [ref for ref in list(self.book.labels) if ref.is_alive() and not ref.actor_class.is_supervisor]
        pings = [self.ping(ref) for ref in workers if ref not in self.suspended]
        have_ended = [ping.wait() for ping in pings] + [self.has_ended(ref) for ref in workers if ref in self.suspended]
        for ref in self.book.supervisors():
            if not ref.is_suspended():
                self.ask(ref, ref.actor_class.count_children)
        self.scribe.call(Scribe.knows, "")
        is_new = self.book.events != before or self.parent.is_alive() != has_parent
        return any(have_ended) or is_new or self.book.is_behind()

    def has_ended(self, ref: otpy.Ref[Any]) -> bool:
        """Whether one that is suspended, and so answers no call, has taken a signal that was on its way."""
        try:
            self.system.suspend(ref.path)  # twice is once
        except NoSuchActorError:
            return True
        return False

    def ping(self, ref: otpy.Ref[Any]) -> Ping:
        ping = self.pings[ref] = Ping()
        if ref in self.hanging:  # published, then looked, for it may begin to hang just now
            ping.set(None)
            return ping
        request_future(ref, ref.message_for(Worker.request, ("ask",), {}), ping)  # type: ignore[arg-type]  # as a future
        return ping

    def note_hanging(self, ref: otpy.Ref[Any]) -> None:
        self.hanging[ref] = None
        ping = self.pings.get(ref)
        if ping is not None:
            ping.set(None)

    def do_suspend(self, ident: str) -> str:
        self.suspended.update(self.book.refs.get(ident, ())[-1:])
        return super().do_suspend(ident)

    def do_resume(self, ident: str) -> str:
        self.suspended.difference_update(self.book.refs.get(ident, ())[-1:])
        return super().do_resume(ident)
