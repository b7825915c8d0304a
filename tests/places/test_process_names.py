"""The place `process`: what is said over the pipe of names that are awaited."""

from __future__ import annotations

import threading
from typing import Any

from otpy.places.process.bonds import Bonds, InnerSystem
from otpy.testing.arrivals import PATIENCE, Arrivals


class Told:
    """The pipe: what was said, and something to do in the middle of saying that a name is awaited no longer."""

    def __init__(self) -> None:
        self.said: list[bool] = []
        self.meanwhile: Any = lambda: None

    def say(self, _: int, __: str, is_awaited: bool) -> None:  # noqa: FBT001 - as `Line.say`
        if not is_awaited:
            self.meanwhile()
        self.said.append(is_awaited)


class Door:
    """A lock that notes who comes to it."""

    def __init__(self, lock: Any, arrivals: Arrivals[str]) -> None:
        self._lock = lock
        self._arrivals = arrivals

    def __enter__(self) -> None:
        self._arrivals.add("at the lock")
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def test_a_wait_that_begins_while_another_ends_is_the_last_that_the_parent_hears_of() -> None:
    """The first had looked, seen nobody else who waits, and then said so after the second had begun: a lost wake-up."""
    line: Any = Told()
    system = InnerSystem("inside")
    bonds = system.bonds = Bonds(line, system)
    first, second, steps = object(), object(), Arrivals[str]()

    def begin() -> None:
        system.await_name("it", lambda: second, is_last=False)  # type: ignore[type-var]  # stands where slots do
        steps.add("begun")

    def in_the_middle() -> None:
        bonds.awaiting = Door(bonds.awaiting, steps)  # type: ignore[assignment]
        thread.start()
        steps.wait(1, PATIENCE)

    thread = threading.Thread(target=begin)
    system.await_name("it", lambda: first, is_last=False)  # type: ignore[type-var]
    line.meanwhile = in_the_middle
    system.forget_wait("it", first)
    thread.join(PATIENCE)
    assert system.awaited_names == {"it": {second: None}}
    assert line.said == [True, False, True]
