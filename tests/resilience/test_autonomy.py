"""An agent goes on without its hub, and comes back to it in order: connect, catch up, normal."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.errors import SpecError, StartError
from otpy.events import AutonomyChanged
from otpy.resilience import Autonomy, BreakerOpenError
from otpy.testing import Gate, Recorder, VirtualSystem

if TYPE_CHECKING:
    from collections.abc import Iterator


class Hub:
    """What is done with a hub, in order; and whether it is there."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.is_there = True
        self.error: Exception = ConnectionError("no route")
        self.late = 0

    def connect(self) -> None:
        self.log.append("connect")
        if not self.is_there:
            raise self.error

    def catch_up(self) -> None:
        self.log.append("catch up")
        if self.late:
            self.late -= 1
            raise ConnectionError("gone again")

    def ask(self) -> str:
        if not self.is_there:
            raise self.error
        return "hub"


def made(hub: Hub, **options: Any) -> Autonomy:
    given = {"connect": hub.connect, "catch_up": hub.catch_up} | options
    return Autonomy("hub", backoff=otpy.Backoff(first=1.0, most=60.0, jitter=0.0), **given)


@pytest.fixture
def hub() -> Hub:
    return Hub()


@pytest.fixture
def one(hub: Hub) -> Autonomy:
    return made(hub)


@pytest.fixture
def system(one: Autonomy) -> Iterator[VirtualSystem]:
    started = VirtualSystem("agent", seed=1)
    started.start(one.child())
    yield started
    started.stop()


def said(one: Autonomy, hub: Hub) -> str:
    return one.ask(hub.ask, otherwise=lambda: "own")


def test_it_connects_and_catches_up_before_it_is_normal(system: VirtualSystem, one: Autonomy, hub: Hub) -> None:
    assert (one.state, said(one, hub), one.look().why) == ("degraded", "own", "its first connection")
    with Recorder(system) as events:
        system.clock.advance(1.0)
    assert (one.state, said(one, hub), hub.log) == ("normal", "hub", ["connect", "catch up"])
    assert [event.after for event in events.of(AutonomyChanged)] == ["catching_up", "normal"]


def test_the_main_loop_goes_on_and_the_loss_is_seen_since_when_and_why(
    system: VirtualSystem, one: Autonomy, hub: Hub
) -> None:
    system.clock.advance(1.0)
    hub.is_there = False
    with Recorder(system) as events:
        assert said(one, hub) == "own"
        system.clock.advance(600.0)
        look = one.look()
        record = system.record("agent/hub/autonomy")
        hub.is_there = True
        assert said(one, hub) == "own", "not before it has caught up"
        system.clock.advance(60.0)
    assert (look.state, look.degraded, look.why) == ("degraded", 600.0, "ConnectionError: no route")
    assert look.attempts == 15
    assert (record.kind, record.trouble) == ("Autonomy degraded", "for 600 s: ConnectionError: no route")
    assert hub.log[-2:] == ["connect", "catch up"]
    assert [(event.before, event.after) for event in events.of(AutonomyChanged)] == [
        ("normal", "degraded"),
        ("degraded", "catching_up"),
        ("catching_up", "normal"),
    ]
    assert said(one, hub) == "hub"


def test_a_hub_that_is_lost_while_catching_up_is_degraded_from_the_first_loss_on(
    system: VirtualSystem, one: Autonomy, hub: Hub
) -> None:
    hub.late = 2
    system.clock.advance(1.0)
    assert (one.state, one.look().degraded, one.look().why) == ("degraded", 1.0, "ConnectionError: gone again")
    system.clock.advance(5.0)
    assert (one.state, hub.log) == ("normal", ["connect", "catch up"] * 3)


def test_nothing_is_asked_of_the_hub_while_it_catches_up(system: VirtualSystem, one: Autonomy, hub: Hub) -> None:
    with Gate() as gate:
        hub.catch_up = gate.wait  # type: ignore[method-assign]
        other = made(hub)
        other_system = VirtualSystem("other", seed=1)
        other_system.start(other.child())
        other_system.clock.advance(1.0)
        gate.reached()
        assert (other.state, said(other, hub)) == ("catching_up", "own")
        other.lost("the line is cut")
        assert other.state == "degraded"
    other_system.wait_idle()
    assert other.state == "degraded", "what was caught up before the cut does not count"
    hub.catch_up = lambda: None  # type: ignore[method-assign]
    other_system.clock.advance(5.0)
    assert other.state == "normal"
    other_system.stop()


def test_a_loss_that_is_told_as_the_last_is_caught_up_is_not_overlooked(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, change = Gate(), Autonomy.change
    hub.catch_up = gate.wait  # type: ignore[method-assign]
    one = made(hub)
    system = VirtualSystem("agent", seed=1)
    system.start(one.child())
    system.clock.advance(1.0)
    gate.reached()

    def late(self: Autonomy, how: Any) -> Any:
        monkeypatch.undo()
        gate.open()
        system.wait_idle()
        assert self.state == "normal"
        return change(self, how)

    monkeypatch.setattr(Autonomy, "change", late)
    one.lost("the line is cut")
    assert one.state == "degraded"
    system.stop()


def test_a_call_that_fails_late_says_nothing_of_the_new_connection(
    system: VirtualSystem, one: Autonomy, hub: Hub
) -> None:
    system.clock.advance(1.0)

    def slow() -> str:
        one.lost("found by another")
        system.clock.advance(2.0)
        assert one.state == "normal"
        raise ConnectionError("of the connection before")

    assert one.ask(slow, otherwise=lambda: "own") == "own"
    assert one.state == "normal"


def test_errors_that_say_nothing_of_the_hub_are_raised(system: VirtualSystem, one: Autonomy, hub: Hub) -> None:
    system.clock.advance(1.0)
    with pytest.raises(ZeroDivisionError):
        one.ask(lambda: 1 / 0, otherwise=lambda: 0.0)
    assert one.state == "normal"
    hub.is_there, hub.error = False, BreakerOpenError("hub", 1.0)
    assert (said(one, hub), one.state) == ("own", "degraded")


def test_a_hub_that_says_when_to_come_again_is_obeyed(system: VirtualSystem, one: Autonomy, hub: Hub) -> None:
    hub.is_there = False
    hub.error.retry_after = 500.0  # type: ignore[attr-defined]
    system.clock.advance(499.0)
    assert hub.log == ["connect"]
    system.clock.advance(5.0)
    assert hub.log == ["connect"] * 2


def test_what_else_is_not_well_degrades_it_while_the_hub_is_asked(
    system: VirtualSystem, one: Autonomy, hub: Hub
) -> None:
    system.clock.advance(1.0)
    one.hold("disk", "it is full")
    one.hold("disk", "it is full")
    assert (one.state, said(one, hub), one.look().why) == ("degraded", "hub", "disk: it is full")
    one.release("disk")
    one.release("disk")
    assert (one.state, one.look().degraded) == ("normal", None)


def test_async_functions_are_awaited_and_one_that_hangs_is_cancelled(hub: Hub) -> None:
    cancelled: list[int] = []

    async def connect() -> None:
        if hub.is_there:
            return
        try:
            await otpy.asleep(1e6)
        except asyncio.CancelledError:
            cancelled.append(1)
            raise

    async def ask() -> str:
        await otpy.asleep(0.0)
        return hub.ask()

    one = made(hub, connect=connect, timeout=5.0)
    hub.is_there = False
    system = VirtualSystem("agent", seed=1)
    system.start(one.child())
    system.clock.advance(100.0)
    assert cancelled
    assert "come back" in str(one.look().why)
    hub.is_there = True
    system.clock.advance(60.0)
    assert one.state == "normal"

    async def both() -> list[str]:
        first = await one.aask(ask, otherwise=lambda: "own")
        hub.is_there = False
        return [first, await one.aask(ask, otherwise=lambda: "own"), await one.aask(ask, otherwise=lambda: "own")]

    assert asyncio.run(both()) == ["hub", "own", "own"]
    assert one.state == "degraded"
    system.stop()


def test_as_long_as_nobody_keeps_it_the_hub_is_asked(one: Autonomy, hub: Hub) -> None:
    assert said(one, hub) == "hub"
    hub.is_there = False
    assert said(one, hub) == "own"
    hub.is_there = True
    assert said(one, hub) == "hub"


def test_its_actor_may_be_killed_at_any_time(system: VirtualSystem, one: Autonomy, hub: Hub) -> None:
    for path in ("autonomy", "connect", "catch_up"):
        system.clock.advance(61.0)
        assert one.state == "normal"
        system.kill(f"agent/hub/{path}")
        system.wait_idle()
        one.lost("gone")
        assert one.state == "degraded"
    system.clock.advance(61.0)
    assert one.state == "normal"


def test_one_cannot_be_in_two_trees(system: VirtualSystem, one: Autonomy) -> None:
    with pytest.raises(StartError):
        system.start(one.child().opts(id="again"))
    assert repr(one).startswith("<Autonomy hub degraded")


@pytest.mark.parametrize(
    "options",
    [
        {"connect": None},
        {"connect": print, "catch_up": 3},
        {"connect": print, "timeout": 0},
        {"connect": print, "catch_up_timeout": float("inf")},
        {"connect": print, "backoff": 3.0},
        {"connect": print, "lost_on": int},
    ],
)
def test_options_that_cannot_be_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(SpecError):
        Autonomy("hub", **options)
    with pytest.raises(SpecError):
        Autonomy("a/b", connect=print)
