"""Threads that cannot be had, and such as come to a lock."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import TracebackType

    import pytest

__all__ = ["Told", "refuse_threads"]


def refuse_threads(monkeypatch: pytest.MonkeyPatch, *prefixes: str) -> set[str]:
    """Let no thread start whose name begins like this, as when the system has no more, until the set is cleared."""
    refused = set(prefixes)
    start = threading.Thread.start

    def guarded(self: threading.Thread) -> None:
        if any(self.name.startswith(prefix) for prefix in refused):
            raise RuntimeError("can't start new thread")
        start(self)

    monkeypatch.setattr(threading.Thread, "start", guarded)
    return refused


class Told:
    """A lock that tells when another thread asks for it."""

    def __init__(self, lock: Any, owner: int, asked: threading.Event) -> None:  # Any: an RLock
        self.lock, self.owner, self.asked = lock, owner, asked

    def __enter__(self) -> None:
        if threading.get_ident() != self.owner:
            self.asked.set()
        self.lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.lock.release()
