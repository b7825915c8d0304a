"""What handlers on the loop do in tests: wait until something comes."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import otpy

if TYPE_CHECKING:
    from otpy.testing import Gate

__all__ = ["LONG", "hold", "note_cancelled", "stay"]

LONG = 1_000.0
"""Seconds that no test lasts."""


async def hold(actor: Any, gate: Gate) -> None:
    """Wait at a gate."""
    await gate.await_open()


async def stay(actor: Any, gate: Gate) -> None:
    """Swallow each cancellation until the gate is open."""
    while True:
        try:
            await gate.await_open()
        except asyncio.CancelledError:
            continue
        return


async def note_cancelled(actor: Any, log: list[str]) -> None:
    """Sleep, and log how that ends."""
    try:
        await otpy.asleep(LONG)
    except asyncio.CancelledError:
        log.append("cancelled")
        raise
    finally:
        log.append("cleaned up")
