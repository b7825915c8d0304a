"""A turn: one actor handles messages on the thread that popped its `tok`, until its mailbox or its budget is empty."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.core.decision import Continue, Decision, NoReply, Reply, Stop
from otpy.core.reason import BadReturn, Crashed, Reason
from otpy.core.text import safe_repr
from otpy.errors import ActorExit
from otpy.runtime import death, idle_timeout
from otpy.runtime.mailbox import bury, rest
from otpy.runtime.seat import here

if TYPE_CHECKING:
    from otpy.runtime.caller import Caller
    from otpy.runtime.message import Message
    from otpy.runtime.ref import Ref
    from otpy.runtime.seat import Seat

__all__ = ["BadReturnError", "after_turn", "defer", "may_go_on", "reason_for", "settle", "turn"]


def turn(ref: Ref[Any], budget: int, seat: Seat) -> None:  # noqa: C901, PLR0912 - the hot loop, and one story
    """Handle messages on the thread of `seat`, in the actor's own context; `after_turn` must follow, outside of it.

    The last reply of a turn to a thread outside of the pool is left in `seat.late`: whoever is woken before this thread
    is done with its turn would at once fight with it for the interpreter.
    """
    try:
        if ref.alert and not attend(ref):
            return
        box = ref.mailbox
        if box is None:
            return
        actor = ref.actor
        late = caller = None
        while box and budget:
            if late is not None:
                late = late.wake()
            budget -= 1
            try:
                message: Any = box.popleft()
            except IndexError:
                return  # a kill emptied it first
            # Publish what is handled, then look at `alert`: a killer sets `alert`, then looks at `current`.
            ref.current = message
            if ref.alert and not attend(ref, message):
                return
            if message.__class__ is tuple:
                caller = None
            else:
                caller = message
                message = caller.message
            size = len(message)  # written out by size: a call with a starred tuple costs twice as much
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
            if caller is None:
                if result is not None:
                    settle(ref, result, None)
            elif isinstance(result, Decision):
                settle(ref, result, caller)
            else:
                try:
                    caller.claim.pop()
                except IndexError:
                    continue  # it was answered by hand, or no longer waits
                caller.value = result
                if caller.seat.pool is None:
                    late = caller
                else:
                    caller.wake()
        seat.late = late
    except BaseException as error:
        crash(ref, error)


def after_turn(ref: Ref[Any]) -> None:
    """Let an actor rest after a turn, or queue it again; drop one that died in it (its `alert` stays set)."""
    if ref.reason is None:
        ref.current = None
        rest(ref)
        return
    seat = here()
    if seat.late is not None:  # what is closed now may take its time
        seat.wake_late()
    death.leave(ref)


def settle(ref: Ref[Any], decision: object, caller: Caller | None) -> None:
    """Do what a handler decided; a decision to go on with `Continue` is followed at once, before any other message."""
    while ref.reason is None:  # killed in the meantime, it decides nothing any more
        match decision:
            case None:
                return
            case Reply(value=value, timeout=timeout, then=then) if caller is not None:
                caller.resolve(value)
            case NoReply(timeout=timeout, then=then):
                if caller is not None and caller.claim:
                    defer(ref, caller)
            case Stop(reason=reason):
                stop(ref, decision, reason, caller)
                return
            case Continue():
                timeout, then = None, decision
            case _:
                raise BadReturnError(decision)
        if timeout is not None:
            idle_timeout.arm_timeout(ref, timeout)
        if then is None:
            return
        caller, actor = None, ref.actor
        decision = actor.handle_continue(then.term)
    ref.alert = True  # its killer may not have come so far yet: this turn must not end as that of a living one


def defer(ref: Ref[Any], caller: Caller) -> None:
    """List a caller that will be answered later."""
    deferred = ref.extras().deferred
    caller.deferred = True
    deferred[caller] = None
    # Listed, then looked; an answer from another thread takes the claim, then drops it from the list.
    if not caller.claim:
        deferred.pop(caller, None)


def stop(ref: Ref[Any], decision: Stop, reason: Reason, caller: Caller | None) -> None:
    """End as decided: `terminate` first, then the reply, then the exit. OTP: {stop, Reason, Reply, State}."""
    reason = death.terminate(ref, reason)
    if ref.more is not None and ref.more.pending is reason:
        death.obey(ref)  # an exit signal cut `terminate` short: it is dead before it comes to reply
        return
    if decision.has_reply and caller is not None:
        caller.resolve(decision.reply)
    death.end(ref, reason)


class BadReturnError(Exception):
    """A handler returned what it may not."""

    def __init__(self, value: object) -> None:
        """Keep the value as text."""
        super().__init__(safe_repr(value))


def crash(ref: Ref[Any], error: BaseException) -> None:
    """End the actor because an exception left its code; whatever happens on the way, it ends."""
    try:
        _crash(ref, error)
    except BaseException as another:
        death.finish(ref, Crashed(type(another).__name__, "raised while the crash was dealt with"))


def _crash(ref: Ref[Any], error: BaseException) -> None:
    if ref.reason is not None:
        ref.alert = True  # as in `settle`
        return
    if isinstance(error, ActorExit) and ref.more is not None and ref.more.pending is not None:
        death.obey(ref)  # an exit signal cut short what it waited for
        return
    death.end(ref, death.terminate(ref, reason_for(error)))


def reason_for(error: BaseException) -> Reason:
    """The exit reason of an actor whose code an exception has left."""
    match error:
        case ActorExit():
            return error.reason
        case BadReturnError():
            return BadReturn(str(error))
    return Crashed.of(error, death.BOX)


def attend(ref: Ref[Any], message: Message | None = None) -> bool:
    """Look after what is rare: kills, exit signals, inspections, suspension, timeouts.

    Returns:
        Whether the turn may go on with the message; if not it has been put back, or will be buried with the actor.
    """
    ref.alert = False  # before the lane is read, never after
    more = ref.extras()
    if more.birth is not None and ref.reason is None:
        birth, more.birth = more.birth, None
        birth(ref)
    while more.lane and ref.reason is None:
        ref.current = ref.current or "system"
        more.lane.popleft()(ref)
    return may_go_on(ref, message)


def may_go_on(ref: Ref[Any], message: Message | None) -> bool:
    """Whether a turn may go on with a message after it has looked at what is rare; if not the message is put back."""
    more = ref.extras()
    if ref.reason is None and not more.suspended:
        if more.idle_timer is not None and not idle_timeout.disarm_timeout(ref, message):
            ref.alert = True  # never set to False here: it may have been raised in the meantime
        return True
    ref.alert = True
    if message is not None and ref.mailbox is not None:
        ref.mailbox.appendleft(message)
        if ref.reason is not None:
            bury(ref)
    return False
