"""How a program that is told to stop does so: half of them drain first, and say what they claim meanwhile."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from otpy.drain.begin import begin

from .works import history

if TYPE_CHECKING:
    import otpy
    from otpy.runtime.stopping import Unstopped

    from .plan import Life

__all__ = ["wind_up"]

BUDGET = 1.0
"""Seconds of a drain: jobs that last longer are cut off."""
EARLY = 0.05
"""Seconds after the beginning in which a claim may be under way that had begun before."""


def wind_up(system: otpy.System, life: Life, transaction: type[Any]) -> list[Unstopped]:
    """Stop; claims are made by this class. What has not stopped."""
    if life.seed % 2:
        _drain(system, transaction)
    left = system.stop(timeout=10.0)
    history().say(stopped=[str(one) for one in left])
    return left


def _drain(system: otpy.System, transaction: type[Any]) -> None:
    claim, began = transaction.claim, time.monotonic()

    def noted(self: Any, *args: Any) -> Any:
        is_late, found = time.monotonic() - began > EARLY, claim(self, *args)
        if is_late and found:
            history().say(claimed=[job.id for job in found])
        return found

    transaction.claim = noted
    begin(system, "SIGTERM", BUDGET).wait(10 * BUDGET)
