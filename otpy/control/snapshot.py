"""What the inspector tells about a program, as plain data for the wire and as values for whoever asked.

Reading is forgiving, so that an older client understands a newer program: unknown fields are left out, missing ones
get a neutral value, and a field of the wrong type is refused as a whole frame would be.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from otpy.control.errors import WireError
from otpy.core.exits import ExitAction, ExitRecord
from otpy.core.record import ActorRecord, MailboxRecord, ProcessRecord, StateRecord
from otpy.core.value import value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Detail", "Exits", "Inspected", "Snapshot", "Summary", "from_plain", "to_plain"]

T = TypeVar("T")


class Inspected(Protocol):
    """What the control floor needs of a `System`; everything above the gap only reads what is published."""

    @property
    def name(self) -> str:
        """The first part of every path."""
        ...

    @property
    def started_at(self) -> float:
        """Wall clock seconds."""
        ...

    def asks_processes(self) -> bool:
        """Whether a look may have to wait for the answer of a process child."""
        ...

    def records(self, path: str | None = None, limit: int = 200) -> Sequence[ActorRecord]:
        """The actors below and with `path`, depth first; at most `limit` children of each supervisor."""
        ...

    def record(self, path: str) -> ActorRecord:
        """One actor; raises `NoSuchActorError`."""
        ...

    def zombies(self) -> Sequence[ActorRecord]:
        """Killed actors whose thread has not come back."""
        ...

    def stack(self, path: str) -> str | None:
        """The Python stack of a running actor."""
        ...

    def exits(self, path: str | None = None, limit: int = 20) -> Sequence[ExitRecord]:
        """The latest exits that concern a path, the latest first; raises `NoSuchActorError`."""
        ...

    def state(self, path: str, *, timeout: float = 2.5) -> StateRecord:
        """What an actor holds; asks it, and waits at most so many seconds."""
        ...

    def mailbox(self, path: str, limit: int = 20) -> MailboxRecord:
        """What waits for an actor, by kind."""
        ...

    def counts(self) -> dict[str, int]:
        """Actors, zombies, threads, run queue."""
        ...

    def ending(self) -> tuple[str, float | None] | None:
        """Who has told it to stop, and in how many seconds it must have, if there is a limit."""
        ...

    def terminate_child(self, path: str) -> object:
        """Stop one child and keep its specification; blocks until done."""
        ...

    def restart_child(self, path: str) -> object:
        """Stop one child and start it again; blocks until done."""
        ...

    def kill(self, path: str) -> object:
        """Kill one actor; blocks until done."""
        ...

    def suspend(self, path: str, *, timeout: float = 5.0, seconds: float | None = None) -> object:
        """Have an actor handle no messages; waits for the one it is in."""
        ...

    def resume(self, path: str, *, timeout: float = 5.0) -> object:
        """Have it go on."""
        ...

    def request_stop(self, reason: str = ..., *, within: float | None = None) -> object:
        """Ask the whole program to stop; returns at once."""
        ...


@value(kw_only=True)
class Summary:
    """One program, as `otpy ps` shows it."""

    name: str
    """The first part of every path in it."""
    pid: int
    """Its process."""
    version: str = "?"
    """Of otpy, as installed there."""
    python: str = "?"
    """The version of Python."""
    command: str = ""
    """How the program was started."""
    started_at: float = 0.0
    """Wall clock seconds."""
    uptime: float = 0.0
    """Seconds since then."""
    counts: dict[str, int]
    """Actors, zombies, threads, run queue."""
    draining: str | None = None
    """Who has told it to stop, in words; None while nobody has."""
    left: float | None = None
    """Seconds in which it must have stopped then."""


@value(kw_only=True)
class Snapshot:
    """A program's tree at one moment."""

    system: Summary
    """The program itself."""
    records: tuple[ActorRecord, ...]
    """Depth first, in start order."""
    zombies: tuple[ActorRecord, ...]
    """Killed actors whose code still runs."""
    left_out: int
    """Records that did not fit into the reply."""


@value(kw_only=True)
class Detail:
    """One actor, as `otpy info` shows it."""

    record: ActorRecord
    """What is published of it."""
    stack: str | None
    """What its thread is doing now, when it runs."""


@value(kw_only=True)
class Exits:
    """What is remembered of exits, as `otpy why` shows it."""

    path: str
    """Whose; the system's name is above all others."""
    exits: tuple[ExitRecord, ...]
    """The latest first."""


def to_plain(value: object) -> object:
    """A value of this file, or a record, as lists and maps."""
    names = _NAMES.get(type(value))
    if names is not None:
        return {name: to_plain(getattr(value, name)) for name in names}
    return [to_plain(item) for item in value] if isinstance(value, tuple) else value


def from_plain(kind: type[T], plain: object) -> T:
    """The value of `kind` that `to_plain` wrote.

    Raises:
        WireError: it is something else.
    """
    readers = _READERS[kind]
    given = _expect(dict, plain)
    return kind(**{name: read(given.get(name)) for name, read in readers.items()})


def _text(value: object) -> str:
    return _expect(str, "" if value is None else value)


def _integer(value: object) -> int:
    return _expect(int, 0 if value is None else value)


def _seconds(value: object) -> float:
    return float(_expect((int, float), 0.0 if value is None else value))


def _flag(value: object) -> bool:
    return value is not None and _expect(bool, value)


def _counts(value: object) -> dict[str, int]:
    pairs = _expect(dict, {} if value is None else value)
    return {_text(key): _integer(item) for key, item in pairs.items()}


def _optional(read: Callable[[object], T]) -> Callable[[object], T | None]:
    return lambda value: None if value is None else read(value)


def _many(read: Callable[[object], T]) -> Callable[[object], tuple[T, ...]]:
    return lambda value: tuple(read(item) for item in _expect(list, [] if value is None else value))


def _one(kind: type[T]) -> Callable[[object], T]:
    return lambda value: from_plain(kind, value)


def _expect(kind: type[T] | tuple[type[T], ...], value: object) -> T:
    if not isinstance(value, kind):
        raise WireError(f"the program sent {type(value).__name__} where something else belongs")
    return value


_BY_ANNOTATION: dict[object, Callable[[object], object]] = {
    "str": _text,
    "str | None": _optional(_text),
    "int": _integer,
    "float": _seconds,
    "float | None": _optional(_seconds),
    "bool": _flag,
    "tuple[str, ...]": _many(_text),
    "dict[str, int]": _counts,
    "ProcessRecord | None": _optional(_one(ProcessRecord)),
    "Summary": _one(Summary),
    "ActorRecord": _one(ActorRecord),
    "tuple[ActorRecord, ...]": _many(_one(ActorRecord)),
    "tuple[ExitAction, ...]": _many(_one(ExitAction)),
    "tuple[ExitRecord, ...]": _many(_one(ExitRecord)),
}
_KINDS: tuple[type[Any], ...] = (
    ActorRecord,
    ProcessRecord,
    Summary,
    Snapshot,
    Detail,
    ExitAction,
    ExitRecord,
    Exits,
    StateRecord,
    MailboxRecord,
)  # dataclasses of different shapes
_NAMES = {kind: tuple(field.name for field in fields(kind)) for kind in _KINDS}
# A field of a new type fails here, at import, until it gets its reader.
_READERS = {kind: {field.name: _BY_ANNOTATION[field.type] for field in fields(kind)} for kind in _KINDS}
