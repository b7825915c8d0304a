"""Birth of an actor: its start handshake, `init`, and what becomes of it when that fails."""

from __future__ import annotations

from contextvars import Context
from types import CoroutineType
from typing import TYPE_CHECKING, Any

from otpy.core.decision import Continue, Decision, Fail, Ignore, NoReply, Stop
from otpy.core.late import is_cancelled
from otpy.core.reason import BadReturn, BadSpec, Crashed, Exit, Normal, Reason, TimedOut
from otpy.core.text import safe_repr
from otpy.errors import ActorExit, IgnoredError, StartError, StartTimeoutError, TreeSpecError
from otpy.runtime.async_death import async_close
from otpy.runtime.death import BOX, close_resources, finish, kill, leave, report_crash
from otpy.runtime.extras import nobody, take_starter
from otpy.runtime.links import drop_link
from otpy.runtime.mailbox import ready, rest, rest_again
from otpy.runtime.restoring import restore, settle
from otpy.runtime.seat import here

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.runtime.ref import Ref

__all__ = [
    "PENDING",
    "begin",
    "begin_inline",
    "conclude",
    "expire_start",
    "fail_start",
    "started",
]

PENDING = Decision()
"""From `init`: not done yet; `started` says when. A supervisor's children may take turns of their own to start."""


def begin(ref: Ref[Any], args: tuple[Any, ...], kwargs: dict[str, Any], starter: Callable[[object], object]) -> None:
    """Run `init` in the new actor's first turn; `starter` is told None, or the StartError, exactly once."""
    more = ref.extras()
    more.starter = [starter]
    more.birth = lambda own: _first_turn(own, args, kwargs)
    ref.alert = True
    if ref.reason is not None:  # set `starter`, then look; a death sets `reason`, then looks for the starter
        take_starter(ref)(StartError(ref.path, ref.reason))
    try:
        is_queued = ready(ref)
    except BaseException:
        ref.system.pool.hurt.append(ref)
        raise
    if not is_queued:
        _cancel_start(ref)


def _first_turn(ref: Ref[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
    outcome = run_init(ref, args, kwargs)
    if outcome.__class__ is CoroutineType:
        return _started_later(ref, outcome)
    started(ref, outcome)
    return None


async def _started_later(ref: Ref[Any], init: Any) -> None:
    """The same for an `init` that is a coroutine function; awaited by the turn of an actor on a loop."""
    try:
        result = await init
    except BaseException as error:
        await async_close(ref)
        outcome: object = _failed_init(ref, error)
    else:
        is_told = ref.more is not None and ref.more.pending is not None
        if is_told or not (result is None or isinstance(result, Continue | NoReply)):
            await async_close(ref)
        outcome = conclude(ref, result)
    started(ref, outcome)


def _failed_init(ref: Ref[Any], error: BaseException) -> StartError:
    """Its `init` was cancelled by a kill or an exit signal, or has crashed."""
    told = ref.more.pending if ref.more is not None else None
    if isinstance(error, ActorExit):
        return fail_start(ref, error.reason)
    if is_cancelled(error) and ref.reason is not None:
        return fail_start(ref, ref.reason)
    if is_cancelled(error) and told is not None:
        return _undo_start(ref, told, StartError(ref.path, told))
    return fail_start(ref, Crashed.of(error, BOX))


def _cancel_start(ref: Ref[Any]) -> None:
    """No thread could be had for `init`: the start fails, unless one was found in the meantime."""
    tell = take_starter(ref)
    if tell is not nobody:
        _drop_parent(ref)
        kill(ref)
        text = f"{ref.path} did not start: no thread could be started to run its init"
        tell(StartError(ref.path, Exit("system_limit"), text))


def begin_inline(ref: Ref[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> StartError | None:
    """Run `init` now, on the starter's thread but in the actor's own context; for a starter that would only wait."""
    seat = here()
    outer = seat.ref
    seat.ref = ref
    # A context that is still empty afterwards serves the next start: most actors of a large system never need one.
    context, seat.spare = seat.spare, None
    if context is None:
        context = Context()
    try:
        outcome = context.run(run_init, ref, args, kwargs)
    finally:
        seat.ref = outer
    ref.current = None
    if ref.reason is None:
        settle(ref, None)
        if context:
            ref.context = context
        else:
            seat.spare = context
        if ref.mailbox or ref.alert:
            rest(ref)
        else:
            ref.tok.append(True)  # as in `rest`
            rest_again(ref)
        return None
    leave(ref)
    return outcome if isinstance(outcome, StartError) else StartError(ref.path, ref.reason)


def run_init(ref: Ref[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
    """Make the user's object and run its `init`; returns None, PENDING, or the StartError of one that has ended."""
    ref.current = "init"
    if ref.reason is not None:
        return fail_start(ref, ref.reason)  # killed before it came to run
    try:
        actor = ref.actor = ref.actor_class.make(ref)
        if ref.actor_class.otpy_persists:
            restore(ref)
        result = actor.boot(args, kwargs)
    except ActorExit as way_out:
        return fail_start(ref, way_out.reason)
    except BaseException as error:
        return fail_start(ref, Crashed.of(error, BOX))
    return conclude(ref, result)


def conclude(ref: Ref[Any], result: object) -> object:  # noqa: PLR0911 - one a case
    """Do what `init` has decided by its result."""
    told = ref.more.pending if ref.more is not None else None
    if told is not None and not isinstance(result, Stop):  # an exit signal came meanwhile: OTP's would have cut `init`
        if result.__class__ is CoroutineType:
            result.close()  # it has not even begun
        return _undo_start(ref, told, StartError(ref.path, told))
    match result:
        case None:
            return None
        case Continue() | NoReply():
            _go_on_later(ref, result)
            return None
        case Ignore():
            return _undo_start(ref, Normal(), IgnoredError(ref.path, Normal()))
        case Stop(reason=reason):
            return fail_start(ref, reason)
        case Fail(reason=reason):
            return _undo_start(ref, Normal(), _start_error(ref, reason))
        case _ if result is PENDING or (result.__class__ is CoroutineType and ref.home.settle is not None):
            return result
    return fail_start(ref, BadReturn(safe_repr(result)))


def _go_on_later(ref: Ref[Any], decision: Decision) -> None:
    """Follow what `init` decided, after the starter was released and before any message."""

    def go_on(own: Ref[Any]) -> object:
        own.current = "continue"
        return own.settle(decision, None)

    with ref.system.lock:
        ref.extras().add_to_lane(go_on)
    ref.alert = True


def started(ref: Ref[Any], outcome: object) -> None:
    """Release the starter, unless `init` is not done yet or somebody else has told it already."""
    if outcome is not PENDING:
        ref.current = None
        if ref.reason is not None and outcome is None:
            outcome = StartError(ref.path, ref.reason)
        elif outcome is None:
            settle(ref, None)
        take_starter(ref)(outcome)


def _start_error(ref: Ref[Any], reason: Reason) -> StartError:
    return TreeSpecError(ref.path, reason) if isinstance(reason, BadSpec) else StartError(ref.path, reason)


def fail_start(ref: Ref[Any], reason: Reason) -> StartError:
    """End an actor whose `init` failed; its starter learns of it when nothing of it is left, and by no other way."""
    report_crash(ref, reason)
    return _undo_start(ref, reason, StartError(ref.path, ref.reason or reason))


def _undo_start(ref: Ref[Any], reason: Reason, error: StartError) -> StartError:
    tell = take_starter(ref)  # before the death, which would tell the starter otherwise
    settle(ref, error)
    _drop_parent(ref)
    if ref.reason is None:
        close_resources(ref)
        finish(ref, reason)
    tell(error)
    return error


def _drop_parent(ref: Ref[Any]) -> None:
    """A start fails: the starter gets the error, and no exit signal beside it."""
    if ref.parent is not None:
        drop_link(ref, ref.parent)


def expire_start(ref: Ref[Any], seconds: float) -> None:
    """The time for `init` is over: kill the actor and tell its starter; too late when `init` was done first."""
    tell = take_starter(ref)
    if tell is not nobody:
        text = f"{ref.path} did not start: its init took longer than {seconds:g} s and was killed"
        error = StartTimeoutError(ref.path, TimedOut(), text)
        settle(ref, error)  # before the kill, which would be an excuse
        _drop_parent(ref)
        kill(ref)
        tell(error)
