"""Death of an actor: exit signals, kill, and the order of dying.

The order of dying: `terminate` has run, resources are closed, the name is free, and only then links and monitors hear
of it. A killed actor is dead to all others at once; when a thread still runs its code it is listed as a zombie.
"""

from __future__ import annotations

import logging
from contextvars import Context
from types import CoroutineType
from typing import TYPE_CHECKING, Any

from otpy.core.reason import Crashed, Killed, NoProc, Normal, Reason, Shutdown, is_clean
from otpy.errors import ActorExit, StartError
from otpy.runtime.crew import crew_of
from otpy.runtime.extras import resource_word, take_starter
from otpy.runtime.history import is_ordered
from otpy.runtime.links import ExitSignal, drop_link, linked
from otpy.runtime.mailbox import bury, poke, put, ready
from otpy.runtime.report import crash_report
from otpy.runtime.suspension import heed
from otpy.runtime.timebox import TimeBox
from otpy.runtime.zombies import drop_zombie, report_zombie

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.runtime.message import Message
    from otpy.runtime.ref import Ref

__all__ = [
    "BOX",
    "LAST_BREATH",
    "close_last",
    "close_resources",
    "deliver_exit",
    "end",
    "exit_signal",
    "finish",
    "kill",
    "leave",
    "obey",
    "report_crash",
    "shut_idle",
    "terminate",
]

LAST_BREATH = 0.1
"""Seconds in which a killed actor that waited inside otpy may leave its code, before it is reported as a zombie."""

log = logging.getLogger("otpy")

BOX = TimeBox()
"""Where an exception's own `__str__` runs: a crash report waits 0.5 s for it, and no more."""


def terminate(ref: Ref[Any], reason: Reason, later: Callable[[Any], object] | None = None) -> Reason:
    """Run the user's `terminate`; returns the exit reason, which is a new one when `terminate` itself fails.

    One that is a coroutine function is handed to `later`, to be awaited.
    """
    if ref.actor is None:
        return reason
    ref.current = ref.current or "terminate"
    if ref.actor_class.otpy_terminates:
        ref.extras().stopping = True
    try:
        result = ref.actor.terminate(reason)
        if later is not None and result.__class__ is CoroutineType:
            later(result)
    except ActorExit as way_out:
        return way_out.reason
    except BaseException as error:
        return Crashed.of(error, BOX)
    return reason


def end(ref: Ref[Any], reason: Reason, message: Message | str | None = None) -> None:
    """End an actor from within its own turn, after `terminate`."""
    report_crash(ref, reason, message)
    close_resources(ref)
    finish(ref, reason)


def report_crash(ref: Ref[Any], reason: Reason, message: object = None) -> None:
    """Tell of an abnormal end, before anything of the actor is gone."""
    if is_clean(reason) or ref.reason is not None:
        return
    try:
        event = crash_report(ref, reason, message)
    except BaseException:  # a `redact` that is a property may raise anything; the actor ends all the same
        log.exception("%s crashed (%s), and its report failed", ref.path, reason)
        return
    if event is not None:
        ref.system.events.emit(event)


def close_resources(ref: Ref[Any]) -> None:
    """Close what `self.use` opened, the last first; a failure is logged and keeps none of the others open."""
    more = ref.more
    while more is not None and more.resources:
        close_last(ref, more.resources)


def close_last(ref: Ref[Any], resources: list[Any]) -> None:
    """Close the last one of them. One that has to be awaited is closed by `async_death`, while its loop runs."""
    resource = resources.pop()
    try:
        resource.__exit__(None, None, None)
    except BaseException:
        log.exception("%s: closing %s failed", ref.path, resource_word(resource))


def finish(  # noqa: C901, PLR0912 - the order of dying is one story
    ref: Ref[Any],
    reason: Reason,
    *,
    may_run: bool = False,
    knows: Ref[Any] | None = None,
    cause: Ref[Any] | None = None,
) -> bool:
    """The logical death: from here on the actor is dead to all others. False when it was dead before.

    One whose code may still run is listed as a zombie, and so fenced, before anybody hears of its death. Who `knows` of
    it is not told. `cause` is whose exit signal or kill it was, if it was another actor's.
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
    if not is_ordered(ref, reason, cause):
        _remember(ref, reason, cause)
    if ref.more is not None:
        _release_extras(ref)
    _fail_current(ref)
    bury(ref)
    waiting = ref.waiting  # read once: who waited may be about to go on
    if waiting is not None:
        waiting.interrupt(reason)
    for monitor in monitors:
        if not monitor.is_outside:
            monitor.fire(reason)
    for peer in links:
        if peer is not knows:
            exit_signal(peer, ref, reason)
    for monitor in monitors:  # at last: who has waited for an end asks a supervisor next, and that must know of it
        if monitor.is_outside:
            monitor.fire(reason)
    return True


def _remember(ref: Ref[Any], reason: Reason, cause: Ref[Any] | None) -> None:
    """Have the history take note; whatever it meets, the death goes on, for nobody has been told of it yet."""
    try:
        ref.system.history.died(ref, reason, cause)
    except BaseException:  # such as an exit term whose own `__eq__` raises
        log.exception("%s ended (%s), and that could not be remembered", ref.path, reason)


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
    idle_timer = more.idle_timer  # read once: its own turn, in which it was killed, may be disarming it
    if idle_timer is not None:
        idle_timer.cancel()
    for monitor in watches:
        monitor.cancel()
    for caller in callers:
        caller.fail(ref.reason or NoProc())
    take_starter(ref)(StartError(ref.path, ref.reason or NoProc()))


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
        drop_zombie(ref)
    told = None if ref.more is None else ref.more.on_left  # cleared, then looked; who waits puts it there, then looks
    if told is not None:
        told()
    if ref.home is not ref.system.pool:
        ref.home.release()  # type: ignore[attr-defined]  # every home but the pool has it


def _leave_idle(ref: Ref[Any]) -> None:
    """Nobody runs a dead actor and nobody will: drop what it held."""
    if (ref.more is not None and ref.more.resources) or crew_of(ref) is not None:
        ready(ref)  # closing them is its own business, on a thread of its own place
    else:
        leave(ref)


def exit_signal(target: Ref[Any], sender: Ref[Any], reason: Reason, *, is_own: bool = False) -> None:
    """Send an exit signal; asynchronous, harmless for a dead target. OTP: exit/2 and the signals of links.

    Only its own, `is_own`, ends an actor that does not trap exits by `Normal`. From outside of all actors it has no
    other sender than the target either.
    """
    if target.reason is not None:
        return
    if target.more is None and target.links in (None, sender) and _end_idle(target, reason, sender):
        return
    if target.traps_exit():
        put(target, (deliver_exit, ExitSignal(sender, reason)))
        if target.is_suspended():  # put, then looked; who is suspended says so, then looks for orders
            poke(target, heed)
    elif is_own or not isinstance(reason, Normal):
        more = target.extras()
        more.sender = sender
        more.pending = reason
        poke(target, obey)
        waiting = target.waiting  # read once, as in `finish`
        if waiting is not None:
            waiting.interrupt(reason)


def shut_idle(target: Ref[Any], boss: Ref[Any]) -> bool:
    """End an idle child at its supervisor's wish, which is sent nothing back; False when it is busy, or traps exits."""
    return target.more is None and target.links in (None, boss) and _end_idle(target, Shutdown(), boss, boss)


def _take(ref: Ref[Any]) -> bool:
    """Become the one who may run an actor; False when somebody else is."""
    try:
        ref.tok.pop()
    except IndexError:
        return False
    return True


def _end_idle(target: Ref[Any], reason: Reason, sender: Ref[Any], knows: Ref[Any] | None = None) -> bool:
    """End an idle actor that has nothing to run or to close and nobody to tell further; stopping many stays cheap."""
    if target.traps_exit() or isinstance(reason, Normal) or not _take(target):
        return False
    finish(target, reason, knows=knows, cause=sender)
    _leave_idle(target)  # also when another's kill came first: who holds `tok` leaves
    return True


def obey(ref: Ref[Any]) -> object:
    """The actor's own turn meets an exit signal that it does not trap: no `terminate`, no more messages.

    Returns what its turn has to await, where that may be needed.
    """
    if ref.home.obey is not None:
        return ref.home.obey(ref)
    more = ref.extras()
    pending, sender = more.pending, more.sender
    if pending is not None and ref.reason is None:
        ref.current = ref.current or "exit"
        more.pending = more.sender = None  # it has been heard, and what is closed now may wait for others
        close_resources(ref)
        finish(ref, pending, cause=sender)
    return None


def deliver_exit(actor: Any, signal: ExitSignal) -> object:  # Any: actors are known on a higher floor
    """Hand an exit signal to an actor that traps them."""
    return actor.on_exit_signal(signal)


def kill(ref: Ref[Any], by: Ref[Any] | None = None) -> bool:
    """End an actor at once, whatever it does; from any thread. False when it was dead before.

    A supervisor that kills its child says so with `by`: that is an ordered end, and nothing to remember.
    Nobody can force its thread out of its code: while one still runs it, the actor is a zombie.
    """
    owned = _take(ref)  # then it was idle, and nobody will ever run it again
    is_waiting = ref.waiting is not None and not ref.system.is_virtual
    died = finish(ref, Killed(), may_run=not owned or crew_of(ref) is not None, cause=by)
    # Alert, then look at `tok` again: a turn that ends puts `tok` back, then looks at `alert`.
    is_left = owned or _take(ref)
    if is_left:
        _leave_idle(ref)
    if is_left and crew_of(ref) is None:
        return died
    if died and is_waiting:
        ref.system.timers.after(LAST_BREATH, report_zombie, ref)  # it was interrupted, and is about to end
    elif died:
        report_zombie(ref)
    return died
