"""Who in this process has been asked in one phase of a drain, who has answered, and who is late."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.core.reason import is_clean
from otpy.events.draining import DrainFailed, DrainLate
from otpy.runtime.drain import Drain, ask_hook
from otpy.runtime.draining import is_within
from otpy.runtime.stacks import doing, frame_line
from otpy.runtime.stopping import describe_late

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from otpy.runtime.draining import Flight
    from otpy.runtime.ref import Ref
    from otpy.runtime.system import System

__all__ = ["NearDrains", "ended", "failures", "is_at_peace", "late_actor", "late_drain", "late_flight", "owing"]


class NearDrains:
    """All with one hook in this process, and what has become of the asking; of others `FarDrains` knows.

    The drain's actor asks; any thread answers.
    """

    def __init__(
        self, system: System, top: Ref[Any] | None, hook: str, reason: str, deadline: Callable[[], float]
    ) -> None:
        """Have asked nobody."""
        self.asked: dict[Ref[Any], Drain] = {}
        self.on_answer: Callable[[], object] = _nothing
        """Called in any thread when nobody is waited for any more, for their return or for what they do."""
        self._system = system
        self._top = top
        self._hook = hook
        self._reason = reason
        self._deadline = deadline
        self._uncalled: dict[Drain, None] = {}  # whoever takes one out is the only one who does
        self._undone: dict[Drain, None] = {}

    def ask(self) -> None:
        """Ask all that have the hook and were not asked yet; those that are being started are asked when they are."""
        found = [ref for ref in self._hooked() if ref not in self.asked]
        made = [Drain(ref, self._hook, self._reason, self._deadline, self._note) for ref in found]
        for drain in made:  # all of them first: none may be the last one before its time
            self.asked[drain.ref] = drain
            self._uncalled[drain] = self._undone[drain] = None
        for drain in made:
            ask_hook(drain)

    def have_returned(self) -> bool:
        """Whether all hooks have been called, or their actors have ended."""
        return not _living(self._uncalled)

    def are_done(self) -> bool:
        """Whether all are done, or have ended."""
        return not _living(self._undone)

    def undone(self) -> list[Drain]:
        """Who is not done."""
        return list(_living(self._undone))

    def ended(self) -> list[Drain]:
        """Whose actors have crashed, or were killed, before they were done; who has ended in peace wanted no more."""
        gone = [drain for drain in self.asked.values() if not drain.is_done and drain.ref.reason is not None]
        return [drain for drain in gone if not is_at_peace(drain.ref)]

    def _hooked(self) -> list[Ref[Any]]:
        hooked = self._system.drains.hooked.copy()
        return [
            ref
            for ref in hooked
            if self._hook in ref.actor_class.otpy_hooks and not ref.is_starting() and is_within(ref, self._top)
        ]

    def _note(self, drain: Drain) -> None:
        was_last = False
        if drain.was_called and drain in self._uncalled:
            self._uncalled.pop(drain, None)
            was_last = not self._uncalled
        if drain.is_done and drain in self._undone:
            self._undone.pop(drain, None)
            was_last = was_last or not self._undone
        if was_last:
            self.on_answer()


def is_at_peace(ref: Ref[Any]) -> bool:
    """Whether an actor has ended, and not by a failure."""
    return ref.reason is not None and is_clean(ref.reason)


def ended(ref: Ref[Any], what: str) -> str:
    """In a sentence: who was to be waited for, and has ended."""
    return f"{what} has ended before it was done" + ("" if ref.reason is None else f": {ref.reason}")


def _nothing() -> None: ...


def _living(drains: dict[Drain, None]) -> dict[Drain, None]:
    """Those whose actors have not ended: nobody else will ever answer."""
    for drain in [drain for drain in drains.copy() if drain.ref.reason is not None]:
        drains.pop(drain, None)
    return drains


def late_drain(system: System, phase: str, drain: Drain) -> DrainLate:
    """Who was asked, and is not done."""
    if not drain.was_called:
        why = f"its {drain.hook} has not returned; {doing(system, drain.ref)}"
    elif drain.count:
        why = f"{drain.count} in flight"
    else:
        why = "it has not said that it is done"
    place = describe_late(system, drain.ref)
    return DrainLate(path=place.path, phase=phase, why=why, thread=place.thread, frame=place.frame, names=drain.names)


def owing(drain: Drain) -> str:
    """In a sentence: who was late, and had not said that it is done either when it had stopped."""
    named = f" ({', '.join(drain.names)})" if drain.names else ""
    what = f"its {drain.count} in flight{named}" if drain.count else "what it had"
    return f"it has neither finished nor given back {what}"


def late_actor(system: System, phase: str, ref: Ref[Any]) -> DrainLate:
    """Who has not worked off its messages."""
    place = describe_late(system, ref)
    waiting, what = len(ref.mailbox or ()), doing(system, ref)
    why = what if not waiting or "waiting" in what else f"{waiting} message{'s' * (waiting > 1)} waiting; {what}"
    return DrainLate(path=place.path, phase=phase, why=why, thread=place.thread, frame=place.frame)


def late_flight(phase: str, flight: Flight) -> DrainLate:
    """What is still in flight."""
    where = flight.where if flight.ref is not None else f"{flight.system.name} (thread {flight.where})"
    return DrainLate(
        path=where, phase=phase, why="it is in flight", thread=flight.thread, frame=frame_line(flight.seat)
    )


def failures(phase: str, drains: Iterable[Drain]) -> list[DrainFailed]:
    """Whose hook has raised."""
    return [
        DrainFailed(path=drain.ref.path, phase=phase, problem=drain.problem)
        for drain in drains
        if drain.problem is not None
    ]
