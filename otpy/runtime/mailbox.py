"""Mailboxes: a message is put, its actor is woken, and what nobody will read becomes a dead letter.

A message is a flat tuple `(function, *arguments)`, called with the actor first, or a `Caller` that waits for a reply.
Flat, for a flood of messages costs the garbage collector as much as it costs the sender. What users send is always
inside of one, so no user message can pass for a `Down`, an exit signal or a request.
"""

from __future__ import annotations

import logging
from collections import deque
from typing import TYPE_CHECKING, Any

from otpy.core.reason import NoProc
from otpy.core.text import safe_repr
from otpy.errors import MailboxFullError
from otpy.events import DeadLetter, MailboxGrew
from otpy.runtime.seat import here

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.runtime.caller import Caller
    from otpy.runtime.ref import Ref

    Message = tuple[Any, ...] | Caller

__all__ = [
    "BoundedBox",
    "bury",
    "describe",
    "open_mailbox",
    "poke",
    "put",
    "ready",
    "rest",
    "rest_again",
    "send",
    "with_keywords",
]

ALARMS = (10_000, 100_000)


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
        except IndexError:
            return
        ready(ref)
    elif ref.reason is not None:  # append, then look at `reason`; a death sets `reason`, then empties the mailbox
        bury(ref)


def ready(ref: Ref[Any]) -> None:
    """Have an actor's home give it a turn; called once by whoever popped its `tok`, from any thread."""
    home = ref.home
    home.queue.append(ref)
    if home.free:  # append, then look at `free`; who has nothing to run adds to `free`, then looks at the queue
        home.engage()


def rest(ref: Ref[Any]) -> None:
    """Let an actor rest after a turn, or queue it again; called by whoever holds its `tok`."""
    box = ref.mailbox
    if box and ref.has_work():
        if len(box) >= ALARMS[0]:
            _watch_growth(ref)
        ready(ref)
        return
    ref.tok.append(True)
    rest_again(ref)


def rest_again(ref: Ref[Any]) -> None:
    """Look once more after `tok` was put back: whoever sends appends first and then looks at `tok`."""
    if (ref.mailbox or ref.alert) and ref.has_work():
        try:
            ref.tok.pop()
        except IndexError:
            return
        ready(ref)


def poke(ref: Ref[Any], item: Callable[[Ref[Any]], None]) -> None:
    """Have the actor's next turn do something before any message, also in the middle of one; from any thread."""
    more = ref.extras()
    if more.has_lane:
        more.add_to_lane(item)
    else:
        with ref.system.lock:
            more.add_to_lane(item)
    ref.alert = True  # append, then alert; a turn clears it, then reads the lane
    try:
        ref.tok.pop()
    except IndexError:
        return  # it is queued or running, and will look
    ready(ref)


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
        """Belong to one actor; `append` is only ever called by `send`."""
        super().__init__()
        self._ref = ref
        self._limit = limit
        self._overflow = overflow

    def append(self, message: Message) -> None:
        """Put a message, or do what the policy says. Senders may race past the limit by one message each."""
        if len(self) < self._limit:
            super().append(message)
            return
        if not isinstance(message, tuple):
            message.fail_full(self._limit)
        elif message[0].__name__ in _NEVER_DROPPED:
            super().append(message)
        elif self._overflow == "raise":
            raise MailboxFullError(self._ref.path, describe(message), self._limit)
        elif self._overflow == "drop_new":
            _dead_letter(self._ref, message, "its mailbox is full")
        else:
            self._drop_oldest()
            super().append(message)

    def _drop_oldest(self) -> None:
        try:
            oldest = self.popleft()
        except IndexError:
            return
        if isinstance(oldest, tuple):
            _dead_letter(self._ref, oldest, "its mailbox is full")
        else:
            oldest.fail_full(self._limit)


# Exit signals, Down and the runtime's own messages are no load that a user could shed.
_NEVER_DROPPED = frozenset({"deliver_exit", "deliver_down", "deliver_stop"})


def bury(ref: Ref[Any]) -> None:
    """Empty a dead actor's mailbox: callers get its exit reason, other messages become dead letters."""
    box = ref.mailbox
    reason = ref.reason or NoProc()
    while box:
        try:
            message = box.popleft()
        except IndexError:
            return
        if isinstance(message, tuple):
            _dead_letter(ref, message, f"it ended: {reason}")
        else:
            message.fail(reason)


def with_keywords(actor: object, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
    """Call a function that was given keywords, which few are."""
    return function(actor, *args, **kwargs)


def _dead_letter(ref: Ref[Any], message: Message, why: str) -> None:
    events = ref.system.events
    if events.wants(DeadLetter, logging.DEBUG):
        events.emit(DeadLetter(path=ref.path, message=describe(message), why=why))


def _watch_growth(ref: Ref[Any]) -> None:
    """Say so when an unbounded mailbox has passed 10 000 or 100 000 waiting messages; once each."""
    length = len(ref.mailbox or ())
    more = ref.extras()
    while more.alarms < len(ALARMS) and length >= ALARMS[more.alarms]:
        more.alarms += 1
        ref.system.events.emit(MailboxGrew(path=ref.path, length=length))


def describe(message: object) -> str:
    """A message as text for reports: `cast put`, `call get`, `info <value>`; bounded, never fails."""
    if message is None or isinstance(message, str):
        return message or ""
    if not isinstance(message, tuple):
        return f"call {getattr(message, 'request', '?')}"
    function, *args = message
    if function is with_keywords:
        function, *args = args
    name = getattr(function, "__name__", "?")
    if name.startswith("deliver_"):
        return f"{name.removeprefix('deliver_')} {safe_repr(args[0]) if args else ''}".strip()
    return f"cast {name}"
