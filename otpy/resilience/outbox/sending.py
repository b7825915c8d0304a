"""How an outbox sends: one batch at a time, by the first sender that may, with pauses after failures."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from otpy.core.backoff import asked_by
from otpy.core.text import exception_line
from otpy.events.resilience import OutboxDegraded, OutboxRecovered
from otpy.resilience.errors import BreakerOpenError, LaterError, OutboxFileError
from otpy.resilience.outbox.batch import Batch
from otpy.resilience.outbox.carrier import AsyncCarrier, Flight, PlainCarrier
from otpy.resilience.outbox.route import Route

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.actors.gen_server import GenServer
    from otpy.events.event import Event
    from otpy.resilience.outbox.batch import Receipt
    from otpy.resilience.outbox.books import Books
    from otpy.resilience.outbox.carrier import Crew
    from otpy.resilience.outbox.plan import Plan
    from otpy.resilience.outbox.shelf import Shelf
    from otpy.resilience.permit import Permit
    from otpy.runtime.ref import Ref
    from otpy.runtime.timers import Timer

__all__ = ["Expired", "Go", "Sending"]

Hooks = tuple["Callable[[int, Receipt | None, BaseException | None], object]", "Callable[[OutboxFileError], object]"]
"""What is called with a flight's outcome, in any thread; and, in a turn, when the file cannot be read."""

ILL = 3
"""Failures in a row of the first sender after which the outbox is degraded: single ones are a bad network's usual."""


HANGS = 5.0
"""Seconds after which who is about to leave waits no longer for a call that has not come back."""


@dataclass(frozen=True, slots=True)
class Expired:
    """A flight's time is over."""

    ticket: int


@dataclass(frozen=True, slots=True)
class Go:
    """A pause is over."""

    number: int


@dataclass(slots=True)
class _Leg:
    """A flight, with what is needed at its end."""

    index: int
    flight: Flight
    carrier: Ref[Any]
    permit: Permit
    timer: Timer
    since: float
    is_late: bool = False


class Sending:
    """The part of an outbox's actor that sends; all of it runs in that actor's turns."""

    def __init__(self, actor: GenServer, plan: Plan, shelf: Shelf, books: Books, crew: Crew, hooks: Hooks) -> None:
        """Of this actor."""
        self._actor, self._plan, self._shelf, self._books, self._crew = actor, plan, shelf, books, crew
        self._landed, self._unreadable = hooks
        self._route = Route(plan.backoff, plan.ramp, plan.batch)
        self._legs: dict[int, _Leg] = {}  # that in the air, and late ones, by their tickets
        self._air: int | None = None
        self._ticket = 0
        self._pause: int | None = None
        self._pauses, self._pause_ends = 0, 0.0
        self._tried: set[int] = set()
        self._asked: float | None = None
        self._failures, self._ill_since = 0, 0.0  # of the first sender, in a row
        self._is_told = False
        self._is_shut = False  # whether a pause is made because the breakers are open
        if books.rows:
            self._rest(self._route.failed(self._chance(), None))  # all that a power cut has ended begin together
            self._route.failures = 0

    def go_on(self) -> None:
        """Send the next batch, unless one is on its way, or it is not the time."""
        if self._air is not None or self._pause is not None or not self._books.rows:
            return
        chosen = self._choose()
        if chosen is None:
            return
        index, carrier, permit = chosen
        try:
            found = self._shelf.next_batch(self._route.most(self._now()), self._plan.batch_bytes)
        except OutboxFileError as error:
            permit.release()
            self._unreadable(error)
            self._rest(self._plan.backoff.most)
            return
        if found is None:
            permit.release()
            return
        topic, incarnation, rows = found
        self._fly(index, carrier, permit, Batch(self._plan.agent, incarnation, topic, tuple(rows)))

    def rested(self, number: int) -> None:
        """A pause is over, if it is the one that is being made."""
        if number == self._pause:
            self._pause = None
            self.go_on()

    def finish(self) -> None:
        """Send what can be sent in the time that is left: without a ramp, and without the pause that is being made."""
        self._route.end_ramp()
        self.hurry()

    def is_vain(self, within: float) -> bool:
        """Whether nothing will be sent within so many seconds: no sender delivers, or all say to come later."""
        if self._air is not None:
            return self._now() - self._legs[self._air].since >= HANGS
        if self._pause is None:
            return False
        return self._is_shut or self._route.failures >= ILL or self._pause_ends - self._now() > within

    def hurry(self) -> None:
        """Make no further pause before the next attempt."""
        self._pause = None
        self.go_on()

    def landed(self, ticket: int, receipt: Receipt | None, error: BaseException | None) -> None:
        """A sender has come back, maybe late: what it has delivered counts all the same."""
        leg = self._legs.pop(ticket, None)
        if leg is None:
            return
        leg.timer.cancel()
        got_on = 0 if receipt is None else self._shelf.settle(leg.flight.batch, receipt)
        if leg.is_late:
            self.go_on()
            return
        self._air = None
        if got_on:
            leg.permit.succeeded()
            self._delivered(leg.index)
        elif isinstance(error, LaterError):
            leg.permit.release()
            self._tried.clear()
            self._rest(max(0.0, error.retry_after))
        else:
            problem = error or ValueError("the receiver has taken nothing")
            leg.permit.failed(problem)
            self._failed(leg.index, problem)
        self.go_on()

    def expired(self, ticket: int) -> None:
        """A sender has not come back in time: it has failed, and is not used again before it does."""
        leg = self._legs.get(ticket)
        if leg is None or leg.is_late:
            return
        leg.is_late, self._air = True, None
        leg.carrier.cast(type_of(self._plan.ways[leg.index].is_async).drop, ticket)
        problem = TimeoutError(f"it has not come back within {self._plan.ways[leg.index].timeout:g} s")
        leg.permit.failed(problem)
        self._failed(leg.index, problem)
        self.go_on()

    def lost(self, carrier: Ref[Any]) -> None:
        """Who called a sender has ended in the middle of it."""
        for ticket, leg in list(self._legs.items()):
            if leg.carrier is carrier:
                self.landed(ticket, None, RuntimeError("who called it has ended"))

    def _choose(self) -> tuple[int, Ref[Any], Permit] | None:
        """The first sender that may be tried; else None, and when there is nothing to wait for a pause has begun."""
        waits: list[float] = []
        busy = {leg.index for leg in self._legs.values()}
        for index, way in enumerate(self._plan.ways):
            carrier = self._crew.get(index)
            if index in self._tried or index in busy:
                continue
            if carrier is None or not carrier.is_alive():
                waits.append(self._plan.backoff.first)
                continue
            try:
                permit = way.breaker.allow(holder=carrier)
            except BreakerOpenError as error:
                waits.append(self._plan.backoff.most if error.retry_after is None else error.retry_after)
                if index == 0:
                    self._ill(str(error))
            else:
                return index, carrier, permit
        if self._tried:
            pause = self._route.failed(self._chance(), self._asked)
            self._tried.clear()
            self._asked = None
            self._rest(max(pause, min(waits, default=0.0)))
        elif waits:
            self._is_shut = True
            self._rest(self._route.closed(min(waits), self._chance()))
        return None

    def _fly(self, index: int, carrier: Ref[Any], permit: Permit, batch: Batch) -> None:
        self._is_shut = False
        self._ticket += 1
        flight = Flight(self._ticket, batch, self._landed)
        way = self._plan.ways[index]
        timer = self._actor.send_after(way.timeout, Expired(self._ticket))
        self._legs[self._ticket] = _Leg(index, flight, carrier, permit, timer, self._now())
        self._air = self._ticket
        carrier.cast(type_of(way.is_async).send, flight)

    def _delivered(self, index: int) -> None:
        self._route.delivered(self._now())
        self._tried.clear()
        self._asked = None
        self._books.sender = self._plan.ways[index].name
        if index == 0:
            self._well()
        else:
            self._ill(f"{self._plan.ways[index].name!r} delivers")
        gap = self._route.gap(self._now(), self._chance())
        if gap > 0:
            self._rest(gap)

    def _failed(self, index: int, error: BaseException) -> None:
        self._tried.add(index)
        asked = asked_by(error)
        if asked is not None and 0 < asked < math.inf:
            self._asked = max(asked, self._asked or 0.0)
        if index == 0:
            self._failures += 1
            if self._failures == 1:
                self._ill_since = self._now()
            self._books.why = exception_line(error, 200)
            if self._failures >= ILL:
                self._ill(self._books.why)

    def _ill(self, why: str) -> None:
        """The first sender does not deliver: told once, until it does."""
        if self._is_told:
            return
        self._is_told = True
        self._books.degraded_since = self._ill_since if self._failures else self._now()
        self._books.why = self._books.why or why
        instead = self._plan.ways[1].name if len(self._plan.ways) > 1 else None
        first = self._plan.ways[0].name
        path, name = self._actor.ref.path, self._plan.name
        self._emit(OutboxDegraded(path=path, outbox=name, sender=first, why=self._books.why, instead=instead))

    def _well(self) -> None:
        since, self._books.degraded_since, self._books.why = self._books.degraded_since, None, None
        self._failures = 0
        if self._is_told:
            self._is_told = False
            seconds = self._now() - (self._now() if since is None else since)
            path, first = self._actor.ref.path, self._plan.ways[0].name
            rows = self._books.rows
            self._emit(OutboxRecovered(path=path, outbox=self._plan.name, sender=first, seconds=seconds, rows=rows))

    def _rest(self, seconds: float) -> None:
        self._pauses += 1
        self._pause, self._pause_ends = self._pauses, self._now() + seconds
        self._actor.send_after(seconds, Go(self._pauses))

    def _emit(self, event: Event) -> None:
        self._actor.system.events.emit(event)

    def _now(self) -> float:
        return self._actor.system.clock.now()

    def _chance(self) -> float:
        return self._actor.system.random.random()


def type_of(is_async: bool) -> Any:  # noqa: FBT001 - Any: both have `send` and `drop`
    """The class of who calls a sender."""
    return AsyncCarrier if is_async else PlainCarrier
