"""Threads that cannot be had."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

__all__ = ["refuse_threads"]


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
