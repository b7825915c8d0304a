"""The virtual clock: it moves when told, fires what is due in order, and lets the systems settle in between."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest

import otpy
from otpy.errors import CallError, CallTimeoutError, StartTimeoutError
from otpy.testing import Probe, VirtualClock, VirtualSystem

if TYPE_CHECKING:
    from collections.abc import Iterator


class Relay(otpy.GenServer):
    """Tells the probe the time of each message, and sets a timer for the next."""

    def init(self, probe: otpy.Ref[object], name: str, *delays: float) -> None:
        self.probe, self.name, self.delays = probe, name, list(delays)
        self.set_next()

    def set_next(self) -> None:
        if self.delays:
            self.send_after(self.delays.pop(0), self.name)

    def handle_info(self, message: object) -> None:
        self.probe.tell((self.system.clock.now(), message))
        self.set_next()


class Sleeper(otpy.GenServer):
    def init(self, seconds: float = 0.0) -> None:
        if seconds:
            otpy.sleep(seconds)

    @otpy.call
    def sleep(self, seconds: float) -> float:
        otpy.sleep(seconds)
        return self.system.clock.now()

    @otpy.call
    def sleep_beside(self, other: otpy.Ref[Sleeper], seconds: float) -> str:
        try:
            other.within(1.0).call(Sleeper.sleep, seconds)
        except CallTimeoutError:
            return f"timeout at {self.system.clock.now()}"
        return f"done at {self.system.clock.now()}"


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def system(clock: VirtualClock) -> Iterator[VirtualSystem]:
    system = VirtualSystem("v", clock=clock)
    yield system
    assert system.stop(timeout=30.0) == []


def test_time_stands_still_until_told(clock: VirtualClock) -> None:
    before = clock.now()

    clock.advance(2.5)

    assert (before, clock.now()) == (0.0, 2.5)


def test_it_can_start_anywhere() -> None:
    assert VirtualClock(100.0).now() == 100.0


@pytest.mark.parametrize("seconds", [-0.001, float("-inf"), float("nan")])
def test_time_does_not_go_back(clock: VirtualClock, seconds: float) -> None:
    with pytest.raises(ValueError, match="time goes forward"):
        clock.advance(seconds)


def test_an_actor_must_not_move_it(clock: VirtualClock, system: VirtualSystem) -> None:
    class Mover(otpy.GenServer):
        @otpy.call
        def move(self) -> str:
            with pytest.raises(RuntimeError, match="not by an actor"):
                clock.advance(1.0)
            return "refused"

    assert system.start(Mover).call(Mover.move) == "refused"


def test_due_timers_fire_in_order_and_the_system_settles_between_them(
    clock: VirtualClock, system: VirtualSystem
) -> None:
    probe = Probe(system)
    system.start(Relay, probe.ref, "a", 1.0, 1.0, 1.0)
    system.start(Relay, probe.ref, "b", 1.5, 1.0)

    clock.advance(3.0)

    assert probe.messages == [(1.0, "a"), (1.5, "b"), (2.0, "a"), (2.5, "b"), (3.0, "a")]


def test_a_timer_that_is_not_due_waits(clock: VirtualClock, system: VirtualSystem) -> None:
    probe = Probe(system)
    system.start(Relay, probe.ref, "a", 1.0)

    clock.advance(0.999)
    early = probe.messages
    clock.advance(0.001)

    assert (early, probe.messages) == ([], [(1.0, "a")])


def test_hours_of_an_interval_pass_at_once(clock: VirtualClock, system: VirtualSystem) -> None:
    class Ticker(otpy.GenServer):
        def init(self) -> None:
            self.ticks = 0
            self.send_interval(60.0, "tick")

        def handle_info(self, message: object) -> None:
            self.ticks += 1

        @otpy.call
        def count(self) -> int:
            return self.ticks

    ticker = system.start(Ticker)

    clock.advance(10 * 3600.0)

    assert ticker.call(Ticker.count) == 600


def test_systems_that_share_a_clock_take_turns_by_time(clock: VirtualClock) -> None:
    one, two = VirtualSystem("one", clock=clock), VirtualSystem("two", clock=clock)
    probe = Probe(one)
    one.start(Relay, probe.ref, "one", 1.0, 2.0)
    two.start(Relay, probe.ref, "two", 1.0, 1.0)

    clock.advance(3.0)
    one.wait_idle()
    one.stop()
    two.stop()

    assert probe.messages == [(1.0, "one"), (1.0, "two"), (2.0, "two"), (3.0, "one")]


def test_it_does_not_keep_a_system_alive(clock: VirtualClock) -> None:
    VirtualSystem("gone", clock=clock)
    gc.collect()

    clock.advance(1.0)

    assert clock._systems == []


@pytest.mark.parametrize("seconds", [0.0, -1.0])
def test_no_time_is_no_wait_though_the_clock_stands_still(system: VirtualSystem, seconds: float) -> None:
    class Loop(otpy.GenServer):
        @otpy.call
        async def nap(self) -> float:
            await otpy.asleep(seconds)
            return seconds

    assert system.start(Sleeper).call(Sleeper.sleep, seconds) == 0.0
    assert system.start(Loop).call(Loop.nap) == seconds


def test_sleep_takes_virtual_time_on_the_pool_and_on_a_thread(clock: VirtualClock, system: VirtualSystem) -> None:
    probe, sleeper = Probe(system), system.start(Sleeper)

    def work() -> None:
        otpy.sleep(5.0)
        probe.ref.tell(("thread", clock.now()))
        probe.ref.tell(("pool", sleeper.call(Sleeper.sleep, 3.0)))

    system.start(work)
    clock.advance(10.0)

    assert probe.messages == [("thread", 5.0), ("pool", 8.0)]


@pytest.mark.parametrize("wait", ["call", "start"])
def test_a_thread_that_waits_for_time_it_should_move_itself_is_told_so(
    system: VirtualSystem, monkeypatch: pytest.MonkeyPatch, wait: str
) -> None:
    sleeper = system.start(Sleeper)
    monkeypatch.setattr("otpy.runtime.caller.STANDSTILL", 0.01)
    monkeypatch.setattr("otpy.runtime.awaiting.STANDSTILL", 0.01)

    with pytest.raises(CallError, match="virtual time stands still while the thread that moves it waits"):
        sleeper.call(Sleeper.sleep, 1.0) if wait == "call" else system.start(Sleeper, 1.0)

    for ref in [sleeper, *system.tops.values()]:
        ref.kill()
    system.wait_idle()


@pytest.mark.parametrize(("seconds", "outcome"), [(0.5, "done at 0.5"), (2.0, "timeout at 1.0")])
def test_timeouts_of_calls_are_in_virtual_time(
    clock: VirtualClock, system: VirtualSystem, seconds: float, outcome: str
) -> None:
    sleeper, asker, probe = system.start(Sleeper), system.start(Sleeper), Probe(system)

    def ask() -> None:
        probe.ref.tell(asker.call(Sleeper.sleep_beside, sleeper, seconds))

    system.start(ask)
    clock.advance(3.0)

    assert probe.messages == [outcome]


def test_start_timeouts_are_in_virtual_time(clock: VirtualClock, system: VirtualSystem) -> None:
    probe = Probe(system)

    def start() -> None:
        try:
            system.start(otpy.child(Sleeper, 60.0).opts(start_timeout=2.0))
        except StartTimeoutError:
            probe.ref.tell(system.clock.now())

    system.start(start)
    clock.advance(10.0)

    assert probe.messages == [2.0]


def test_step_goes_to_the_next_timer_however_far(clock: VirtualClock, system: VirtualSystem) -> None:
    probe = Probe(system)
    system.start(Relay, probe.ref, "a", 86_400.0)
    system.wait_idle()

    stepped = clock.step(), clock.step()
    system.wait_idle()

    assert stepped == (True, False)
    assert probe.messages == [(86_400.0, "a")]


def test_a_start_that_succeeded_leaves_no_timer(clock: VirtualClock, system: VirtualSystem) -> None:
    system.start(otpy.child(Sleeper).opts(start_timeout=60.0))

    assert system.timers.next_due() is None
