"""A fleet that is rolled while others ask it all the time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.drain.roll_desk import Rolls
from otpy.drain.roll_plan import Terms

if TYPE_CHECKING:
    from otpy.testing import VirtualClock

NAMES = "abc"
HEALTHY = 1.0


class Diary:
    """What has happened in a fleet, and when."""

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        self.starts = 0.0
        """Seconds that an `init` takes."""
        self.told: list[tuple[float, str, str]] = []
        self.answers = 0

    def note(self, name: str, what: str) -> None:
        self.told.append((self.clock.now(), name, what))


class Shop(otpy.GenServer):
    """Takes its time to begin, and to finish what it has."""

    def init(self, name: str, diary: Diary) -> None:
        self.name, self.diary = name, diary
        otpy.sleep(diary.starts)
        diary.note(name, "is ready")

    def handle_drain(self, drain: otpy.Drain) -> otpy.NoReply:
        self.diary.note(self.name, "takes nothing more in")
        self.send_after(1.0, drain)
        return otpy.NoReply()

    def handle_info(self, message: Any) -> None:
        message.done()

    @otpy.call
    def ask(self) -> str:
        return self.name


class Customer(otpy.GenServer):
    """Asks all shops ten times a second; a call that fails is its end."""

    def init(self, diary: Diary) -> None:
        self.diary = diary
        self.send_interval(0.1, "ask")

    def handle_info(self, message: Any) -> None:
        for name in NAMES:
            ref = self.system.whereis(name)  # one that begins has its name before it is ready: the call waits for it
            if ref is not None:
                assert ref.call(Shop.ask) == name
                self.diary.answers += 1


class Shops(otpy.Supervisor):
    def init(self, diary: Diary) -> None:
        self.diary = diary

    def children(self) -> list[otpy.ChildSpec]:
        return [otpy.child(Shop, name, self.diary).opts(id=name, name=name) for name in NAMES]


@pytest.mark.report("J62", "Unitech/pm2#4601", "Unitech/pm2#1166", "Unitech/pm2#3078")
def test_nobody_stops_its_intake_before_the_one_before_is_ready_and_well(
    timed: otpy.System, clock: VirtualClock
) -> None:
    """And under load nobody who is there leaves a call unanswered, neither in its drain nor as it begins."""
    diary = Diary(clock)
    timed.start_root(otpy.child(Shops, diary))
    customer = timed.start(Customer, diary)
    diary.told.clear()
    diary.starts = 0.5
    Rolls.of(timed).begin(Terms(path="t", healthy_after=HEALTHY), "a test")
    clock.advance(15.0)
    assert [(name, what) for _, name, what in diary.told] == [
        (name, what) for name in NAMES for what in ("takes nothing more in", "is ready")
    ]
    for (ready, _, _), (ends, _, _) in zip(diary.told[1::2], diary.told[2::2], strict=False):
        assert ends >= ready + HEALTHY
    assert customer.reason is None
    assert diary.answers > 300
