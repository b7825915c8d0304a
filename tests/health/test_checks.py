"""Checks: asked beside everything, read by probes that never wait for them."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

import pytest

from otpy.errors import SpecError
from otpy.health import Check, Checks, readiness
from otpy.testing import Gate, VirtualSystem

if TYPE_CHECKING:
    from collections.abc import Callable

    import otpy


class Answer:
    """A coroutine function that answers what the test says."""

    def __init__(self, answer: object = None) -> None:
        self.answer = answer
        self.asked = 0

    async def __call__(self) -> object:
        self.asked += 1
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


def of(system: otpy.System) -> str | None:
    """What readiness says of the database."""
    return next(line.problem for line in readiness(system).lines if line.name == "database")


def asked(system: VirtualSystem, check: object) -> None:
    """Have a check asked, and wait for its answer."""
    system.start(Checks({"database": check}).child())  # type: ignore[dict-item]
    system.wait_idle()


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (None, None),
        (True, None),
        (17, None),
        ("", None),
        (False, "it says no"),
        ("the disk is full\n", "the disk is full\\n"),
        (ConnectionError("no route"), "ConnectionError: no route"),
        (SystemExit(3), "SystemExit: 3"),
        (asyncio.CancelledError(), "asyncio.exceptions.CancelledError"),
    ],
)
def test_what_an_answer_means(answer: object, problem: str | None) -> None:
    system = VirtualSystem("shop")
    asked(system, Answer(answer))
    seen = of(system)
    system.stop()

    assert seen == problem


def test_it_is_asked_again_from_time_to_time_and_not_by_who_looks() -> None:
    system, answer = VirtualSystem("shop"), Answer("down")
    asked(system, Check(answer, every=10.0))
    assert [of(system), of(system), answer.asked] == ["down", "down", 1]

    answer.answer = None
    system.clock.advance(10.0)
    assert (of(system), answer.asked) == (None, 2)
    system.stop()
    assert system.checks == {}


def test_one_that_hangs_is_late_until_it_comes_back() -> None:
    gate = Gate()

    async def hang() -> None:
        await gate.await_open()

    system = VirtualSystem("shop")
    with gate:
        asked(system, Check(hang, every=5.0, within=2.0))
        seen = [of(system)]
        for seconds in (2.0, 1.0, 60.0):
            system.clock.advance(seconds)
            seen.append(of(system))
        gate.open()
        system.wait_idle()
        seen.append(of(system))
    system.stop()

    assert seen == [
        "it has not answered yet",
        "it has not answered yet",
        "late: it was asked 3 s ago",
        "late: it was asked 63 s ago",
        None,
    ]


def test_one_that_is_not_asked_any_more_is_late() -> None:
    system = VirtualSystem("shop")
    asked(system, Check(Answer(), every=5.0, within=2.0))
    path = next(record.path for record in system.records() if record.path.endswith("/database"))
    system.suspend(path)
    system.clock.advance(12.0)
    assert of(system) is None
    system.clock.advance(1.0)
    assert of(system) == "late: it was last asked 13 s ago"
    system.resume(path)
    system.stop()


def test_a_plain_function_has_a_thread_of_its_own_which_may_hang(system: otpy.System) -> None:
    """And which is left behind in the end: a program that stops does not wait for it."""
    entered, opened, threads = threading.Event(), threading.Event(), []

    def hang() -> None:
        threads.append(threading.current_thread())
        entered.set()
        opened.wait(20.0)

    ref = system.start(Checks({"database": hang}).child())
    assert entered.wait(20.0)
    assert of(system) == "it has not answered yet"
    assert threads[0].name == "otpy-check-database"
    ref.stop()
    assert system.checks == {}
    opened.set()
    threads[0].join()


def test_a_plain_function_tells_what_it_raises(system: otpy.System, monkeypatch: pytest.MonkeyPatch) -> None:
    answered = threading.Event()
    said: list[str | None] = []

    def note(self: object, problem: str | None) -> None:
        said.append(problem)
        answered.set()

    monkeypatch.setattr("otpy.health.checks.Asker._note", note)

    def fail() -> None:
        raise SystemExit(3)

    system.start(Checks({"database": fail}).child())
    assert answered.wait(20.0)

    assert said == ["SystemExit: 3"]


def test_without_a_thread_that_is_the_problem(system: otpy.System, monkeypatch: pytest.MonkeyPatch) -> None:
    system.start(Checks({}).child())

    def no_thread(self: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("otpy.health.checks.threading.Thread.start", no_thread)
    system.start(Checks({"database": lambda: None}).child())
    system.wait_idle()

    assert of(system) == "RuntimeError: can't start new thread"


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Checks({"": lambda: None}), "'': a check is named by a text without '/'"),
        (lambda: Checks({"a/b": lambda: None}), "'a/b': a check is named by a text without '/'"),
        (lambda: Checks({"a": 3}), "a: a function, or a Check of one, not 3"),
        (lambda: Checks({"a": Check(print, every=0)}), "a: every=0: seconds > 0"),
        (lambda: Checks({"a": Check(print, within=float("inf"))}), "a: within=inf: seconds > 0"),
    ],
)
def test_checks_that_cannot_be_are_refused(make: Callable[[], Checks], text: str) -> None:
    with pytest.raises(SpecError) as raised:
        make()

    assert text in str(raised.value)
