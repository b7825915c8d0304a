"""A store that cannot be opened just now: its writer lives on, and each use of it tries again."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from otpy.jobs.model.lead import Lead
    from otpy.jobs.store.protocol import Store, Transaction

__all__ = ["LateStore"]


class LateStore:
    """As `otpy.jobs.store.protocol.Store` says, as soon as it is there. For one thread."""

    def __init__(self, opened: Callable[[], Store]) -> None:
        """`opened` makes it; what that raises is a failure of the store."""
        self._opened = opened
        self._store: Store | None = None

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Begin one. Raises StoreError: it cannot be opened."""
        return self._there().transaction()

    def lead(self, name: str) -> Lead | None:
        """Who was elected last. Raises as `transaction`."""
        return self._there().lead(name)

    def changes(self) -> int:
        """A number that differs when another program has written. Raises as `transaction`."""
        return self._there().changes()

    def close(self) -> None:
        """Let go of it, if it has come."""
        if self._store is not None:
            self._store.close()

    def _there(self) -> Store:
        if self._store is None:
            self._store = self._opened()
        return self._store
