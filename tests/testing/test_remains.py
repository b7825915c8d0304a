"""Threads that are looked for when a test is over."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from otpy.testing.remains import Before, ends_within

if TYPE_CHECKING:
    from collections.abc import Iterator


class Begun(threading.Event):
    """Tells when somebody waits for it who does not start the thread itself."""

    def __init__(self) -> None:
        super().__init__()
        self.starter = 0
        self.asked = threading.Event()

    def wait(self, timeout: float | None = None) -> bool:
        if threading.get_ident() != self.starter:
            self.asked.set()
        return super().wait(timeout)


class Slow(threading.Thread):
    """It is listed, and begins only when somebody waits for that."""

    def __init__(self, name: str, last: threading.Event) -> None:
        super().__init__(target=last.wait, name=name)
        self._started = self.begun = Begun()
        self.listed = threading.Event()

    def start(self) -> None:
        self.begun.starter = threading.get_ident()
        super().start()

    def _bootstrap(self, *args: Any) -> None:
        self.listed.set()
        self.begun.asked.wait()
        super()._bootstrap(*args)  # type: ignore[misc]  # where every thread begins


@pytest.fixture
def last() -> Iterator[threading.Event]:
    """When the threads of a test may end."""
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def before() -> Before:
    """Taken first, so asked for first."""
    return Before()


@pytest.fixture
def slow(last: threading.Event) -> Iterator[Slow]:
    """A thread that another one is just starting."""
    one = Slow("otpy-slow", last)
    starter = threading.Thread(target=one.start)
    starter.start()
    one.listed.wait()
    yield one
    last.set()
    one.begun.asked.set()
    starter.join()
    one.join()


def test_a_thread_that_is_only_just_starting_is_waited_for(slow: Slow, last: threading.Event) -> None:
    assert slow in threading.enumerate()
    with pytest.raises(RuntimeError, match="before it is started"):
        slow.join(0.0)

    last.set()
    assert ends_within(slow, 30.0)


def test_one_that_does_not_end_is_told(slow: Slow) -> None:
    assert not ends_within(slow, 0.2)


def test_one_that_could_not_be_started_counts_as_ended() -> None:
    assert ends_within(threading.Thread(target=int), 0.0)


def test_a_thread_that_is_only_just_starting_is_nothing_left(before: Before, slow: Slow, last: threading.Event) -> None:
    """A run of all tests in a hundred failed with "cannot join thread before it is started"."""
    assert slow in threading.enumerate()
    last.set()
    assert before.left_since() == []
