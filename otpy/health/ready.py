"""Readiness: whether a program can do its work now. Reads what is published, asks nobody."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from otpy.core.text import exception_line, visible
from otpy.health.look import HealthLine, HealthLook, looked
from otpy.health.parts import PARTS
from otpy.runtime.records import children_of, is_in_init

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from otpy.runtime.records import Child, ChildEntry
    from otpy.runtime.ref import Ref
    from otpy.runtime.system import System

__all__ = ["readiness"]

MOST = 20
"""Children that are named; more need no names."""


def readiness(system: System, *, ignore: Collection[str] = ()) -> HealthLook:
    """Whether a program can do its work. Any thread may ask; it waits for nothing.

    It is ready when its root has started and is not told to stop, no `permanent` child of an ordinary supervisor is
    down, its engines of jobs take in jobs, and no check of `Checks` has a problem. Down is who waits for its restart,
    is being started again, or was given up by a limit of its own; not who was stopped by hand. Children of dynamic
    supervisors are many and come and go: they do not count, nor does what is below them, or in another process.

    Args:
        system: which one.
        ignore: names of lines that do not count, as `shop/feed` or `shop/feeds/*`; they are shown all the same.
    """
    patterns = (ignore,) if isinstance(ignore, str) else ignore  # each letter of it would be one, and `*` is all
    return looked(_weighed(line, patterns) for line in _lines(system))


def _weighed(line: HealthLine, ignore: Collection[str]) -> HealthLine:
    if not any(fnmatchcase(line.name, pattern) for pattern in ignore):
        return line
    return HealthLine(name=line.name, problem=line.problem, counts=False)


def _lines(system: System) -> Iterator[HealthLine]:
    yield HealthLine(name="started", problem=_start_problem(system))
    yield HealthLine(name="draining", problem=_drain_problem(system))
    yield from _children(system)
    for part in PARTS:
        try:
            yield from part(system)
        except Exception as error:  # noqa: BLE001 - of whichever part; the others are asked nevertheless
            yield HealthLine(name=part.__module__, problem=f"it could not tell: {exception_line(error)}")
    for name, check in system.checks.copy().items():
        yield HealthLine(name=name, problem=_asked(check))


def _asked(check: Callable[[], str | None]) -> str | None:
    try:
        return check()
    except Exception as error:  # noqa: BLE001 - as above
        return f"it could not tell: {exception_line(error)}"


def _start_problem(system: System) -> str | None:
    root = system.root
    if root is None or is_in_init(root):
        return "the tree is not up yet"
    return None if root.reason is None else f"the tree has ended: {visible(str(root.reason))}"


def _drain_problem(system: System) -> str | None:
    if system.draining is not None:
        return visible(system.draining.reason)
    return "it stops" if system.is_told or system.stopped else None


def _children(system: System) -> Iterator[HealthLine]:
    """One line for each required child that is down, or one that says there is none."""
    found = [] if system.root is None else _down(system, system.root)
    yield from found[:MOST]
    if len(found) > MOST:
        yield HealthLine(name="children", problem=f"{len(found) - MOST} more are down")
    elif not found:
        yield HealthLine(name="children")


def _down(system: System, root: Ref[Any]) -> list[HealthLine]:
    found: list[HealthLine] = []
    stack = [root]
    while stack:
        for child in children_of(stack.pop()):
            if child.entry is None or child.entry.spec.options.restart != "permanent":
                continue
            problem = _child_problem(child, child.entry, system.clock.now())
            if problem is not None:
                found.append(HealthLine(name=child.path, problem=problem))
            elif child.ref is not None and _is_ordinary(child.ref):
                stack.append(child.ref)
    return found


def _is_ordinary(ref: Ref[Any]) -> bool:
    """Whether its children are declared by name, and not started in numbers."""
    return ref.actor_class.is_supervisor and bool(ref.actor_class.names_children)


def _child_problem(child: Child, entry: ChildEntry, now: float) -> str | None:
    because = f", after {visible(str(entry.last_exit), 500)}" if entry.last_exit is not None else ""
    if child.ref is not None and child.ref.reason is None:
        return f"it is being started again{because}" if because and is_in_init(child.ref) else None
    if entry.given_up:
        return f"it was given up{because}"
    if entry.due is not None:
        return f"it is started again in {max(0.0, entry.due - now):.0f} s{because}"
    return f"its restart has failed and is tried again{because}" if entry.restarting else None
