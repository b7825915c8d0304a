"""What would be late if a program were drained now, from what it publishes: no actor is asked, nothing is stopped."""

from __future__ import annotations

import math
import time
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from otpy.actors.children import WORKER_SHUTDOWN
from otpy.control.verbs import seconds_of, text_of
from otpy.core.naming import is_below
from otpy.core.rehearsal import Rehearsal, Running, Standing, rehearse
from otpy.core.text import visible
from otpy.drain.course import budget_of
from otpy.drain.foresight import FORESEERS, foresees
from otpy.drain.plan import SHARES, Phase
from otpy.runtime.departing import HOOKS
from otpy.runtime.records import children_of
from otpy.runtime.stacks import frame_line, seat_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from otpy.control.snapshot import Inspected
    from otpy.core.record import ActorRecord
    from otpy.runtime.records import Child
    from otpy.runtime.ref import Ref
    from otpy.runtime.system import System

    Params = Mapping[str, object]

__all__ = ["rehearsal_of", "rehearse_drain"]

SAMPLE = 0.5
"""Real seconds for which mailboxes are watched, to learn how fast they are emptied."""
MOST = 1_000_000
"""Children looked at of each supervisor."""
TOLD = 200
"""Findings in one reply."""


def rehearsal_of(system: System, path: str | None = None, *, within: float, sample: float = 0.0) -> Rehearsal:
    """What would be late if all of a system, or an actor with all below it, were drained now; stops nothing.

    Args:
        system: which one.
        path: the actor; None for the whole program.
        within: seconds the drain would have.
        sample: real seconds for which mailboxes are watched; 0 on a virtual clock, where nothing happens meanwhile.

    Raises:
        NoSuchActorError: nobody is at this path.
    """
    pace = _paces(system, sample) if sample else {}
    records = system.records(path, MOST)
    known = _known(system)
    standings = [_standing(system, record, known.get(record.path), pace.get(record.path)) for record in records]
    inside = path is None or path == system.name
    program = cast("Inspected", system)
    running = [one for look in FORESEERS for one in look(program) if inside or is_below(one.path, str(path))]
    zombies = [
        (ref.path, _frame(system, ref)) for ref in list(system.undead) if inside or is_below(ref.path, str(path))
    ]
    return rehearse(standings, running, zombies, within, SHARES[Phase.DRAIN] * within)


@foresees
def flights(program: Inspected) -> Iterator[Running]:
    """What somebody holds in flight outside of any message."""
    system = cast("System", program)
    now = system.clock.now()
    for flight in system.drains.flights.copy():
        path = flight.where if flight.ref is not None else f"{system.name} (thread {flight.where})"
        yield Running(path=visible(path, 500), what="what it holds in flight", since=max(0.0, now - flight.since))


def rehearse_drain(system: Inspected, params: Params) -> object:
    """What would be late if the program, or the part below `path`, were drained `within` so many seconds."""
    whole = cast("System", system)
    within = seconds_of(params, "within", None) or budget_of(whole)
    found = rehearsal_of(whole, text_of(params, "path"), within=within, sample=SAMPLE)
    return {
        "within": found.within,
        "waits_for": _finite(found.waits_for),
        "late": [
            {"level": one.level, "path": one.path, "text": visible(one.text, 2_000), "by": _finite(one.by)}
            for one in found.late[:TOLD]
        ],
        "hooks": [{"path": path, "hooks": words} for path, words in found.hooks[:TOLD]],
        "left_out": max(0, len(found.late) - TOLD),
    }


def _finite(seconds: float | None) -> float | None:
    """As JSON can have it."""
    return None if seconds == math.inf else seconds


# How fast mailboxes are emptied.


def _paces(system: System, seconds: float) -> dict[str, float]:
    """Messages that those who have some waiting begin in a second."""
    watched = [(ref, waiting) for ref in _refs(system) if ref.mailbox and (waiting := ref.mailbox.copy())]
    if not watched:
        return {}
    began = time.monotonic()
    time.sleep(seconds)
    passed = time.monotonic() - began
    return {ref.path: _begun(ref, waiting) / passed for ref, waiting in watched}


def _begun(ref: Ref[Any], before: Iterable[Any]) -> int:
    """How many of the messages that waited before wait no longer."""
    box = ref.mailbox
    try:
        first = None if box is None else box[0]
    except IndexError:  # none does
        first = None
    number = 0
    for number, message in enumerate(before):
        if message is first:
            return number
    return number + 1


# Who is there.


def _tops(system: System) -> list[Ref[Any]]:
    roots = [] if system.root is None else [system.root]
    return [*roots, *(ref for ref in list(system.tops.values()) if ref is not system.root)]


def _children(system: System) -> Iterator[Child]:
    """All that somebody has started, of this process."""
    left = _tops(system)
    while left:
        for child in children_of(left.pop()):
            yield child
            if child.ref is not None:
                left.append(child.ref)


def _refs(system: System) -> Iterator[Ref[Any]]:
    return chain(_tops(system), (child.ref for child in _children(system) if child.ref is not None))


class _Known(NamedTuple):
    """What is known here of one actor beside its record."""

    ref: Ref[Any] | None
    shutdown: float
    """Seconds that it is given to end."""
    hooks: frozenset[str]
    """Also of one in a process of its own, for which another class stands here."""


def _known(system: System) -> dict[str, _Known]:
    """All of this process, by path."""
    known = {ref.path: _Known(ref, _own_time(ref), ref.actor_class.otpy_hooks) for ref in _tops(system)}
    for child in _children(system):
        entry: Any = child.entry  # one of an actor's table: the runtime knows less of it
        seconds = entry.shutdown if entry is not None else _own_time(cast("Ref[Any]", child.ref))
        cls = entry.spec.start if entry is not None else cast("Ref[Any]", child.ref).actor_class
        hooks = frozenset(getattr(cls, "otpy_hooks", ()))
        known[child.path] = _Known(child.ref, max(0.0, seconds), hooks)
    return known


def _own_time(ref: Ref[Any]) -> float:
    return math.inf if ref.actor_class.is_supervisor else WORKER_SHUTDOWN


def _standing(system: System, record: ActorRecord, known: _Known | None, pace: float | None) -> Standing:
    is_supervisor = record.type == "supervisor"
    ref, shutdown, hooks = known or _Known(None, math.inf if is_supervisor else WORKER_SHUTDOWN, frozenset())
    cls = None if ref is None else ref.actor_class
    return Standing(
        path=record.path,
        shutdown=shutdown if record.number else 0.0,
        is_supervisor=is_supervisor,
        is_dynamic=cls is not None and cls.is_supervisor and not cls.names_children,
        sealed=None if cls is None or not cls.is_supervisor else _sealed_stop(cls),
        is_function=cls is not None and (cls.stops_by_signal or _runs_for_itself(ref)),
        status=record.status,
        queue=record.queue,
        pace=pace,
        busy=record.busy,
        current=visible(record.current or "a message", 200),
        waiting=None if record.waiting is None else visible(record.waiting, 200),
        frame=_frame(system, ref) if record.busy is not None and ref is not None else None,
        trouble=None if record.trouble is None else visible(record.trouble, 200),
        hooks=tuple(hook for hook in HOOKS if hook in hooks),
    )


def _sealed_stop(cls: Any) -> float | None:  # Any: all supervisors have both
    """How long a part of otpy's own takes to stop when its work is done; None for a supervisor of the user's."""
    stop: float | None = cls.sealed_stop()
    return None if stop is None else stop - cls.sealed_work()


def _runs_for_itself(ref: Ref[Any] | None) -> bool:
    """Whether what it is in is no message: a start, or what that goes on with."""
    return ref is not None and isinstance(ref.current, str)


def _frame(system: System, ref: Ref[Any]) -> str | None:
    """Where an actor's code is; None where that is not known here."""
    seat = seat_of(system, ref)
    line = None if seat is None else frame_line(seat)
    return None if line is None else visible(line, 500)
