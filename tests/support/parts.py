"""Declared trees as values, for the pure functions that judge them."""

from __future__ import annotations

import math
from typing import Any

from otpy.core.part import Flags, Part
from otpy.core.spec import Options

__all__ = ["keeper", "worker"]


def worker(path: str, *, shutdown: float = 5.0, **options: Any) -> Part:
    """A worker."""
    own = Options(**options)
    return Part(path=path, id=_last(path), kind="W", is_supervisor=False, place="pool", options=own, shutdown=shutdown)


def keeper(
    path: str,
    *children: Part,
    flags: Flags | None = None,
    shutdown: float = math.inf,
    dynamic: bool = False,
    **also: Any,
) -> Part:
    """A supervisor; options of its own and flags by their words."""
    own = {word: also.pop(word) for word in ("restart", "significant") if word in also}
    return Part(
        path=path,
        id=_last(path),
        kind="S",
        is_supervisor=True,
        place="pool",
        options=Options(**own, shutdown=None if shutdown == math.inf else shutdown),
        shutdown=shutdown,
        flags=flags or Flags(is_dynamic=dynamic, **also),
        children=children,
    )


def _last(path: str) -> str:
    return path.rpartition("/")[2]
