"""What is legal in a declared tree and yet doubtful: pure functions from parts to warnings."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from otpy.core.backoff import delay
from otpy.core.intensity import Window
from otpy.core.part import BEYOND, SEALED, Finding, all_parts
from otpy.core.strategy import affected

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otpy.core.backoff import Backoff
    from otpy.core.part import Flags, Part

__all__ = ["doubts", "stop_time"]

SLOWEST = 3
"""Parts that are named when a stop may take too long."""


def doubts(root: Part, deadline: float) -> list[Finding]:
    """All warnings about a tree.

    Args:
        root: the tree.
        deadline: seconds in which all of it must have stopped, as for `otpy run --shutdown`.
    """
    found = [(part.path, text) for part in all_parts(root) for text in _about(part)]
    found += [(part.path, f"neither its children nor any later ones are known: {BEYOND}") for part in _unseen(root)][:1]
    return [Finding("warning", path, text) for path, text in [*_about_stop(root, deadline), *found]]


def stop_time(part: Part) -> float:
    """Seconds that stopping a part may take at most: of ordered children the sum, of dynamic ones the longest."""
    if not part.is_supervisor:
        return part.shutdown
    times = [part.unseen_stop, *(stop_time(child) for child in part.children)]
    is_dynamic = part.flags is not None and part.flags.is_dynamic
    return min(part.shutdown, max(times, default=0.0) if is_dynamic else sum(times))


def _about_stop(root: Part, deadline: float) -> Iterator[tuple[str, str]]:
    total = stop_time(root)
    if total <= deadline:
        return
    alone = [(_alone(part), part.path) for part in all_parts(root)]
    slowest = sorted((one for one in alone if one[0] > 0), key=lambda one: -one[0])[:SLOWEST]
    most = ", ".join(f"{path} ({_seconds(seconds)})" for seconds, path in slowest)
    yield (
        root.path,
        (
            f"to stop may take {_seconds(total)}, and after {_seconds(deadline)} (--shutdown) what is left is killed; "
            f"most of it is for {most}: lower their shutdown, or give the program more"
        ),
    )


def _alone(part: Part) -> float:
    """What a part itself adds to the stop, without the children that are shown."""
    return min(part.shutdown, part.unseen_stop) if part.is_supervisor else part.shutdown


def _unseen(root: Part) -> Iterator[Part]:
    return (part for part in all_parts(root) if part.unknown == BEYOND)


def _about(part: Part) -> Iterator[str]:
    if part.unknown not in (None, BEYOND, SEALED):
        yield f"its children cannot be known without starting it: {part.unknown}"
    if part.is_supervisor:
        yield from _about_supervisor(part)
    if part.flags is not None:
        yield from _about_window(part, part.flags)
        yield from _about_pauses(part, part.flags)
        yield from _about_significance(part, part.flags)


def _about_supervisor(part: Part) -> Iterator[str]:
    """What is doubtful about how a supervisor is kept itself."""
    options = part.options
    if part.shutdown != math.inf:
        yield (
            f"shutdown={options.shutdown!r}: a supervisor that is killed cannot stop its children in order; "
            "leave it at otpy.INFINITY, they have times of their own"
        )
    if options.restart != "permanent":
        what = "forgotten" if options.restart == "temporary" else "left stopped"
        and_then = ", and ends the supervisor above it" if options.significant else ""
        yield (
            f"restart={options.restart!r}: when it has given up it ends with shutdown, which is clean, so it is {what}"
            f"{and_then}; a permanent one is started again"
        )


def _about_window(part: Part, flags: Flags) -> Iterator[str]:
    """What takes longer than the window in which restarts are counted: that limit can never be reached."""
    window = flags.max_seconds
    moved = _taken_along(part, flags)
    for child in part.children:
        shutdown, timeout = child.shutdown, child.options.start_timeout
        if child.path in moved and not child.is_supervisor and shutdown > window:
            yield (
                f"{child.id} may take {_seconds(shutdown)} to stop when another one crashes, longer than the window of "
                f"{_seconds(window)}: restarts that take so long never reach the limit; raise max_seconds, or lower "
                "its shutdown"
            )
        if timeout is not None and timeout > window:
            yield (
                f"{child.id} may take {_seconds(timeout)} to fail to start, longer than the window of "
                f"{_seconds(window)}: it would be tried for ever; raise max_seconds, or lower its start_timeout"
            )


def _taken_along(part: Part, flags: Flags) -> set[str]:
    """The paths of children that the restart of another one stops."""
    if flags.is_dynamic:
        return set()
    kept = part.children
    return {
        other.path
        for index, child in enumerate(kept)
        if child.options.restart != "temporary"
        for other in affected(flags.strategy, kept, index)
        if other is not child
    }


def _about_pauses(part: Part, flags: Flags) -> Iterator[str]:
    """Whose back-off outgrows the window in which its restarts are counted."""
    for child in part.children:
        backoff = child.options.backoff
        window = child.options.limit or Window(flags.max_restarts, flags.max_seconds)
        if backoff is not None and _span(backoff, window) > window.max_seconds:
            yield (
                f"{child.id} pauses so long before its restarts that more than {window.max_restarts} of them hardly "
                f"ever fall into {_seconds(window.max_seconds)}: it is tried for ever; if that is not what you want, "
                "give it a limit of its own with a longer window"
            )


def _span(backoff: Backoff, window: Window) -> float:
    """Seconds, on average, between the first restart of a child that always fails and the one too many."""
    total = 0.0
    for attempts in range(1, window.max_restarts + 1):
        total += delay(backoff, attempts, 0.5)
        if total > window.max_seconds:
            break
    return total


def _about_significance(part: Part, flags: Flags) -> Iterator[str]:
    if flags.auto_shutdown != "never" and not any(child.options.significant for child in part.children):
        yield f"auto_shutdown={flags.auto_shutdown!r}, but no child is significant: it never happens"


def _seconds(value: float) -> str:
    return "for ever" if value == math.inf else f"{value:g} s"
