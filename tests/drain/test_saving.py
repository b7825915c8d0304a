"""What `persist` returns is saved in one commit; who is late, or fails, is named, and the state before stays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import otpy
from otpy.drain.begin import begin
from otpy.drain.plan import Phase
from otpy.events import DrainFailed, DrainLate
from otpy.state.store import open_states
from otpy.testing import Gate

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from otpy.events import Event
    from otpy.testing import VirtualClock

BUDGET = 10.0


class Keeps(otpy.GenServer):
    """Persists what it was given."""

    def init(self, data: Any) -> None:
        self.data = data

    def persist(self) -> Any:
        if isinstance(self.data, Exception):
            raise self.data
        if isinstance(self.data, Gate):
            self.data.wait()
        return self.data


def saved(shop: otpy.System, ident: str) -> object:
    """What the next incarnation is given."""
    assert shop.states is not None
    restored = shop.states.take(f"shop/{ident}", (1_000_000,))
    return None if restored is None else restored.data


def test_who_fails_is_named_and_the_others_are_saved(
    shop: otpy.System, clock: VirtualClock, told: list[Event], tmp_path: Path
) -> None:
    open_states(shop, tmp_path / "shop.state")
    for ident, data in (("good", {"a": 1}), ("raises", ValueError("no")), ("odd", {"a": object()}), ("none", None)):
        shop.start(otpy.child(Keeps, data).opts(id=ident))

    course = begin(shop, "by hand", BUDGET)
    clock.advance(0.1)

    assert course.wait(30.0)
    failed = {event.path: event.problem for event in told if isinstance(event, DrainFailed)}
    assert set(failed) == {"shop/raises", "shop/odd", "shop/none"}
    assert failed["shop/raises"] == "ValueError: no"
    assert sorted(course.undone) == [f"{path}: its state was not saved" for path in sorted(failed)]
    assert [saved(shop, ident) for ident in ("good", "raises", "odd")] == [{"a": 1}, None, None]


def test_who_is_late_is_not_waited_for_and_the_others_are_saved_in_time(
    shop: otpy.System, clock: VirtualClock, told: list[Event], tmp_path: Path
) -> None:
    open_states(shop, tmp_path / "shop.state")
    with Gate() as gate:
        shop.start(otpy.child(Keeps, gate).opts(id="late"))
        shop.start(otpy.child(Keeps, {"a": 1}).opts(id="good"))
        course = begin(shop, "by hand", BUDGET)
        clock.advance(3.9)
        assert course.phase is Phase.CHECKPOINT
        clock.advance(0.2)  # half of the time until eight tenths is for writing
        assert course.wait(30.0)
        gate.open()

    assert [(event.path, event.phase) for event in told if isinstance(event, DrainLate)] == [
        ("shop/late", "checkpoint")
    ]
    assert course.undone == ["shop/late: its state was not saved"]
    assert saved(shop, "good") == {"a": 1}


def test_a_store_that_fails_is_named_and_the_drain_goes_on(
    shop: otpy.System, clock: VirtualClock, told: list[Event], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_states(shop, tmp_path / "shop.state")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store, "save", full)
    shop.start(otpy.child(Keeps, {"a": 1}).opts(id="good"))

    course = begin(shop, "by hand", BUDGET)
    clock.advance(0.1)

    assert course.wait(30.0)
    (event,) = [event for event in told if isinstance(event, DrainFailed)]
    assert (event.path, event.phase) == ("shop", "checkpoint")
    assert "No space left" in event.problem
    assert course.undone == ["shop: its state was not saved"]
    assert Phase.FLUSH in course.took


def test_nobody_is_asked_where_no_states_are_kept(shop: otpy.System, clock: VirtualClock, told: list[Event]) -> None:
    shop.start(otpy.child(Keeps, ValueError("it is not asked")).opts(id="one"))

    course = begin(shop, "by hand", BUDGET)
    clock.advance(0.1)

    assert course.wait(30.0)
    assert [event for event in told if isinstance(event, DrainFailed)] == []
