"""Of several who want a drain to be over earlier at the same moment, the earliest holds."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from otpy.drain.course import Course
from otpy.drain.plan import Plan
from otpy.runtime.draining import Draining
from support.threads import Told

if TYPE_CHECKING:
    import pytest

    import otpy


def test_an_earlier_wish_is_not_overwritten_by_a_later_one(shop: otpy.System, monkeypatch: pytest.MonkeyPatch) -> None:
    course = Course(shop, None, Draining("SIGTERM", 0.0, 25.0))
    came = threading.Event()  # the other thread is done, or waits for the lock
    monkeypatch.setattr(shop, "lock", Told(shop.lock, threading.get_ident(), came))
    hastened = Plan.hastened
    others: list[threading.Thread] = []

    def earlier() -> None:
        course.hasten(2.0)
        came.set()

    def slow(plan: Plan, now: float, budget: float) -> Plan:
        if budget == 5.0:
            others.append(threading.Thread(target=earlier))
            others[0].start()
            came.wait()
        return hastened(plan, now, budget)

    monkeypatch.setattr(Plan, "hastened", slow)
    course.hasten(5.0)
    others[0].join()

    assert (course.remaining(), course.draining.deadline) == (2.0, 2.0)
