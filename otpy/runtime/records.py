"""Published records: what the inspector reads of actors. Sends nothing, and holds no lock while it looks."""

from __future__ import annotations

from inspect import getattr_static
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from otpy.core.record import ActorRecord
from otpy.runtime.crew import crew_of, in_hand
from otpy.runtime.edge import waits_for
from otpy.runtime.extras import resource_word
from otpy.runtime.links import linked
from otpy.runtime.message import describe
from otpy.runtime.stacks import seat_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from otpy.core.reason import Reason
    from otpy.core.spec import ChildSpec
    from otpy.runtime.actor import Actor
    from otpy.runtime.beyond import Seen
    from otpy.runtime.ref import Ref
    from otpy.runtime.system import System

__all__ = [
    "Child",
    "ChildEntry",
    "Children",
    "child_record",
    "children_of",
    "is_in_init",
    "kept_by",
    "record_of",
    "records_below",
]

MAX_LINKS = 20
"""Links that a record names; a hub may have a hundred thousand."""


class ChildEntry(Protocol):
    """What a supervisor knows of one child; only its turns write it, and any thread reads it."""

    spec: ChildSpec
    """How it is started."""
    cls: type[Actor]
    """The actor class that runs it."""
    ref: Ref[Any] | None
    """Its process, None when it has none."""
    restarting: bool
    """Whether its restart has failed and is tried again."""
    last_exit: Reason | None
    """Why the process before ended."""

    @property
    def due(self) -> float | None:
        """When its restart is due, by the system's clock; None unless it waits for it."""

    @property
    def given_up(self) -> bool:
        """Whether a limit of its own was passed."""

    @property
    def restarts(self) -> int:
        """How often it was started again."""


class Children(Protocol):
    """A supervisor's table of children, as far as the runtime looks into it; any thread may."""

    def items(self) -> Iterable[tuple[str | int, ChildEntry]]:
        """Ids and children in start order, as they are now."""

    def ref_of(self, ident: str) -> Ref[Any] | None:
        """A child's living process, found by the text of its id."""

    def __len__(self) -> int: ...


class Child(NamedTuple):
    """One child: its process, what its supervisor knows of it, or both."""

    path: str
    """Its path."""
    id: str
    """The last part of it."""
    ref: Ref[Any] | None
    """Its process; None when it has none."""
    entry: ChildEntry | None
    """Its supervisor's entry; None for what no supervisor started."""


def records_below(system: System, ref: Ref[Any], limit: int, beyond: Mapping[Ref[Any], Seen]) -> Iterator[ActorRecord]:
    """An actor and all below it, in start order; at most `limit` children of each. `beyond`: what runs elsewhere."""
    stack = [Child(ref.path, str(ref.id), ref, None)]
    while stack:
        child = stack.pop()
        seen = None if child.ref is None else beyond.get(child.ref)
        yield child_record(system, child, seen)
        if seen is not None:
            yield from seen.below
        elif child.ref is not None:
            stack.extend(reversed(list(islice(children_of(child.ref), limit))))


def children_of(ref: Ref[Any]) -> Iterator[Child]:
    """Whom a supervisor keeps, in start order, then whom an actor started itself."""
    path = ref.path
    table = _table_of(ref)
    for ident, entry in table.items() if table is not None else ():
        yield Child(f"{path}/{ident}", str(ident), entry.ref, entry)
    if ref.more is not None and ref.more.has_spawned:
        for child in list(ref.more.spawned.values()):
            yield Child(f"{path}/{child.id}", str(child.id), child, None)


def kept_by(ref: Ref[Any]) -> list[Ref[Any]]:
    """Those of them that have a process, without their paths: to write these takes most of the time."""
    table, more = _table_of(ref) if ref.actor_class.is_supervisor else None, ref.more
    found = [] if table is None else [entry.ref for _, entry in table.items()]  # each read once: it may just be stopped
    kept = [child for child in found if child is not None]
    if more is not None and more.has_spawned:
        kept.extend(list(more.spawned.values()))
    return kept


def child_record(system: System, child: Child, seen: Seen | None = None) -> ActorRecord:
    """One child, with a process or without; `seen`: what was seen of one that runs elsewhere."""
    if child.ref is not None:
        record = record_of(system, child.ref, child.entry)
        return record if seen is None else seen.merge(record)
    assert child.entry is not None  # noqa: S101 - nobody else keeps one without a process
    return _stopped_record(child.path, child.id, child.entry, system.clock.now())


def record_of(system: System, ref: Ref[Any], entry: ChildEntry | None = None) -> ActorRecord:
    """One actor that has a process."""
    seat = seat_of(system, ref)
    now = system.clock.now()
    current = in_hand(ref)
    running = seat is not None and current is not None
    crew = crew_of(ref)
    more = ref.more
    path = ref.path
    of_place = getattr(ref.waiting, "trouble", None)
    return ActorRecord(
        path=path,
        id=str(ref.id) if ref is not system.root else system.name,
        kind=ref.kind,
        type="supervisor" if ref.actor_class.is_supervisor else "worker",
        status=_status(ref, running=running),
        place="pool" if ref.home is system.pool else ref.home.place,  # type: ignore[attr-defined]
        number=ref.number,
        name=ref.name,
        uptime=max(0.0, now - ref.started_at),
        restarts=entry.restarts if entry is not None else 0,
        queue=len(ref.mailbox or ()),
        busy=seat.busy_for(now) if running and seat is not None else None,
        current=(describe(current, system.show) or None) if running or ref.is_starting() else None,
        thread=seat.thread_name if seat is not None and running else None,
        strategy=_strategy(ref) if ref.actor_class.is_supervisor else None,
        children=len(_table_of(ref) or ()),
        trap_exit=ref.traps_exit(),
        links=tuple(peer.path for peer in islice(linked(ref.links), MAX_LINKS)),
        monitors=len(ref.monitors or ()),
        resources=tuple(resource_word(r) for r in list(more.resources or ())) if more is not None else (),
        last_exit=str(entry.last_exit) if entry is not None and entry.last_exit is not None else None,
        suspended=max(0.0, now - more.suspended_at) if more is not None and more.suspended else None,
        waiting=waits_for(ref.waiting),
        trouble=of_place or ref.trouble,
        copes=of_place is None and ref.copes,
        handlers=len(crew.nodes) if crew is not None else 0,
        max_concurrency=ref.actor_class.max_concurrency,
        timers=0 if more is None else more.timer_count,
        saved=None if system.states is None else system.states.age(path),
    )


def _status(ref: Ref[Any], *, running: bool) -> str:
    if ref.reason is not None:  # its supervisor may be suspended, and not have heard of its end
        return "zombie" if ref in ref.system.undead else "stopped"
    if is_in_init(ref):
        return "starting"
    if ref.is_suspended():
        return "suspended"
    if ref.current == "terminate" or (ref.more is not None and ref.more.stopping):
        return "stopping"
    return "running" if running else "idle"


def is_in_init(ref: Ref[Any]) -> bool:
    """Whether it has not begun to work: somebody waits for its start, or its `init` runs."""
    return ref.is_starting() or ref.current == "init"


def _strategy(ref: Ref[Any]) -> str | None:
    """A supervisor's strategy, as it stands there: a property of the user's own is not run."""
    stored = getattr_static(ref.actor, "strategy", None)
    return stored if type(stored) is str else None


def _table_of(ref: Ref[Any]) -> Children | None:
    """Whom it supervises; None for an actor that supervises nobody, or has just ended."""
    actor: Actor | None = ref.actor
    return None if actor is None else actor.otpy_children()


def _stopped_record(path: str, ident: str, entry: ChildEntry, now: float) -> ActorRecord:
    """A child without a process."""
    due = entry.due
    return ActorRecord(
        path=path,
        id=ident,
        kind=str(getattr(entry.spec.start, "__name__", entry.cls.__name__)),
        type="supervisor" if entry.cls.is_supervisor else "worker",
        status="restarting" if entry.restarting else "failed" if entry.given_up else "stopped",
        place=entry.spec.options.where(entry.cls.place),
        number=0,
        name=entry.spec.name,
        uptime=0.0,
        restarts=entry.restarts,
        queue=0,
        busy=None,
        current=None,
        thread=None,
        strategy=None,
        children=0,
        trap_exit=False,
        links=(),
        monitors=0,
        resources=(),
        last_exit=str(entry.last_exit) if entry.last_exit is not None else None,
        next_start=None if due is None else max(0.0, due - now),
    )
