"""Calls: a request goes into the server's mailbox as a `Caller`, the reply comes back through its slot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.core.reason import NoProc, Reason
from otpy.errors import ActorExit, CallExitError, CallTimeoutError, DeadlockError, MailboxFullError, NoProcError
from otpy.runtime.mailbox import bury, open_mailbox, send, with_keywords
from otpy.runtime.seat import Seat, Slot, here, local

if TYPE_CHECKING:
    from otpy.runtime.pykka import Future
    from otpy.runtime.ref import Ref

__all__ = ["CALL_TIMEOUT", "Caller", "FutureCaller", "call", "deadlock", "request_future"]

CALL_TIMEOUT = 5.0
"""Seconds a call waits for its reply unless told otherwise. OTP: 5000 ms, gen_server:call/2."""


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
        return _name(self.message)

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
            self.target.extras().deferred.discard(self)
        return self.resolve(value)

    def refuse(self, error: Exception) -> None:
        """Answer with an error that is raised in the caller; the server lives on."""
        if self.deferred:
            self.target.extras().deferred.discard(self)
        self._fail(error)

    def fail(self, reason: Reason) -> None:
        """The server ended before it replied."""
        self._fail(CallExitError(self.target.path, self.request, reason))

    def fail_full(self, limit: int) -> None:
        """The server's bounded mailbox refused the request."""
        self._fail(MailboxFullError(self.target.path, self.request, limit))

    def expire(self, timeout: float) -> None:
        """The time is over, on a virtual clock; on a real one the waiting thread sees to it."""
        self._fail(CallTimeoutError(self.target.path, self.request, timeout))

    def interrupt(self, reason: Reason) -> None:
        """The calling actor itself was told to die; it stops waiting and leaves its code."""
        self._fail(ActorExit(reason))

    def _fail(self, error: BaseException) -> None:
        try:
            self.claim.pop()
        except IndexError:
            return
        self.error = error
        self.wake()


class FutureCaller(Caller):
    """Nobody waits here: the reply goes into a pykka future. OTP: gen_server:send_request/2."""

    __slots__ = ("future",)

    def __init__(self, future: Future[Any], target: Ref[Any], message: tuple[Any, ...]) -> None:
        """Made by the asking thread."""
        super().__init__(Seat(), target, message)
        self.future = future
        self.value: Any = None

    def wake(self) -> None:
        """Fill the future."""
        if self.error is None:
            self.future.set(self.value)
        else:
            self.future.set_exception((type(self.error), self.error, None))


def request_future(ref: Ref[Any], message: tuple[Any, ...], future: Future[Any]) -> None:
    """Send a request whose reply goes into a future; never blocks."""
    if ref.reason is not None:
        error = NoProcError(ref.path, "ask", ref.reason)
        future.set_exception((NoProcError, error, None))
        return
    send(ref, FutureCaller(future, ref, message))


def call(ref: Ref[Any], message: tuple[Any, ...], timeout: float | None) -> Any:  # Any: `Ref.call` knows the type
    """Send a request and wait for its reply, in the calling thread."""
    try:
        seat = local.seat  # `here`, written out
    except AttributeError:
        seat = here()
    me = seat.ref
    system = ref.system
    if ref.reason is not None or system.forked:
        raise NoProcError(ref.path, _name(message), ref.reason or NoProc())
    caller = Caller(seat, ref, message)
    if me is not None:
        # Publish, then look: of two calls that close a circle at the same time at least one sees the other.
        me.waiting = caller
        if (ref is me or ref.waiting is not None) and (chain := deadlock(me, ref)):
            _withdraw(me, caller)
            raise DeadlockError(ref.path, _name(message), chain)
        if me.reason is not None:
            _withdraw(me, caller)
            raise ActorExit(me.reason)
    timer = system.timers.after(timeout, caller.expire, timeout) if system.is_virtual and timeout else None
    # All else is done by now, for between the wake-up in `put` and the wait in `acquire` the woken thread and this one
    # would fight for the interpreter; 2 us more here are 10 us more for each call.
    lock = caller.lock
    seat.waiting = True
    pool = seat.pool
    try:
        # As `put`, written out.
        box = ref.mailbox
        if box is None:
            box = open_mailbox(ref)
        box.append(caller)
        tok = ref.tok
        if tok:
            try:
                tok.pop()
            except IndexError:
                pass
            else:
                home = ref.home
                home.queue.append(ref)
                if home.free:
                    home.engage()
        elif ref.reason is not None:
            bury(ref)
        if pool is not None:
            pool.pass_on(seat)
        if timeout is None or timer is not None:
            answered = lock.acquire()
        else:
            answered = lock.acquire(True, timeout if timeout > 0 else 0)  # noqa: FBT003 - by position it is quicker
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
        raise CallTimeoutError(ref.path, _name(message), timeout or 0.0)
    if caller.error is not None:
        raise caller.error
    return caller.value


def _withdraw(me: Ref[Any] | None, caller: Caller) -> None:
    if me is not None:
        me.waiting = None
    caller.give_up()


def deadlock(me: Ref[Any], target: Ref[Any]) -> list[str]:
    """The circle that a call from one actor to another would close, as paths; empty when there is none.

    An edge ends when its reply is given; a deferred reply may come from anybody and proves nothing.
    """
    chain = [me]
    current = target
    while True:
        chain.append(current)
        if current is me:
            return [ref.path for ref in chain]
        waits = current.waiting
        if waits is None or waits.deferred or not waits.claim or current in chain[:-1]:
            return []
        current = waits.target


def _name(message: tuple[Any, ...]) -> str:
    function = message[1] if message[0] is with_keywords else message[0]
    return getattr(function, "__name__", "?").removeprefix("deliver_")
