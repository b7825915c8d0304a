"""Children that end by themselves while the program drains: in peace they may, and stay away."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import otpy
from otpy.drain.begin import begin
from otpy.errors import DrainingError
from otpy.events import ActorCrashed, ChildTerminated
from otpy.testing import Gate

if TYPE_CHECKING:
    from otpy.events import Event
    from otpy.testing import VirtualClock

BUDGET = 10.0


def keep_on(gate: Gate) -> None:
    """As a worker reads: one thing in flight after the other, and not a word of drains."""
    while True:
        with otpy.in_flight():
            gate.wait()


async def keep_on_awaiting(gate: Gate) -> None:
    while True:
        with otpy.in_flight():
            await gate.await_open()


class Reader(otpy.GenServer):
    """Has nothing left to do without its intake."""

    def handle_drain(self, drain: otpy.Drain) -> None:
        self.stop()


class Writer(otpy.GenServer):
    """Counts its own work as in flight, also what is left of it."""

    def init(self) -> None:
        self.wrote = 0

    @otpy.cast
    def write(self) -> None:
        with otpy.in_flight():
            self.wrote += 1

    @otpy.call
    def written(self) -> int:
        return self.wrote


def trouble(shop: otpy.System) -> list[Event]:
    events: list[Event] = []
    shop.events.attach(events.append, ActorCrashed, ChildTerminated)
    return events


@pytest.mark.parametrize("work", [keep_on, keep_on_awaiting])
def test_a_function_that_may_begin_nothing_more_ends_in_peace_and_stays_away(
    clock: VirtualClock, shop: otpy.System, work: object
) -> None:
    events, gate = trouble(shop), Gate()

    class Tree(otpy.Supervisor):
        def children(self) -> list[otpy.ChildSpec]:
            return [otpy.child(work, gate).opts(id="work")]  # type: ignore[call-overload]

    root = shop.start_root(otpy.child(Tree))
    gate.reached()
    begin(shop, "the test", BUDGET)
    gate.open()
    shop.wait_idle()
    (info,) = root.call(otpy.Supervisor.which_children)
    assert (info.state, info.ref) == ("stopped", None)
    assert events == []


def test_a_permanent_actor_that_stops_itself_for_the_drain_is_not_started_again(
    clock: VirtualClock, shop: otpy.System
) -> None:
    class Tree(otpy.Supervisor):
        strategy = "one_for_all"

        def children(self) -> list[otpy.ChildSpec]:
            return [otpy.child(Writer), otpy.child(Reader)]

    root = shop.start_root(otpy.child(Tree))
    writer = shop.find("shop/Writer")
    begin(shop, "the test", BUDGET)
    shop.wait_idle()
    assert [info.state for info in root.call(otpy.Supervisor.which_children)] == ["stopped", "running"]
    assert shop.find("shop/Writer") is writer, "its end takes nobody along"


def test_a_message_that_is_left_may_count_itself_as_in_flight(clock: VirtualClock, shop: otpy.System) -> None:
    writer = shop.start(Writer)
    shop.draining = otpy.Draining("the test", 0.0, BUDGET)
    writer.cast(Writer.write)
    assert writer.call(Writer.written) == 1
    shop.draining = None


def test_the_same_error_without_a_drain_is_a_failure(shop: otpy.System) -> None:
    def fail() -> None:
        raise DrainingError("elsewhere", "another program drains")

    ref = shop.start(fail)
    shop.wait_idle()
    assert isinstance(ref.reason, otpy.Crashed)
