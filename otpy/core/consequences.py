"""What the end of one actor takes along, foretold without starting anything.

It is assumed that all else is well: every start goes well, every child stops as told, and all happens within the
windows of time in which restarts are counted.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal

from otpy.core.reason import Crashed, Killed, Normal, Reason, RestartLimit, Shutdown
from otpy.core.story import Story, exit_code_of, is_end_of, limit_of
from otpy.core.strategy import verdict
from otpy.core.value import value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otpy.core.part import Part
    from otpy.core.story import Node, Round

__all__ = ["REASONS", "End", "Threshold", "foretell", "thresholds"]

End = Literal["normal", "shutdown", "crash", "kill"]

REASONS: Final[dict[End, Reason]] = {
    "normal": Normal(),
    "shutdown": Shutdown(),
    "crash": Crashed("Exception", ""),
    "kill": Killed(),
}
"""How an actor may end."""


@value
class Threshold:
    """After so many ends in a row somebody gives up."""

    count: int
    """The number of the end that is one too many."""
    path: str
    """The supervisor that gives up, or the child that is given up by its own limit."""
    max_restarts: int
    """The limit that is passed."""
    max_seconds: float
    """Within which time."""
    then: Literal["restarted", "stays", "ends_parent", "exit", "given_up"]
    """Restarted by its own supervisor, left without a process, takes its supervisor along (it is significant), the end
    of the program, or a child given up alone."""
    code: int | None = None
    """The program's exit code, when it ends."""


def foretell(root: Part, path: str, end: End = "crash", times: int = 1) -> list[Round]:
    """What happens when the actor at a path ends, so many times in a row; fewer when it is gone for good before.

    Raises:
        UnforeseeableError: there is no such part, or nothing is known of it.
    """
    story = Story(root)
    rounds: list[Round] = []
    for number in range(times):
        node = story.find(path, grows=number == 0)
        if node is None or not node.is_alive:
            break
        rounds.append(story.play(node, REASONS[end]))
    return rounds


def thresholds(root: Part, path: str, end: End = "crash") -> list[Threshold]:
    """Who gives up when the actor at a path ends like that again and again, from its own supervisor upwards.

    Raises:
        UnforeseeableError: as `foretell`.
    """
    node = Story(root).find(path, grows=True)
    assert node is not None  # noqa: S101 - at the start everybody is there
    return list(_climb(node, REASONS[end], 1))


def _climb(node: Node, reason: Reason, count: int) -> Iterator[Threshold]:
    above = node.above
    if above is None:
        return
    ends_above = node.part.options.significant and is_end_of(above, node)
    if verdict(node.part.options.restart, reason) != "restart":
        if ends_above:
            yield from _climb(above, Shutdown(), count)
        return
    window, own_gives_up = limit_of(node, above)
    count *= window.max_restarts + 1
    giver = node if own_gives_up else above
    passed = Threshold(count, giver.part.path, window.max_restarts, window.max_seconds, "given_up")
    if own_gives_up:
        yield passed
        if ends_above:
            yield from _climb(above, Shutdown(), count)
        return
    reason = Shutdown(RestartLimit(above.part.path, node.part.id, window.max_restarts, window.max_seconds, reason))
    if above.above is None:
        yield replace(passed, then="exit", code=int(exit_code_of(reason)))
    elif verdict(above.part.options.restart, reason) == "restart":
        yield replace(passed, then="restarted")
        yield from _climb(above, reason, count)
    else:
        ends_it = above.part.options.significant and is_end_of(above.above, above)
        yield replace(passed, then="ends_parent" if ends_it else "stays")
        yield from _climb(above, reason, count)
