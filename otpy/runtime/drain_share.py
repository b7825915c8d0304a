"""Inside of a process child: its share in a drain that its parent has begun, one hook after the other."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from otpy.core.record import DrainRecord, LateRecord
from otpy.core.text import exception_line
from otpy.errors import StateError
from otpy.runtime.draining import Draining, flights_in
from otpy.runtime.far_drains import FarDrains
from otpy.runtime.near_drains import NearDrains, ended, failures, late_actor, late_drain, late_flight
from otpy.runtime.rest import Quiet, refs_below

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otpy.events.draining import DrainLate
    from otpy.runtime.system import System

__all__ = ["DrainShare", "share_of"]

TOLD = 20
"""Who is told of one by one."""


def share_of(system: System) -> DrainShare:
    """That of a process child's system; made when it is asked first."""
    found = system.drains.courses.get(None)  # no drain of its own begins in a process child: its parent has that
    if found is None:
        found = system.drains.courses[None] = DrainShare(system)
    return cast("DrainShare", found)


class DrainShare:
    """What the parent asks for, and hears how far it is."""

    def __init__(self, system: System) -> None:
        """Have been asked nothing."""
        self._system = system
        self._hook = ""
        self._near: NearDrains | None = None
        self._quiet = Quiet(system, None)
        self._far = FarDrains(system, None, _nothing)
        self._refused: list[LateRecord] = []

    def ask(self, hook: str, reason: str, left: float, in_all: float) -> DrainRecord:
        """Have those with this hook called; seconds are left for it, and in all."""
        system = self._system
        now = system.clock.now()
        until, deadline = now + left, now + in_all
        if system.draining is None:
            system.draining = Draining(reason, now, deadline)
        self._hook = hook
        self._refused = []
        self._near = NearDrains(system, None, hook, reason, lambda: until)
        self._near.ask()
        self._far.begin(hook, reason, lambda: _left(system, until), lambda: _left(system, deadline))
        return self.look()

    def look(self) -> DrainRecord:
        """How far it is, by what those further inside have told last; they are looked at again meanwhile."""
        near, far = self._near, self._far
        assert near is not None  # noqa: S101 - it was asked first
        if self._hook == "handle_drain":
            near.ask()  # those that were started meanwhile
            far.ask()
        is_quiet = self._quiet.look()
        record = DrainRecord(
            has_returned=near.have_returned() and far.are(lambda one: one.has_returned),
            is_done=near.are_done() and far.are(lambda one: one.is_done),
            is_at_rest=is_quiet and not self._system.drains.flights and far.are(lambda one: one.is_at_rest),
            late=(*islice(self._late(near), TOLD), *far.late()[:TOLD]),
            failed=(*self._failed(near), *far.failed()[:TOLD]),
            **self._counts(near),
        )
        far.look()
        return record

    def save(self) -> DrainRecord:
        """Write what has been returned from `persist`; not on the thread that hears the parent."""
        store, near = self._system.states, self._near
        assert near is not None  # noqa: S101 - as above
        states = [drain.result for drain in near.asked.values() if drain.result is not None]
        try:
            refused = store.save(states, is_final=True) if states and store is not None else {}
        except StateError as error:
            refused = {self._system.name: error}
        except Exception as error:
            refused = {self._system.name: StateError(exception_line(error))}
        self._refused = [LateRecord(path=path, why=str(error)) for path, error in refused.items()]
        self._far.save()
        return self.look()

    def _late(self, near: NearDrains) -> Iterator[LateRecord]:
        system, hook = self._system, self._hook
        undone = near.undone()
        yield from (_record(late_drain(system, hook, drain)) for drain in undone)
        if hook == "handle_drain":
            flying = flights_in(system, None)
            yield from (_record(late_flight(hook, one)) for one in flying)
            keeping = self._quiet.late(are_others=bool(flying or undone))
            alone = (ref for ref in keeping if not (ref in near.asked or ref.actor_class.otpy_is_answered_for))
            yield from (_record(late_actor(system, hook, ref)) for ref in alone)

    def _failed(self, near: NearDrains) -> list[LateRecord]:
        found = [LateRecord(path=one.path, why=one.problem) for one in failures(self._hook, near.asked.values())]
        if self._hook != "handle_drain":  # who is started again is asked again
            found += [LateRecord(path=one.ref.path, why=ended(one.ref, "it")) for one in near.ended()]
            found += self._far.ended()
        return [*found, *self._refused][:TOLD]

    def _counts(self, near: NearDrains) -> dict[str, Any]:
        flying, queue, resources = self._far.counts()
        for ref in refs_below(self._system, None):
            queue += len(ref.mailbox or ())
            resources += len(ref.more.resources or ()) if ref.more is not None else 0
        flying += len(self._system.drains.flights) + sum(drain.count for drain in near.undone())
        return {"in_flight": flying, "queue": queue, "resources": resources}


def _nothing() -> None: ...


def _left(system: System, until: float) -> float:
    return max(0.0, until - system.clock.now())


def _record(late: DrainLate) -> LateRecord:
    return LateRecord(path=late.path, why=late.why, thread=late.thread, frame=late.frame, names=late.names)
