"""How supervisors stop their children: ask, wait without keeping a thread, kill what outlives its time."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

from otpy.actors.children import WORKER_SHUTDOWN
from otpy.actors.flow import Flow, Wait, deliver_answer
from otpy.actors.stuck import Moving
from otpy.core.reason import Killed, Normal, Reason, Shutdown, is_clean
from otpy.core.strategy import verdict
from otpy.events.supervision import ChildUnstopped
from otpy.runtime.death import exit_signal, kill, shut_idle
from otpy.runtime.draining import draining_of
from otpy.runtime.links import Down, Monitor, drop_link, watch
from otpy.runtime.mailbox import put

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from otpy.actors.children import Entry
    from otpy.core.strategy import Verdict
    from otpy.runtime.ref import Ref

__all__ = ["Stopping"]

WIND_UP, SHARE = 1.0, 0.2
"""Seconds before the end of its `shutdown` time at which a child in a process gets SIGTERM: so many, and no more than
this share of the time."""

CLOSE_TIME = 0.5
"""Seconds for a killed child to close what it had open: more than a file or a port takes, less than anybody minds."""


class Stopping(Moving):
    """The half of a supervisor that stops children."""

    _me: Ref[Any]
    _stops: dict[Monitor, Wait]

    def stop_entry(self, entry: Entry) -> Flow[None]:
        """Stop one child, and wait until it has ended or its time is over and it was killed."""
        if entry.ref is not None:
            yield from self.stop_together((entry,))

    def stop_together(self, entries: Sequence[Entry]) -> Flow[None]:
        """Stop several children at once; each has its own time, all are told before the first is waited for."""
        me = self._me
        wait = Wait()
        told: list[tuple[Entry, Ref[Any]]] = []
        late: dict[float, list[Ref[Any]]] = {}
        for entry in entries:
            ref = entry.ref
            if ref is None:
                continue
            told.append((entry, ref))
            seconds = entry.shutdown
            if ref.reason is not None or (seconds >= 0 and shut_idle(ref, me)):
                continue
            if not self._has_ended(ref, seconds, wait):
                late.setdefault(seconds, []).append(ref)
        if late:
            yield from self._until_ended(wait, late)
        me.waiting = None
        for entry, ref in told:
            reason = entry.last_exit = ref.reason
            entry.ref = None
            if not isinstance(reason, Shutdown) or reason.detail is not None:
                self._check_end(entry, ref)
            if ref.more is not None:
                yield from self.await_orphans(ref)
            if ref in self.system.undead:
                yield from self.move_if_stuck(entry, ref)

    def _has_ended(self, ref: Ref[Any], seconds: float, wait: Wait) -> bool:
        """Tell a child to end; whether it has at once. Otherwise it stays among those waited for."""
        me = self._me
        wait.add(ref)
        me.waiting = wait
        if seconds >= 0:
            drop_link(me, ref)  # after it was published as waited for: a kill finds it there, or still linked
            exit_signal(ref, me, Shutdown())
        if seconds <= 0:
            kill(ref, me)
        if ref.reason is None:  # looked at once: it may end at any moment
            return False
        wait.left.pop(ref, None)
        return True

    def _until_ended(self, wait: Wait, late: dict[float, list[Ref[Any]]]) -> Flow[None]:
        """Wait for the ends of actors that were told to end; after so many seconds each they are killed."""
        timers = [
            # A timer of the system, not of this actor: it kills them also when this supervisor is killed meanwhile.
            self.system.timers.after(seconds, _kill_all, refs)
            for seconds, refs in late.items()
            if seconds != math.inf
        ]
        timers += [
            self.system.timers.after(seconds - min(WIND_UP, seconds * SHARE), _wind_up_all, winding)
            for seconds, refs in late.items()
            if seconds != math.inf and (winding := [ref for ref in refs if ref.actor_class.otpy_winds_up])
        ]
        for refs in late.values():
            for ref in refs:  # a monitor tells of its end, for it may have unlinked itself
                monitor = Monitor(ref, ref, self.ref)
                self._stops[monitor] = wait
                watch(monitor)
        while wait.left:
            yield wait
        for timer in timers:
            timer.cancel()

    def verdict_on(self, entry: Entry, reason: Reason) -> Verdict:
        """What becomes of a child that has ended; one that has ended in peace while all drains stays away."""
        decided = verdict(entry.spec.options.restart, reason)
        if decided == "restart" and is_clean(reason) and draining_of(self.system, self._me) is not None:
            return "keep"
        return decided

    def _check_end(self, entry: Entry, ref: Ref[Any]) -> None:
        reason = ref.reason
        assert reason is not None  # noqa: S101 - it was waited for
        if not _is_proper_end(entry, reason):
            self.system.events.emit(ChildUnstopped(path=ref.path, reason=reason))

    def await_orphans(self, ref: Ref[Any]) -> Flow[None]:
        """Wait until what a dead child has left behind is gone: only then are its names and its ports free again.

        That is what it had started and is linked to it: the children of a supervisor that was killed, the helpers of a
        worker. All of them were sent its exit reason; a worker that takes longer than `WORKER_SHUTDOWN` is killed. OTP
        does not wait, and a restart may then meet a name that is still taken.
        """
        if isinstance(ref.reason, Killed):
            yield from self._await_closed(ref)
        orphans = _orphans(ref)
        while orphans:
            wait = Wait()
            late: dict[float, list[Ref[Any]]] = {}
            for orphan in orphans:
                if orphan.reason is None:
                    wait.add(orphan)
                    seconds = math.inf if orphan.actor_class.is_supervisor else WORKER_SHUTDOWN
                    late.setdefault(seconds, []).append(orphan)
            if late:
                self._me.waiting = wait
                yield from self._until_ended(wait, late)
                self._me.waiting = None
            orphans = [below for orphan in orphans for below in _orphans(orphan)]

    def _await_closed(self, ref: Ref[Any]) -> Flow[None]:
        """Wait until what a killed child had open is closed; any other end closes it before anybody hears of the end.

        One whose code goes on holds it for who knows how long, and is not waited for.
        """
        more = ref.more
        if more is None or more.resources is None or self.system.undead.get(ref):
            return
        wait = Wait(ref)
        more.on_left = partial(put, self.ref, (deliver_answer, wait, None))
        if ref.actor is None:  # put there, then looked; who leaves drops the actor, then looks whom to tell
            return
        self._me.waiting = wait
        timer = self.system.timers.after(CLOSE_TIME, more.on_left)
        yield wait
        self._me.waiting = None
        timer.cancel()

    def on_down(self, down: Down) -> object:
        """Note the end of a child that was told to stop."""
        wait = self._stops.pop(down.monitor, None)
        if wait is None:
            return self.on_info(down)
        wait.left.pop(down.target, None)  # type: ignore[call-overload]  # these monitors watch refs
        return self.answer(wait, None) if not wait.left else None


def _orphans(ref: Ref[Any]) -> Sequence[Ref[Any]]:
    """What an actor left behind that is about to end."""
    return () if ref.more is None else ref.more.orphans or ()


def _kill_all(refs: Iterable[Ref[Any]]) -> None:
    for ref in refs:
        kill(ref, ref.parent)


def _wind_up_all(refs: Iterable[Ref[Any]]) -> None:
    for ref in refs:
        actor = ref.actor  # read once: one that ends lets go of it in its own thread
        if ref.reason is None and actor is not None:
            actor.otpy_wind_up()


def _is_proper_end(entry: Entry, reason: Reason) -> bool:
    """Whether a child that was told to stop, and did not end as told, ended well. OTP: supervisor:shutdown/1."""
    if entry.shutdown < 0:
        return isinstance(reason, Killed)
    if isinstance(reason, Normal) and entry.cls.stops_by_signal:
        return True  # a function ends by returning, and may just have done so
    return entry.spec.options.restart != "permanent" and isinstance(reason, Shutdown | Normal)
