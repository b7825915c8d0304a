"""Hubs that are ill, slow or lie, and configurations from them, as tests of the configuration use them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import otpy
from otpy.resilience import Configuration, Document
from otpy.testing import VirtualSystem

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["Rates", "limits_of", "program", "running"]


class Rates:
    """A hub: what it has, and what it does when it is asked."""

    def __init__(self, document: object = None) -> None:
        self.document = document
        self.error: Exception | None = None
        self.asked: list[int | None] = []
        self.before: Callable[[], object] = lambda: None

    def has(self, version: int, limit: object = None, **more: Any) -> None:
        self.document = Document(version, {"limit": version * 10 if limit is None else limit}, **more)

    def fetch(self, version: int | None) -> Any:
        self.asked.append(version)
        self.before()
        if self.error is not None:
            raise self.error
        return self.document


def limits_of(data: Any) -> int:
    """The schema: a map with a limit > 0."""
    limit = data["limit"]
    if type(limit) is not int or limit <= 0:
        raise ValueError(f"limit is {limit!r}")
    return limit


def running(folder: Path, hub: Rates, **options: Any) -> Configuration[int]:
    """One as most tests want it."""
    given: dict[str, Any] = {"check": limits_of, "backoff": otpy.Backoff(first=1.0, most=60.0, jitter=0.0)} | options
    return Configuration("limits", folder, fetch=hub.fetch, **given)


def program(one: Configuration[Any], *, name: str = "agent") -> VirtualSystem:
    """An agent with it alone, on virtual time, just started."""
    system = VirtualSystem(name, seed=1)
    try:
        system.start(one.child())
    except BaseException:
        system.stop()
        raise
    return system
