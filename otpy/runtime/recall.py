"""What is told of the exits a system remembers: records made when somebody asks, in any thread."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from otpy.core.exits import ExitAction, ExitRecord, relation
from otpy.core.frames import user_frame
from otpy.core.reason import Crashed
from otpy.core.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otpy.runtime.notes import Decided, Note
    from otpy.runtime.system import System

__all__ = ["exits_of"]

REASON_LIMIT = 500
"""Characters of a reason."""
MAX_CHAIN = 10
"""Exits followed from one to what brought it about."""


def exits_of(system: System, path: str | None, limit: int) -> list[ExitRecord]:
    """The latest exits that concern a path, or all of them, the latest first."""
    found: list[ExitRecord] = []
    now = system.clock.now()
    for note in reversed(system.history.notes()):
        if len(found) == limit:
            break
        related = _related(note, system.name if path is None else path)
        if related is not None:
            found.append(_record(system, note, related, now))
    return found


def _related(note: Note, path: str) -> str | None:
    related = relation(path, note.path)
    if related is not None:
        return related
    others = [*note.took, *(other for decided in note.decided for other in decided.others)]
    return "beside" if any(relation(path, other) in {"own", "above"} for other in others) else None


def _record(system: System, note: Note, related: str, now: float) -> ExitRecord:
    ago = max(0.0, now - note.at)
    crash = note.reason if isinstance(note.reason, Crashed) else None
    return ExitRecord(
        path=note.path,
        relation=related,
        kind=visible(note.kind),
        number=note.number,
        time=note.at if system.is_virtual else time.time() - ago,
        ago=ago,
        uptime=None if math.isnan(note.uptime) else max(0.0, note.uptime),
        reason=_text(note),
        causes=tuple(_causes(crash)),
        frame=visible(frame, REASON_LIMIT) if crash is not None and (frame := user_frame(crash.frames)) else None,
        message=visible(note.message) or None,
        queue=note.queue,
        by=None if note.by is None else visible(note.by, REASON_LIMIT),
        origin=tuple(_origin(note)),
        took=note.took,
        took_left_out=note.took_count - len(note.took),
        waiting=tuple(visible(line, REASON_LIMIT) for line in note.waiting),
        waiting_left_out=note.waiting_count - len(note.waiting),
        actions=tuple(_action(decided, now) for decided in note.decided),
    )


def _text(note: Note) -> str:
    return visible(str(note.reason), REASON_LIMIT)


def _causes(crash: Crashed | None) -> Iterator[str]:
    while crash is not None and crash.cause is not None:
        crash = crash.cause
        yield visible(str(crash), REASON_LIMIT)


def _origin(note: Note) -> Iterator[str]:
    seen = note.cause
    for _ in range(MAX_CHAIN):
        if seen is None:
            return
        yield f"{seen.path}: {_text(seen)}"
        seen = seen.cause


def _action(decided: Decided, now: float) -> ExitAction:
    return ExitAction(
        what=decided.what,
        ago=max(0.0, now - decided.at),
        restart=decided.restart,
        in_window=decided.in_window,
        max_restarts=0 if decided.window is None else decided.window.max_restarts,
        max_seconds=0.0 if decided.window is None else decided.window.max_seconds,
        others=decided.others,
        others_left_out=decided.others_count - len(decided.others),
        detail=None if decided.detail is None else visible(decided.detail, REASON_LIMIT),
    )
