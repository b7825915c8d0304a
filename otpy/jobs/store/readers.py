"""Looks beside who writes: each on a connection of its own that can write nothing, in whatever thread."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections import deque
from contextlib import suppress
from typing import Generic, Protocol, TypeVar

__all__ = ["KeptReaders"]

KEPT = 4
"""Connections that are kept for the next looks; more are opened when more look at once."""


class Connection(Protocol):
    """What is kept."""

    def close(self) -> None:
        """Let go of the store."""


C = TypeVar("C", bound=Connection)


class KeptReaders(ABC, Generic[C]):
    """The half of `otpy.jobs.store.protocol.Readers` that keeps connections for the next looks.

    Nobody waits for it, and it waits for nobody. Any thread may look; the connections go from hand to hand.
    """

    def __init__(self) -> None:
        """Nothing is open."""
        self.is_open = False
        """Whether one may look: the store is there, with its tables, for somebody has opened it to write."""
        self._idle: deque[C] = deque()
        self._pid = os.getpid()
        self._left: deque[C] = deque()
        """Those that came into this process by a fork: to close them here would touch what the parent has."""

    @abstractmethod
    def _connect(self) -> C:
        """One more."""

    def close(self) -> None:
        """Let go of the store; a look that is under way goes on."""
        self.is_open = False
        self._drop()

    def _take(self) -> C:
        if self._pid != os.getpid():
            self._left, self._idle, self._pid = self._idle, deque(), os.getpid()
        with suppress(IndexError):
            return self._idle.pop()
        return self._connect()

    def _give_back(self, db: C) -> None:
        if len(self._idle) >= KEPT:
            db.close()
            return
        self._idle.append(db)
        if not self.is_open:
            self._drop()

    def _drop(self) -> None:
        with suppress(IndexError):
            while True:
                self._idle.pop().close()
