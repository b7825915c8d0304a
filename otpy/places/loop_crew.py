"""Several handlers of one actor in flight on a loop, each in a task of its own.

The actor's turn takes message after message out of the mailbox and runs the first step of each handler, so they begin
in order; what a handler awaits, its task waits for. All that is for the actor as a whole stays with its turn: `init`,
orders to die, `terminate`. A handler that has decided that the actor ends, or has crashed, leaves the rest to the turn.
"""

from __future__ import annotations

import asyncio
import logging
from asyncio.tasks import _enter_task, _leave_task  # public, as in `loop`
from collections.abc import Coroutine
from contextvars import Context, ContextVar, copy_context
from typing import TYPE_CHECKING, Any

from otpy.core.decision import Stop
from otpy.errors import ActorExit
from otpy.places.loop_seat import TaskSeat, suspended_frames
from otpy.runtime.async_turn import async_settle, attend, crash, serve, stop
from otpy.runtime.crew import Crew, Node
from otpy.runtime.mailbox import poke, rest_again
from otpy.runtime.suspension import is_order
from otpy.runtime.turn import defer

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from otpy.core.reason import Reason
    from otpy.places.loop import LoopHome
    from otpy.runtime.caller import Caller
    from otpy.runtime.message import Message
    from otpy.runtime.ref import Ref

__all__ = ["LoopCrew"]

log = logging.getLogger("otpy")

HANDLING: ContextVar[Handler | None] = ContextVar("otpy_handling", default=None)
"""Set in the context of each handler, which the tasks that its code starts inherit: for whom they work."""

_NOTHING: Any = object()


class Handler(TaskSeat, Coroutine[Any, Any, None]):
    """One handler in flight: the seat of its task, and the coroutine that this task runs.

    Its first step runs in the actor's turn; what it has yielded there is yielded to its task as soon as that begins.
    """

    __slots__ = ("_crew", "_first", "_told", "_work", "home", "is_suspended", "node", "task")

    def __init__(self, crew: LoopCrew, node: Node, work: Coroutine[Any, Any, None], context: Context) -> None:
        """Run no step yet."""
        home = self.home = crew.home
        super().__init__(crew.ref, home.seat)
        self.node = node
        self.since = crew.ref.system.clock.now()
        self.is_suspended = False
        self._crew = crew
        self._work = work
        self._first = _NOTHING
        self._told: object = None
        self.task: asyncio.Task[None] = home.make_task(self, name="otpy-handler", context=context)

    def begin(self, context: Context) -> None:
        """Run the first step, as in its own task."""
        loop = self._crew.home.loop
        turn = asyncio.current_task(loop)
        if turn is not None:
            _leave_task(loop, turn)
        _enter_task(loop, self.task)
        try:
            self._first = context.run(self._step, self._work.send, None)
        except StopIteration as end:
            self._first = end
        finally:
            _leave_task(loop, self.task)
            if turn is not None:
                _enter_task(loop, turn)

    def send(self, value: Any) -> Any:
        """Go on; called by its task."""
        first, self._first = self._first, _NOTHING
        if isinstance(first, StopIteration):
            raise first
        return self._step(self._work.send, value) if first is _NOTHING else first

    def throw(self, error: Any, *_: Any) -> Any:  # tasks give the exception alone
        """Go on with an exception; called by its task."""
        first, self._first = self._first, _NOTHING
        if isinstance(first, StopIteration):
            raise first
        if isinstance(first, asyncio.Future) and first.cancel(*getattr(error, "args", ())[:1]):
            return first  # as the task had done, had it come to wait for it
        return self._step(self._work.throw, error)

    def close(self) -> None:
        """Drop it; called when its loop is gone."""
        self._work.close()

    def __await__(self) -> Any:
        raise NotImplementedError

    def _step(self, step: Callable[[Any], Any], value: Any) -> Any:
        home, seat = self._crew.home, self._crew.home.seat
        home.steps += 1
        if home.watch.is_asleep:
            home.watch.wake()
        self.is_suspended = self.waiting = False
        outer, seat.worker = seat.worker, self
        try:
            out = step(value)
        except GeneratorExit:
            raise
        except BaseException as error:
            self._crew.end(self, None if isinstance(error, StopIteration) else error)
            raise StopIteration from None
        finally:
            seat.worker = outer
        self.is_suspended = True
        if self._crew.ref.alert:  # published, then looked, as a worker does
            self._crew.heed()
        if self.waiting:
            home.notice_idle()
        return out

    def cancel(self, order: object) -> None:
        """Cancel it once for each order."""
        if self.is_suspended and order is not self._told:
            self._told = order
            self.waiting = False
            self.task.cancel()

    def interrupt(self, reason: Reason) -> None:
        """As that of all of them."""
        self._crew.interrupt(reason)

    def frames(self) -> list[FrameType]:
        """Where it is suspended, or what the loop's thread runs."""
        return suspended_frames(self._work) if self.is_suspended else self._crew.home.seat.frames()


class LoopCrew(Crew):
    """Those of one actor."""

    def __init__(self, home: LoopHome, ref: Ref[Any]) -> None:
        """Have none in flight."""
        super().__init__(ref, ref.actor_class.max_concurrency)
        self.home = home
        self._verdict: Callable[[], Coroutine[Any, Any, None]] | None = None
        self._is_ending = False
        self._ending = object()
        self._changed: asyncio.Future[None] | None = None
        self._waiter: Any = None  # the seat of the turn that waits for them

    # In the actor's turn.

    async def turn(self, budget: int) -> None:
        """Begin with so many messages, as long as there is room; as `turn.turn`."""
        ref = self.ref
        box, actor = ref.mailbox, ref.actor
        while box and budget and not self.is_full:
            budget -= 1
            try:
                message = box.popleft()
            except IndexError:
                return
            ref.current = message
            if ref.alert and not await attend(ref, message):
                return
            caller = None if isinstance(message, tuple) else message
            flat: Any = message if caller is None else caller.message
            result = flat[0](actor, *flat[1:])
            if isinstance(result, Stop):
                await async_settle(ref, result, caller)
            elif result is not None or caller is not None:
                self._begin(message, result, caller)

    def _begin(self, message: Message, result: object, caller: Caller | None) -> None:
        context = copy_context()
        node = Node(self.ref, message)
        handler = Handler(self, node, serve(self.ref, result, caller, self._decide), context)
        context.run(HANDLING.set, handler)
        self.nodes[node] = handler
        self.is_full = len(self.nodes) >= self.limit
        self.ref.waiting = self
        self.home.suspended.add(handler)
        self.home.workers.add(handler)
        handler.begin(context)
        if self.ref.alert:
            self.heed()

    async def make_way(self) -> None:
        """See `Crew`. Those before a wish to stop end by themselves, as they would if there were one at a time."""
        current: Any = self.ref.current
        is_asked = current is not None and not isinstance(current, str) and is_order(self.ref, current)
        if is_asked and not self._is_ending:
            await self.drain()
            if (work := self._pass(self.ref)) is not None:
                await work
        self._is_ending = True
        for handler in list(self.nodes.values()):
            handler.cancel(self._ending)
        while self.nodes:
            await self._change()

    async def drain(self) -> None:
        """See `Crew`."""
        while self.nodes and self._verdict is None:
            await self._change()

    async def _change(self) -> None:
        """Wait until one of them has ended."""
        worker = self._waiter = self.home.seat.worker
        self._changed = self.home.loop.create_future()
        if worker is not None:
            worker.waiting = self._changed
        try:
            await self._changed
        except asyncio.CancelledError:
            more = self.ref.extras()
            if self.ref.reason is None and more.pending is None:
                raise
            task = asyncio.current_task()  # an order to die: they have got it as well
            if task is not None:
                task.uncancel()
        finally:
            self._changed = self._waiter = None

    def _pass(self, ref: Ref[Any]) -> Coroutine[Any, Any, None] | None:
        """Do what one of them has decided; None when it is done already."""
        verdict, self._verdict = self._verdict, None
        return None if verdict is None or ref.reason is not None else verdict()

    # In one of them.

    async def _decide(self, ref: Ref[Any], decision: Stop, reason: Reason, caller: Caller | None) -> None:
        """It ends the actor: the turn does, when this one is over."""
        handler = HANDLING.get()
        message = None if handler is None else handler.node.message
        self._judge(message, lambda: stop(ref, decision, reason, caller))

    def end(self, handler: Handler, error: BaseException | None) -> None:
        """One has ended."""
        ref = self.ref
        message: Any = handler.node.message
        if error is not None and not self._is_order(error):
            self._judge(message, lambda: crash(ref, error))
        elif error is not None and not isinstance(message, tuple) and message.claim:
            defer(ref, message)  # the actor's end, which is near, tells who waits
        self.nodes.pop(handler.node, None)
        self.is_full = False
        if not self.nodes and ref.waiting is self:
            ref.waiting = None
        if self._changed is not None and not self._changed.done():
            if self._waiter is not None:
                self._waiter.waiting = False  # before anything else: `is_idle` must see one of the two busy
            self._changed.set_result(None)
        rest_again(ref)
        self.home.suspended.discard(handler)
        self.home.workers.discard(handler)
        self.home.notice_idle()

    def _is_order(self, error: BaseException) -> bool:
        """Whether it ended because the actor does, which is nobody's decision; what else it raised then is logged."""
        ref = self.ref
        is_told = ref.reason is not None or ref.extras().pending is not None or self._is_ending
        if is_told and not isinstance(error, ActorExit | asyncio.CancelledError):
            log.error("%s: a handler raised while it was cancelled", ref.path, exc_info=error)
        return is_told

    def _judge(self, message: Message | None, verdict: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """The first of them that ends the actor says how."""
        if self._is_ending:
            return
        self._is_ending = True

        def judge() -> Coroutine[Any, Any, None]:
            self.ref.current = message
            return verdict()

        self._verdict = judge
        poke(self.ref, self._pass)

    def caller(self) -> Caller | None:
        """See `Crew`."""
        handler = HANDLING.get()
        message: Any = handler.node.message if handler is not None and handler.ref is self.ref else self.ref.current
        return None if message is None or isinstance(message, tuple | str) else message

    # From outside.

    def interrupt(self, reason: Reason) -> None:  # noqa: ARG002 - each looks itself
        """The actor was told to die; from any thread."""
        self.home.post(self.heed)

    def heed(self) -> None:
        """Cancel all of them once for each order to die."""
        order = self.ref.reason or self.ref.extras().pending
        if order is not None:
            for handler in list(self.nodes.values()):
                handler.cancel(order)
