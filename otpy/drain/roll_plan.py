"""A rolling restart as plain data: on what terms, which children, how far each is, and who may be next."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from otpy.core.backoff import Backoff
from otpy.core.number import is_number
from otpy.core.text import safe_repr
from otpy.core.value import value
from otpy.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from otpy.core.spec import ChildSpec

__all__ = ["ACTIVE", "BACKOFF", "RollLook", "Terms", "Unit", "UnitState", "may_begin"]

UnitState: TypeAlias = Literal["waiting", "draining", "starting", "proving", "done", "left out", "bad"]
"""`waiting` for its turn, `draining` until its process has ended, `starting` its next one, `proving` that this is
healthy; the others are final: `left out` is one that has ended for good meanwhile."""

ACTIVE: tuple[UnitState, ...] = ("draining", "starting", "proving")
"""Those that are not available because of the roll."""
BACKOFF = Backoff(first=1.0, most=10.0, jitter=0.5)
"""Pauses between two tries to start a child."""


@value(kw_only=True)
class Terms:
    """How a roll goes."""

    path: str
    """The supervisor whose children are started again, one after the other."""
    workers: bool = False
    """Whether it is all workers below it, one by one, instead of its children with all that is below them."""
    max_unavailable: int = 1
    """Children that may be without service at any time, by the roll or by themselves; at least 1."""
    healthy_after: float = 2.0
    """Seconds a new process must have run without an end or trouble before it counts, and the next one is begun."""
    within: float = 25.0
    """Seconds each child has for its drain."""
    tries: int = 3
    """Starts of one child that may fail; the last one of them stops the roll."""

    def __post_init__(self) -> None:
        """Refuse what cannot work. Raises SpecError."""
        for name in ("max_unavailable", "tries"):
            number = getattr(self, name)
            if type(number) is not int or number < 1:
                raise SpecError("roll", f"{name}={safe_repr(number)}: a whole number >= 1")
        for name in ("healthy_after", "within"):
            seconds = getattr(self, name)
            if not (is_number(seconds) and 0 <= seconds < math.inf):
                raise SpecError("roll", f"{name}={safe_repr(seconds)}: seconds >= 0")


@dataclass(slots=True)
class Unit:
    """One child that is to be started again."""

    path: str
    """Where it is; a dynamic child that is started anew has another one."""
    spec: ChildSpec
    """How, also when its supervisor has forgotten it."""
    state: UnitState = "waiting"
    since: float = 0.0
    """When it came into this state, by the system's clock."""
    number: int = 0
    """Which incarnation has to prove itself."""
    tries: int = 0
    """Starts that have failed."""


@value(kw_only=True)
class RollLook:
    """How far a roll is."""

    path: str
    """Of what."""
    state: Literal["rolling", "stopping", "done", "stopped"]
    """`stopping` finishes what it has begun, and begins nothing more."""
    why: str | None = None
    """Why it was stopped."""
    units: int = 0
    """How many children."""
    done: int = 0
    """How many of them were started again and are healthy."""
    active: tuple[tuple[str, str, float], ...] = ()
    """Which are at hand: path, state, and since when, by the system's clock."""
    down: tuple[str, ...] = ()
    """Who is without service by itself; the first few."""
    steps: tuple[str, ...] = ()
    """What has happened, in words; the last of it."""
    step_count: int = 0
    """How much has happened."""

    @property
    def is_over(self) -> bool:
        """Whether nothing more happens."""
        return self.state in ("done", "stopped")


def may_begin(units: Iterable[Unit], down: Collection[str], most: int) -> list[Unit]:
    """Who is begun now, so that no more than `most` are without service at any time.

    Those that are down anyway come first: to start them again takes nothing away from anybody. So they may also be
    begun where too many are down.

    Args:
        units: in the order in which they are to be done.
        down: paths of children that are without service by themselves.
        most: how many may be.
    """
    listed = list(units)
    active = {unit.path for unit in listed if unit.state in ACTIVE}
    away = active | set(down)
    begun: list[Unit] = []
    waiting = [unit for unit in listed if unit.state == "waiting"]
    for unit in sorted(waiting, key=lambda unit: unit.path not in away):  # stable
        room = len(active) if unit.path in away else len(away)
        if room >= most:
            break
        active.add(unit.path)
        away.add(unit.path)
        begun.append(unit)
    return begun
