"""Killed actors whose code still runs: the list is the system's, what is told of it is here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.events.threads import ZombieEnded, ZombieLimitReached, ZombieMade
from otpy.runtime.crew import in_hand
from otpy.runtime.stacks import frame_line, seat_of

if TYPE_CHECKING:
    from otpy.runtime.ref import Ref

__all__ = ["drop_zombie", "report_zombie"]


def report_zombie(ref: Ref[Any]) -> None:
    """Report a killed actor that is listed, if its code does run; else take it off the list."""
    system = ref.system
    if in_hand(ref) is None:  # listed, then looked; its turn clears `current`, then looks at the list
        system.undead.pop(ref, None)
        return
    seat = seat_of(system, ref)
    thread = None if seat is None else seat.thread_name
    frame = None if seat is None else frame_line(seat)
    system.events.emit(ZombieMade(path=ref.path, thread=thread, frame=frame))
    with system.lock:
        ended = ref not in system.undead
        if not ended:
            system.undead[ref] = True
    if ended:
        system.events.emit(ZombieEnded(path=ref.path))
    count = len(system.undead)
    if count > system.max_zombies:
        system.events.emit(ZombieLimitReached(path=system.name, count=count))
        if system.on_too_many_zombies is not None:
            system.on_too_many_zombies()


def drop_zombie(ref: Ref[Any]) -> None:
    """Take a killed actor off the list: its code has come to an end."""
    system = ref.system
    with system.lock:
        reported = system.undead.pop(ref, False)
    if reported:
        system.events.emit(ZombieEnded(path=ref.path))
