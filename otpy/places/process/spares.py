"""Processes that are kept ready: each has imported a module whose actors were started before."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.places.process.child import Child

__all__ = ["Spares"]

SPARES = 4
"""Modules for which a process is kept ready."""


class Spares:
    """At most one for each module; used with the lock of `Ports` held."""

    def __init__(self) -> None:
        """Have none."""
        self.by_module: dict[str, Child] = {}

    def take(self, module: str) -> Child | None:
        """The one for this module, if there is one."""
        return self.by_module.pop(module, None)

    def add(self, module: str, make: Callable[[], Child]) -> Child | None:
        """Make one for this module, unless there is one, or enough of them."""
        if module in self.by_module or len(self.by_module) >= SPARES:
            return None
        child = self.by_module[module] = make()
        return child

    def drop(self, child: Child) -> None:
        """It has ended."""
        module = child.origin.module
        if self.by_module.get(module) is child:
            del self.by_module[module]

    def clear(self) -> list[Child]:
        """Keep none of them; returns which there were."""
        left = list(self.by_module.values())
        self.by_module.clear()
        return left
