"""Recorders list the events of a system."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import otpy
from otpy.events import ActorCrashed, ChildStarted, ChildTerminated
from otpy.testing import Recorder

if TYPE_CHECKING:
    from collections.abc import Iterator


class Fragile(otpy.GenServer):
    @otpy.cast
    def crash(self) -> None:
        raise ValueError("boom")


class Tree(otpy.Supervisor):
    def children(self) -> list[otpy.ChildSpec]:
        return [otpy.child(Fragile)]


@pytest.fixture
def system() -> Iterator[otpy.System]:
    system = otpy.System("r")
    yield system
    assert system.stop(timeout=30.0) == []


def crash(system: otpy.System) -> None:
    ref = system.find("r/Fragile")
    assert ref is not None
    ref.cast(Fragile.crash)
    system.wait_idle()


def test_it_lists_all_events_in_order(system: otpy.System) -> None:
    with Recorder(system) as recorder:
        system.start_root(otpy.child(Tree))
        crash(system)

    names = [type(event).__name__ for event in recorder.events]
    assert names == ["ChildStarted", "ActorCrashed", "ChildTerminated", "ChildStarted"]
    assert {event.path for event in recorder.events} == {"r/Fragile"}


def test_it_lists_only_the_types_it_was_given(system: otpy.System) -> None:
    recorder = Recorder(system, ActorCrashed, ChildTerminated)
    system.start_root(otpy.child(Tree))
    crash(system)

    assert recorder.of(ChildStarted) == []
    (crashed,) = recorder.of(ActorCrashed)
    assert crashed.message == "cast crash"


def test_it_waits_for_events(system: otpy.System) -> None:
    recorder = Recorder(system, ChildStarted)
    system.start_root(otpy.child(Tree))
    ref = system.find("r/Fragile")
    assert ref is not None
    ref.cast(Fragile.crash)

    assert [event.restarts for event in recorder.expect(2) if isinstance(event, ChildStarted)] == [0, 1]


def test_it_records_nothing_after_it_was_detached(system: otpy.System) -> None:
    with Recorder(system) as recorder:
        system.start_root(otpy.child(Tree))
    crash(system)

    assert [type(event) for event in recorder.events] == [ChildStarted]
