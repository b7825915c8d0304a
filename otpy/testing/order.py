"""The run queue of an exploration: any item may come next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["SeededQueue"]


class SeededQueue:
    """What waits for a turn, in no order; only ever touched by the thread that holds the token."""

    def __init__(self, draw: Callable[[list[Any]], Any]) -> None:
        """Take what decides: `draw` takes one item out of a list that is not empty."""
        self._draw = draw
        self._items: list[Any] = []
        self._next: list[Any] = []

    def append(self, item: Any, /) -> None:
        """Add an actor, or a slot whose thread may go on."""
        self._items.append(item)

    def popleft(self) -> Any:
        """Take the next item; raises IndexError when there is none."""
        self.peek()
        return self._next.pop()

    def peek(self) -> Any:
        """Draw the next item, unless it is drawn already, and leave it; raises IndexError when there is none."""
        if not self._next:
            if not self._items:
                raise IndexError
            self._next.append(self._draw(self._items))
        return self._next[0]

    def clear(self) -> None:
        """Drop all."""
        self._items.clear()
        self._next.clear()

    def __len__(self) -> int:
        return len(self._items) + len(self._next)
