"""Calls: a request goes into the server's mailbox as a `Caller`, the reply comes back through its slot."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from otpy.core.number import is_number
from otpy.core.reason import NoProc, Reason
from otpy.core.text import safe_repr
from otpy.errors import (
    ActorExit,
    CallError,
    CallExitError,
    CallTimeoutError,
    DeadlockError,
    MailboxFullError,
    NoProcError,
    SpecError,
)
from otpy.runtime.circle import deadlock
from otpy.runtime.extras import limit_above
from otpy.runtime.mailbox import bury, open_mailbox, send
from otpy.runtime.message import request_word
from otpy.runtime.seat import LONGEST, SIGNAL_GRAIN, Seat, Slot, here, local, sleep_on

if TYPE_CHECKING:
    from otpy.runtime.pykka import Future
    from otpy.runtime.ref import Ref
    from otpy.runtime.timers import Timer

__all__ = [
    "CALL_TIMEOUT",
    "STANDSTILL",
    "STOOD_STILL",
    "Caller",
    "FutureCaller",
    "call",
    "request_future",
    "time_limit",
]

CALL_TIMEOUT = 5.0
"""Seconds a call waits for its reply unless told otherwise. OTP: 5000 ms, gen_server:call/2."""

STANDSTILL = 10.0
"""Real seconds a thread outside of all actors waits on a virtual clock, which it may be the one to move."""

STOOD_STILL = f"{STANDSTILL:g} real seconds went by; virtual time stands still while the thread that moves it waits"


class Caller(Slot):
    """Who waits for the reply to one request; handed to `handle_call`, found as `self.caller` in a handler."""

    __slots__ = ("deferred", "error", "message", "target")

    def __init__(self, seat: Seat, target: Ref[Any], message: tuple[Any, ...]) -> None:
        """Made by the calling thread."""
        self.claim = [True]  # as in Slot.__init__, written out: this is the hot path of every call
        self.seat = seat
        self.lock = seat.lock or Slot(seat).lock
        seat.lock = None
        self.target = target
        self.message = message
        self.error: BaseException | None = None
        self.deferred = False

    @property
    def request(self) -> str:
        """The name of the request, for reports."""
        return request_word(self.message)

    @property
    def word(self) -> str:
        """The same as an edge says it."""
        return f"call {self.request}"

    @property
    def ref(self) -> Ref[Any] | None:
        """The calling actor; None for a thread outside of all actors."""
        return self.seat.ref

    def reply(self, value: object) -> bool:
        """Answer the request, from any thread; False when the caller no longer waits, and then nothing happens.

        OTP: gen_server:reply/2.
        """
        if self.target.system.undead:
            here().fence()
        if self.deferred:
            self.target.extras().deferred.pop(self, None)
        return self.resolve(value)

    def refuse(self, error: Exception) -> None:
        """Answer with an error that is raised in the caller; the server lives on."""
        if self.target.system.undead:
            here().fence()
        self._fail(error)

    def fail(self, reason: Reason) -> None:
        """The server ended before it replied."""
        self._fail(CallExitError(self.target.path, self.request, reason, limit_above(self.target)))

    def fail_full(self, limit: int) -> None:
        """The server's bounded mailbox refused the request."""
        self._fail(MailboxFullError(self.target.path, self.request, limit))

    def expire(self, timeout: float) -> None:
        """The time is over, on a virtual clock; on a real one the waiting thread sees to it."""
        self._fail(CallTimeoutError(self.target.path, self.request, timeout))

    def interrupt(self, reason: Reason) -> None:
        """The calling actor itself was told to die; it stops waiting and leaves its code."""
        self._fail(ActorExit(reason))

    def break_off(self, error: BaseException) -> None:
        """As `Slot.break_off`."""
        self._fail(error)

    def _fail(self, error: BaseException) -> None:
        if self.deferred and self.claim:
            self.target.extras().deferred.pop(self, None)
        try:
            self.claim.pop()
            self.error = error
            self.wake()
        except IndexError:
            return
        except BaseException:  # as in `resolve`
            if self.seat.pool is not None:
                self.seat.pool.hurt.append(self)
            elif not self.claim and self.lock.locked():
                self.lock.release()
            raise


class FutureCaller(Caller):
    """Nobody waits here: the reply goes into a pykka future. OTP: gen_server:send_request/2."""

    __slots__ = ("future",)

    def __init__(self, future: Future[Any], target: Ref[Any], message: tuple[Any, ...]) -> None:
        """Made by the asking thread."""
        super().__init__(Seat(), target, message)
        self.future = future
        self.value: Any = None

    def wake(self) -> None:
        """Fill the future, unless somebody else has done so."""
        with suppress(Exception):
            if self.error is None:
                self.future.set(self.value)
            else:
                self.future.set_exception((type(self.error), self.error, None))


def request_future(ref: Ref[Any], message: tuple[Any, ...], future: Future[Any]) -> None:
    """Send a request whose reply goes into a future; never blocks."""
    if ref.reason is not None or ref.system.forked:
        error = NoProcError(ref.path, "ask", ref.reason or NoProc(), limit_above(ref))
        future.set_exception((NoProcError, error, None))
        return
    send(ref, FutureCaller(future, ref, message))


def call(  # noqa: C901, PLR0912, PLR0915 - each function called here would be a tenth of what a call costs
    ref: Ref[Any], message: tuple[Any, ...], timeout: float | None
) -> Any:  # Any: `Ref.call` knows the type
    """Send a request and wait for its reply, in the calling thread."""
    try:
        seat = local.seat  # `here`, written out
    except AttributeError:
        seat = here()
    me = seat.ref
    system = ref.system
    if ref.reason is not None or system.forked:
        raise NoProcError(ref.path, request_word(message), ref.reason or NoProc(), limit_above(ref))
    caller = system.caller_class(seat, ref, message)
    if me is not None:
        # Publish, then look: of two calls that close a circle at the same time at least one sees the other.
        me.waiting = caller
        if (ref is me or ref.waiting is not None) and (chain := deadlock(me, ref)):
            _withdraw(me, caller)
            raise DeadlockError(ref.path, request_word(message), chain)
        if me.alert:  # published, then looked: an exit signal is noted first, then looks for who waits
            try:
                seat.leave_if_told()
            except ActorExit:
                _withdraw(me, caller)
                raise
    timer = _virtual_deadline(caller, timeout) if system.is_virtual else None
    # All else is done by now, for between the wake-up in `put` and the wait in `acquire` the woken thread and this one
    # would fight for the interpreter; 2 us more here are 10 us more for each call.
    lock = caller.lock
    pool = seat.pool
    try:
        # As `put`, written out.
        box = ref.mailbox
        if box is None:
            box = open_mailbox(ref)
        answered = box.append(caller)  # type: ignore[func-returns-value]  # that of a process child: see `FarBox`
        if answered is None:
            tok = ref.tok
            if tok:
                try:
                    tok.pop()
                    home = ref.home
                    home.queue.append(ref)
                    if home.free:
                        home.engage()
                except IndexError:
                    pass
                except BaseException:
                    system.pool.hurt.append(ref)
                    raise
            elif ref.reason is not None:
                bury(ref)
        if not answered:
            seat.waiting = True  # not before: until its target is in line, nobody but this thread looks as if it worked
            if not caller.claim:  # set, then looked, as in `Slot.wait`
                seat.waiting = False
            if pool is not None:
                pool.pass_on(seat, caller)
            elif me is not None:
                me.system.pool.notice_idle()  # the thread of one actor: it rests now
            if timeout is None:
                answered = sleep_on(lock)
            elif timer is not None:
                answered = lock.acquire(True, -1 if me is not None or pool is not None else STANDSTILL)  # noqa: FBT003
            elif timeout <= SIGNAL_GRAIN:
                answered = lock.acquire(True, timeout if timeout > 0 else 0)  # noqa: FBT003, FURB136 - quicker so
            else:  # most answers come at once: who slept may be the main thread
                answered = lock.acquire(True, SIGNAL_GRAIN) or sleep_on(lock, timeout - SIGNAL_GRAIN)  # noqa: FBT003
    except BaseException:
        _withdraw(me, caller)
        raise
    if answered:
        seat.lock = lock
    else:
        answered = not caller.give_up()
    if timer is not None:
        timer.cancel()
    if me is not None:
        me.waiting = None
        if me.reason is not None:
            raise ActorExit(me.reason)
    if not answered:
        if caller.deferred:
            ref.extras().deferred.pop(caller, None)
        if timer is not None:
            raise CallError(ref.path, request_word(message), STOOD_STILL)
        raise CallTimeoutError(ref.path, request_word(message), timeout or 0.0)
    if caller.error is not None:
        raise caller.error
    return caller.value


def time_limit(seconds: float | None) -> float | None:
    """The time for a call as a lock takes it; None, and infinity, wait for ever."""
    if seconds is None:
        return None
    kind = type(seconds)
    if (kind is float or kind is int) and seconds >= 0:
        return None if seconds >= LONGEST else seconds
    return _odd_time(seconds)


def _odd_time(seconds: float) -> float | None:
    """The same, for what may be no time at all. Raises SpecError."""
    if not (is_number(seconds) and seconds >= 0):
        wanted = "a time is a number of seconds, 0 or more, or None for no limit"
        raise SpecError("within", f"{wanted}; got {safe_repr(seconds)}")
    return time_limit(float(seconds))


def _virtual_deadline(caller: Caller, timeout: float | None) -> Timer | None:
    """The time for a call as a timer of the virtual clock; none for no time at all, unless the run is seeded."""
    system = caller.target.system
    if timeout is None or (timeout <= 0 and not system.pool.is_seeded):
        return None
    return system.timers.after(timeout, caller.expire, timeout)


def _withdraw(me: Ref[Any] | None, caller: Caller) -> None:
    if me is not None:
        me.waiting = None
    caller.abandon()
