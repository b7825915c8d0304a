"""Waiting for an actor to start or to end, in the sight of exit signals and of the search for circles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.errors import CallError, DeadlockError
from otpy.runtime.caller import STANDSTILL, STOOD_STILL
from otpy.runtime.circle import deadlock
from otpy.runtime.crew import Node
from otpy.runtime.seat import Seat, Slot, here

if TYPE_CHECKING:
    from otpy.core.reason import Reason
    from otpy.runtime.ref import Ref

__all__ = ["Awaiting", "awaiting", "refuse_circle"]


class Awaiting(Slot):
    """A thread that waits for an actor's start or end. It is an edge in the search for circles, as a `Caller` is."""

    __slots__ = ("_me", "_outer", "target", "word")

    deferred = False

    def __init__(self, seat: Seat, target: Ref[Any], word: str) -> None:
        """Publish itself: before the target is told anything, so that a call it makes in turn is refused."""
        super().__init__(seat)
        self.target = target
        self.word = word
        self._me = seat.ref
        self._outer: Any = None  # whatever can stand in `ref.waiting`
        if self._me is not None:
            self._outer, self._me.waiting = self._me.waiting, self

    def interrupt(self, reason: Reason) -> None:  # noqa: ARG002 - the same for every reason
        """The waiting actor itself was told to die."""
        self.resolve(None)

    def hold(self, timeout: float | None) -> bool:
        """Wait; False after `timeout` seconds, which are real ones unless the run is seeded.

        Raises:
            DeadlockError: the target waits, directly or through others, for the actor that would wait here.
            ActorExit: that actor was told to die.
        """
        try:
            if self._me is not None:
                refuse_circle(self._me, self.target, self.word)
                self.seat.leave_if_told()
            done = self._wait(timeout)
        except BaseException:
            self.abandon()
            raise
        finally:
            self.withdraw()
        self.seat.leave_if_told()
        return done

    def withdraw(self) -> None:
        """Be no edge any more."""
        if self._me is not None and self._me.waiting is self:
            self._me.waiting = self._outer

    def _wait(self, timeout: float | None) -> bool:
        system = self.target.system
        if timeout is None and system.is_virtual and self.seat.pool is None and self._me is None:
            if not self.wait(STANDSTILL):
                raise CallError(self.target.path, self.word, STOOD_STILL)
            return True
        if timeout is None or not system.pool.is_seeded:
            return self.wait(timeout)
        timer = system.timers.after(timeout, self.resolve, _LATE)  # in a seeded run nothing takes real time
        try:
            self.wait(None)
        finally:
            timer.cancel()
        return self.value is not _LATE


_LATE = object()


def refuse_circle(me: Ref[Any] | Node | None, target: Ref[Any], word: str) -> None:
    """Raise DeadlockError when an actor must not wait for another's start or end."""
    if isinstance(me, Node) and me.ref is target:
        raise DeadlockError(target.path, word, [target.path, target.path])
    if me is not None and (target is me or target.waiting is not None):
        chain = deadlock(me, target)
        if chain:
            raise DeadlockError(target.path, word, chain)


def awaiting(target: Ref[Any], word: str) -> Awaiting:
    """The running thread, about to wait for an actor."""
    return Awaiting(here(), target, word)
