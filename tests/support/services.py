"""A service that can be ill, and a breaker in front of it, as tests of `otpy.resilience` use them."""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING, Any

import otpy
from otpy.events import BreakerChanged
from otpy.resilience import Breaker

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.runtime.system import System
    from otpy.testing import VirtualSystem

__all__ = ["LONG", "Crowd", "FarCaller", "Service", "changes", "kept", "outcome", "trip"]

LONG = 1_000.0
"""Seconds beyond the longest cool-down."""


class Service:
    """What is called: it fails while it is ill."""

    def __init__(self) -> None:
        self.is_ill = False
        self.calls = 0
        self._lock = threading.Lock()

    def ask(self) -> str:
        """An unmodified function of a user: it knows of no breaker."""
        with self._lock:
            self.calls += 1
        if self.is_ill:
            message = "the service is ill"
            raise ConnectionError(message)
        return "fine"

    async def aask(self) -> str:
        """The same, awaited."""
        return self.ask()


def kept(system: System, name: str = "service", **options: Any) -> Breaker:
    """A breaker whose actor runs."""
    breaker = Breaker(name, **options)
    system.start(breaker.child())
    return breaker


def outcome(function: Callable[[], object]) -> object:
    """What a call gives: its value, or the class of its error."""
    try:
        return function()
    except Exception as error:
        return type(error)


def trip(system: VirtualSystem, service: Service, call: Callable[[], object], times: int = 5) -> None:
    """Have so many calls fail, and leave the service ill."""
    service.is_ill = True
    for _ in range(times):
        assert outcome(call) is ConnectionError
    system.wait_idle()


def changes(system: System) -> list[tuple[str, str, str]]:
    """Fills with the changes of all breakers as they happen: name, state before, state after."""
    found: list[tuple[str, str, str]] = []
    system.events.attach(lambda event: found.append((event.breaker, event.before, event.after)), BreakerChanged)
    return found


class Crowd:
    """Threads that all make one call, each at once; their results in the order in which they come."""

    def __init__(self, count: int, call: Callable[[], object]) -> None:
        self._results: queue.Queue[object] = queue.Queue()
        start = threading.Barrier(count)

        def run() -> None:
            start.wait(10.0)
            try:
                self._results.put(call())
            except Exception as error:
                self._results.put(error)

        self._threads = [threading.Thread(target=run, name=f"crowd-{number}") for number in range(count)]
        for thread in self._threads:
            thread.start()

    def results(self, count: int) -> list[object]:
        """Wait until so many more are done."""
        return [self._results.get(timeout=10.0) for _ in range(count)]

    def join(self) -> None:
        """Wait until all are done."""
        for thread in self._threads:
            thread.join(10.0)


INNER = Breaker("inner", failures=1)


@INNER
def ask_in_vain() -> None:
    """Fails."""
    raise ConnectionError


class FarCaller(otpy.GenServer):
    """Calls a service from a process of its own, where it keeps a breaker, or not."""

    place = "process"

    def init(self, *, keeps: bool) -> None:
        self._keeper = self.spawn_link(INNER.child()) if keeps else None

    @otpy.call
    def ask(self) -> tuple[str, str]:
        """What became of a call, and how the breaker stood before it."""
        before = INNER.state
        found = outcome(ask_in_vain)
        if self._keeper is not None:
            self.system.state(self._keeper.path)  # answered in its turn, after it has looked
        return getattr(found, "__name__", str(found)), before
