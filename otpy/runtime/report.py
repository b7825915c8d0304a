"""The crash report of an actor: made in its own turn, after `terminate` and before anything of it is gone.

Bounded in time and size whatever the actor holds, for a crash must not take others along by being told.
"""

from __future__ import annotations

import logging
import math
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from otpy.events.crash import ActorCrashed, Neighbour
from otpy.runtime.hints import hint_for
from otpy.runtime.links import linked
from otpy.runtime.message import describe
from otpy.runtime.portrait import portrait, told
from otpy.runtime.waiting import may_be_waited_for, waiting_callers

if TYPE_CHECKING:
    from otpy.core.reason import Reason
    from otpy.runtime.ref import Ref

__all__ = ["Allowance", "crash_report"]

MAX_NEIGHBOURS = 15
"""Actors named that will end with it. OTP: the same."""
MAX_PEERS = 100
"""Links of one actor that are looked at; a hub may have a hundred thousand."""
MAX_LINKS = 20
"""Links that a report names."""
MAX_CALLERS = 10
"""Callers that a report names."""
MAX_DETAILED = 20
"""Reports with all details within one second; each takes some 40 µs more."""


class Allowance:
    """How many reports with all details a system makes in a second of its clock; a storm of crashes gets brief ones."""

    __slots__ = ("_left", "_until")

    def __init__(self) -> None:
        """Full."""
        self._until = -math.inf
        self._left = 0

    def take(self, now: float) -> bool:
        """Whether one more may be made. Two threads at once may both get the last one, which harms nobody."""
        if now >= self._until:
            self._until, self._left = now + 1.0, MAX_DETAILED
        self._left -= 1
        return self._left >= 0


def crash_report(ref: Ref[Any], reason: Reason, message: object = None) -> ActorCrashed | None:
    """The report, for whoever wants it; its costly parts only when somebody reads them. None when nobody does."""
    system = ref.system
    if not system.events.wants(ActorCrashed, logging.ERROR):
        return None
    message = message if message is not None else ref.current
    brief = ActorCrashed(
        path=ref.path,
        kind=ref.kind,
        reason=reason,
        message=describe(message, system.show) or None,
        queue=len(ref.mailbox or ()),
        hint=hint_for(reason),
        neighbours=neighbours(ref),
        callers=waiting(ref),
    )
    inside: dict[str, Any] | None = (
        getattr(ref.actor, "otpy_inside", None) if hasattr(ref.actor_class, "inside") else None
    )
    if inside is not None:  # it ran in a process of its own, which has told what it was and did
        return replace(brief, name=ref.name, ancestors=ancestors(ref, brief.path), **inside)
    if not (system.events.wants_details(ActorCrashed, logging.ERROR) and system.allowance.take(system.clock.now())):
        return brief
    return replace(
        brief,
        message=told(ref, message) or None,
        name=ref.name,
        state=portrait(ref),
        links=tuple([peer.path for peer in peers(ref)[:MAX_LINKS]]),
        monitors=len(ref.monitors or ()),
        ancestors=ancestors(ref, brief.path),
        traps_exits=ref.traps_exit(),
    )


def ancestors(ref: Ref[Any], path: str) -> tuple[str, ...]:
    """The paths of those above an actor with this path, its parent first. OTP: `$ancestors`."""
    above: list[str] = []
    while ref.parent is not None:
        path = path[: -len(str(ref.id)) - 1]
        ref = ref.parent
        above.append(path)
    return tuple(above)


def peers(ref: Ref[Any]) -> list[Ref[Any]]:
    """To whom it is linked, in start order; of very many some."""
    if not isinstance(ref.links, set):
        return linked(ref.links)
    with ref.system.lock:
        links = linked(ref.links)
    if len(links) > MAX_PEERS and not ref.system.is_virtual:
        links = links[:MAX_PEERS]  # sorting a hundred thousand to show twenty would be a waste
    return sorted(links, key=lambda peer: peer.number)[:MAX_PEERS]


def neighbours(ref: Ref[Any]) -> tuple[Neighbour, ...]:
    """Who will end with it: those linked that do not trap exits, and those linked to them, the nearest first."""
    links = ref.links
    if links is None or (links is ref.parent and links.actor_class.is_supervisor):
        return ()  # as most are
    told_by_start = ref.parent if ref.is_starting() else None
    seen = {ref, told_by_start}
    found: list[Ref[Any]] = []
    level = peers(ref)
    while level and len(found) < MAX_NEIGHBOURS:
        fresh = [peer for peer in dict.fromkeys(level) if peer not in seen and not peer.traps_exit()]
        seen.update(level)
        found += fresh
        level = [far for peer in fresh[:MAX_NEIGHBOURS] for far in peers(peer)]
    return tuple(_neighbour(peer) for peer in found[:MAX_NEIGHBOURS])


def _neighbour(ref: Ref[Any]) -> Neighbour:
    path = ref.path
    return Neighbour(
        path=path,
        kind=ref.kind,
        message=describe(ref.current, ref.system.show) or None,
        queue=len(ref.mailbox or ()),
        ancestors=ancestors(ref, path),
    )


def waiting(ref: Ref[Any]) -> tuple[str, ...]:
    """Whose calls fail with its end: paths, or `outside` for a thread that is no actor's; of many some."""
    if not may_be_waited_for(ref, ref.current):
        return ()
    callers = (slot.ref for slot in islice(waiting_callers(ref, ref.current), MAX_CALLERS))
    return tuple(["outside" if caller is None else caller.path for caller in callers])
