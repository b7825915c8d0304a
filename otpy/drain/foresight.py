"""Where other floors add what they know of work in flight, better than messages tell it, for rehearsals of a drain."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from otpy.control.snapshot import Inspected
    from otpy.core.rehearsal import Running

    Foresee: TypeAlias = Callable[[Inspected], Iterable[Running]]

__all__ = ["FORESEERS", "foresees"]

FORESEERS: list[Foresee] = []
"""In the order in which they were imported."""


def foresees(look: Foresee) -> Foresee:
    """Add the decorated function to what a rehearsal asks for work in flight; it runs in the thread of who asks."""
    FORESEERS.append(look)
    return look
