"""What a system keeps of one exit, and the bounded rings it is kept in; no thread, no lock, no user's object."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from otpy.core.reason import TEXT_ONLY, Crashed, Reason, Shutdown
from otpy.runtime.message import message_word

if TYPE_CHECKING:
    from otpy.core.intensity import Window
    from otpy.runtime.ref import Ref

__all__ = ["MAX_BYTES", "MAX_EXITS", "Decided", "Note", "Ring", "is_plain", "peaceful"]

MAX_EXITS = 200
"""Exits kept of each kind."""
MAX_BYTES = 256 * 1024
"""Estimated size of what is kept of one kind."""

BASE_BYTES = 600
FRAME_BYTES = 150


class Note:
    """One exit as it is kept; only the history's lock changes it after it was written."""

    took: tuple[str, ...] = ()
    took_count = 0
    waiting: tuple[str, ...] = ()
    waiting_count = 0
    decided: tuple[Decided, ...] = ()
    head: tuple[Any, ...] | str = ""
    queue = 0
    order = 0
    victims: tuple[int, ...] = ()
    by: str | None = None
    cause: Note | None = None

    def __init__(self, ref: Ref[Any], reason: Reason, at: float) -> None:
        """Keep what costs nothing; no user's object, and not the dead incarnation."""
        self.at = at
        self.number = ref.number
        self.id = ref.id
        self.parent = ref.parent
        self.top = ref.path if ref.parent is None else ""
        self.uptime = at - ref.started_at  # no number when its start is not known
        self.kind = ref.actor_class.__name__
        self.reason: Reason | str = reason if is_plain(reason) else str(reason)
        self.size = BASE_BYTES if not isinstance(reason, Crashed) else _size(reason)
        """About how many bytes it takes."""

    @property
    def message(self) -> str:
        """What kind of message it was in; put together only when somebody asks."""
        return message_word(self.head)

    @property
    def path(self) -> str:
        """Whose exit it was; put together only when somebody asks."""
        return self.top or f"{self.parent.path}/{self.id}"  # type: ignore[union-attr]  # one of the two there is


class Decided(NamedTuple):
    """One thing a supervisor did about an exit."""

    what: str
    """As in `otpy.core.exits.ExitAction`."""
    at: float
    """When."""
    detail: str | None = None
    """What there is to add."""
    restart: int = 0
    """Which restart of the child it was."""
    in_window: int = 0
    """How many were counted in the window."""
    window: Window | None = None
    """Which window that is."""
    others: tuple[str, ...] = ()
    """Paths of those that were stopped with it; of many some."""
    others_count: int = 0
    """How many they were."""

    def as_attempt(self, restart: int) -> Decided:
        """The same, if it is not the restart of this number, which has failed."""
        return self._replace(what="attempt") if self.what == "restart" and self.restart == restart else self


class Ring:
    """The latest notes of one kind, bounded in number and size."""

    def __init__(self) -> None:
        """Empty."""
        self.notes: deque[Note] = deque()
        self.bytes = 0

    @property
    def is_too_full(self) -> bool:
        """Whether the oldest has to go."""
        return len(self.notes) > MAX_EXITS or self.bytes > MAX_BYTES

    def add(self, note: Note) -> None:
        """Add one."""
        self.notes.append(note)
        self.bytes += note.size

    def drop(self) -> Note:
        """Take the oldest out."""
        oldest = self.notes.popleft()
        self.bytes -= oldest.size
        return oldest


def peaceful(facts: tuple[Any, ...]) -> Note:
    """What was kept in short of a peaceful end, as a note."""
    order, at, started_at, number, ident, parent, cls, reason, word = facts
    note = Note.__new__(Note)
    note.order, note.at, note.uptime, note.number = order, at, at - started_at, number
    note.id, note.parent, note.top, note.kind = ident, parent, "", cls.__name__
    note.reason, note.size = reason, BASE_BYTES
    note.decided = (Decided("kept" if word == "keep" else "forgot", at),)
    return note


def is_plain(reason: Reason) -> bool:
    """Whether a reason holds nothing of the user's but text."""
    if isinstance(reason, Shutdown):
        return reason.detail is None
    return type(reason) in TEXT_ONLY


def _size(reason: Crashed | None) -> int:
    size = BASE_BYTES
    while reason is not None:
        size += max(2 * FRAME_BYTES, len(reason.text)) + FRAME_BYTES * len(reason.frames)
        reason = reason.cause
    return size
