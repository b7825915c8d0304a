"""Where an actor's code is now: its thread and the frames on it."""

from __future__ import annotations

import sys
import traceback
from typing import TYPE_CHECKING, Any

from otpy.core.frames import is_own
from otpy.runtime.edge import waits_for
from otpy.runtime.message import message_word

if TYPE_CHECKING:
    from types import FrameType

    from otpy.runtime.ref import Ref
    from otpy.runtime.seat import Seat
    from otpy.runtime.system import System

__all__ = ["doing", "frame_line", "seat_of", "seats_of", "stack_of"]

OWN_FILES = ("/otpy/runtime/", "/threading.py", "/otpy/places/")
"""Files whose frames say nothing of where an actor's own code is."""


def seats_of(system: System) -> list[Seat]:
    """The seats of all threads that run a system's actors: the pool's, then those of one actor each."""
    return [*list(system.pool.workers), *(home.seat for home in list(system.threads))]


def seat_of(system: System, ref: Ref[Any]) -> Seat | None:
    """The seat of the thread that runs an actor now."""
    return next((seat for seat in seats_of(system) if seat.ref is ref), None)


def frame_line(seat: Seat) -> str | None:
    """One line: where the thread's innermost frame outside of otpy's own is."""
    frame = sys._current_frames().get(seat.ident)  # noqa: SLF001 - the documented way to see other threads
    while frame is not None and frame.f_back is not None and _is_own(frame):
        frame = frame.f_back
    return None if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_name}"


def stack_of(seat: Seat) -> str | None:
    """The stack as Python prints it, without otpy's own frames above and below the actor's code; at least one line."""
    frame = sys._current_frames().get(seat.ident)  # noqa: SLF001 - as above
    if frame is None:
        return None
    entries = [entry for entry in traceback.extract_stack(frame) if not entry.filename.endswith("/threading.py")]
    places = [place for place, entry in enumerate(entries) if not is_own(entry.filename)]
    inner = entries[places[0] : places[-1] + 1] if places else entries[-1:]
    return "".join(traceback.format_list(inner))


def doing(system: System, ref: Ref[Any]) -> str:
    """What an actor does at this moment, as one line."""
    seat = seat_of(system, ref)
    current = ref.current
    if seat is None or current is None:
        return "at rest" if not ref.mailbox else f"at rest, {len(ref.mailbox)} messages waiting"
    text = f"busy for {seat.busy_for(system.clock.now()):.1f} s in {message_word(current)}"
    waiting = waits_for(ref.waiting)
    place = frame_line(seat)
    return text + (f", waiting for {waiting}" if waiting else "") + (f", at {place}" if place else "")


def _is_own(frame: FrameType) -> bool:
    return any(part in frame.f_code.co_filename for part in OWN_FILES)
