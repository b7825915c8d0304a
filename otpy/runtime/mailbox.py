"""Mailboxes: a message is put, its actor is woken, and what nobody will read becomes a dead letter."""

from __future__ import annotations

import logging
import threading
from collections import deque
from typing import TYPE_CHECKING, Any

from otpy.core.reason import NoProc
from otpy.errors import MailboxFullError
from otpy.events.messages import DeadLetter, MailboxGrew
from otpy.runtime.message import describe, message_word, own_word
from otpy.runtime.seat import here

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.runtime.message import Message
    from otpy.runtime.ref import Ref

__all__ = [
    "SHEDDABLE",
    "BoundedBox",
    "Interval",
    "bury",
    "dead_letter",
    "deliver_tick",
    "open_mailbox",
    "poke",
    "put",
    "ready",
    "rest",
    "rest_again",
    "send",
    "tick",
    "watch_growth",
]

ALARMS = (10_000, 100_000)
"""Waiting messages at which an unbounded mailbox is reported."""


def send(ref: Ref[Any], message: Message) -> None:
    """Put a message for a user: as `put`, but a killed actor that still runs is thrown out of its code instead."""
    if ref.system.undead:
        here().fence()
    put(ref, message)


def put(ref: Ref[Any], message: Message) -> None:
    """Put a message and wake its actor; from any thread, never blocks, never fails for a dead actor."""
    box = ref.mailbox
    if box is None:
        box = open_mailbox(ref)
    box.append(message)
    # Order matters: append, then look at `tok`; a turn that ends puts `tok` back, then looks at the mailbox.
    tok = ref.tok
    if tok:
        try:
            tok.pop()
            ready(ref)
        except IndexError:
            return
        except BaseException:
            ref.system.pool.hurt.append(ref)
            raise
    elif ref.reason is not None:  # append, then look at `reason`; a death sets `reason`, then empties the mailbox
        bury(ref)


def tick(ref: Ref[Any], message: tuple[Any, ...]) -> None:
    """Put a message for a timer, who has nobody to tell that a bounded mailbox refused it."""
    try:
        put(ref, message)
    except MailboxFullError:
        dead_letter(ref, message, "its mailbox is full")


class Interval:
    """What a timer does again and again for one actor: one tick at a time stands in its mailbox.

    An actor that was busy for a second would otherwise find all it has missed, and one that is stuck would grow without
    end. OTP: timer:send_interval/2 does let them pile up.
    """

    __slots__ = ("_message", "_ref", "is_waiting")

    def __init__(self, ref: Ref[Any], message: object) -> None:
        """Send the message to that actor at each tick."""
        self._ref = ref
        self._message = message
        self.is_waiting = False

    def tick(self) -> None:
        """Put the message, unless the one before still waits."""
        if not self.is_waiting:
            self.is_waiting = True  # before the actor can have it
            tick(self._ref, (deliver_tick, self._message, self))


def deliver_tick(actor: Any, message: object, interval: Interval) -> object:  # Any: actors are on a higher floor
    """Hand over the message of an interval, whose next one may come from here on."""
    interval.is_waiting = False
    return actor.on_info(message)


def ready(ref: Ref[Any]) -> bool:
    """Have an actor's home give it a turn; called once by whoever popped its `tok`, from any thread.

    False when no thread could be had for it: it waits until there is one.
    """
    home = ref.home
    home.queue.append(ref)
    # Append, then look at `free`; who has nothing to run adds to `free`, then looks at the queue.
    return not home.free or home.engage()


def rest(ref: Ref[Any]) -> None:
    """Let an actor rest after a turn, or queue it again; called by whoever holds its `tok`."""
    box = ref.mailbox
    if box and ref.has_work():
        if len(box) >= ALARMS[0]:
            watch_growth(ref)
        ready(ref)
        return
    ref.tok.append(True)
    rest_again(ref)


def rest_again(ref: Ref[Any]) -> None:
    """Look once more after `tok` was put back: whoever sends appends first and then looks at `tok`."""
    if (ref.mailbox or ref.alert) and ref.has_work():
        try:
            ref.tok.pop()
            ready(ref)
        except IndexError:
            return
        except BaseException:
            ref.system.pool.hurt.append(ref)
            raise


def poke(ref: Ref[Any], item: Callable[[Ref[Any]], object]) -> None:
    """Have the actor's next turn do something before any message, also in the middle of one; from any thread.

    On a loop it may return a coroutine, which the turn awaits.
    """
    more = ref.extras()
    if more.has_lane:
        more.add_to_lane(item)
    else:
        with ref.system.lock:
            more.add_to_lane(item)
    ref.alert = True  # append, then alert; a turn clears it, then reads the lane
    try:
        ref.tok.pop()
        ready(ref)
    except IndexError:
        return  # it is queued or running, and will look
    except BaseException:
        ref.system.pool.hurt.append(ref)
        raise


def open_mailbox(ref: Ref[Any]) -> deque[Message]:
    """Make the mailbox on the first message; most actors of a large system never get one."""
    box: deque[Message] = deque()
    with ref.system.lock:
        if ref.mailbox is None:
            ref.mailbox = box
        return ref.mailbox


class BoundedBox(deque["Message"]):
    """A mailbox with a limit and a policy for what comes after it is reached."""

    def __init__(self, ref: Ref[Any], limit: int, overflow: str) -> None:
        """Belong to one actor."""
        super().__init__()
        self._ref = ref
        self._limit = limit
        self._overflow = overflow
        self._guard = threading.RLock()  # makes the limit exact; RLock: a `__del__` may send to the same actor

    def append(self, message: Message) -> None:
        """Put a message, or do what the policy says; a refused call fails at once, whatever the policy."""
        with self._guard:
            shed = self._admit(message)
        if shed is None:
            return
        if isinstance(shed, tuple):
            dead_letter(self._ref, shed, "its mailbox is full")
        else:
            shed.fail_full(self._limit)

    def appendleft(self, message: Message) -> None:
        """Put a message back."""
        with self._guard:
            super().appendleft(message)

    def popleft(self) -> Message:
        """Take the next message."""
        with self._guard:
            return super().popleft()

    def copy(self) -> deque[Message]:  # type: ignore[override]  # no second mailbox, but what waits in this one
        """What waits, in order."""
        with self._guard:
            return deque(self)

    def remove(self, message: Message) -> None:
        """Take a message out of the middle. Raises ValueError when it is there no more."""
        with self._guard:
            super().remove(message)

    def _admit(self, message: Message) -> Message | None:
        """Put a message if it may be put; returns the one that has to go for it, which may be itself."""
        if len(self) < self._limit or own_word(message) not in SHEDDABLE:
            super().append(message)
            return None
        if not isinstance(message, tuple) or self._overflow == "drop_new":
            return message
        if self._overflow == "raise":
            raise MailboxFullError(self._ref.path, describe(message, self._ref.system.show), self._limit)
        oldest = next((i for i, old in enumerate(self) if own_word(old) in SHEDDABLE), None)
        if oldest is None:
            return message
        shed = self[oldest]
        del self[oldest]
        super().append(message)
        return shed


SHEDDABLE = ("", "info", "request", "tick")
"""What users send. Exit signals, `Down` and the runtime's other messages are no load that anybody could shed."""


def bury(ref: Ref[Any]) -> None:
    """Empty a dead actor's mailbox: callers get its exit reason, other messages become dead letters."""
    box = ref.mailbox
    if not box:
        return
    reason = ref.reason or NoProc()
    is_heard = ref.system.events.wants(DeadLetter, logging.DEBUG)
    why = f"it ended: {reason}" if is_heard else ""  # once: there may be a million
    while box:
        try:
            message = box.popleft()
        except IndexError:
            return
        if not isinstance(message, tuple):
            message.fail(reason)
        elif is_heard:
            dead_letter(ref, message, why)


def dead_letter(ref: Ref[Any], message: tuple[Any, ...], why: str) -> None:
    """Report a message that nobody will ever handle."""
    if message[0] is deliver_tick:
        message[2].is_waiting = False  # it gave way to others
    events = ref.system.events
    if events.wants(DeadLetter, logging.DEBUG):
        is_read = events.wants_details(DeadLetter, logging.DEBUG)  # there may be many, and some only count them
        word = describe(message, ref.system.show) if is_read else message_word(message)
        events.emit(DeadLetter(path=ref.path, message=word, why=why))


def watch_growth(ref: Ref[Any]) -> None:
    """Say so when an unbounded mailbox has passed 10 000 or 100 000 waiting messages; once each, from any thread."""
    length = len(ref.mailbox or ())
    if length < ALARMS[0] or isinstance(ref.mailbox, BoundedBox):
        return
    more = ref.extras()
    with ref.system.lock:
        passed = sum(length >= alarm for alarm in ALARMS)
        if passed <= more.alarms:
            return
        more.alarms = passed
    ref.system.events.emit(MailboxGrew(path=ref.path, length=length))
