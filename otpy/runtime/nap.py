"""What code that runs for long may call to be told to stop: `sleep`, `checkpoint`, `exit`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from otpy.errors import ActorExit, NoSuchActorError
from otpy.runtime.seat import Slot, here

if TYPE_CHECKING:
    from otpy.core.reason import Reason
    from otpy.runtime.ref import Ref

__all__ = ["Nap", "checkpoint", "current", "exit_with", "sleep"]


class Nap(Slot):
    """A thread that sleeps inside otpy; no circle of calls leads through it."""

    deferred = True
    target = None
    word = "sleep"

    def interrupt(self, reason: Reason) -> None:
        """Its actor was told to die."""
        self.resolve(reason)

    def hold(self, seconds: float | None) -> None:
        """Wait on the system's clock; the scenario of a seeded run, which is no actor, waits as long as it takes."""
        seat = self.seat
        ref = seat.ref
        if ref is None:
            self.wait(None)
            return
        timer = None if seconds is None else ref.system.timers.after(seconds, self.resolve, None)
        ref.waiting = self  # publish, then look: an exit signal is noted first, then looks for who waits
        try:
            seat.leave_if_told()
            self.wait(None)
        except BaseException:
            self.abandon()
            raise
        finally:
            ref.waiting = None
            if timer is not None:
                timer.cancel()
        seat.leave_if_told()


def sleep(seconds: float) -> None:
    """Sleep on the system's clock; leaves the actor's code at once when the actor is told to stop.

    Runs in the calling thread; a pool actor gives its worker to others meanwhile. Outside of actors it is `time.sleep`.
    No time, or less, is no wait, also on a virtual clock that stands still. OTP: `timer:sleep(0)`.

    Raises:
        ActorExit: the actor was told to stop, or was killed; let it pass.
    """
    seat = here()
    ref = seat.ref
    if ref is None:
        seat.sleep(seconds)
        return
    if seconds <= 0:
        seat.leave_if_told()
        return
    Nap(seat).hold(seconds)


def checkpoint() -> None:
    """Leave the actor's code if the actor was told to stop; for loops that compute for long.

    Raises:
        ActorExit: as in `sleep`.
    """
    here().leave_if_told()


def exit_with(reason: Reason) -> NoReturn:
    """End the calling actor with this reason. OTP: exit/1."""
    raise ActorExit(reason)


def current() -> Ref[Any]:
    """The ref of the actor in whose code this is called, as a function that runs as a child. OTP: self/0.

    Raises:
        NoSuchActorError: no actor runs on this thread.
    """
    ref = here().ref
    if ref is None:
        raise NoSuchActorError("current", "this thread runs no actor")
    return ref
