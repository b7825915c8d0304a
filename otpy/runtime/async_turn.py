"""A turn on a loop: as `turn`, where any callback may be a coroutine function and wait in the middle.

A turn is the part of a generator between two `DONE`s, so one that waits for nothing costs no object of its own. Each
step of it runs in the actor's own context; what a coroutine yields to its task is yielded on.
"""

from __future__ import annotations

from types import CoroutineType, coroutine
from typing import TYPE_CHECKING, Any

from otpy.core.decision import Continue, Decision, NoReply, Reply, Stop
from otpy.core.late import is_cancelled
from otpy.core.reason import Crashed, Reason
from otpy.errors import ActorExit
from otpy.runtime import death, idle_timeout
from otpy.runtime.async_death import async_end, async_obey, async_terminate, farewell
from otpy.runtime.turn import BadReturnError, defer, may_go_on, reason_for

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator

    from otpy.runtime.caller import Caller
    from otpy.runtime.message import Message
    from otpy.runtime.ref import Ref

__all__ = ["DONE", "async_settle", "attend", "crash", "serve", "stop", "turns"]

DONE = object()
"""What `turns` yields when a turn is over."""


@coroutine
def turns(budget: int) -> Generator[Any, Any, None]:  # noqa: C901, PLR0912, PLR0915 - the hot loop, and one story
    """Run the turns of one actor after another: it is sent the ref of each, and yields `DONE` after its turn."""
    function: Any
    message: Any
    while True:
        # Whom it ran must be able to go.
        ref = box = actor = message = caller = function = argument = other = result = None
        ref = yield DONE
        try:
            if ref.alert and not (yield from attend(ref)):
                left = 0
            elif ref.more is not None and ref.more.crew is not None:
                left = 0
                yield from ref.more.crew.turn(budget)
            else:
                box, actor, left = ref.mailbox, ref.actor, budget
            while box and left:
                left -= 1
                try:
                    message = box.popleft()
                except IndexError:
                    break  # a kill emptied it first
                # Publish what is handled, then look at `alert`, as in `turn`.
                ref.current = message
                if ref.alert and not (yield from attend(ref, message)):
                    break
                if message.__class__ is tuple:
                    caller = None
                else:
                    caller = message
                    message = caller.message
                size = len(message)
                if size == 1:
                    result = message[0](actor)
                elif size == 2:  # noqa: PLR2004
                    function, argument = message
                    result = function(actor, argument)
                elif size == 3:  # noqa: PLR2004
                    function, argument, other = message
                    result = function(actor, argument, other)
                else:
                    result = message[0](actor, *message[1:])
                if result.__class__ is CoroutineType:
                    result = yield from result  # type: ignore[misc]  # mypy does not know that `coroutine` allows it
                if caller is None:
                    if result is not None:
                        yield from async_settle(ref, result, None)
                elif isinstance(result, Decision):
                    yield from async_settle(ref, result, caller)
                else:
                    try:
                        caller.claim.pop()
                    except IndexError:
                        continue  # it was answered by hand, or no longer waits
                    caller.value = result
                    caller.wake()
        except GeneratorExit:  # the loop was closed under it
            raise
        except BaseException as error:
            yield from crash(ref, error)
        if ref.reason is not None:
            yield from farewell(ref)


async def stop(ref: Ref[Any], decision: Stop, reason: Reason, caller: Caller | None) -> None:
    """As `turn.stop`."""
    reason = await async_terminate(ref, reason)
    if ref.more is not None and ref.more.pending is reason:
        await async_obey(ref)
        return
    if decision.has_reply and caller is not None:
        caller.resolve(decision.reply)
    await async_end(ref, reason)


async def async_settle(  # noqa: C901 - one a case, as in `turn.settle`
    ref: Ref[Any],
    decision: Any,
    caller: Caller | None,
    end: Callable[[Ref[Any], Stop, Reason, Caller | None], Coroutine[Any, Any, None]] = stop,
) -> None:
    """As `turn.settle`; the decision may be a coroutine that makes it, and `end` says how it ends the actor."""
    while ref.reason is None:
        if decision.__class__ is CoroutineType:
            decision = await decision
            continue
        match decision:
            case None:
                return
            case Reply(value=value, timeout=timeout, then=then) if caller is not None:
                caller.resolve(value)
            case NoReply(timeout=timeout, then=then):
                if caller is not None and caller.claim:
                    defer(ref, caller)
            case Stop(reason=reason):
                await end(ref, decision, reason, caller)
                return
            case Continue():
                timeout, then = None, decision
            case _:
                raise BadReturnError(decision)
        if timeout is not None:
            idle_timeout.arm_timeout(ref, timeout)
        if then is None:
            return
        caller = None
        decision = ref.actor.handle_continue(then.term)
    if decision.__class__ is CoroutineType:
        decision.close()
    ref.alert = True  # as in `turn.settle`


async def serve(
    ref: Ref[Any],
    work: Any,
    caller: Caller | None,
    end: Callable[[Ref[Any], Stop, Reason, Caller | None], Coroutine[Any, Any, None]],
) -> None:
    """Handle one message beside the turn: await its handler, if it is a coroutine, and do what that has decided."""
    result = await work if work.__class__ is CoroutineType else work
    if isinstance(result, Decision) or (caller is None and result is not None):
        await async_settle(ref, result, caller, end)
    elif caller is not None:
        caller.resolve(result)


async def crash(ref: Ref[Any], error: BaseException) -> None:
    """As `turn.crash`."""
    try:
        await _crash(ref, error)
    except GeneratorExit:
        raise
    except BaseException as another:
        death.finish(ref, Crashed(type(another).__name__, "raised while the crash was dealt with"))


async def _crash(ref: Ref[Any], error: BaseException) -> None:
    if ref.reason is not None:
        ref.alert = True
        return
    is_told = isinstance(error, ActorExit) or is_cancelled(error)
    if is_told and ref.more is not None and ref.more.pending is not None:
        await async_obey(ref)
        return
    await async_end(ref, await async_terminate(ref, reason_for(error)))


async def attend(ref: Ref[Any], message: Message | None = None) -> bool:
    """As `turn.attend`."""
    ref.alert = False
    more = ref.extras()
    later: Any
    if more.birth is not None and ref.reason is None:
        birth, more.birth = more.birth, None
        later = birth(ref)
        if later.__class__ is CoroutineType:
            await later
    while more.lane and ref.reason is None:
        ref.current = ref.current or "system"
        later = more.lane.popleft()(ref)
        if later.__class__ is CoroutineType:
            await later
    return may_go_on(ref, message)
