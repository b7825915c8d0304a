"""What is awaited: calls, starts, ends and sleeps, from coroutines on any running event loop.

The thread goes on with other tasks meanwhile. While a handler waits here in its own task it stands in `ref.waiting`, as
a thread that waits does: so circles of calls are found, and an order to die finds it.
"""

from __future__ import annotations

from threading import get_ident
from time import monotonic
from typing import TYPE_CHECKING, Any

from otpy.core.late import asyncio
from otpy.core.reason import NoProc
from otpy.errors import ActorExit, DeadlockError, NoProcError
from otpy.runtime.awaiting import refuse_circle
from otpy.runtime.caller import Caller
from otpy.runtime.circle import deadlock
from otpy.runtime.extras import limit_above
from otpy.runtime.mailbox import bury, open_mailbox
from otpy.runtime.message import request_word
from otpy.runtime.seat import Slot
from otpy.runtime.station import NO_LOCK, Station, station

if TYPE_CHECKING:
    from otpy.core.reason import Reason
    from otpy.runtime.crew import Node
    from otpy.runtime.ref import Ref
    from otpy.runtime.seat import Seat

__all__ = ["AwaitedCaller", "AwaitedSlot", "acall", "asleep"]


def _done(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


class AwaitedCaller(Caller):
    """A task that waits for the reply to one request."""

    __slots__ = ("_station", "_worker", "future")

    def __init__(self, spot: Station, worker: Any, asker: Seat, target: Ref[Any], message: tuple[Any, ...]) -> None:
        """Made on the loop's thread."""
        self.claim = [True]
        self.seat = asker
        self.lock = NO_LOCK
        self.value: Any = None
        self.target = target
        self.message = message
        self.error: BaseException | None = None
        self.deferred = False
        self.future: asyncio.Future[None] = spot.loop.create_future()
        self._station = spot
        self._worker = worker

    def wake(self) -> None:
        """Let the task go on."""
        worker = self._worker
        if worker is not None:
            worker.waiting = False  # before anything else: `is_idle` must see one of the two busy
        if get_ident() != self._station.ident:
            self._station.do(_done, self.future)
        elif not self.future.done():
            self.future.set_result(None)

    def interrupt(self, reason: Reason) -> None:
        """The calling actor itself was told to die: its handler is cancelled."""
        self._worker.interrupt(reason)


async def acall(  # noqa: C901, PLR0912, PLR0915 - as `call`, each function called here would be a part of what it costs
    ref: Ref[Any], message: tuple[Any, ...], timeout: float | None
) -> Any:  # Any: `Ref.acall` knows the type
    """Send a request and await its reply, as `call`."""
    spot = station()
    seat = spot.seat
    worker = seat.worker
    me: Ref[Any] | None = seat.ref if worker is None else worker.ref
    node = me if worker is None else worker.node or me  # of an actor with several handlers: which of them
    system = ref.system
    if ref.reason is not None or system.forked:
        raise NoProcError(ref.path, request_word(message), ref.reason or NoProc(), limit_above(ref))
    caller = system.awaited_class(spot, worker, worker or seat.asker(), ref, message)
    deadline = timer = None
    try:
        if worker is not None and node is not None:
            node.waiting = caller  # publish, then look, as in `call`
            if (ref is me or ref.waiting is not None) and (chain := deadlock(node, ref)):
                raise DeadlockError(ref.path, request_word(message), chain)  # noqa: TRY301 - cleaned up below
        if me is not None and me.alert:
            seat.leave_if_told()
        if timeout is not None and system.is_virtual:
            timer = system.timers.after(timeout, caller.expire, timeout)
        elif timeout is not None:
            deadline = spot.deadlines.get(timeout) or spot.deadline(timeout)
            deadline.callers[caller] = monotonic()
            if not deadline.is_set:
                deadline.set()
        # As `put`, written out.
        box = ref.mailbox
        if box is None:
            box = open_mailbox(ref)
        box.append(caller)
        tok = ref.tok
        if tok:
            try:
                tok.pop()
                home = ref.home
                home.queue.append(ref)
                if home.free:
                    home.engage()
            except IndexError:
                pass
            except BaseException:  # an interrupt, on a main thread that runs a loop of its own
                system.pool.hurt.append(ref)
                raise
        elif ref.reason is not None:
            bury(ref)
        if worker is not None:
            worker.waiting = caller.future
            if not caller.claim:
                worker.waiting = False
            elif worker.may_lend and worker.home.queue:
                worker.lend()
                if me is not None and me.alert:
                    await asyncio.sleep(0)  # told to die meanwhile, it is cancelled here, as it is where it waits
        if not caller.future.done():
            await caller.future
    except BaseException:  # cancelled, mostly
        caller.claim.clear()
        if caller.deferred:
            ref.extras().deferred.pop(caller, None)
        raise
    finally:
        if worker is not None and node is not None:
            node.waiting = None
            worker.waiting = False
        if deadline is not None:
            deadline.callers.pop(caller, None)
        elif timer is not None:
            timer.cancel()
    if me is not None and me.reason is not None:
        raise ActorExit(me.reason)
    if caller.error is not None:
        raise caller.error
    return caller.value


class AwaitedSlot(Slot):
    """A task that waits for an actor's start or end, or sleeps; an edge in the search for circles."""

    __slots__ = ("_me", "_station", "_worker", "deferred", "future", "target", "word")

    def __init__(self, target: Ref[Any] | None, word: str) -> None:
        """Publish itself, as `Awaiting`; made in the task that is about to wait."""
        spot = self._station = station()
        self.claim = [True]
        self.seat = spot.seat.worker or spot.seat.asker()
        self.lock = NO_LOCK
        self.value: Any = None
        self.future: asyncio.Future[None] = spot.loop.create_future()
        self.target = target
        self.word = word
        self.deferred = target is None
        self._worker = spot.seat.worker
        self._me: Ref[Any] | Node | None = spot.seat.node
        if self._worker is not None and self._me is not None:
            self._me.waiting = self

    def wake(self) -> None:
        """Let the task go on."""
        if self._worker is not None:
            self._worker.waiting = False
        self._station.do(_done, self.future)

    def interrupt(self, reason: Reason) -> None:
        """Its actor was told to die."""
        self._worker.interrupt(reason)

    async def hold(self) -> None:
        """Wait until it is resolved.

        Raises:
            DeadlockError: the target waits, directly or through others, for the actor that would wait here.
            ActorExit: that actor was told to die.
        """
        try:
            if self._worker is not None and self.target is not None:
                refuse_circle(self._me, self.target, self.word)
            self._station.seat.leave_if_told()
            await self.resolved()
        finally:
            self.withdraw()
        self._station.seat.leave_if_told()

    async def resolved(self) -> None:
        """Wait, whatever the actor was told."""
        worker = self._worker
        if worker is not None:
            worker.waiting = self.future
            if not self.claim:  # set, then looked, as in `Slot.wait`
                worker.waiting = False
        await self.future

    def abandon(self) -> None:
        """Wait no longer."""
        self.claim.clear()

    def withdraw(self) -> None:
        """Wait no longer, and be no edge."""
        self.claim.clear()
        if self._worker is not None and self._me is not None:
            self._worker.waiting = False
            if self._me.waiting is self:
                self._me.waiting = None


async def asleep(seconds: float) -> None:
    """Sleep on the system's clock, in a coroutine; outside of actors, and for no time, it is `asyncio.sleep`.

    Raises:
        asyncio.CancelledError: the actor was told to stop, or was killed; let it pass.
    """
    ref = station().seat.ref
    if ref is None or seconds <= 0:
        await asyncio.sleep(seconds)
        return
    slot = AwaitedSlot(None, "sleep")
    timer = ref.system.timers.after(seconds, slot.resolve, None)
    try:
        await slot.hold()
    finally:
        timer.cancel()
