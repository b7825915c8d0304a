"""The parts of a drain that run in processes of their own: all are asked at once, and nobody waits for an answer."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from otpy.core.record import DrainRecord, LateRecord
from otpy.runtime.draining import is_within
from otpy.runtime.near_drains import ended, is_at_peace

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.runtime.beyond import Beyond
    from otpy.runtime.ref import Ref
    from otpy.runtime.system import System

__all__ = ["FarDrains"]

SILENT = LateRecord(path="", why="its process does not answer")


class _Part:
    """What is known of one process."""

    def __init__(self) -> None:
        self.is_asked = False
        self.fresh: DrainRecord | None = None
        """What it has answered since it was looked at last."""
        self.last: DrainRecord | None = None
        """What it has answered last."""


class FarDrains:
    """All process children of a system, or of a part of it; `wake` is called, in any thread, when one has answered."""

    def __init__(self, system: System, top: Ref[Any] | None, wake: Callable[[], object]) -> None:
        """Have asked nobody."""
        self._system = system
        self._top = top
        self._wake = wake
        self._parts: dict[Ref[Any], _Part] = {}
        self._question: tuple[str, str, Callable[[], float], Callable[[], float]] | None = None

    def begin(self, hook: str, reason: str, left: Callable[[], float], in_all: Callable[[], float]) -> None:
        """Have all of them call a hook, with the seconds for it, and in all; those being started are asked later."""
        self._parts = {}
        self._question = (hook, reason, left, in_all)
        self.ask()

    def ask(self) -> None:
        """Ask those that were not asked yet, as they were being started."""
        if self._question is None:
            return
        hook, reason, left, in_all = self._question
        for ref, beyond in self._living():
            part = self._parts.setdefault(ref, _Part())
            if not part.is_asked:
                part.is_asked = True
                beyond.drain("ask", [hook, reason, left(), in_all()], partial(self._hear_asked, part))

    def look(self) -> None:
        """Look how far they are."""
        for ref, beyond in self._living():
            part = self._parts.get(ref)
            if part is not None and part.is_asked:
                part.fresh = None
                beyond.drain("look", [], partial(self._hear, part))

    def save(self) -> None:
        """Have those in them written that have returned a state."""
        for ref, beyond in self._living():
            part = self._parts.get(ref)
            if part is not None and part.is_asked:
                part.fresh = part.last = None
                beyond.drain("save", [], partial(self._hear, part))

    def are(self, is_so: Callable[[DrainRecord], bool]) -> bool:
        """Whether all have answered since, and it is so for each; those that have ended do not count.

        Where nothing was asked there is nothing to wait for.
        """
        if self._question is None:
            return True
        parts = [self._parts.get(ref) for ref, _ in self._waited_for()]
        return all(part is not None and part.fresh is not None and is_so(part.fresh) for part in parts)

    def late(self) -> list[LateRecord]:
        """Who in them is not done."""
        found: list[LateRecord] = []
        if self._question is None:
            return found
        for ref, _ in self._waited_for():
            part = self._parts.get(ref)
            known = None if part is None else part.last
            silent = LateRecord(path=ref.path, why=SILENT.why)
            found += [silent] if known is None else known.late
        return found

    def failed(self) -> list[LateRecord]:
        """Who in them has failed."""
        return [one for part in self._parts.values() if part.last is not None for one in part.last.failed]

    def ended(self) -> list[LateRecord]:
        """Those that were asked and have crashed, or were killed, before all in them were done."""
        living = {ref for ref, _ in self._living()}
        return [
            LateRecord(path=ref.path, why=ended(ref, "its process"))
            for ref, part in self._parts.items()
            if not (ref in living or is_at_peace(ref) or (part.last is not None and part.last.is_done))
        ]

    def counts(self) -> tuple[int, int, int]:
        """What is in flight, waits and is open in them, as they have told last."""
        known = [part.last for part in self._parts.copy().values() if part.last is not None]
        return (
            sum(one.in_flight for one in known),
            sum(one.queue for one in known),
            sum(one.resources for one in known),
        )

    def _waited_for(self) -> list[tuple[Ref[Any], Beyond]]:
        """The living; one that was started again since has its part in the phases of the work, and in no later one."""
        living = self._living()
        if self._question is None or self._question[0] == "handle_drain":
            return living
        return [(ref, beyond) for ref, beyond in living if ref in self._parts]

    def _living(self) -> list[tuple[Ref[Any], Beyond]]:
        beyonds = self._system.beyonds
        if not beyonds:
            return []
        return [
            (ref, beyond)
            for ref, beyond in beyonds.copy().items()
            if ref.reason is None and not ref.is_starting() and is_within(ref, self._top)
        ]

    def _hear_asked(self, part: _Part, record: DrainRecord | None) -> None:
        part.is_asked = record is not None
        self._hear(part, record)

    def _hear(self, part: _Part, record: DrainRecord | None) -> None:
        part.fresh = record
        part.last = record or part.last
        self._wake()
