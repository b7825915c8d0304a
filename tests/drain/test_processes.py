"""Process children take part: their hooks run in there, and what they have to do is waited for."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.drain.begin import begin
from otpy.drain.look import look_at
from otpy.drain.plan import Phase
from otpy.events import DrainFailed, DrainLate, DrainPhase
from otpy.state.store import open_states
from support.drains import Late, Works, flies

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from otpy.events import Event


class Gatekeeper(otpy.GenServer):
    """Has all wait who ask, until it opens, and notes what it is told."""

    def init(self) -> None:
        self.waiting: list[otpy.Caller] = []
        self.watchers: dict[otpy.Caller, int] = {}
        self.heard: list[object] = []
        self.is_open = False

    def handle_call(self, _: Any, caller: otpy.Caller) -> object:
        if self.is_open:
            return None
        self.waiting.append(caller)
        for watcher, wanted in self.watchers.items():
            if len(self.waiting) >= wanted:
                watcher.reply(None)
        return otpy.NoReply()

    @otpy.call
    def await_waiting(self, wanted: int) -> otpy.NoReply | None:
        if len(self.waiting) >= wanted:
            return None
        assert self.caller is not None
        self.watchers[self.caller] = wanted
        return otpy.NoReply()

    def handle_info(self, message: object) -> None:
        self.heard.append(message)

    @otpy.call
    def open(self) -> None:
        self.is_open = True
        for caller in self.waiting:
            caller.reply(None)

    @otpy.call
    def has_heard(self) -> list[object]:
        return self.heard


@pytest.fixture
def system() -> Iterator[otpy.System]:
    system = otpy.System("shop")
    yield system
    system.stop(timeout=10.0)


def events_of(system: otpy.System) -> list[Event]:
    told: list[Event] = []
    system.events.attach(told.append, DrainLate, DrainFailed)
    return told


def test_what_runs_in_a_process_is_worked_off_saved_and_flushed(system: otpy.System, tmp_path: Path) -> None:
    open_states(system, tmp_path / "shop.state")
    told = events_of(system)
    gate = system.start(Gatekeeper)
    works = system.start(otpy.child(Works).opts(id="works"))
    for _ in range(2):
        works.cast(Works.work, gate)
    flight = system.start(otpy.child(flies, gate).opts(id="flies", place="process"))
    gate.within(30.0).call(Gatekeeper.await_waiting, 2)
    course = begin(system, "by hand", 60.0)
    gate.call(Gatekeeper.open)

    assert course.wait(30.0)
    assert Phase.FLUSH in course.took
    assert gate.call(Gatekeeper.has_heard) == ["by hand"]
    assert course.undone == ["shop/works: was not flushed"]
    assert told == [DrainFailed(path="shop/works", phase="flush", problem="ValueError: no line")]
    restored = system.states.take("shop/works", (works.number + 1_000,))  # type: ignore[union-attr]
    assert restored is not None
    assert restored.data == {"count": 2, "told": ("by hand", "by hand", True)}
    assert flight.is_alive()


def test_who_is_late_in_a_process_is_named_with_what_it_says_it_does(system: otpy.System) -> None:
    told = events_of(system)
    system.start(otpy.child(Late).opts(id="late"))

    quiesced = threading.Event()
    system.events.attach(lambda _: quiesced.set(), DrainPhase)

    course = begin(system, "by hand", 60.0)
    assert quiesced.wait(10.0)
    assert look_at(system, course)["in_flight"] == 2
    course.cut("it is enough")
    assert course.wait(10.0)

    (late,) = [event for event in told if isinstance(event, DrainLate)]
    assert (late.path, late.phase, late.why, late.names) == ("shop/late", "drain", "2 in flight", ("job 1", "job 2"))
