"""Links and monitors: who hears of whose death.

The system's lock guards all tables here, so a link or a monitor is either in both places or in none, and a death takes
them all at once: each watcher hears of it exactly once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.core.late import asyncio
from otpy.core.reason import NoProc, Reason
from otpy.core.value import value
from otpy.runtime.awaited import AwaitedSlot
from otpy.runtime.awaiting import Awaiting, awaiting
from otpy.runtime.mailbox import put

if TYPE_CHECKING:
    from otpy.runtime.ref import Ref

__all__ = ["Down", "ExitSignal", "Monitor", "OutsideMonitor", "add_link", "drop_link", "linked", "watch", "with_peer"]


@value
class Down:
    """The message a monitor sends when its target is dead. OTP: `{'DOWN', Ref, process, Object, Reason}`."""

    monitor: Monitor
    """Which monitor it comes from."""
    target: object
    """What was watched: a ref, or the name it was watched by."""
    reason: Reason
    """Why it ended; `NoProc` when it was never there."""


@value
class ExitSignal:
    """An exit signal as a message, for actors with `trap_exit`. OTP: `{'EXIT', From, Reason}`."""

    sender: Ref[Any]
    """Who died, or who sent it."""
    reason: Reason
    """Why."""


class Monitor:
    """One watch on one actor; several on the same are independent. OTP: a monitor reference."""

    __slots__ = ("muted", "target", "target_ref", "watcher")

    is_outside = False
    """Whether it is told after all others: see `death.finish`."""

    def __init__(self, target: object, target_ref: Ref[Any] | None, watcher: Ref[Any] | None) -> None:
        """Made by `watch`."""
        self.target = target
        self.target_ref = target_ref
        self.watcher = watcher
        self.muted = False
        """Whether its `Down` is dropped although it has arrived."""

    def fire(self, reason: Reason) -> None:
        """Tell the watcher; called once, after the target's name is free."""
        if self.watcher is not None:
            self.watcher.extras().watches.discard(self)
            put(self.watcher, (deliver_down, Down(self, self.target, reason)))

    def cancel(self) -> bool:
        """Watch no longer; False when it has fired. A `Down` that was delivered stays. OTP: demonitor/1."""
        target = self.target_ref
        if target is None:
            return False
        with target.system.lock:
            if target.monitors is None or self not in target.monitors:
                return False
            del target.monitors[self]
        if self.watcher is not None:
            self.watcher.extras().watches.discard(self)
        return True

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.target}>"


class OutsideMonitor(Monitor):
    """A watch held by code outside of any actor, which waits for it."""

    __slots__ = ("down", "waiters")

    is_outside = True

    def __init__(self, target: object, target_ref: Ref[Any] | None) -> None:
        """Made by `Ref.monitor`."""
        super().__init__(target, target_ref, None)
        self.down: Down | None = None
        self.waiters: list[Awaiting | AwaitedSlot] = []

    def fire(self, reason: Reason) -> None:
        """Wake the threads that wait."""
        self.down = Down(self, self.target, reason)  # set, then look; `wait` publishes itself, then looks
        for waiter in list(self.waiters):
            waiter.resolve(None)

    def wait(self, timeout: float | None = 5.0) -> Down:
        """Wait until the target is dead, in the calling thread; several threads may.

        Args:
            timeout: real seconds; None waits for ever. 5.0 as for calls.

        Raises:
            TimeoutError: it still lives.
            DeadlockError: the actor that waits is the target, or the target waits for it.
        """
        if self.down is None and self.target_ref is not None:
            slot = awaiting(self.target_ref, "wait")
            self.waiters.append(slot)
            try:
                if self.down is None:
                    slot.hold(timeout)
            finally:
                slot.abandon()
                slot.withdraw()
                self.waiters.remove(slot)
        return self._fired(timeout)

    async def await_down(self, timeout: float | None = 5.0) -> Down:
        """As `wait`, awaited from a coroutine on any event loop."""
        if self.down is None and self.target_ref is not None:
            slot = AwaitedSlot(self.target_ref, "wait")
            self.waiters.append(slot)
            try:
                if self.down is None:
                    async with asyncio.timeout(timeout):
                        await slot.hold()
            except TimeoutError:
                return self._fired(timeout)
            finally:
                slot.withdraw()
                self.waiters.remove(slot)
        return self._fired(timeout)

    def _fired(self, timeout: float | None) -> Down:
        if self.down is None:
            message = f"{self.target} still lives after {timeout:g} s"
            raise TimeoutError(message)
        return self.down


def deliver_down(actor: Any, down: Down) -> object:  # Any: actors are known on a higher floor
    """Hand a `Down` to its watcher."""
    return None if down.monitor.muted else actor.on_down(down)


def watch(monitor: Monitor) -> None:
    """Put a monitor in place, or fire it at once when its target is not there. Watching oneself never fires."""
    target = monitor.target_ref
    if target is not None and target is monitor.watcher:
        return
    if target is not None and not target.system.forked:
        watcher = monitor.watcher
        with target.system.lock:
            if watcher is not None and watcher.reason is not None:
                return  # a killed actor that still runs: nobody would ever take its monitor away
            if target.reason is None:
                if target.monitors is None:
                    target.monitors = {}
                target.monitors[monitor] = None
                if watcher is not None:
                    watcher.extras().watches.add(monitor)
                return
    monitor.fire(NoProc())


def add_link(one: Ref[Any], other: Ref[Any]) -> bool:
    """Link two actors; linking twice is linking once. False when one of them is dead."""
    if one is other:
        return True
    with one.system.lock:
        if one.reason is not None or other.reason is not None:
            return False
        one.links = with_peer(one.links, other)
        other.links = with_peer(other.links, one)
        return True


def drop_link(one: Ref[Any], other: Ref[Any]) -> None:
    """Unlink two actors; whether they were linked does not matter."""
    with one.system.lock:
        one.links = _without(one.links, other)
        other.links = _without(other.links, one)


def linked(links: Ref[Any] | set[Ref[Any]] | None) -> list[Ref[Any]]:
    """All actors in a link table. A table of one is that one itself: most actors have only their supervisor."""
    if links is None:
        return []
    return list(links) if isinstance(links, set) else [links]


def with_peer(links: Ref[Any] | set[Ref[Any]] | None, peer: Ref[Any]) -> Ref[Any] | set[Ref[Any]]:
    """A link table with one more; called with the system's lock held."""
    if links is None or links is peer:
        return peer
    if isinstance(links, set):
        links.add(peer)
        return links
    return {links, peer}


def _without(links: Ref[Any] | set[Ref[Any]] | None, peer: Ref[Any]) -> Ref[Any] | set[Ref[Any]] | None:
    if isinstance(links, set):
        links.discard(peer)
        return links or None
    return None if links is peer else links
