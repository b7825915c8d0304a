"""Actors that persist what they count, and programs that follow each other on one file."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import otpy
from otpy.testing import VirtualSystem

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from otpy.errors import StateError
    from otpy.runtime.restoring import Snapshot

__all__ = ["AsyncCounter", "Counter", "Nest", "Odd", "drained", "started"]


class Counter(otpy.GenServer):
    """Counts, from where an earlier one has stopped."""

    def init(self, start: int = 0, *, fails: bool = False) -> None:
        found = self.restored
        self.count = start if found is None else found.data["count"]
        self.is_fresh = None if found is None else found.is_fresh
        if fails and found is not None:
            text = "it does not like its state"
            raise ValueError(text)

    def persist(self) -> dict[str, Any]:
        return {"count": self.count}

    @otpy.call
    def add(self) -> int:
        self.count += 1
        return self.count

    @otpy.call
    def save(self) -> int:
        self.save_state()
        return self.count

    @otpy.call
    def look(self) -> tuple[int, bool | None]:
        return self.count, self.is_fresh

    @otpy.cast
    def crash(self) -> None:
        text = "on purpose"
        raise ValueError(text)


@contextmanager
def started(file: Path, name: str = "shop", **options: Any) -> Iterator[VirtualSystem]:
    """One program on the file."""
    system = VirtualSystem(name, seed=1, state=file, **options)
    try:
        yield system
    finally:
        system.stop()


def drained(system: otpy.System, **states: Any) -> dict[str, StateError]:
    """What a drain does: the states of these tops, by id, in one commit."""
    store = system.states
    assert store is not None
    snapshots: list[Snapshot] = []
    for ident, state in states.items():
        ref = system.tops[ident]
        snapshots.append(store.snapshot(ref, state))
    return store.save(snapshots, is_final=True)


class AsyncCounter(otpy.GenServer):
    """As `Counter`, in coroutine functions."""

    async def init(self) -> None:
        found = self.restored
        self.count = 0 if found is None else found.data["count"]

    async def persist(self) -> dict[str, Any]:
        return {"count": self.count}

    @otpy.call
    async def add(self) -> int:
        self.count += 1
        await self.asave_state()
        return self.count


class Nest(otpy.GenServer):
    """Has a counter of its own beside it, and persists nothing."""

    def init(self) -> None:
        self.counter = self.spawn_link(otpy.child(Counter).opts(id="inner"))

    @otpy.call
    def add(self) -> int:
        self.counter.call(Counter.add)
        return self.counter.call(Counter.save)


class Odd(Counter):
    """Persists what is no plain data."""

    def persist(self) -> dict[str, Any]:
        return {"orders": [1, {"lock": object()}]}
