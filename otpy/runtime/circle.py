"""The search for circles: whether an actor that is about to wait would wait for itself in the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from otpy.runtime.crew import Crew, Node

if TYPE_CHECKING:
    from collections.abc import Iterable

    from otpy.runtime.edge import Edge
    from otpy.runtime.ref import Ref

    Waiter: TypeAlias = Ref[Any] | Node

__all__ = ["deadlock"]


def deadlock(me: Waiter, target: Ref[Any]) -> list[str]:
    """The circle that a call from one actor to another would close, as paths; empty when there is none.

    An edge ends when its reply is given; a deferred reply may come from anybody and proves nothing.
    """
    chain: list[Waiter] = [me]
    edges = []
    current: Ref[Any] | None = target
    while current is not me:
        edge = None if current is None else current.waiting
        if isinstance(edge, Crew):
            return _knot(me, target)
        if current is None or edge is None or edge.deferred or not edge.claim or current in chain:
            return []
        chain.append(current)
        edges.append(edge)
        current = edge.target
    # Seen one after the other they prove nothing: one may have ended before the next began. An edge never comes back,
    # so those that are still there now were all there when the first look was over.
    if any(
        ref.waiting is not edge or edge.deferred or not edge.claim for ref, edge in zip(chain[1:], edges, strict=True)
    ):
        return []
    return [ref.path for ref in (*chain, me)]


def _knot(me: Waiter, target: Ref[Any]) -> list[str]:
    """As `deadlock`, where somebody has several handlers in flight: all that could move first must stand still.

    A request that waits goes on when any of its target's handlers has ended; one that is handled, with its handler.
    """
    found: dict[Waiter, tuple[Edge, Waiter]] = {}
    todo: list[tuple[Waiter, Waiter]] = [(one, me) for one in _first_to_move(target, None)]
    last: Waiter | None = None
    while todo:
        one, before = todo.pop()
        if one is me:
            last = before
        elif one not in found:
            edge = one.waiting
            needed = [] if edge is None or edge.deferred or not edge.claim else _first_to_move(edge.target, edge)
            if edge is None or not needed:
                return []
            found[one] = (edge, before)
            todo.extend((other, one) for other in needed)
    # As above: a handler whose edge is still there has been in flight all the time, and so has kept its place.
    if any(one.waiting is not edge or edge.deferred or not edge.claim for one, (edge, _) in found.items()):
        return []
    return [] if last is None else _way(me, last, found)


def _first_to_move(target: Ref[Any] | None, edge: Edge | None) -> list[Waiter]:
    """Who must go on before `target` can do what an edge, or a new request, waits for; nobody: it can already."""
    crew = None if target is None else target.waiting
    if target is None or not isinstance(crew, Crew):
        return [] if target is None else [target]
    nodes = list(crew.nodes)
    handler: Iterable[Node] = (node for node in nodes if edge is not None and node.message is edge)
    return [*handler] or ([*nodes] if crew.is_full else [])


def _way(me: Waiter, last: Waiter, found: dict[Waiter, tuple[Edge, Waiter]]) -> list[str]:
    """One of the ways round, as paths."""
    way = [me.path]
    while last is not me:
        way.append(last.path)
        last = found[last][1]
    return [me.path, *way[::-1]]
