"""How long an actor has been in its message: waits in the middle of it count, messages before it do not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import otpy
from support.doer import Doer

if TYPE_CHECKING:
    from otpy.testing.clock import VirtualClock


def naps(actor: Doer, times: int) -> None:
    for _ in range(times):
        otpy.sleep(1.0)


def busy(system: otpy.System, path: str) -> float | None:
    """What the record says once the watchdog has looked."""
    system.wait_idle()
    assert system.watchdog is not None
    system.watchdog.note_messages()
    system.watchdog._watch_growth()
    return system.record(path).busy


@pytest.mark.parametrize("place", ["pool", "thread"])
def test_a_message_goes_on_through_all_its_sleeps(timed: otpy.System, clock: VirtualClock, place: str) -> None:
    ref = timed.start(otpy.child(Doer).opts(id="d", place=place))
    ref.cast(Doer.run, naps, 4)
    seen = [busy(timed, "t/d")]
    for _ in range(3):
        clock.advance(1.0)
        seen.append(busy(timed, "t/d"))

    said = timed.doing("t/d")
    clock.advance(9.0)
    assert seen == [0.0, 1.0, 2.0, 3.0]
    assert said.startswith("busy for 3.0 s in cast run, waiting for sleep")


@pytest.mark.parametrize("place", ["pool", "thread"])
def test_the_next_message_of_the_same_turn_begins_anew(timed: otpy.System, clock: VirtualClock, place: str) -> None:
    ref = timed.start(otpy.child(Doer).opts(id="d", place=place))
    ref.cast(Doer.run, naps, 2)
    ref.cast(Doer.run, naps, 2)
    seen = [busy(timed, "t/d")]
    for _ in range(3):
        clock.advance(1.0)
        seen.append(busy(timed, "t/d"))

    clock.advance(9.0)
    assert seen == [0.0, 1.0, 0.0, 1.0]


def test_a_call_in_the_middle_of_a_message_counts(timed: otpy.System, clock: VirtualClock) -> None:
    other = timed.start(Doer)
    ref = timed.start(otpy.child(Doer).opts(id="d"))
    ref.cast(Doer.run, lambda _: [other.call(Doer.do, naps, 1) for _ in range(3)])
    seen = [busy(timed, "t/d")]
    for _ in range(2):
        clock.advance(1.0)
        seen.append(busy(timed, "t/d"))

    clock.advance(9.0)
    assert seen == [0.0, 1.0, 2.0]
