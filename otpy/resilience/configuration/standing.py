"""What is the matter with a configuration, if anything: kept by one actor, read by anybody, told once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from otpy.events.resilience import ConfigurationDegraded, ConfigurationRecovered

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.runtime.system import System

__all__ = ["Standing", "Trouble"]

Trouble = Literal["age", "apply", "disk", "hub", "none"]
"""Too old; not applied; nothing is kept; no word from the hub; there is no configuration."""


class Standing:
    """Of one configuration."""

    def __init__(self, name: str) -> None:
        """All is well."""
        self._name = name
        self._whys: dict[Trouble, str] = {}
        self.since: float | None = None
        """When that ended, by the system's clock."""
        self.version: int | None = None
        """Which is in use."""
        self.age: Callable[[], float | None] = lambda: None

    @property
    def why(self) -> str | None:
        """All that is the matter."""
        return "; ".join(list(self._whys.values())) or None

    @property
    def is_hub_alone(self) -> bool:
        """Whether nothing is the matter but that there is no word from the hub."""
        return self._whys.keys() <= {"hub"}

    def has(self, trouble: Trouble) -> bool:
        """Whether it is one of them."""
        return trouble in self._whys

    def ill(self, system: System, path: str, trouble: Trouble, why: str) -> None:
        """Something is the matter; told when it begins."""
        is_new = trouble not in self._whys
        self._whys = {**self._whys, trouble: why}  # replaced as a whole: others look at it
        if self.since is None:
            self.since = system.clock.now()
        if is_new:
            age = self.age()
            event = ConfigurationDegraded(path=path, configuration=self._name, version=self.version, why=why, age=age)
            system.events.emit(event)

    def well(self, system: System, path: str, *troubles: Trouble) -> None:
        """That is over; told when nothing else is the matter."""
        if self._whys.keys().isdisjoint(troubles):
            return
        self._whys = {trouble: why for trouble, why in self._whys.items() if trouble not in troubles}
        if not self._whys and self.since is not None:
            seconds, self.since = system.clock.now() - self.since, None
            event = ConfigurationRecovered(path=path, configuration=self._name, version=self.version, seconds=seconds)
            system.events.emit(event)
