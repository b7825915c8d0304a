"""What happened in a seeded run, step by step: turns, timers, events."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from otpy.events.threads import ZombieMade
from otpy.places.loop_worker import LoopWorker
from otpy.runtime.awaited import AwaitedSlot
from otpy.runtime.awaiting import Awaiting
from otpy.runtime.caller import Caller
from otpy.runtime.links import Down, ExitSignal
from otpy.runtime.message import describe
from otpy.runtime.nap import Nap
from otpy.runtime.ref import Ref
from otpy.runtime.seat import Slot
from otpy.testing.loop import Strand

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.events.event import Event

__all__ = ["SCENARIO", "Step", "Tracer", "what_for", "what_it_waits_for", "who"]

SCENARIO = "the scenario"
LOOP = "the event loop"
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a run."""

    time: float
    """Seconds on the virtual clock."""
    path: str
    """The actor that got a turn, or about which an event was reported; or `the scenario`, or `the clock`."""
    message: str
    """What it was about; memory addresses are left out, so two runs can be compared."""

    def __str__(self) -> str:
        return f"{self.time:8.3f}  {self.path}: {self.message}"


class Tracer:
    """Notes the steps of a run; they become text when somebody asks, or at once when `limit` is None.

    Text made later costs a thousand runs nothing, but shows a message as it is then.
    """

    def __init__(self, limit: int | None) -> None:
        """Keep all steps, or the last `limit`."""
        self._notes: deque[Step | tuple[float, Any, Any]] = deque(maxlen=limit)
        self._is_eager = limit is None
        self._now: Callable[[], float] = float

    def begin(self, now: Callable[[], float]) -> None:
        """Note another run, by its clock."""
        self._notes.clear()
        self._now = now

    def note(self, item: Any) -> None:
        """Note what is about to run: an actor with its next message, or a thread whose answer has come."""
        if item.__class__ is Ref:
            box = item.mailbox
            self._add(item, box[0] if box else ("init" if item.is_starting() else "turn"))
        elif item.__class__ is Strand:
            self._note_strand(item)
        else:
            self._add(item, item.seat.ref)

    def _note_strand(self, strand: Strand) -> None:
        """Note what goes on on the event loop; a worker that is about to take a turn says more when it takes it."""
        worker = strand.worker()
        if worker is None:
            if text := strand.text():
                self._add(strand.owner() or LOOP, text)
        elif worker.ref is not None:
            self._add(worker.ref, f"goes on{what_it_waits_for(worker.ref, 'after')}")

    def note_time(self) -> None:
        """Note that time went on because nothing else could happen."""
        self._add("the clock", "goes on to the next timer")

    def note_event(self, event: Event) -> None:
        """Note an event; a handler for `Events.attach`."""
        self._add(event, None)

    def steps(self) -> list[Step]:
        """What was noted, as text."""
        return [note if isinstance(note, Step) else _step(*note) for note in self._notes]

    def _add(self, item: Any, message: Any) -> None:
        note = (self._now(), item, message)
        self._notes.append(_step(*note) if self._is_eager else note)


def _step(time: float, item: Any, message: Any) -> Step:
    if isinstance(item, Ref):
        path, text = item.path, _text(message)
    elif isinstance(item, Slot):
        path, text = _name(message), f"goes on{what_for(item, 'after')}"
    elif isinstance(item, str):
        path, text = item, message
    else:
        end = " on " if isinstance(item, ZombieMade) else "\n"  # on which thread it is, is no matter of the seed
        said = str(item).partition(end)[0]
        path, text = item.path, f"[{type(item).__name__}] {said}"
    return Step(time, path, ADDRESS.sub("", text))


def _text(message: object) -> str:
    argument = message[1] if isinstance(message, tuple) and len(message) > 1 else None
    match argument:
        case ExitSignal():
            return f"exit signal of {argument.sender.path}: {argument.reason}"
        case Down():
            return f"down of {getattr(argument.target, 'path', argument.target)}: {argument.reason}"
    return describe(message)


def who(slot: Slot) -> str:
    """Who waits at a slot."""
    return _name(slot.seat.ref)


def _name(ref: Ref[Any] | None) -> str:
    return SCENARIO if ref is None else ref.path


def what_for(slot: Any, word: str = "for") -> str:
    """What somebody waits, or waited, for, with a word before it; empty where the slot does not tell."""
    if isinstance(slot, Caller):
        return f" {word} the reply of {slot.target.path} to {slot.request}"
    if isinstance(slot, Awaiting | AwaitedSlot) and slot.target is not None:
        return f" {word} the {'start' if slot.word == 'start' else 'end'} of {slot.target.path}"
    if isinstance(slot, Nap | AwaitedSlot):
        return f" {word} its {slot.word}"
    return f" {word} what it awaits" if isinstance(slot, LoopWorker) else ""


def what_it_waits_for(ref: Ref[Any], word: str = "for") -> str:
    """The same for an actor, which may have a slot."""
    return what_for(ref.waiting, word)
