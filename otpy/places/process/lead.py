"""The answer to a call, read by the thread that waits for it: a change of threads less than when `Ports` reads it.

While calls follow each other closely, `Ports` does not listen to the child. It looks again after a millisecond, and a
thread that leads has it listen at once when anything else came, or nothing; so at worst, what the child says of its own
accord waits for that millisecond.

What guards what: nobody owns the lead, so an interrupt in the middle of it leaves nothing behind. A thread looks at
what has come without taking it off the pipe, decodes it, and takes it under `Child.reading` if that still is the next
and all of it is the answer to this very call. Whatever else came is left to `Ports`, which handles all in its order.
"""

from __future__ import annotations

import socket
import struct
from time import monotonic
from typing import TYPE_CHECKING, Any

from otpy.places.process.codec import Decoder, GarbageError
from otpy.places.process.say import Say
from otpy.runtime.caller import Caller
from otpy.runtime.timed import TimedCaller

if TYPE_CHECKING:
    from otpy.places.process.child import Child
    from otpy.places.process.line import Waiter

__all__ = ["Lead"]

LOOK = 1 << 12
"""Bytes of a longest answer that is read so."""
WAIT = 1
"""Milliseconds a thread reads at most: meanwhile it hears of nothing else, as of its actor's death."""
CLOSE = 0.001
"""Seconds since the last answer, after which a call does not follow it closely."""
PAUSE = 16
"""Calls that are not tried after one that failed."""
TIME = struct.Struct("@ll")
"""A time as the kernel has it: seconds, microseconds."""


class Lead:
    """Callers that read for themselves; of one child."""

    def __init__(self, child: Child) -> None:
        """Nobody calls yet."""
        self.count = 0
        """Calls that were read so; `Ports` looks whether it grows."""
        self.is_heard = True
        """Whether the listener listens, which guards it."""
        self.socket = child.line.socket
        self._child = child
        self._decoder = Decoder(_leave, pickles=False)
        self._answered_at = 0.0
        self._pause = 0
        self._patience = 0

    def answered(self) -> None:
        """An answer has come."""
        self._answered_at = monotonic()

    def follow(self, caller: Waiter, number: int) -> bool | None:
        """A request was sent: wait for its answer a moment, when it is worth it; None when it was not."""
        child = self._child
        was_led = None
        # Sent, then looked: a death that is not seen here finds the caller, and tells it when it has told all others.
        if (
            (type(caller) is Caller or type(caller) is TimedCaller)
            and self._is_close(caller)
            and caller.target.reason is None
        ):
            was_led = False
            try:
                if self._take(number, caller):
                    return True
            except BaseException:  # an interrupt: it waits no more, and its answer may be taken already
                child.line.waiting.pop(number, None)
                raise
            self._pause = PAUSE
        if not self.is_heard:
            child.ports.listener.listen(self)
        return was_led

    def _is_close(self, caller: Caller) -> bool:
        """Whether calls follow each other closely, one at a time, and nobody needs this thread's token meanwhile."""
        if monotonic() - self._answered_at > CLOSE:
            return False
        if self._pause:
            self._pause -= 1
            return False
        pool = caller.seat.pool
        return len(self._child.line.waiting) == 1 and (pool is None or not pool.queue)

    def _peek(self) -> bytes:
        """What has come, left on the pipe; waits until something does, but not for long: then there is nothing."""
        self.count += 1
        if self.is_heard:
            self._child.ports.listener.hold_off(self)
        try:
            if self._patience != WAIT:
                self.socket.setsockopt(
                    socket.SOL_SOCKET, socket.SO_RCVTIMEO, TIME.pack(*divmod(WAIT * 1_000, 1_000_000))
                )
                self._patience = WAIT  # set, then noted: an interrupt in between has it set again
            return self.socket.recv(LOOK, socket.MSG_PEEK)
        except OSError:  # nothing in time; or it has ended
            return b""

    def _take(self, number: int, caller: Caller) -> bool:
        """Take the answer, if that is what comes, and nothing else."""
        child = self._child
        taken = child.taken  # from before the look: what is seen is what comes after so many bytes, or later than that
        data = self._peek()
        try:
            frame = self._decoder.only(data)
            if frame is None or frame[0] != Say.REPLY or frame[1] != number:
                return False
            _, _, value = frame
        except (GarbageError, LookupError, TypeError, ValueError):
            return False  # `Ports` will find the same, and say so
        # Made before, and drawn below by an assignment, which no signal handler can interrupt: a handler that calls
        # the same child must never find `reading` held by its own thread.
        draw = map(self.socket.recv, (len(data),), (socket.MSG_DONTWAIT,))
        with child.reading:
            if child.taken != taken or child.is_hearing or child.decoder.is_amid:
                return False
            child.taken = taken + len(data)
            (_,) = draw
        return self._give(number, caller, value)

    def _give(self, number: int, caller: Caller, value: Any) -> bool:  # Any: plain data
        line = self._child.line
        self._answered_at = monotonic()
        caller.seat.waiting = False  # first: `wait_idle` must find it waiting for an answer, or awake
        try:
            caller.claim.pop()
        except IndexError:
            return False  # it was decided otherwise, and who did so is about to wake this thread
        finally:
            line.waiting.pop(number, None)
        caller.value = value
        if type(caller) is TimedCaller:
            caller.note()
        if caller.target.system.pool.idle_watchers:
            caller.target.system.pool.notice_idle()
        return True


def _leave(_: object) -> object:
    """Refs are made in one thread alone."""
    raise LookupError
