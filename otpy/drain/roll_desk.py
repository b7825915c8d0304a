"""Where a roll is asked for, looked at and stopped: one at a time for the same children."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

from otpy.control.verbs import ASKER, integer_of, path_of, seconds_of, text_of
from otpy.core.naming import is_below
from otpy.core.spec import child
from otpy.core.text import visible
from otpy.drain.roll import Roll, units_of
from otpy.drain.roll_plan import RollLook, Terms
from otpy.errors import ChildStateError
from otpy.runtime.draining import draining_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from otpy.control.snapshot import Inspected
    from otpy.runtime.ref import Ref
    from otpy.runtime.system import System

    Params = Mapping[str, object]

__all__ = ["Rolls", "roll", "roll_look", "roll_stop"]

KEPT = 50
"""Rolls that are remembered after their end."""


class Rolls:
    """The rolls of one system; any thread may use it."""

    def __init__(self, system: System) -> None:
        """None yet."""
        self._system = system
        self._lock = threading.Lock()  # guards that a roll begins only where none goes on; rolls tell without it
        self._looks: dict[str, RollLook] = {}  # written by the rolls, each its own
        self._refs: dict[str, Ref[Roll]] = {}

    @classmethod
    def of(cls, system: System) -> Rolls:
        """Those of a system."""
        with _LOCK:
            found = _ALL.get(system)
            if found is None:
                found = _ALL[system] = cls(system)
            return found

    def begin(self, terms: Terms, reason: str) -> Ref[Roll]:
        """Start a roll; waits for nothing of it.

        Raises:
            NoSuchActorError: nobody is at the path.
            ChildStateError: it is no supervisor of this process, its children are being rolled, or the program drains.
        """
        self._check(terms.path)
        with self._lock:
            for look in self._all():
                if not look.is_over and (is_below(look.path, terms.path) or is_below(terms.path, look.path)):
                    mend = f"otpy roll {look.path} --look shows how far it is, --stop ends it"
                    raise ChildStateError(look.path, "being rolled", mend)
            before = self._looks.pop(terms.path, None)
            self._looks[terms.path] = RollLook(path=terms.path, state="rolling")
            self._refs.pop(terms.path, None)
        try:
            units = units_of(self._system, terms)
            ref = self._system.start(child(Roll, terms, units, reason, self._publish).opts(id="roll"))
        except BaseException:
            with self._lock:
                del self._looks[terms.path]
                if before is not None:
                    self._looks[terms.path] = before
            raise
        self._refs[terms.path] = ref
        return ref

    def look(self, path: str) -> RollLook | None:
        """How far the roll of a path is, or how it ended; None when there was none."""
        return next((look for look in self._all() if look.path == path), None)

    def stop(self, path: str, why: str) -> None:
        """Have a roll begin nothing more.

        Raises:
            ChildStateError: there is none.
        """
        look, ref = self.look(path), self._refs.get(path)
        if look is None or look.is_over or ref is None:
            raise ChildStateError(path, "not being rolled", "there is nothing to stop")
        ref.cast(Roll.finish, why)

    def _all(self) -> list[RollLook]:
        return [self._as_it_is(look) for look in self._looks.copy().values()]

    def _as_it_is(self, look: RollLook) -> RollLook:
        """One whose actor was killed is over."""
        ref = self._refs.get(look.path)
        if look.is_over or ref is None or ref.reason is None:
            return look
        now = self._looks.get(look.path, look)  # it may just have said how it ended
        return now if now.is_over else replace(now, state="stopped", why=f"it was ended itself: {ref.reason}")

    def _publish(self, look: RollLook) -> None:
        self._looks[look.path] = look
        while len(self._looks) > KEPT:
            over = next((path for path, one in self._looks.copy().items() if one.is_over and path != look.path), None)
            if over is None:
                return
            self._looks.pop(over, None)
            self._refs.pop(over, None)

    def _check(self, path: str) -> None:
        ref = self._system.find(path)
        if ref is None:
            raise self._system.missing(path)
        if self._system.record(path).type != "supervisor":
            raise ChildStateError(path, "no supervisor", f"otpy restart {path} starts it again")
        if not ref.actor_class.is_supervisor:  # it stands for one
            mend = f"its children cannot be rolled from here; otpy restart {path} starts all of it again"
            raise ChildStateError(path, "in a process of its own", mend)
        if draining_of(self._system, ref) is not None:
            raise ChildStateError(path, "draining", "nothing is started again in it")


_ALL: WeakKeyDictionary[System, Rolls] = WeakKeyDictionary()
_LOCK = threading.Lock()  # guards that a system has one


def roll(system: Inspected, params: Params) -> object:
    """Begin to start the children of `path` again, one after the other; answered at once."""
    whole = cast("System", system)
    words: dict[str, Any] = {
        name: integer_of(params, name, 1) for name in ("max_unavailable", "tries") if name in params
    }
    words |= {name: _seconds(params, name) for name in ("healthy_after", "within") if name in params}
    terms = Terms(path=path_of(params), workers=params.get("workers") is True, **words)
    reason = visible(text_of(params, "reason") or "otpy roll", 200)
    Rolls.of(whole).begin(terms, f"{reason} by {text_of(params, ASKER) or 'somebody'}")
    return _plain(whole, terms.path)


def roll_look(system: Inspected, params: Params) -> object:
    """How far the roll of `path` is, or how it ended; nothing when there was none."""
    return _plain(cast("System", system), path_of(params))


def roll_stop(system: Inspected, params: Params) -> object:
    """Have the roll of `path` begin nothing more."""
    whole, path = cast("System", system), path_of(params)
    Rolls.of(whole).stop(path, f"it was stopped by {text_of(params, ASKER) or 'somebody'}")
    return _plain(whole, path)


def _seconds(params: Params, name: str) -> float | None:
    """As `seconds_of`, and 0 is a time as well."""
    return 0.0 if params.get(name) == 0 else seconds_of(params, name, None)


def _plain(system: System, path: str) -> dict[str, object] | None:
    look = Rolls.of(system).look(path)
    if look is None:
        return None
    now = system.clock.now()
    active = [{"path": one, "state": state, "since": max(0.0, now - since)} for one, state, since in look.active]
    return {
        "path": look.path,
        "state": look.state,
        "why": None if look.why is None else visible(look.why, 2_000),
        "units": look.units,
        "done": look.done,
        "active": active,
        "down": list(look.down),
        "steps": [visible(step, 2_000) for step in look.steps],
        "step_count": look.step_count,
    }
