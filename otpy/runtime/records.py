"""Published records: what the inspector reads of actors. Sends nothing, and holds no lock while it looks."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from otpy.core.record import ActorRecord
from otpy.runtime.links import linked
from otpy.runtime.mailbox import describe
from otpy.runtime.stacks import seat_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otpy.runtime.ref import Ref
    from otpy.runtime.system import System

__all__ = ["children_of", "record_of", "records_below", "stopped_record"]

MAX_LINKS = 20


def records_below(system: System, ref: Ref[Any], limit: int) -> Iterator[ActorRecord]:
    """An actor and all below it, in start order; at most `limit` children of each."""
    stack: list[tuple[Ref[Any] | None, Any]] = [(ref, None)]
    while stack:
        current, entry = stack.pop()
        if current is None:
            yield stopped_record(*entry)
            continue
        yield record_of(system, current, entry)
        below = list(islice(children_of(current), limit))
        stack.extend(reversed(below))


def children_of(ref: Ref[Any]) -> Iterator[tuple[Ref[Any] | None, Any]]:
    """A supervisor's children as (ref, entry), those without a process as (None, (path, id, entry)); then others."""
    table = getattr(ref.actor, "otpy_children", None)
    if table is not None and hasattr(ref.actor, "_table"):
        for ident, entry in table().by_id.copy().items():
            child = entry.ref
            yield (child, entry) if child is not None else (None, (f"{ref.path}/{ident}", str(ident), entry))
    if ref.more is not None and ref.more._spawned:  # noqa: SLF001 - reading it otherwise would make it
        yield from ((child, None) for child in list(ref.more.spawned.values()))


def record_of(system: System, ref: Ref[Any], entry: Any = None) -> ActorRecord:
    """One living actor."""
    seat = seat_of(system, ref)
    now = system.clock.now()
    running = seat is not None and ref.current is not None
    more = ref.more
    table = getattr(ref.actor, "_table", None)
    return ActorRecord(
        path=ref.path,
        id=str(ref.id) if ref is not system.root else system.name,
        kind=ref.kind,
        type="supervisor" if ref.actor_class.is_supervisor else "worker",
        status=_status(ref, running=running),
        place="pool" if ref.home is system.pool else "thread",
        number=ref.number,
        name=ref.name,
        uptime=max(0.0, now - ref.started_at),
        restarts=entry.restarts if entry is not None else 0,
        queue=len(ref.mailbox or ()),
        busy=seat.busy_for(now) if running and seat is not None else None,
        current=(describe(ref.current) or None) if running or ref.is_starting() else None,
        thread=seat.thread_name if seat is not None and running else None,
        strategy=getattr(ref.actor, "strategy", None) if ref.actor_class.is_supervisor else None,
        children=len(table) if table is not None else 0,
        trap_exit=ref.traps_exit(),
        links=tuple(peer.path for peer in islice(linked(ref.links), MAX_LINKS)),
        monitors=len(ref.monitors or ()),
        resources=tuple(type(r).__name__ for r in (more.resources or ())) if more is not None else (),
        last_exit=str(entry.last_exit) if entry is not None and entry.last_exit is not None else None,
    )


def _status(ref: Ref[Any], *, running: bool) -> str:
    if ref.reason is not None:
        return "zombie"
    if ref.is_starting() or ref.current == "init":
        return "starting"
    if ref.is_suspended():
        return "suspended"
    if ref.current == "terminate":
        return "stopping"
    return "running" if running else "idle"


def stopped_record(path: str, ident: str, entry: Any) -> ActorRecord:
    """A child without a process."""
    return ActorRecord(
        path=path,
        id=ident,
        kind=str(getattr(entry.spec.start, "__name__", entry.cls.__name__)),
        type=entry.type,
        status="restarting" if entry.restarting else "stopped",
        place=entry.spec.options.place or entry.cls.place,
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
    )
