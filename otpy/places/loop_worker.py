"""The workers of a loop: tasks that run actors' turns, and stay with an actor while its handler is suspended."""

from __future__ import annotations

import asyncio
import logging
from contextvars import Context
from types import coroutine
from typing import TYPE_CHECKING, Any

from otpy.core.reason import Crashed
from otpy.places.loop_seat import TaskSeat, suspended_frames
from otpy.runtime.async_death import after_async_turn
from otpy.runtime.async_turn import DONE, turns
from otpy.runtime.death import finish
from otpy.runtime.mailbox import rest_again

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from types import FrameType

    from otpy.core.reason import Reason
    from otpy.places.loop import LoopHome

__all__ = ["LoopWorker"]

log = logging.getLogger("otpy")


class _Parking(asyncio.Future[None]):
    """What a worker's task waits for while the worker rests, or while it waits for something unknown to the task."""

    bridged: asyncio.Future[Any] | None = None

    def __init__(self, worker: LoopWorker) -> None:
        super().__init__(loop=worker.home.loop)
        self._worker = worker

    def cancel(self, msg: Any | None = None) -> bool:
        """Cancel what the worker really waits for, as its task would; one that rests will not be woken any more."""
        if self.bridged is not None:
            return self.bridged.cancel(msg)
        self._worker.home.forget(self._worker)
        return super().cancel(msg)


class LoopWorker(TaskSeat):
    """One task. It is also the edge of a handler that awaits something which otpy does not know.

    A handler that suspends lends its task's step to a worker that rests, whose own task then need not be woken; mostly
    its call has been answered afterwards, and it goes on at once. Tasks are told apart as asyncio wants it of foreign
    ones (https://docs.python.org/3/library/asyncio-extending.html): `current_task` is right in each.

    All but `interrupt` runs on the loop's thread.
    """

    __slots__ = (
        "_cut",
        "_is_new",
        "_parking",
        "_told",
        "_told_of",
        "_work",
        "at_once",
        "home",
        "is_lent",
        "is_suspended",
        "may_lend",
        "stepper",
        "task",
    )

    target = None
    word = "await"
    claim = (True,)
    deferred = True

    def __init__(self, home: LoopHome) -> None:
        """Begin with the next turn; the home's one token is this worker's."""
        super().__init__(None, home.seat)
        self.home = home
        self.is_suspended = False
        self._is_new = True
        self.stepper = _stepper(home.batch)
        self._told: Reason | None = None
        self._told_of = 0  # the number of the actor whom that concerns: a reason goes from one to the next by links
        self.is_lent = False
        self.may_lend = False
        self.at_once = 0
        self._cut: object = None  # what was awaited, and cancelled, in a lent step in which the task was cancelled
        self._parking = _Parking(self)
        self._work = self._run()
        # Its own empty context: that of whoever wakes it would say that its actors' tasks belong to another.
        self.task = home.make_task(self._live(), name="otpy-worker", context=Context())
        self.task.add_done_callback(self._ended)

    def wake(self) -> None:
        """Have its task go on."""
        if not self._parking.done():
            self._parking.set_result(None)

    def run_lent(self) -> None:
        """Go on in the step of another worker's task."""
        self.is_lent = True
        try:
            out = self._work.send(None)
        except StopIteration:  # it is not needed any more
            self.wake()
            return
        finally:
            self.is_lent = False
        if out is self._parking:
            return
        # A handler is suspended; its task waits elsewhere, and has to be sent on when that is over.
        if out is None:
            self.home.loop.call_soon(self.wake)
        elif out is self.task:
            self._parking.set_exception(RuntimeError(f"Task cannot await on itself: {out!r}"))  # as asyncio says it
        elif self._parking.cancelled():  # in this very step, and so what it awaits, as by any task
            self._cut = out if out.cancel() else None
        else:
            out._asyncio_future_blocking = False  # noqa: SLF001 - asyncio's sign between a future and its task
            self._parking.bridged = out
            out.add_done_callback(self._cross)

    def _cross(self, _: object) -> None:
        self._parking.bridged = None
        self.wake()

    def interrupt(self, reason: Reason) -> None:  # noqa: ARG002 - it looks itself
        """The actor whose handler is suspended was told to die; from any thread."""
        self.home.post(self._heed)

    def frames(self) -> list[FrameType]:
        """Where the handler is suspended, or what the loop's thread runs."""
        return suspended_frames(self.stepper) if self.is_suspended else self.home.seat.frames()

    async def _live(self) -> None:
        self._is_new = False
        await self._work

    def _ended(self, _: object) -> None:
        self.home.workers.discard(self)
        if self._is_new:  # cancelled before its first step
            self._work.close()
            self.home.put_back()

    @coroutine
    def _run(self) -> Generator[Any, Any, None]:  # noqa: C901, PLR0912, PLR0915 - the hot loop, and one story
        home = self.home
        queue, free, seat = home.queue, home.free, home.seat
        send = self.stepper.send
        left = home.turns_at_once
        while True:
            # It has the token, its own or its lender's: it gives turns, one actor after the other.
            has_token, is_spoilt = True, False
            while queue:
                ref = queue.popleft()
                home.steps += 1
                self.ref = ref
                context = ref.context
                if context is None:
                    context = home.context_for(ref)
                seat.worker = self
                try:
                    out = context.run(send, ref)
                except BaseException as error:
                    out = self._mend(error)
                    send = self.stepper.send
                seat.worker = None
                if out is not DONE:
                    has_token = yield from self._suspended(context, out)
                    send = self.stepper.send
                    is_spoilt = self._is_spoilt()
                self.ref = None
                if ref.mailbox or ref.alert:
                    after_async_turn(ref)
                else:
                    # As `mailbox.rest`, written out: put `tok` back, then look again.
                    ref.current = None
                    ref.tok.append(True)
                    if ref.mailbox or ref.alert:
                        rest_again(ref)
                if context is home.spare:
                    home.return_context(ref)
                ref = context = None
                if not has_token or is_spoilt:
                    break
                left -= 1
                if not left:
                    left = home.turns_at_once
                    if self.is_lent:
                        break
                    try:
                        yield None
                    except BaseException:  # cancelled by who cancels all tasks of a loop, or the loop is closed
                        home.put_back()
                        raise
            # There is nothing left to run, or others are to run first: it gives the token back.
            if self.is_lent:
                has_token = False  # it is the lender's, who puts it back
            if self._is_spoilt():
                if has_token:
                    home.put_back()
                home.notice_idle()
                return
            if has_token:
                free.append(True)  # append, then look; who appends to the queue then looks at `free`
                if queue and _take(free):
                    continue
                home.notice_idle()
            # It rests until somebody wakes it, or lends it a step.
            if not home.keep(self):
                return
            if self._parking.done():
                self._parking = _Parking(self)
            self._parking._asyncio_future_blocking = True  # noqa: SLF001 - as `await` does
            try:
                yield self._parking
            except BaseException:  # the same
                if self._parking.done() and not self._parking.cancelled():
                    home.put_back()  # it was woken to begin, and had the token
                raise

    @coroutine
    def _suspended(  # noqa: C901, PLR0912, PLR0915 - hot as well
        self, context: Context, out: Any
    ) -> Generator[Any, Any, bool]:
        """Stay with an actor until its turn is over, while others go on; whether the token could be had again then."""
        home, ref, stepper = self.home, self.ref, self.stepper
        assert ref is not None  # noqa: S101 - it runs one
        send, run, seat, queue, free = stepper.send, context.run, home.seat, home.queue, home.free
        watchers = home.system.pool.idle_watchers
        has_token = True
        self.at_once = 0
        home.suspended.add(self)
        if context is home.spare:
            home.return_context(ref, is_used=True)
        while out is not DONE:
            if ref.waiting is None:
                ref.waiting = self
            self.is_suspended = True
            if not self.since:
                self.since = home.system.clock.now()
            if ref.alert:  # published, then looked: who has an order for it notes it, then looks for who waits
                self._heed()
            # Its handler waits: whoever else has something to do may run.
            step, value = send, None
            if has_token:
                if queue:
                    home.lend(self)
                if not self.is_lent:
                    free.append(True)
                    if queue:
                        home.engage()
            if watchers and self.waiting:
                home.notice_idle()
            if self.at_once < home.turns_at_once and out is not None and out.done() and self._told is None:
                self.at_once += 1
                out._asyncio_future_blocking = False  # noqa: SLF001 - as above
            else:
                self.at_once = 0
                try:
                    value = yield out
                except GeneratorExit:
                    stepper.close()
                    raise
                except BaseException as error:
                    step, value = stepper.throw, error
                    if self._cut is not None:
                        step, value = yield from self._cut_off(out)
            # What it waited for has come, or an order to die: the handler goes on.
            has_token = self.may_lend = self.is_lent or _take(free)
            self.is_suspended = self.waiting = False
            home.steps += 1
            if home.watch.is_asleep:
                home.watch.wake()
            if ref.waiting is self:
                ref.waiting = None
            seat.worker = self
            try:
                out = run(step, value)
            except BaseException as error:
                out = self._mend(error)
            seat.worker = None
            step = value = None
        self._told = None
        self.may_lend = False
        self.since = 0.0
        home.suspended.discard(self)
        return has_token

    @coroutine
    def _cut_off(self, out: Any) -> Generator[Any, Any, tuple[Callable[[Any], Any], Any]]:
        """Wait in its own task for what was cancelled in a lent step; returns how the handler goes on."""
        self._cut = None
        try:
            return self.stepper.send, (yield out)
        except GeneratorExit:
            self.stepper.close()
            raise
        except BaseException as error:
            return self.stepper.throw, error

    def lend(self) -> None:
        """Have what it has just sent handled in the middle of its step: mostly the answer is there afterwards."""
        home = self.home
        if self.at_once < home.turns_at_once:
            self.at_once += 1
            self.may_lend = False
            home.lend(self)
            home.steps += 1
            home.seat.worker = self
            self.may_lend = True

    def know(self, order: Reason | None) -> None:
        """Its handler acts on this order already, and is not to be cancelled for it."""
        self._told = order
        self._told_of = 0 if self.ref is None else self.ref.number

    def _heed(self) -> None:
        """Cancel the handler once for each order to die."""
        ref = self.ref
        if ref is None or not self.is_suspended:
            return
        order = ref.reason or (ref.more.pending if ref.more is not None else None)
        if order is not None and (order is not self._told or ref.number != self._told_of):
            self._told, self._told_of = order, ref.number
            self.waiting = False
            self.task.cancel()

    def _is_spoilt(self) -> bool:
        """Whether a cancellation is left that was meant for a handler which has ended: it must not hit the next."""
        return bool(self.task.cancelling()) or bool(getattr(self.task, "_must_cancel", False))

    def _mend(self, error: BaseException) -> object:
        """A turn failed outside of its actor's code, by a mistake of otpy's own: end the actor, and go on."""
        log.critical("a turn on the loop failed outside of its actor's code", exc_info=error)
        self.stepper = _stepper(self.home.batch)
        if self.ref is not None:
            finish(self.ref, Crashed.of(error))
        return DONE


def _take(tokens: list[Any]) -> bool:
    try:
        tokens.pop()
    except IndexError:
        return False
    return True


def _stepper(batch: int) -> Any:
    """A generator that waits for its first actor."""
    stepper: Any = turns(batch)
    stepper.send(None)
    return stepper
