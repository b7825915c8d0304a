"""What is wrong with a running program, as far as each of its parts can tell; other floors add theirs by `examines`."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from otpy.control.verbs import register
from otpy.core.part import Finding
from otpy.core.text import exception_line, visible, visible_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from otpy.control.snapshot import Inspected
    from otpy.control.verbs import Params
    from otpy.core.record import ActorRecord

    Examine: TypeAlias = Callable[[Inspected], Iterable[Finding]]

__all__ = ["examines", "look_over"]

MOST = 200
"""Findings in one reply."""
LONG = 30.0
"""Seconds in one message, and of a suspension, after which that is told of."""
DEEP = 1_000
"""Messages that wait for one actor."""

_EXAMINERS: list[Examine] = []


def examines(look: Examine) -> Examine:
    """Add the decorated function to what `otpy doctor` asks; it runs on a thread of its own, and may wait a while."""
    _EXAMINERS.append(look)
    return look


def look_over(system: Inspected) -> list[Finding]:
    """All that is found, errors first; an examination that fails is a finding, too."""
    found: list[Finding] = []
    for look in _EXAMINERS:
        try:
            found.extend(look(system))
        except Exception as error:  # noqa: BLE001 - of whichever part; the others are asked nevertheless
            text = f"{look.__module__} could not look: {exception_line(error)}"
            found.append(Finding("error", visible(system.name), text))
    return sorted(found, key=lambda one: one.level != "error")


@register("doctor", right="read")
def doctor(system: Inspected, _params: Params) -> object:
    """What is wrong: `level`, `path` and `text` of each finding, at most so many."""
    return [{"level": one.level, "path": one.path, "text": one.text} for one in look_over(system)[:MOST]]


@examines
def actors(system: Inspected) -> Iterator[Finding]:
    """Those that do not get on: killed and not gone, given up, silent, long at one message, behind, or forgotten."""
    for record in system.zombies():
        text = f"it was killed and its code still runs{_frame(system, record)}: on_stuck='process' lets it be killed"
        yield Finding("error", record.path, text)
    for record in system.records():
        problem = _problem(record)
        if problem is not None:
            where = _frame(system, record) if record.busy is not None else ""
            is_mild = record.copes or record.status == "suspended"
            yield Finding("warning" if is_mild else "error", record.path, problem + where)
        if record.queue >= DEEP:
            yield Finding(
                "warning", record.path, f"{record.queue} messages wait for it: otpy info --mailbox shows which"
            )


def _problem(record: ActorRecord) -> str | None:
    if record.trouble is not None:
        lead = f"it works on by itself: {record.kind}, " if record.copes else "it is in trouble: "
        return f"{lead}{record.trouble}"
    if record.status == "failed":
        return f"it was given up: {record.last_exit}; otpy why tells more, otpy restart starts it again"
    if record.next_start is not None:
        return f"it is started again in {record.next_start:.0f} s, after {record.last_exit}: otpy why tells more"
    if record.suspended is not None and record.suspended >= LONG:
        return f"it has been suspended for {record.suspended:.0f} s: otpy resume lets it go on"
    if record.busy is None or record.busy < LONG or not record.queue:  # long work that keeps nobody waiting is no fault
        return None
    waiting = "" if record.waiting is None else f", where it waits for {record.waiting}"
    return f"it has been in {record.current} for {record.busy:.0f} s{waiting}, and {record.queue} messages wait"


def _frame(system: Inspected, record: ActorRecord) -> str:
    """Where its code is; nothing when it is nowhere by now."""
    stack = system.stack(record.path)
    lines = [] if stack is None else visible_lines(stack).strip().splitlines()
    frames = [line.strip() for line in lines if line.lstrip().startswith("File ")]
    return f", at {frames[-1]}" if frames else ""
