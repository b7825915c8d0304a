"""The census: every actor of a system, for who counts; no actor is asked anything, and no path is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.runtime.records import kept_by

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otpy.runtime.ref import Ref
    from otpy.runtime.system import System

__all__ = ["everyone"]


def everyone(system: System) -> Iterator[Ref[Any]]:
    """All that live, each once, whoever keeps it; of a process child the one that stands here for it."""
    tops = [ref for ref in (system.root, *list(system.tops.values()), *list(system.orphans)) if ref is not None]
    stack, seen = list(dict.fromkeys(tops)), set[int]()
    while stack:
        ref = stack.pop()
        if ref.reason is None and ref.number not in seen:
            seen.add(ref.number)
            yield ref
            stack.extend(kept_by(ref))
