"""Who in a tree still has something to do: a message that waits, or one that is being handled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.runtime.crew import crew_of
from otpy.runtime.records import kept_by
from otpy.runtime.stacks import seats_of
from otpy.runtime.wait_idle import is_idle, turns_begun

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otpy.runtime.ref import Ref
    from otpy.runtime.system import System

__all__ = ["Quiet", "busy_below", "has_work", "is_to_start", "nobody_works", "refs_below"]

PATIENCE = 3
"""Looks that find everybody at rest, but somebody to have had a turn meanwhile, after which that is believed: a ticking
timer gives turns for ever."""


def has_work(ref: Ref[Any]) -> bool:
    """Whether an actor has a message waiting, or is in one. What runs for itself is no message: a function, `init`.

    One that is suspended handles none until somebody resumes it.
    """
    if ref.reason is not None or ref.is_suspended():
        return False
    if ref.mailbox or crew_of(ref) is not None:
        return True
    return not len(ref.tok) and not isinstance(ref.current, str)


def nobody_works(system: System) -> bool:
    """Whether all of a system is at rest, without a look at each actor: whoever is in a message has a seat."""
    # `is_idle` takes for rest what waits inside otpy, in the middle of a message.
    return is_idle(system) and not any(seat.ref is not None and has_work(seat.ref) for seat in seats_of(system))


def is_to_start(system: System) -> bool:
    """Whether a root is still to be started, or is being so: nobody knows yet who will be in its tree."""
    root = system.root
    return system.awaits_root or (root is not None and root.reason is None and root.is_starting())


def busy_below(system: System, top: Ref[Any] | None, apart: type[Any] | None) -> list[Ref[Any]]:
    """Who has work at and below an actor, with None in the whole system.

    Those of the class `apart` do not count, nor do errands: a call of a hub that hangs holds up nobody who leaves.
    """
    return [ref for ref in refs_below(system, top) if has_work(ref) and not _is_apart(ref.actor_class, apart)]


def _is_apart(cls: type[Any], apart: type[Any] | None) -> bool:
    is_own = apart is not None and issubclass(cls, apart)
    return is_own or getattr(cls, "otpy_is_errand", False)  # pykka's own actors have none


def refs_below(system: System, top: Ref[Any] | None) -> Iterator[Ref[Any]]:
    """An actor and all below it, with None all of a system, in no order; paths would take most of the time."""
    stack = [top] if top is not None else _tops(system)
    while stack:
        ref = stack.pop()
        yield ref
        stack.extend(kept_by(ref))


def _tops(system: System) -> list[Ref[Any]]:
    with system.lock:
        return [*system.tops.values(), *system.orphans]


class Quiet:
    """Looks at the same tree again and again, until nobody in it has any work."""

    def __init__(self, system: System, top: Ref[Any] | None, apart: type[Any] | None = None) -> None:
        """Have not looked yet."""
        self._system = system
        self._top = top
        self._apart = apart
        self._looks = 0
        self._busy: list[Ref[Any]] = []
        """Who had work when it was looked last."""
        self._lasting: list[Ref[Any]] = []
        """Those of them that had it at the look before as well, as no mere tick has; at the first look, all."""
        self._has_looked = False

    def look(self) -> bool:
        """Whether all are at rest; those seen with work are looked at first, which is quick where there are many."""
        self._lasting = self._busy = [ref for ref in self._busy if has_work(ref)]
        if self._busy:
            return False
        # Twice, as `is_idle`: whoever was seen at rest may have got a message from one that was looked at later.
        before = turns_begun(self._system)
        self._busy = self._all() or self._all()
        self._lasting = [] if self._has_looked else self._busy
        self._has_looked = True
        if self._busy:
            self._looks = 0
            return False
        self._looks += 1
        return turns_begun(self._system) == before or self._looks >= PATIENCE

    @property
    def may_be_a_tick(self) -> bool:
        """Whether all that was seen last is work that was not there at the look before."""
        return bool(self._busy) and not self._lasting

    def late(self, *, are_others: bool) -> list[Ref[Any]]:
        """Who keeps the tree from rest, with `are_others` beside those that are known to be late.

        Whoever has work only now may be in a mere tick; but if there is nobody else, it is these that never rest.
        """
        return self._lasting if self._lasting or are_others else self._busy

    def _all(self) -> list[Ref[Any]]:
        return busy_below(self._system, self._top, self._apart)
