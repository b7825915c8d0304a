"""Doers with several handlers in flight, and what they do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from support.doer import AsyncDoer

if TYPE_CHECKING:
    from otpy.testing import Gate

__all__ = ["Pair", "Several", "fail", "fail_late"]


class Several(AsyncDoer):
    """A doer with up to three handlers in flight."""

    max_concurrency = 3


class Pair(AsyncDoer):
    """One with up to two."""

    max_concurrency = 2


async def fail(actor: Any) -> None:
    raise ValueError("boom")


async def fail_late(actor: Any, gate: Gate) -> None:
    await gate.await_open()
    raise ValueError("boom")
