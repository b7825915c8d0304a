"""That a program drains, for whoever asks; and what is in flight outside of any message, for which it waits."""

from __future__ import annotations

import threading
from contextlib import suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Self

from otpy.core.value import value
from otpy.errors import DrainingError
from otpy.runtime.nap import current
from otpy.runtime.seat import here

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextvars import Token

    from otpy.runtime.ref import Ref
    from otpy.runtime.system import System

__all__ = [
    "Draining",
    "Drains",
    "Flight",
    "draining",
    "draining_of",
    "flights_in",
    "in_flight",
    "is_within",
    "own_flight",
]

_inmost: ContextVar[Flight | None] = ContextVar("otpy_in_flight", default=None)
"""The block that was entered last; a task, or a copied context, may have been handed one that is over."""


@value
class Draining:
    """That a program, or a part of it, drains."""

    reason: str
    """Who told it to stop, in words."""
    since: float
    """When, by the system's clock."""
    deadline: float
    """When all of it must have stopped, by the system's clock."""


class Drains:
    """What a system knows of its drains, beside that it drains as a whole: `System.draining`, which anybody may ask."""

    __slots__ = ("courses", "flights", "hooked", "on_landed", "parts")

    def __init__(self) -> None:
        """Nothing drains, and nobody would be asked."""
        self.hooked: dict[Ref[Any], None] = {}
        """The actors with hooks of a drain; changed with the system's lock held, copied in one step without it."""
        self.flights: dict[Flight, None] = {}
        """What is in flight; any thread puts in, and takes out, its own alone, and copies all in one step."""
        self.on_landed: list[Callable[[], object]] = []
        """Called when nothing is in flight any more, in any thread, from a copy; a drain puts in, and takes out, one.

        One that has been taken out may so be called once more: it only has its actor look again.
        """
        self.parts: dict[Ref[Any], Draining] = {}
        """The tops of parts that drain, while they live; guarded as `hooked`."""
        self.courses: dict[Ref[Any] | None, Any] = {}
        """The drains by their tops, None for all of it; who begins one holds the system's lock from the look to the
        entry, so that two share it. Any: they are known on a higher floor."""

    def forget(self, ref: Ref[Any]) -> None:
        """Drop a dead actor; called with the system's lock held."""
        self.hooked.pop(ref, None)
        self.parts.pop(ref, None)
        self.courses.pop(ref, None)


def draining() -> Draining | None:
    """Whether the program, or the part of it with the calling actor, drains; for functions that run as children.

    Raises:
        NoSuchActorError: no actor runs on this thread; `system.draining` says it there.
    """
    ref = current()
    return draining_of(ref.system, ref)


def draining_of(system: System, ref: Ref[Any] | None) -> Draining | None:
    """The same for a certain actor, or for code of none."""
    parts = system.drains.parts
    if system.draining is not None or not parts:
        return system.draining
    return next((found for top, found in parts.copy().items() if is_within(ref, top)), None)


def is_within(ref: Ref[Any] | None, top: Ref[Any] | None) -> bool:
    """Whether an actor is another one, or below it; everything is below None."""
    if top is None:
        return True
    while ref is not None and ref is not top:
        ref = ref.parent
    return ref is not None


class Flight:
    """One thing in flight; made by `in_flight`, and entered once."""

    def __init__(self, system: System, ref: Ref[Any] | None) -> None:
        """Of an actor, or of a thread outside of all actors."""
        self.system = system
        self.ref = ref
        self.seat = here()
        self.since = 0.0
        """When it was entered, by the system's clock."""
        self.thread = ""
        self._token: Token[Flight | None] | None = None
        self.outer: Flight | None = None
        """The block it is inside of, and which was not left yet."""

    @property
    def where(self) -> str:
        """Whose it is: the path of an actor, or the name of a thread."""
        return self.thread if self.ref is None else self.ref.path

    def __enter__(self) -> Self:
        """Begin, unless the program drains. Raises DrainingError."""
        flights = self.system.drains.flights
        if self in flights:
            text = f"{self.where}: this is in flight already: in_flight() makes one for each block"
            raise RuntimeError(text)
        self.outer = self._inside_of()
        self.seat, self.thread = here(), threading.current_thread().name
        self.since = self.system.clock.now()
        flights[self] = None  # put, then looked; who begins to drain says so, then looks what is in flight
        told = draining_of(self.system, self.ref)
        if told is not None and self.outer is None and not _is_in_message(self.ref):
            del flights[self]
            raise DrainingError(self.where, told.reason)
        self._token = _inmost.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        """End; in any thread or task, and once."""
        drains = self.system.drains
        drains.flights.pop(self, None)
        token, self._token = self._token, None
        if token is not None:
            with suppress(ValueError):  # it was entered elsewhere: who looks there sees that it is over
                _inmost.reset(token)
        if not drains.flights:
            for tell in drains.on_landed.copy():
                tell()

    def _inside_of(self) -> Flight | None:
        """The block that was entered before it, unless that is over: what it was begun for no longer waits for it."""
        flight = _inmost.get()
        while flight is not None and flight not in flight.system.drains.flights:
            flight = flight.outer
        return flight if flight is not None and flight.system is self.system else None


def _is_in_message(ref: Ref[Any] | None) -> bool:
    """Whether a drain waits for it in any case, and wants it to be done."""
    return ref is not None and not ref.actor_class.stops_by_signal


def in_flight() -> Flight:
    """`with otpy.in_flight():` has a drain wait for what is inside; for functions that run as children.

    Messages are waited for anyway, while a function that runs as a child is not: it may never return. While the program
    drains nothing more is begun: entering the block raises, and a child whose function lets that through has ended in
    peace. A block inside of another one, or in the handling of a message, belongs to that.

    Raises:
        NoSuchActorError: no actor runs on this thread; `system.in_flight()` is for those.
        DrainingError: on entering: the program, or the part of it with this actor, drains.
    """
    ref = current()
    return Flight(ref.system, ref)


def flights_in(system: System, top: Ref[Any] | None) -> list[Flight]:
    """What is in flight at and below an actor; with None everywhere."""
    return [flight for flight in system.drains.flights.copy() if top is None or is_within(flight.ref, top)]


def own_flight(system: System) -> Flight:
    """As `in_flight`, also for a thread that runs no actor of this system."""
    ref = here().ref
    return Flight(system, ref if ref is not None and ref.system is system else None)
