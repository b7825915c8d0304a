"""The body of an `async with otpy.run_async(…)` block: how it learns that it should end."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from otpy.core.late import asyncio

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.app.application import Application

__all__ = ["Body"]


class Body:
    """The task that has entered the block.

    It is cancelled when the block should end and nobody has ever waited for that: else the program would go on as if
    nothing had been said.
    """

    def __init__(self, system: Application) -> None:
        """Made in that task."""
        self.system = system
        self.loop = asyncio.get_running_loop()
        self.cancel_all: Callable[[], object] | None = None
        """How the program itself would cancel everything for the signal that has come."""
        self._task = asyncio.current_task()
        self._is_on = False
        self._is_cut_off = False

    def begin(self) -> None:
        """The tree is up."""
        self._is_on = True
        self.system.on_unheard = self._look_soon
        if self.system.is_told:
            self._look_soon()

    def end(self) -> None:
        """The block is left."""
        self._is_on = False

    def take_back(self) -> bool:
        """Whether it was cancelled for the tree's failure alone, which is then the error to be raised."""
        return self._is_cut_off and self._task is not None and not self._task.uncancel()

    def _look_soon(self) -> None:
        with suppress(RuntimeError):  # closed
            self.loop.call_soon_threadsafe(self._look)

    def _look(self) -> None:
        if not self._is_on or self.system.is_awaited or self._task is None:
            return
        self._is_on = False
        if self.cancel_all is not None:
            self.cancel_all()
            return
        self._is_cut_off = self.system.failure is not None
        self._task.cancel()
