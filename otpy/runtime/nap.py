"""What code that runs for long may call to be told to stop: `sleep`, `checkpoint`, `exit`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NoReturn

from otpy.errors import ActorExit
from otpy.runtime.seat import Slot, here

if TYPE_CHECKING:
    from otpy.core.reason import Reason

__all__ = ["checkpoint", "exit_with", "sleep"]


class Nap(Slot):
    """A thread that sleeps inside otpy; no circle of calls leads through it."""

    deferred = True

    def interrupt(self, reason: Reason) -> None:
        """Its actor was told to die."""
        self.resolve(reason)


def sleep(seconds: float) -> None:
    """Sleep on the system's clock; leaves the actor's code at once when the actor is told to stop.

    Runs in the calling thread; a pool actor gives its worker to others meanwhile. Outside of actors it is `time.sleep`.

    Raises:
        ActorExit: the actor was told to stop, or was killed; let it pass.
    """
    seat = here()
    ref = seat.ref
    if ref is None:
        time.sleep(seconds)
        return
    nap = Nap(seat)
    timer = ref.system.timers.after(seconds, nap.resolve, None)
    ref.waiting = nap  # publish, then look: an exit signal is noted first, then looks for who waits
    try:
        checkpoint()
        nap.wait(None)
    except BaseException:
        nap.give_up()
        raise
    finally:
        ref.waiting = None
        timer.cancel()
    checkpoint()


def checkpoint() -> None:
    """Leave the actor's code if the actor was told to stop; for loops that compute for long.

    Raises:
        ActorExit: as in `sleep`.
    """
    ref = here().ref
    if ref is None:
        return
    if ref.reason is not None:
        raise ActorExit(ref.reason)
    if ref.more is not None and ref.more.pending is not None:
        raise ActorExit(ref.more.pending)


def exit_with(reason: Reason) -> NoReturn:
    """End the calling actor with this reason. OTP: exit/1."""
    raise ActorExit(reason)
