"""What an actor in a process asks of its parent's tree: links, names; and what it tells of messages and its crash.

The truth about links and names is in the parent, where the port stands for the actor: so they hold whatever ends it.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, TypeVar

from otpy.core.reason import Exit
from otpy.errors import BlockingError, NameTakenError
from otpy.events.crash import ActorCrashed
from otpy.events.messages import DeadLetter, MailboxGrew, UnknownMessage
from otpy.places.process.say import Say
from otpy.runtime.seat import Seat, Slot, here
from otpy.runtime.system import System

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable

    from otpy.events.event import Event
    from otpy.places.process.line import Line
    from otpy.runtime.ref import Ref

__all__ = ["TOLD", "Bonds", "InnerSystem", "brief_seat", "is_told_outside"]

W = TypeVar("W", bound=Slot)

MAX_LETTERS = 1_000
"""Dead letters that one actor's end tells of; it may leave a million."""
TOLD = (ActorCrashed, DeadLetter, MailboxGrew, UnknownMessage)
"""What is reported by the port, where the listeners are."""


class Bonds:
    """The child's end."""

    def __init__(self, line: Line, system: InnerSystem) -> None:
        """Have none."""
        self.system = system
        self._line = line
        self.awaiting = threading.RLock()
        """Held from the look who waits for a name until the parent is told, so that it is told in that order.

        The system's lock will not do: it is taken by who sends a ref, in the middle of a message."""
        self._cut: dict[int, int] = {}  # of whom exits by a link may still be on their way, though it is cut
        self._letters = 0

    def link(self, number: int) -> None:
        """Link to an actor of the parent; its `NoProc` comes when it is dead."""
        self._line.say(Say.LINK, number)

    def unlink(self, number: int) -> None:
        """Unlink; from now on no exit by the link is heard, as in OTP."""
        self._cut[number] = self._cut.get(number, 0) + 1
        self._line.say(Say.UNLINK, number)

    def hear(self, frame: list[Any]) -> bool:
        """Whether a message needs no more than this: the parent has unlinked, or an exit by a link comes too late."""
        match frame:
            case [Say.NAMED, str(name)]:
                with self.system.lock:
                    self.system.tell_of_name(name)
                return True
            case [Say.UNLINKED, int(number)]:
                self._cut[number] -= 1
                if not self._cut[number]:
                    del self._cut[number]
                return True
            case [Say.EXIT, _, sender, _, True]:
                return (0 if sender is None else getattr(sender, "wire", -1)) in self._cut
        return False

    def register(self, ref: Ref[Any], name: str) -> None:
        """Take a name in the parent's tree. Raises NameTakenError."""
        slot = Slot(brief_seat())
        self._line.say(Say.REGISTER, self._line.expect(slot), name)
        slot.wait(None)
        if slot.value is not None:
            taken, holder = slot.value
            raise NameTakenError(ref.path, Exit("already_started"), taken, holder, wanted=name)
        ref.name = name

    def await_name(self, name: str, *, is_awaited: bool) -> None:
        """Have the parent say when somebody takes a name, or no longer."""
        self._line.say(Say.AWAIT, name, is_awaited)

    def tell(self, path: str, event: Event) -> None:
        """Have the port report what has happened to the actor itself."""
        if event.path != path:
            return
        facts: dict[str, object] = {}
        match event:
            case DeadLetter(message=message, why=why):
                self._letters += 1
                if self._letters > MAX_LETTERS:
                    return
                facts = {"message": message, "why": why}
            case UnknownMessage(message=message):
                facts = {"message": message}
            case MailboxGrew(length=length):
                facts = {"length": length}
            case ActorCrashed(message=message, queue=queue, state=state):
                facts = {"message": message, "queue": queue, "state": [list(pair) for pair in state]}
        self._line.say(Say.EVENT, type(event).__name__, facts)


class InnerSystem(System):
    """The small system of a process child."""

    bonds: Bonds

    def register(self, ref: Ref[Any], name: str) -> None:
        """As `System.register`; the name of the child's actor is known to its whole program."""
        if ref is self.root:
            here().fence()
            self.bonds.register(ref, name)
        else:
            super().register(ref, name)

    def await_name(self, name: str, wait: Callable[[], W], *, is_last: bool) -> tuple[Ref[Any] | None, W | None]:
        """As `System.await_name`, for a name of the whole program."""
        ref = self.names.get(name)  # before the lock, for this asks the parent; one that comes now is told of below
        if ref is not None:
            return ref, None
        with self.bonds.awaiting:
            found = super().await_name(name, wait, is_last=is_last)
            if found[1] is not None:
                self.bonds.await_name(name, is_awaited=True)
        return found

    def forget_wait(self, name: str, wait: Any) -> None:
        """As `System.forget_wait`."""
        with self.bonds.awaiting:
            super().forget_wait(name, wait)
            if name not in self.awaited_names:
                self.bonds.await_name(name, is_awaited=False)


def brief_seat() -> Seat:
    """Where to wait a moment for an answer: also on a loop's thread, which must not wait for what may take long."""
    seat = here()
    try:
        seat.may_block()
    except BlockingError:
        return Seat()
    return seat


def is_told_outside(path: str, record: logging.LogRecord) -> bool:
    """Whether the log of the child itself is to have this: the port reports what has happened to the actor."""
    event = getattr(record, "otpy", None)
    return not (isinstance(event, TOLD) and event.path == path)
