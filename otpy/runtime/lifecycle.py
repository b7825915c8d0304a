"""Birth and death of an actor: start handshake, exit signals, kill, and the order of dying.

The order of dying: `terminate` has run, resources are closed, the name is free, and only then links and monitors hear
of it. A killed actor is dead to all others at once; when a thread still runs its code it is listed as a zombie.
"""

from __future__ import annotations

import logging
from contextvars import Context
from typing import TYPE_CHECKING, Any

from otpy.core.decision import Continue, Decision, Fail, Ignore, NoReply, Stop
from otpy.core.reason import (
    BadReturn,
    BadSpec,
    Crashed,
    Exit,
    Killed,
    NoProc,
    Normal,
    Reason,
    Shutdown,
    TimedOut,
    is_clean,
)
from otpy.core.text import safe_repr
from otpy.errors import ActorExit, IgnoredError, StartError, StartTimeoutError, TreeSpecError
from otpy.events import ActorCrashed
from otpy.runtime.hints import hint_for
from otpy.runtime.links import ExitSignal, drop_link, linked
from otpy.runtime.mailbox import bury, describe, poke, put, ready, rest, rest_again
from otpy.runtime.seat import here
from otpy.runtime.timebox import TimeBox

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.runtime.mailbox import Message
    from otpy.runtime.ref import Ref
    from otpy.runtime.timers import Timer

__all__ = [
    "PENDING",
    "arm_timeout",
    "begin",
    "begin_inline",
    "disarm_timeout",
    "end",
    "exit_signal",
    "expire_start",
    "fail_start",
    "finish",
    "kill",
    "leave",
    "obey",
    "shut_idle",
    "started",
    "terminate",
]

PENDING = Decision()
"""From `init`: not done yet; `started` says when. A supervisor's children may take turns of their own to start."""

LAST_BREATH = 0.1
"""Seconds in which a killed actor that waited inside otpy may leave its code, before it is reported as a zombie."""

log = logging.getLogger("otpy")

BOX = TimeBox()
"""Where an exception's own `__str__` runs: a crash report waits 0.5 s for it, and no more."""


def begin(ref: Ref[Any], args: tuple[Any, ...], kwargs: dict[str, Any], starter: Callable[[object], object]) -> None:
    """Run `init` in the new actor's first turn; `starter` is told None, or the StartError, exactly once."""
    more = ref.extras()
    more.starter = [starter]
    with ref.system.lock:
        more.add_to_lane(lambda own: started(own, run_init(own, args, kwargs)))
    ref.alert = True
    if ref.reason is not None:  # set `starter`, then look; a death sets `reason`, then looks for the starter
        started_by(ref)(StartError(ref.path, ref.reason))
    if not ready(ref):
        _cancel_start(ref)


def _cancel_start(ref: Ref[Any]) -> None:
    """No thread could be had for `init`: the start fails, unless one was found in the meantime."""
    tell = started_by(ref)
    if tell is not _nobody:
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


def run_init(ref: Ref[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:  # noqa: PLR0911 - one a case
    """Make the user's object and run its `init`; returns None, PENDING, or the StartError of one that has ended."""
    ref.current = "init"
    if ref.reason is not None:
        return fail_start(ref, ref.reason)  # killed before it came to run
    try:
        actor = ref.actor = ref.actor_class.make(ref)
        result = actor.boot(args, kwargs)
    except ActorExit as way_out:
        return fail_start(ref, way_out.reason)
    except BaseException as error:
        return fail_start(ref, Crashed.of(error, BOX))
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
        case _ if result is PENDING:
            return PENDING
    return fail_start(ref, BadReturn(safe_repr(result)))


def _go_on_later(ref: Ref[Any], decision: Decision) -> None:
    """Follow what `init` decided, after the starter was released and before any message."""

    def go_on(own: Ref[Any]) -> None:
        own.current = "continue"
        own.settle(decision, None)

    with ref.system.lock:
        ref.extras().add_to_lane(go_on)
    ref.alert = True


def started(ref: Ref[Any], outcome: object) -> None:
    """Release the starter, unless `init` is not done yet or somebody else has told it already."""
    if outcome is not PENDING:
        ref.current = None
        if ref.reason is not None and outcome is None:
            outcome = StartError(ref.path, ref.reason)
        started_by(ref)(outcome)


def started_by(ref: Ref[Any]) -> Callable[[object], object]:
    """Whom to tell of the start; for one call only."""
    starter = ref.more.starter if ref.more is not None else None
    try:
        return starter.pop() if starter else _nobody  # one pop: the deadline may come at the same time
    except IndexError:
        return _nobody


def _nobody(_: object) -> None:
    """Nobody waits for this start."""


def _start_error(ref: Ref[Any], reason: Reason) -> StartError:
    return TreeSpecError(ref.path, reason) if isinstance(reason, BadSpec) else StartError(ref.path, reason)


def fail_start(ref: Ref[Any], reason: Reason) -> StartError:
    """End an actor whose `init` failed; its starter learns of it when nothing of it is left, and by no other way."""
    _report_crash(ref, reason)
    return _undo_start(ref, reason, StartError(ref.path, ref.reason or reason))


def _undo_start(ref: Ref[Any], reason: Reason, error: StartError) -> StartError:
    tell = started_by(ref)  # before the death, which would tell the starter otherwise
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
    tell = started_by(ref)
    if tell is not _nobody:
        _drop_parent(ref)
        kill(ref)
        text = f"{ref.path} did not start: its init took longer than {seconds:g} s and was killed"
        tell(StartTimeoutError(ref.path, TimedOut(), text))


def terminate(ref: Ref[Any], reason: Reason) -> Reason:
    """Run the user's `terminate`; returns the exit reason, which is a new one when `terminate` itself fails."""
    if ref.actor is None:
        return reason
    ref.current = ref.current or "terminate"
    try:
        ref.actor.terminate(reason)
    except ActorExit as way_out:
        return way_out.reason
    except BaseException as error:
        return Crashed.of(error, BOX)
    return reason


def end(ref: Ref[Any], reason: Reason, message: Message | str | None = None) -> None:
    """End an actor from within its own turn, after `terminate`."""
    _report_crash(ref, reason, message)
    close_resources(ref)
    finish(ref, reason)


def _report_crash(ref: Ref[Any], reason: Reason, message: object = None) -> None:
    if is_clean(reason) or ref.reason is not None:
        return
    during = describe(message if message is not None else ref.current) or None
    queue = len(ref.mailbox or ())
    event = ActorCrashed(
        path=ref.path, kind=ref.kind, reason=reason, message=during, queue=queue, hint=hint_for(reason)
    )
    ref.system.events.emit(event)


def close_resources(ref: Ref[Any]) -> None:
    """Close what `self.use` opened, the last first; a failure is logged and keeps none of the others open."""
    more = ref.more
    while more is not None and more.resources:
        resource = more.resources.pop()
        try:
            resource.__exit__(None, None, None)
        except BaseException:
            log.exception("%s: closing %s failed", ref.path, type(resource).__name__)


def finish(  # noqa: C901 - the order of dying is one story
    ref: Ref[Any], reason: Reason, *, may_run: bool = False, knows: Ref[Any] | None = None
) -> bool:
    """The logical death: from here on the actor is dead to all others. False when it was dead before.

    One whose code may still run is listed as a zombie, and so fenced, before anybody hears of its death. Who `knows` of
    it is not told.
    """
    system = ref.system
    with system.lock:
        if ref.reason is not None:
            return False
        ref.reason = reason
        if may_run:
            system.undead[ref] = False
        ref.alert = True  # reason, then alert; a turn publishes `current`, then looks at `alert`
        system.forget(ref)
        links, ref.links = linked(ref.links), None
        if system.is_virtual:
            links.sort(key=_number)  # the order of a set is chance, and a seeded run must always be the same
        for peer in links:
            drop_link(peer, ref)
        if ref.actor_class.is_supervisor or (ref.more is not None and ref.more.has_spawned):
            _note_orphans(ref, links)
        if ref.is_starting():
            links = [peer for peer in links if peer is not ref.parent]  # its starter is told by the start's failure
        monitors, ref.monitors = ref.monitors or (), None
    if ref.more is not None:
        _release_extras(ref)
    _fail_current(ref)
    bury(ref)
    if ref.waiting is not None:
        ref.waiting.interrupt(reason)
    for monitor in monitors:
        monitor.fire(reason)
    for peer in links:
        if peer is not knows:
            exit_signal(peer, ref, reason)
    return True


def _note_orphans(ref: Ref[Any], links: list[Ref[Any]]) -> None:
    """What it started ends with it, linked or told to stop, but not at once: who starts it again waits for that."""
    if isinstance(ref.reason, Normal):
        return
    told = tuple(getattr(ref.waiting, "left", ()))  # a supervisor's wait for the ends of its children
    orphans = [*(peer for peer in links if peer.parent is ref), *(peer for peer in told if peer.reason is None)]
    if orphans:
        ref.extras().orphans = orphans
        ref.system.orphans.update(dict.fromkeys(orphans))


def _fail_current(ref: Ref[Any]) -> None:
    """Tell who waits for the reply to the message a dead actor is in."""
    current = ref.current
    if current is not None and not isinstance(current, str | tuple):
        current.fail(ref.reason or NoProc())


def _number(ref: Ref[Any]) -> int:
    return ref.number


def _release_extras(ref: Ref[Any]) -> None:
    more = ref.extras()
    timers, watches, callers = more.tables()
    for timer in timers:
        timer.cancel()
    if more.idle_timer is not None:
        more.idle_timer.cancel()
    for monitor in watches:
        monitor.cancel()
    for caller in callers:
        caller.fail(ref.reason or NoProc())
    started_by(ref)(StartError(ref.path, ref.reason or NoProc()))


def leave(ref: Ref[Any]) -> None:
    """A thread has left the code of a dead actor for good: drop what it held. Called once, by who holds its `tok`."""
    _fail_current(ref)  # its killer may look at `current` only after it was cleared
    if ref.more is not None and ref.more.resources:
        ref.current = "close"
        (ref.context or Context()).run(close_resources, ref)
    if ref.more is not None:
        _release_extras(ref)  # again, for what the turn has added while a killer was at it
    ref.current = None  # clear, then look at the list; a killer lists it, then looks at `current`
    ref.actor = None
    ref.context = None
    ref.waiting = None  # a supervisor that was killed may still have waited for its children
    bury(ref)
    if ref in ref.system.undead:
        ref.system.drop_zombie(ref)
    if ref.home is not ref.system.pool:
        ref.home.close()  # its own thread has nothing to wait for any more


def _leave_idle(ref: Ref[Any]) -> None:
    """Nobody runs a dead actor and nobody will: drop what it held."""
    if ref.more is not None and ref.more.resources:
        ready(ref)  # closing them is its own business, on a thread of its own place
    else:
        leave(ref)


def exit_signal(target: Ref[Any], sender: Ref[Any], reason: Reason) -> None:
    """Send an exit signal; asynchronous, harmless for a dead target. OTP: exit/2 and the signals of links."""
    if target.reason is not None:
        return
    if target.more is None and target.links in (None, sender) and _end_idle(target, reason):
        return
    if target.traps_exit():
        put(target, (deliver_exit, ExitSignal(sender, reason)))
    elif not isinstance(reason, Normal) or sender is target:
        target.extras().pending = reason
        poke(target, obey)
        if target.waiting is not None:
            target.waiting.interrupt(reason)


def shut_idle(target: Ref[Any], boss: Ref[Any]) -> bool:
    """End an idle child at its supervisor's wish, which is sent nothing back; False when it is busy, or traps exits."""
    return target.more is None and target.links in (None, boss) and _end_idle(target, Shutdown(), boss)


def _take(ref: Ref[Any]) -> bool:
    """Become the one who may run an actor; False when somebody else is."""
    try:
        ref.tok.pop()
    except IndexError:
        return False
    return True


def _end_idle(target: Ref[Any], reason: Reason, knows: Ref[Any] | None = None) -> bool:
    """End an idle actor that has nothing to run or to close and nobody to tell further; stopping many stays cheap."""
    if target.traps_exit() or isinstance(reason, Normal) or not _take(target):
        return False
    finish(target, reason, knows=knows)
    _leave_idle(target)  # also when another's kill came first: who holds `tok` leaves
    return True


def obey(ref: Ref[Any]) -> None:
    """The actor's own turn meets an exit signal that it does not trap: no `terminate`, no more messages."""
    pending = ref.extras().pending
    if pending is not None and ref.reason is None:
        ref.current = ref.current or "exit"
        ref.extras().pending = None  # it has been heard, and what is closed now may wait for others
        close_resources(ref)
        finish(ref, pending)


def deliver_exit(actor: Any, signal: ExitSignal) -> object:  # Any: actors are known on a higher floor
    """Hand an exit signal to an actor that traps them."""
    return actor.on_exit_signal(signal)


def kill(ref: Ref[Any]) -> bool:
    """End an actor at once, whatever it does; from any thread. False when it was dead before.

    Nobody can force its thread out of its code: while one still runs it, the actor is a zombie.
    """
    owned = _take(ref)  # then it was idle, and nobody will ever run it again
    is_waiting = ref.waiting is not None and not ref.system.is_virtual
    died = finish(ref, Killed(), may_run=not owned)
    # Alert, then look at `tok` again: a turn that ends puts `tok` back, then looks at `alert`.
    if owned or _take(ref):
        _leave_idle(ref)
    elif died and is_waiting:
        ref.system.timers.after(LAST_BREATH, ref.system.report_zombie, ref)  # it was interrupted, and is about to end
    elif died:
        ref.system.report_zombie(ref)
    return died


def arm_timeout(ref: Ref[Any], seconds: float) -> None:
    """Have `handle_timeout` run after so many seconds unless a message comes first."""
    more = ref.extras()
    if more.idle_timer is not None:
        more.idle_timer.cancel()
    more.idle_timer = ref.system.timers.after(seconds, _time_out, ref)
    ref.alert = True


def _time_out(ref: Ref[Any]) -> None:
    put(ref, (deliver_timeout,))


def deliver_timeout(actor: Any) -> object:  # Any: actors are known on a higher floor
    """Hand over the timeout, unless a message came first."""
    more = actor.ref.extras()
    timer: Timer | None = more.idle_timer
    if timer is None or not timer.fired:
        return None
    more.idle_timer = None
    return actor.handle_timeout()


def disarm_timeout(ref: Ref[Any], message: Message | None) -> bool:
    """A message came: cancel the armed timeout. False when it stays armed, as there was no message or it is its own."""
    more = ref.extras()
    if message is None or (isinstance(message, tuple) and message[0] is deliver_timeout) or more.idle_timer is None:
        return False
    more.idle_timer.cancel()
    more.idle_timer = None
    return True
