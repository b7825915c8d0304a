"""The phases of a drain, one after the other, and who is asked in each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.drain.begin import begin
from otpy.drain.plan import Phase
from otpy.events import DrainBegun, DrainPhase

if TYPE_CHECKING:
    from otpy.events import Event
    from otpy.testing import VirtualClock

BUDGET = 10.0


class Asked(otpy.GenServer):
    """Notes what it is asked; its work is done when somebody says so."""

    def init(self, *, is_busy: bool = False) -> None:
        self.is_busy = is_busy
        self.drain: otpy.Drain | None = None
        self.said: list[str] = []

    def handle_drain(self, drain: otpy.Drain) -> object:
        self.said.append(f"drain: {drain.reason}, {drain.remaining():g} s")
        self.drain = drain
        return otpy.NoReply() if self.is_busy else None

    def persist(self) -> dict[str, Any]:
        self.said.append("persist")
        return {"said": len(self.said)}

    def handle_flush(self, drain: otpy.Drain) -> object:
        self.said.append("flush")
        assert drain.remaining() > 0.0

    @otpy.call
    def finish(self) -> None:
        assert self.drain is not None
        self.drain.done()

    @otpy.call
    def heard(self) -> list[str]:
        return self.said


class Kept:
    """Where states go."""

    def __init__(self) -> None:
        self.states: list[list[Any]] = []

    def snapshot(self, ref: otpy.Ref[Any], data: object) -> object:
        return ref.path, ref.number, data

    def save(self, states: Any, *, is_final: bool) -> dict[str, Any]:
        assert is_final
        self.states.append(list(states))
        return {}

    def take(self, *_: object) -> None:
        """There is nothing."""

    def settle(self, *_: object, **__: object) -> None:
        """Nobody minds."""

    def close(self) -> None:
        """There is nothing to close."""


def test_the_hooks_of_an_actor_are_called_in_the_order_of_the_phases(
    shop: otpy.System, clock: VirtualClock, told: list[Event]
) -> None:
    one = shop.start(otpy.child(Asked, is_busy=True).opts(id="one"))
    kept: Any = Kept()
    shop.states = kept

    course = begin(shop, "by hand", BUDGET)
    clock.advance(1.0)

    assert one.call(Asked.heard) == ["drain: by hand, 6 s"]
    assert course.phase is Phase.DRAIN
    one.call(Asked.finish)
    clock.advance(0.1)
    assert course.wait(30.0)
    assert [word.partition(",")[0] for word in one.call(Asked.heard)] == ["drain: by hand", "persist", "flush"]
    assert kept.states == [[("shop/one", one.number, {"said": 2})]]
    assert course.undone == []
    assert sum(course.took.values()) == pytest.approx(1.0, abs=0.1)
    assert told[0] == DrainBegun(path="shop", reason="by hand", seconds=BUDGET)
    assert [event.phase for event in told if isinstance(event, DrainPhase)] == [
        "quiesce",
        "drain",
        "checkpoint",
        "flush",
    ]


def test_a_program_drains_from_the_moment_it_is_told(shop: otpy.System, clock: VirtualClock) -> None:
    shop.start(otpy.child(Asked, is_busy=True))
    assert shop.draining is None

    begin(shop, "by hand", BUDGET)

    assert shop.draining == otpy.Draining("by hand", 0.0, BUDGET)
