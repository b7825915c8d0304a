"""The actors that call the senders: the user's code runs here, away from the one that keeps the file."""

from __future__ import annotations

from dataclasses import dataclass
from types import CoroutineType
from typing import TYPE_CHECKING, Any

from otpy.actors.gen_server import GenServer
from otpy.core.late import asyncio
from otpy.core.points import apoint, point
from otpy.core.text import safe_repr
from otpy.resilience.outbox.batch import Receipt
from otpy.runtime.request import cast

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.resilience.outbox.batch import Batch
    from otpy.resilience.outbox.sender import Way
    from otpy.runtime.ref import Ref

__all__ = ["AsyncCarrier", "Crew", "Flight", "PlainCarrier"]

Crew = dict[int, "Ref[Any]"]
"""Who calls which sender now, by its place in the list."""


@dataclass(slots=True, eq=False)
class Flight:
    """A batch on its way."""

    ticket: int
    batch: Batch
    landed: Callable[[int, Receipt | None, BaseException | None], object]
    """Called once, in any thread, with the ticket and what became of it."""

    def land(self, found: object) -> None:
        """The sender has returned this."""
        receipt = _receipt(found)
        error = None if receipt is not None else TypeError(f"a sender returned {safe_repr(found)}, and no Receipt")
        self.landed(self.ticket, receipt, error)


def _receipt(found: object) -> Receipt | None:
    if found is None:
        return Receipt()
    if type(found) is int:
        return Receipt(found)
    return found if isinstance(found, Receipt) else None


class PlainCarrier(GenServer):
    """Calls a plain function."""

    otpy_is_errand = True

    def init(self, way: Way, crew: Crew, index: int) -> None:
        """Be the one that calls this sender."""
        self._function = way.function
        self.sending: str | None = None
        crew[index] = self.ref

    @cast
    def send(self, flight: Flight) -> None:
        """Call it; whatever it does, it is told."""
        self.sending = f"{len(flight.batch.rows)} rows of {flight.batch.topic}"
        try:
            point("outbox.send.before")
            found = self._function(flight.batch)
            point("outbox.send.after")
        except Exception as error:  # noqa: BLE001 - the user's code
            flight.landed(flight.ticket, None, error)
        else:
            if found.__class__ is CoroutineType:
                found.close()
                found = "a coroutine: declare the sender `async`"
            flight.land(found)
        finally:
            self.sending = None

    @cast
    def drop(self, ticket: int) -> None:
        """Its time is over; a thread cannot be stopped."""


class AsyncCarrier(GenServer):
    """Awaits a coroutine function, and cancels it when its time is over."""

    max_concurrency = 2
    otpy_is_errand = True

    def init(self, way: Way, crew: Crew, index: int) -> None:
        """Be the one that calls this sender."""
        self._function = way.function
        self._tasks: dict[int, asyncio.Task[Any] | None] = {}
        self.sending: str | None = None
        crew[index] = self.ref

    @cast
    async def send(self, flight: Flight) -> None:
        """Await it; whatever it does, it is told."""
        self.sending = f"{len(flight.batch.rows)} rows of {flight.batch.topic}"
        self._tasks[flight.ticket] = asyncio.current_task()
        try:
            await apoint("outbox.send.before")
            found = await self._function(flight.batch)
            await apoint("outbox.send.after")
        except asyncio.CancelledError:
            if flight.ticket in self._tasks:  # the actor is killed, or told to stop
                raise
            flight.landed(flight.ticket, None, TimeoutError("it was cancelled, for its time was over"))
        except Exception as error:  # noqa: BLE001 - the user's code
            flight.landed(flight.ticket, None, error)
        else:
            flight.land(found)
        finally:
            self._tasks.pop(flight.ticket, None)
            self.sending = None

    @cast
    async def drop(self, ticket: int) -> None:
        """Its time is over."""
        task = self._tasks.pop(ticket, None)
        if task is not None:
            task.cancel()
