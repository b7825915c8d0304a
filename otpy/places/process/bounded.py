"""`max_queue` of a process child: the parent counts what it sends, and the child tells how much of it has been taken.

So a sender is told at once that the mailbox is full, although that is in another process; and what a child does not
read, because it is stuck, does not pile up without end in its parent.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from otpy.errors import MailboxFullError, UncarriableError
from otpy.places.process.far import FarBox
from otpy.places.process.say import Say
from otpy.runtime.mailbox import SHEDDABLE, BoundedBox, dead_letter
from otpy.runtime.message import describe, own_word

if TYPE_CHECKING:
    from otpy.core.spec import Options
    from otpy.places.process.inside import Inside
    from otpy.runtime.actor import Actor
    from otpy.runtime.message import Message
    from otpy.runtime.ref import Ref

__all__ = ["BoundedFarBox", "InnerBox"]

PARTS = 8
"""The child tells of what it has taken at least after each eighth of its limit, and whenever nothing is left."""


class BoundedFarBox(FarBox):
    """The parent's end: admits what has room in the child's mailbox, as far as the child has told."""

    def __init__(self, ref: Ref[Any], inside: type[Actor], number: int, options: Options) -> None:
        """Belong to one actor, with a limit."""
        super().__init__(ref, inside, number, options)
        assert options.max_queue is not None  # noqa: S101 - who has none has another box
        self._limit = options.max_queue
        # The child sheds the oldest; only what it does not even read is refused here.
        self._most = 2 * self._limit if options.overflow == "drop_old" else self._limit
        self._raises = options.overflow == "raise"
        # Guards the three counts. RLock: a `__del__` may send to the same actor.
        self._guard = threading.RLock()
        self._sent = 0
        self._seen = 0
        self._depth = 0

    def append(self, message: Message) -> bool | None:  # type: ignore[override]  # as `FarBox.append`
        """Send a message, or do what the policy says."""
        if own_word(message) not in SHEDDABLE:
            return super().append(message)
        if not self._admit(message):
            return None
        try:
            return super().append(message)
        except UncarriableError:
            with self._guard:
                self._sent -= 1
            raise

    def has_taken(self, received: int, depth: int) -> None:
        """The child has told how many messages have reached it, and how many of them wait."""
        with self._guard:
            self._seen, self._depth = min(received, self._sent), depth

    def depth(self) -> int:
        """How many wait, as far as is known here."""
        return self._sent - self._seen + self._depth

    def _admit(self, message: Message) -> bool:
        with self._guard:
            if self.depth() < self._most:
                self._sent += 1
                return True
        if not isinstance(message, tuple):
            message.fail_full(self._limit)
        elif self._raises:
            raise MailboxFullError(self._ref.path, describe(message, self._ref.system.show), self._limit)
        else:
            dead_letter(self._ref, message, "its mailbox is full")
        return False


class InnerBox(BoundedBox):
    """The child's end: the mailbox itself, which tells the parent how much of it has been taken."""

    def __init__(self, ref: Ref[Any], limit: int, overflow: str, inside: Inside) -> None:
        """Be the mailbox of the child's actor."""
        super().__init__(ref, limit, "drop_old" if overflow == "drop_old" else "drop_new")
        self._inside = inside
        self._received = 0
        self._taken = 0

    def append(self, message: Message) -> None:
        """Put a message, and count it when it has come over the pipe."""
        with self._guard:
            before = len(self)
            super().append(message)
            if own_word(message) in SHEDDABLE and self._inside.is_hearing():
                self._received += 1
            if len(self) == before:  # another one has made room for it
                self._take()

    def drop(self) -> None:
        """A message has come that could not be loaded."""
        with self._guard:
            self._received += 1
            self._take()

    def popleft(self) -> Message:
        """Take the next message."""
        with self._guard:
            message = super().popleft()
            self._take()
        return message

    def _take(self) -> None:
        self._taken += 1
        if not len(self) or self._taken > self._limit // PARTS:
            self._taken = 0
            self._inside.line.say(Say.DEPTH, self._received, len(self))
