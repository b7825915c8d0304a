"""Where parts of otpy add what they know of a program's readiness, as its engines of jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from otpy.health.look import HealthLine
    from otpy.runtime.system import System

    Part: TypeAlias = Callable[[System], Iterable[HealthLine]]

__all__ = ["PARTS", "tells_readiness"]

PARTS: list[Part] = []
"""In the order in which they were imported."""


def tells_readiness(part: Part) -> Part:
    """Add the decorated function to what makes up readiness; it reads what is published, and waits for nothing."""
    PARTS.append(part)
    return part
