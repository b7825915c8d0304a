"""Who waits for whom: what stands in `ref.waiting` while an actor waits in the middle of its code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from otpy.core.reason import Reason
    from otpy.runtime.ref import Ref

__all__ = ["Edge", "waits_for"]


class Edge(Protocol):
    """One wait, seen from outside; any thread may look.

    The search for circles follows edges that prove something: those whose answer only `target` can give.
    """

    @property
    def target(self) -> Ref[Any] | None:
        """Whom it waits for; None for a sleep, a coroutine and the like."""
        ...

    @property
    def word(self) -> str:
        """In what, as `call get`, `start`, `sleep`."""
        ...

    @property
    def claim(self) -> Sequence[bool]:
        """Empty once the wait has been decided."""
        ...

    @property
    def deferred(self) -> bool:
        """Whether somebody else than `target` may end the wait."""
        ...

    def interrupt(self, reason: Reason) -> object:
        """The waiting actor itself was told to die."""
        ...


def waits_for(edge: Edge | None) -> str | None:
    """An edge as text: `shop/db in call get`, `sleep`."""
    if edge is None:
        return None
    target = edge.target
    return edge.word if target is None else f"{target.path} in {edge.word}"
