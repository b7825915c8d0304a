"""Who waits for the end of a job is known to have asked: in a thread of its own it may be late."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otpy.jobs.endings import Endings
from otpy.testing.arrivals import Arrivals

if TYPE_CHECKING:
    import pytest

__all__ = ["askers"]


def askers(patch: pytest.MonkeyPatch) -> Arrivals[set[int]]:
    """The jobs that somebody asks for, or whose end is told, from now on; who asks is kept before that."""
    asked, look = Arrivals[set[int]](), Endings._look

    def noted(self: Endings, ids: set[int]) -> None:
        if ids:
            asked.add(ids)
        look(self, ids)

    patch.setattr(Endings, "_look", noted)
    return asked
