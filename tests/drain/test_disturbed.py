"""Drains that meet deaths: of who is asked, and of who drains."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.core.record import DrainRecord
from otpy.drain.begin import begin
from otpy.drain.plan import Phase
from otpy.events import DrainFailed
from otpy.places.process.view import Look
from otpy.runtime.death import kill
from otpy.runtime.far_drains import FarDrains
from otpy.runtime.waiting import waiting_callers
from otpy.state.store import open_states
from support.drains import Dies

if TYPE_CHECKING:
    from pathlib import Path

    from otpy.events import Event
    from otpy.testing import VirtualClock

BUDGET = 10.0


class Crashes(otpy.GenServer):
    """Is not only refused by its hooks, but dies of them."""

    def persist(self) -> dict[str, Any]:
        raise asyncio.CancelledError

    def handle_flush(self, _: otpy.Drain) -> None:
        raise SystemExit


@pytest.mark.parametrize("has_states", [True, False])
def test_who_dies_of_its_hook_leaves_what_it_was_asked_for(
    shop: otpy.System, clock: VirtualClock, told: list[Event], tmp_path: Path, *, has_states: bool
) -> None:
    if has_states:
        open_states(shop, tmp_path / "shop.state")
    shop.start(otpy.child(Crashes).opts(id="desk"))
    course = begin(shop, "by hand", BUDGET)
    clock.advance(0.1)

    assert course.wait(30.0)
    assert course.undone == ["shop/desk: its state was not saved" if has_states else "shop/desk: was not flushed"]
    (failed,) = [event for event in told if isinstance(event, DrainFailed)]
    assert failed.problem.startswith("it has ended before it was done: ")


@pytest.mark.parametrize(
    ("hook", "left"), [("persist", "its state was not saved"), ("handle_flush", "was not flushed")]
)
def test_a_process_that_dies_of_a_hook_leaves_what_it_was_asked_for(hook: str, left: str, tmp_path: Path) -> None:
    system = otpy.System("shop")
    try:
        open_states(system, tmp_path / "shop.state")
        system.start(otpy.child(Dies, hook).opts(id="dies"))
        course = begin(system, "by hand", 60.0)
        assert course.wait(30.0)
        assert course.undone == [f"shop/dies: {left}"]
    finally:
        system.stop(timeout=10.0)


def test_who_looks_into_a_process_is_no_caller_whose_call_fails_by_its_death(shop: otpy.System) -> None:
    ref = shop.start(otpy.GenServer)
    assert list(waiting_callers(ref, Look(ref, ref.path))) == []


class Process:
    """Stands for a process: answers at once that all in it are done."""

    def drain(self, what: str, args: list[object], tell: Any) -> None:
        tell(DONE)


DONE = DrainRecord(
    has_returned=True, is_done=True, is_at_rest=True, in_flight=0, queue=0, resources=0, late=(), failed=()
)


@pytest.mark.parametrize(("hook", "is_waited_for"), [("handle_drain", True), ("persist", False)])
def test_a_process_that_is_started_again_in_a_drain_holds_up_no_phase_after_the_work(
    shop: otpy.System, hook: str, *, is_waited_for: bool
) -> None:
    """It was never asked there, and would be late."""
    beyonds: dict[Any, Any] = shop.beyonds
    beyonds[shop.start(otpy.child(otpy.GenServer).opts(id="first"))] = Process()
    far = FarDrains(shop, None, lambda: None)
    far.begin(hook, "by hand", lambda: 1.0, lambda: 1.0)
    assert far.are(lambda one: one.is_done)

    again = shop.start(otpy.child(otpy.GenServer).opts(id="again"))
    beyonds[again] = Process()
    assert far.are(lambda one: one.is_done) is not is_waited_for
    assert [one.path for one in far.late()] == (["shop/again"] if is_waited_for else [])
    beyonds.clear()


class Desk(otpy.GenServer):
    """Is never done; counts how often it is told."""

    told = 0

    def handle_drain(self, _: otpy.Drain) -> otpy.NoReply:
        type(self).told += 1
        return otpy.NoReply()

    def handle_flush(self, _: otpy.Drain) -> None:
        type(self).told += 100


def test_a_part_whose_drain_was_killed_can_be_drained_again(shop: otpy.System, clock: VirtualClock) -> None:
    Desk.told = 0
    desk = shop.start(otpy.child(Desk).opts(id="desk"))
    first = begin(shop, "by hand", BUDGET, path="shop/desk")
    shop.wait_idle()
    assert (first.ref is not None, first.phase) == (True, Phase.DRAIN)
    kill(first.ref)  # type: ignore[arg-type]  # seen above
    shop.wait_idle()

    again = begin(shop, "once more", BUDGET, path="shop/desk")
    clock.advance(BUDGET)

    assert again is first
    assert again.over.wait(30.0)
    assert (again.phase, Desk.told) == (Phase.EXIT, 102)
    assert not desk.is_alive()
