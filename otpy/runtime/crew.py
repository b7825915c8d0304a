"""The handlers of an actor that may have several in flight, as the runtime sees them; the place `loop` runs them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence

    from otpy.core.reason import Reason
    from otpy.runtime.caller import Caller
    from otpy.runtime.edge import Edge
    from otpy.runtime.message import Message
    from otpy.runtime.ref import Ref
    from otpy.runtime.seat import Seat

__all__ = ["Crew", "Node", "crew_of", "in_hand"]


class Node:
    """One handler in flight, where circles of calls are looked for: it waits for itself alone."""

    __slots__ = ("message", "ref", "waiting")

    def __init__(self, ref: Ref[Any], message: Message | None) -> None:
        """Wait for nobody yet."""
        self.ref = ref
        self.message = message
        """What it handles; none that is not a caller has anybody waiting for it."""
        self.waiting: Edge | None = None

    @property
    def path(self) -> str:
        """Whose handler it is."""
        return self.ref.path


class Crew:
    """The handlers in flight of one actor. While there are any it stands in `ref.waiting`, and others find it there.

    Only the loop's thread changes anything in it; any thread may look.
    """

    target: ClassVar[None] = None
    claim: ClassVar[tuple[bool, ...]] = (True,)
    deferred: ClassVar[bool] = True

    def __init__(self, ref: Ref[Any], limit: int) -> None:
        """Have none in flight."""
        self.ref = ref
        self.limit = limit
        self.is_full = False
        """Whether the next message has to wait."""
        self.nodes: dict[Node, Any] = {}  # Any: seats, with what the place adds to them
        """Those in flight, in the order in which they have begun, and where each runs."""

    @property
    def word(self) -> str:
        """As an edge says it."""
        return f"{len(self.nodes)} of {self.limit} handlers"

    def callers(self) -> list[Caller]:
        """Who waits for those in flight."""
        found: list[Any] = [node.message for node in list(self.nodes)]
        return [message for message in found if message is not None and not isinstance(message, tuple)]

    def seats(self) -> Sequence[Seat]:
        """Where those in flight run, the oldest first."""
        return list(self.nodes.values())

    def caller(self) -> Caller | None:
        """Who waits for the handler whose code, or whose task's code, asks this."""
        raise NotImplementedError

    def turn(self, budget: int) -> Coroutine[Any, Any, None]:
        """Begin with so many messages; awaited in the actor's turn."""
        raise NotImplementedError

    def make_way(self) -> Coroutine[Any, Any, None]:
        """End those in flight, so that the actor may end: cancelled, unless it was only asked to stop."""
        raise NotImplementedError

    def drain(self) -> Coroutine[Any, Any, None]:
        """Wait until none is in flight, or one has decided that the actor ends."""
        raise NotImplementedError

    def interrupt(self, reason: Reason) -> None:
        """The actor was told to die; from any thread."""
        raise NotImplementedError


def crew_of(ref: Ref[Any]) -> Crew | None:
    """The handlers that an actor has in flight beside its turn; None when it has none."""
    more = ref.more
    return more.crew if more is not None and more.crew is not None and more.crew.nodes else None


def in_hand(ref: Ref[Any]) -> Message | str | None:
    """The message an actor is in, of several the one that it has been in for longest."""
    crew = crew_of(ref)
    first = None if crew is None else next(iter(list(crew.nodes)), None)
    return ref.current if first is None else first.message or ref.current
