"""Where a thread sits: what it runs now, the lock it waits on, and the token that lets it run turns."""

from __future__ import annotations

import math
import threading
import time
from typing import TYPE_CHECKING, Any

from otpy.errors import ActorExit
from otpy.runtime.frames import frames_of

if TYPE_CHECKING:
    from contextvars import Context
    from types import FrameType

    from otpy.runtime.crew import Node
    from otpy.runtime.pool import Pool
    from otpy.runtime.ref import Ref

__all__ = ["LONGEST", "SIGNAL_GRAIN", "Seat", "Slot", "here", "local", "sit", "sleep_on", "take_lock"]

LONGEST = threading.TIMEOUT_MAX
"""The longest time a lock can be waited for, in seconds; some hundred years."""


def take_lock() -> threading.Lock:
    """A lock that is already held: whoever acquires it again waits until another thread releases it."""
    lock = threading.Lock()
    lock.acquire()
    return lock


SIGNAL_GRAIN = 1.0
"""Seconds after which the main thread looks up from a longer sleep, to take a signal that CPython overlooked."""


def sleep_on(lock: threading.Lock, seconds: float | None = None) -> bool:
    """Acquire a lock, however long that takes, or in so many seconds; False when it was not to be had by then.

    CPython overlooks a signal that comes in the moment in which its main thread falls asleep, and handles it when the
    thread wakes up.
    """
    if threading.get_ident() != threading.main_thread().ident:
        return lock.acquire(timeout=-1 if seconds is None else min(max(seconds, 0.0), LONGEST))
    until = math.inf if seconds is None else time.monotonic() + seconds
    left = math.inf if seconds is None else seconds
    while not lock.acquire(timeout=max(0.0, min(left, SIGNAL_GRAIN))):
        left = until - time.monotonic()
        if left <= 0:
            return False
    return True


WAKE_UP = 2.0
"""Seconds that may pass between an answer and its wake-up; a busy interpreter needs some of them."""


class Seat:
    """One per thread that ever talks to otpy; only its own thread writes `ref`, `lock`.

    `tok` holds the token of a pool while this thread may run turns. Tokens are for throughput alone: a watchdog may
    take one away at any moment, and nothing breaks.
    """

    __slots__ = (
        "held",
        "ident",
        "late",
        "lock",
        "pool",
        "ref",
        "seen_in",
        "since",
        "spare",
        "thread_name",
        "tok",
        "turns",
        "waiting",
    )

    worker: Any = None  # on the thread of an event loop: whose task runs an actor's handler just now

    def __init__(self) -> None:
        """Sit outside of any pool."""
        self.ident = threading.get_ident()
        self.thread_name = ""
        self.lock: threading.Lock | None = take_lock()
        self.pool: Pool | None = None
        self.ref: Ref[Any] | None = None
        self.late: Slot | None = None
        self.spare: Context | None = None
        self.tok: list[bool] = []
        self.turns = 0
        self.since = 0.0
        # Whose message it was in when the watchdog looked, and which; None: the first one since its turn began.
        self.seen_in: tuple[int, int] | None = (0, 0)
        self.held: object = None
        self.waiting = False

    @property
    def node(self) -> Ref[Any] | Node | None:
        """Who waits here in the search for circles: the actor, or one of its handlers."""
        return self.ref

    def wake_late(self) -> None:
        """Wake the thread whose reply was given at the end of the turn."""
        slot, self.late = self.late, None
        if slot is not None:
            slot.wake()

    def note(self, now: float) -> None:
        """Note when its message began, if it is another one than at the last look; for the watchdog alone.

        A wait in the middle of a message changes nothing. What waits or has been seen twice is held, so that no later
        message can stand at the same place in memory; short ones never are, for nobody but their actor may end them.
        """
        ref = self.ref
        current = None if ref is None else ref.current
        if ref is None or current is None:
            self.held = None
            return
        key = (ref.number, id(current))
        is_new = self.seen_in != key
        if is_new:
            self.since = now if self.seen_in is not None else self.since
            self.seen_in = key
        self.held = current if self.waiting or not is_new else None

    def busy_for(self, now: float) -> float:
        """Seconds in the current message; the watchdog notes when one began, so one that it has not seen yet is new."""
        ref, seen_in, since = self.ref, self.seen_in, self.since
        if ref is None or seen_in not in {None, (ref.number, id(ref.current))}:
            return 0.0
        return max(0.0, now - since)

    def frames(self) -> list[FrameType]:
        """The frames of what it runs, the outermost first."""
        return frames_of(self.ident)

    def asker(self) -> Seat:
        """Who asks, for a call that is awaited on this thread."""
        return self

    def may_block(self) -> None:
        """Raise BlockingError when this thread must never wait."""

    def fence(self) -> None:
        """Throw an actor that was killed, but still runs, out of its code."""
        ref = self.ref
        if ref is not None and ref.reason is not None and ref in ref.system.undead:
            raise ActorExit(ref.reason)

    def leave_if_told(self) -> None:
        """Throw an actor out of its code that was killed, or got an exit signal that it does not trap."""
        ref = self.ref
        if ref is None:
            return
        if ref.reason is not None:
            raise ActorExit(ref.reason)
        if ref.more is not None and ref.more.pending is not None:
            raise ActorExit(ref.more.pending)

    def sleep(self, seconds: float) -> None:
        """Sleep outside of any actor."""
        time.sleep(seconds)


class Slot:
    """One answer that one thread waits for.

    `claim` holds one item; who pops it decides the outcome: the reply, the deadline or somebody's death.
    """

    __slots__ = ("claim", "lock", "seat", "value")

    def __init__(self, seat: Seat) -> None:
        """Take the thread's own lock; a signal handler that waits in the middle of a wait gets a new one."""
        self.claim = [True]
        self.seat = seat
        self.lock = seat.lock or take_lock()
        seat.lock = None
        self.value: Any = None

    def resolve(self, value: object) -> bool:
        """Give the answer, from any thread; False when it was decided before."""
        try:
            self.claim.pop()
            self.value = value
            self.wake()
        except IndexError:
            return False
        except BaseException:  # an interrupt, or a RecursionError: no further Python call can be made here
            if self.seat.pool is not None:
                self.seat.pool.hurt.append(self)
            elif not self.claim and self.lock.locked():
                self.lock.release()
            raise
        return True

    def wake(self) -> None:
        """Let the waiting thread go on: at once, or when its pool has a token for it."""
        seat = self.seat
        pool = seat.pool
        if pool is None:
            seat.waiting = False  # before the release: `wait_idle` must not take the woken thread for a waiting one
            self.lock.release()
        else:
            pool.resume(self)

    def wait(self, timeout: float | None) -> bool:
        """Wait for the answer, in the thread that made the slot; False after `timeout` real seconds without one."""
        seat = self.seat
        lock = self.lock
        if self.claim:
            seat.waiting = True
            if not self.claim:  # set, then looked: who has answered before has cleared it before, and never will again
                seat.waiting = False
        pool = seat.pool
        try:
            if pool is not None:
                pool.pass_on(seat, self)
            elif seat.ref is not None:
                seat.ref.system.pool.notice_idle()  # the thread of one actor: it rests now
            done = sleep_on(lock, timeout)
        except BaseException:
            self.abandon()
            raise
        if not done and self.give_up():
            return False
        seat.lock = lock
        if self.value.__class__ is _Broken:
            raise self.value.error
        return True

    def break_off(self, error: BaseException) -> None:
        """End the wait with an error that is raised where it waits."""
        self.resolve(_Broken(error))

    def give_up(self) -> bool:
        """Stop waiting; False when the answer came first, and then its wake-up has been consumed."""
        seat = self.seat
        try:
            self.claim.pop()
        except IndexError:
            # Whoever took the claim is about to release the lock, unless something cut it off in between.
            if self.lock.acquire(timeout=WAKE_UP):
                seat.lock = self.lock
                return False
            seat.lock = None  # the next wait takes a new one
            seat.waiting = False
            return True
        seat.waiting = False
        seat.lock = self.lock
        return True

    def abandon(self) -> None:
        """Stop waiting because of an exception, or without having waited; a second time it does nothing.

        An interrupt may come when the lock is just taken, so outside of a pool nobody can tell whether the answer's
        wake-up is still to come: the thread takes a new lock for its next wait. A pool's threads are never interrupted,
        and must take over the token that comes with the answer. A seeded run's scenario is a thread of its pool, and
        may be interrupted; it has taken the token over when it holds it.
        """
        seat = self.seat
        if seat.lock is self.lock:
            return
        has_token = seat.pool is not None and seat.pool.is_seeded and bool(seat.tok)
        if self.claim or (seat.pool is not None and not has_token):
            self.give_up()
        else:
            seat.lock = None


class _Broken:
    """Stands in the place of an answer that will never come."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


class _Local(threading.local):
    seat: Seat


local = _Local()


def sit(seat: Seat) -> None:
    """Make a seat that of the running thread."""
    seat.ident = threading.get_ident()
    seat.thread_name = threading.current_thread().name
    local.seat = seat


def here() -> Seat:
    """The seat of the running thread."""
    try:
        return local.seat
    except AttributeError:
        seat = local.seat = Seat()
        return seat
