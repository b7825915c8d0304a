"""Where an actor's code is now: its thread and the frames on it."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Any

from otpy.core.frames import is_own
from otpy.runtime.crew import crew_of, in_hand
from otpy.runtime.edge import waits_for
from otpy.runtime.message import message_word

if TYPE_CHECKING:
    from types import FrameType

    from otpy.runtime.ref import Ref
    from otpy.runtime.seat import Seat
    from otpy.runtime.system import System

__all__ = ["doing", "frame_line", "seat_of", "seats_of", "stack_of", "stacks_of"]

OWN_FILES = ("/otpy/runtime/", "/threading.py", "/otpy/places/")
"""Files whose frames say nothing of where an actor's own code is."""


def seats_of(system: System) -> list[Seat]:
    """Where a system's actors run: the seats of the pool, of the threads of one actor each, and of loops."""
    return [*list(system.pool.workers), *(seat for home in list(system.threads) for seat in home.seats())]


def seat_of(system: System, ref: Ref[Any]) -> Seat | None:
    """The seat of the thread that runs an actor now; of several handlers that of the oldest."""
    crew = crew_of(ref)
    own = () if crew is None else crew.seats()
    return next((seat for seat in (own or seats_of(system)) if seat.ref is ref), None)


def stacks_of(system: System, ref: Ref[Any]) -> str | None:
    """The stack of what an actor runs now; of several handlers each, under a line that says what it handles."""
    crew = crew_of(ref)
    nodes = {} if crew is None else dict(crew.nodes)
    if nodes:
        parts = (f"in {message_word(node.message)}\n{stack_of(seat) or ''}" for node, seat in nodes.items())
        return "\n".join(parts)
    seat = seat_of(system, ref)
    return None if seat is None else stack_of(seat)


def frame_line(seat: Seat) -> str | None:
    """One line: where the thread's innermost frame outside of otpy's own is."""
    frames = seat.frames()
    while len(frames) > 1 and _is_own(frames[-1]):
        frames.pop()
    if not frames:
        return None
    code = frames[-1].f_code
    return f"{code.co_filename}:{frames[-1].f_lineno} in {code.co_name}"


def stack_of(seat: Seat) -> str | None:
    """The stack as Python prints it, without otpy's own frames above and below the actor's code; at least one line."""
    frames = seat.frames()
    if not frames:
        return None
    summary = traceback.StackSummary.extract((frame, frame.f_lineno) for frame in frames)
    entries = [entry for entry in summary if not entry.filename.endswith("/threading.py")]
    own = next((place for place, entry in enumerate(entries) if is_own(entry.filename)), -1)
    # What is above otpy's own frames is how the program, or its process, came to run them.
    places = [place for place, entry in enumerate(entries) if place > own and not is_own(entry.filename)]
    inner = entries[places[0] : places[-1] + 1] if places else entries[-1:]
    return "".join(traceback.format_list(inner))


def doing(system: System, ref: Ref[Any]) -> str:
    """What an actor does at this moment, as one line."""
    seat = seat_of(system, ref)
    current = in_hand(ref)
    if seat is None or current is None:
        return "at rest" if not ref.mailbox else f"at rest, {len(ref.mailbox)} messages waiting"
    text = f"busy for {seat.busy_for(system.clock.now()):.1f} s in {message_word(current)}"
    waiting = waits_for(ref.waiting)
    place = frame_line(seat)
    return text + (f", waiting for {waiting}" if waiting else "") + (f", at {place}" if place else "")


def _is_own(frame: FrameType) -> bool:
    return any(part in frame.f_code.co_filename for part in OWN_FILES)
