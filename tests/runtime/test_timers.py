"""Timers: on the system's clock, owned by one incarnation, never in bursts."""

from __future__ import annotations

import math
import threading
import time
from typing import TYPE_CHECKING

import pytest

import otpy
from otpy.errors import CallTimeoutError
from otpy.events import ActorCrashed, DeadLetter
from otpy.runtime.timers import MonotonicClock, Timers
from otpy.testing import Gate, Recorder
from support.doer import BOOM, Doer, flush
from support.threads import refuse_threads

if TYPE_CHECKING:
    from otpy.testing import VirtualClock


class HandClock:
    """Time that a test sets."""

    is_virtual = True

    def __init__(self) -> None:
        self.time = 0.0

    def now(self) -> float:
        return self.time


def test_a_message_comes_once_after_its_time(timed: otpy.System, clock: VirtualClock) -> None:
    ref = timed.start(Doer, deed=lambda self: self.send_after(1.0, "ding") and None)
    clock.advance(0.99)
    assert flush(ref) == []
    clock.advance(0.01)
    clock.advance(5.0)
    assert flush(ref) == ["ding"]


def test_an_interval_comes_again_and_again(timed: otpy.System, clock: VirtualClock) -> None:
    ref = timed.start(Doer, deed=lambda self: self.send_interval(1.0, "tick") and None)
    clock.advance(3.5)
    assert flush(ref) == ["tick"] * 3


def test_a_cancelled_timer_does_not_come(timed: otpy.System, clock: VirtualClock) -> None:
    def cancel(self: Doer) -> list[bool]:
        timer, interval = self.send_after(1.0, "x"), self.send_interval(1.0, "y")
        return [self.cancel_timer(timer), self.cancel_timer(interval), self.cancel_timer(timer)]

    ref = timed.start(Doer)
    assert ref.call(Doer.do, cancel) == [True, True, False]
    clock.advance(5.0)
    assert flush(ref) == []


def test_a_fired_timer_cannot_be_cancelled(timed: otpy.System, clock: VirtualClock) -> None:
    ref = timed.start(Doer)
    timer = ref.call(Doer.do, lambda self: self.send_after(1.0, "x"))
    clock.advance(1.0)
    assert timer.cancel() is False
    assert flush(ref) == ["x"]


@pytest.mark.parametrize("end", ["kill", "crash", "stop"])
@pytest.mark.report("C88", "akka/akka-core#26556", "akka/akka-core#26650")
def test_timers_end_with_their_incarnation(timed: otpy.System, clock: VirtualClock, end: str) -> None:
    """No tick of a dead incarnation reaches the next one, not even one that was in the mailbox."""

    class Tree(otpy.Supervisor):
        def children(self) -> list[otpy.ChildSpec]:
            return [
                otpy.child(Doer, deed=lambda self: self.send_interval(0.01, self.ref.number) and None).opts(name="it")
            ]

    timed.start(Tree)
    old = timed.whereis("it")
    assert old is not None
    with Gate() as gate:
        old.cast(Doer.run, lambda _: gate.wait())
        gate.reached()
        clock.advance(0.015)
        old.tell("leftover")
        assert len(old.mailbox or ()) == 2
        {"kill": old.kill, "crash": lambda: old.exit(BOOM), "stop": lambda: old.stop(block=False)}[end]()
    timed.wait_idle()
    clock.advance(0.05)
    new = timed.whereis("it")
    assert new is not None
    assert new is not old
    assert set(flush(new)) == {new.number}


@pytest.mark.report("C89", "akka/akka-core#28266")
def test_an_idle_timeout_set_in_init_is_there_again_after_a_restart(timed: otpy.System, clock: VirtualClock) -> None:
    class Impatient(Doer):
        def handle_timeout(self) -> None:
            raise TimeoutError

    class Tree(otpy.Supervisor):
        def children(self) -> list[otpy.ChildSpec]:
            return [otpy.child(Impatient, deed=lambda _: otpy.NoReply(timeout=10.0)).opts(id="a")]

    timed.start(Tree)
    with Recorder(timed, ActorCrashed) as crashes:
        clock.advance(35.0)
    assert len(crashes.events) == 3


@pytest.mark.report("C94", "pathosDev/actor-ts#921")
def test_a_late_interval_leaves_out_what_it_missed() -> None:
    """After a stall of a second a 10 ms interval catches up with one tick at most, not with a hundred."""
    clock, ticks = HandClock(), []
    timers = Timers(clock)
    timers.every(0.01, lambda: ticks.append(clock.time))
    clock.time = 1.0
    while timers.fire_due():
        pass
    assert ticks == [1.0]
    clock.time = 1.005
    while timers.fire_due():
        pass
    assert len(ticks) == 2
    for _ in range(50):
        clock.time += 0.01
        while timers.fire_due():
            pass
    assert len(ticks) == 52


@pytest.mark.report("C94", "pathosDev/actor-ts#921")
@pytest.mark.parametrize("how", ["busy", "asleep", "suspended"])
def test_an_actor_that_stalls_finds_one_tick_and_not_a_hundred(
    timed: otpy.System, clock: VirtualClock, how: str
) -> None:
    """An interval of 10 ms, and a second in which its actor does not look into its mailbox."""
    ref = timed.start(Doer, deed=lambda self: self.send_interval(0.01, "tick") and None)
    with Gate() as gate:
        if how == "suspended":
            timed.suspend(ref.path)
        else:
            ref.cast(Doer.run, lambda _: gate.wait() if how == "busy" else otpy.sleep(1.0))
        timed.wait_idle()
        clock.advance(0.9999)
        assert len(ref.mailbox or ()) == 1
    if how == "suspended":
        timed.resume(ref.path)
    timed.wait_idle()
    clock.advance(0.0151)
    assert 2 <= len(flush(ref)) <= 3  # the one that waited, and those that came since
    before = len(flush(ref))
    clock.advance(0.1)
    assert len(flush(ref)) - before == 10


@pytest.mark.report("B62", "jodal/pykka#95", "jodal/pykka#102")
@pytest.mark.parametrize("jump", [-1e9, 1e9], ids=["back", "forth"])
def test_the_time_of_day_does_not_matter(system: otpy.System, monkeypatch: pytest.MonkeyPatch, jump: float) -> None:
    """It is set by years while timers run."""
    ref, came, early = system.start(Doer), threading.Event(), threading.Event()
    system.timers.after(60.0, early.set)
    timer = system.timers.every(0.01, came.set)
    assert came.wait(30)
    day, nanoseconds = time.time(), time.time_ns()
    monkeypatch.setattr(time, "time", lambda: day + jump)
    monkeypatch.setattr(time, "time_ns", lambda: nanoseconds + int(jump * 1e9))
    came.clear()
    assert came.wait(30)
    assert ref.call(Doer.do, lambda _: "in time") == "in time"
    assert not early.is_set()
    assert timer.cancel()


def test_an_interval_needs_a_time(system: otpy.System) -> None:
    def intervals(self: Doer) -> int:
        refused = 0
        for period in (0, -1.0, math.nan, math.inf):
            with pytest.raises(ValueError, match="an interval is longer than 0"):
                self.send_interval(period, "x")
            refused += 1
        with pytest.raises(ValueError, match="a number of seconds, got nan"):
            self.send_after(math.nan, "x")
        return refused

    assert system.start(Doer).call(Doer.do, intervals) == 4
    assert system.timers.next_due() is None


def test_a_time_that_never_comes_and_one_that_is_past(system: otpy.System) -> None:
    ref = system.start(Doer)
    came = threading.Event()
    ref.call(Doer.do, lambda self: (self.send_after(math.inf, "never"), self.send_after(-5, "now")) and None)
    system.timers.after(0.0, came.set)
    assert came.wait(30)
    assert flush(ref) == ["now"]


def test_an_earlier_timer_overtakes_a_later_one_on_real_time(system: otpy.System) -> None:
    order: list[str] = []
    done = threading.Semaphore(0)
    system.timers.after(60.0, order.append, "late")
    second = system.timers.after(0.02, lambda: (order.append("second"), done.release()))
    first = system.timers.after(0.005, lambda: (order.append("first"), done.release()))
    for _ in order, order:
        assert done.acquire(timeout=5)
    # Between the two a busy machine may let more than those 15 ms go by.
    assert order == (["first", "second"] if first.due < second.due else ["second", "first"])


def test_a_failing_action_harms_no_other_timer(system: otpy.System) -> None:
    came = threading.Event()
    system.timers.after(0.0, lambda: 1 // 0)
    system.timers.after(0.001, came.set)
    assert came.wait(30)


def test_cancelled_timers_do_not_pile_up(system: otpy.System) -> None:
    """A server that sets and cancels a timeout with every message has a heap of a handful."""
    for _ in range(10_000):
        system.timers.after(60.0, int).cancel()
    assert len(system.timers._heap) < 200


def test_fired_timers_do_not_pile_up(timed: otpy.System, clock: VirtualClock) -> None:
    ref = timed.start(Doer)
    for _ in range(100):
        ref.call(Doer.do, lambda self: self.send_after(0.0, "x") and None)
        clock.advance(0.1)
    assert len(flush(ref)) == 100
    assert not ref.extras().timers


def test_timers_that_fire_while_they_are_set_do_not_pile_up(system: otpy.System) -> None:
    """The timer thread may be faster than the actor that sets the timer."""
    ref = system.start(Doer)
    ref.call(Doer.do, lambda self: [self.send_after(0.0, "x") for _ in range(2_000)] and None)
    came = threading.Event()
    system.timers.after(0.0, came.set)
    assert came.wait(10)
    assert len(flush(ref)) == 2_000
    assert not ref.extras().timers


def test_a_timer_is_fired_or_cancelled_never_both() -> None:
    """`cancel` says True only when the action will not run."""
    timers = Timers(MonotonicClock())
    fired: list[int] = []
    cancelled: list[int] = []
    for number in range(2_000):
        timer = timers.after(0.0, fired.append, number)
        if timer.cancel():
            cancelled.append(number)
    done = threading.Event()
    timers.after(0.0, done.set)
    assert done.wait(10)
    timers.close()
    assert sorted(fired + cancelled) == list(range(2_000))


def test_a_full_mailbox_refuses_a_tick_quietly(timed: otpy.System, clock: VirtualClock) -> None:
    """The timer thread has nobody to raise an error to."""
    spec = otpy.child(Doer, deed=lambda self: self.send_interval(1.0, "tick") and None).opts(
        max_queue=1, overflow="raise"
    )
    ref = timed.start(spec)
    with Recorder(timed, DeadLetter) as letters, Gate() as gate:
        ref.cast(Doer.run, lambda _: gate.wait())
        gate.reached()
        ref.tell("fills it")
        clock.advance(3.0)
        assert [letter.message for letter in letters.of(DeadLetter)] == ["info 'tick'"] * 3
    timed.wait_idle()
    clock.advance(2.0)
    assert flush(ref) == ["fills it", "tick", "tick"]  # it goes on


@pytest.mark.report("C85", "apache/pekko#3265")
def test_a_crash_on_a_timers_message_reports_the_message(timed: otpy.System, clock: VirtualClock) -> None:
    class Failing(Doer):
        def handle_info(self, message: object) -> None:
            raise ValueError(message)

    with Recorder(timed, ActorCrashed) as crashes:
        timed.start(Failing, deed=lambda self: self.send_after(1.0, "ding") and None)
        clock.advance(1.0)
    [event] = crashes.of(ActorCrashed)
    assert event.message == "info 'ding'"


@pytest.mark.report("C92", "erlang/otp#7606")
def test_a_timer_waits_for_a_thread_that_cannot_be_had(system: otpy.System, monkeypatch: pytest.MonkeyPatch) -> None:
    """It fires later."""
    refuse = refuse_threads(monkeypatch, "otpy-timers")
    came = threading.Event()
    ref = system.start(Doer)
    ref.call(Doer.do, lambda self: self.send_after(0.0, came) and None)
    ref.cast(Doer.run, lambda self: setattr(self, "handle_info", lambda event: event.set()))
    assert system.timers.is_stranded
    refuse.clear()
    assert came.wait(30)


@pytest.mark.report("B73", "atomvm/AtomVM#384")
@pytest.mark.parametrize("first", ["reply", "timeout"])
def test_a_reply_in_the_tick_of_the_timeout_wins_if_it_comes_first(
    timed: otpy.System, clock: VirtualClock, first: str
) -> None:
    """Both are due at 1 s; whichever timer was set first is the first."""
    server, client = timed.start(Doer), timed.start(Doer)
    kept: list[otpy.Caller] = []

    def defer(self: Doer) -> otpy.NoReply:
        assert self.caller is not None
        kept.append(self.caller)
        return otpy.NoReply()

    def ask(self: Doer) -> None:
        try:
            self.log.append(server.within(1.0).call(Doer.do, defer))
        except CallTimeoutError:
            self.log.append("too late")

    steps = [lambda: timed.timers.after(1.0, lambda: kept[0].reply("in time")), lambda: client.cast(Doer.run, ask)]
    for step in steps if first == "reply" else reversed(steps):
        step()
        timed.wait_idle()
    clock.advance(1.0)
    assert flush(client) == ["in time" if first == "reply" else "too late"]
    assert server.call(Doer.do, lambda _: "next") == "next"
