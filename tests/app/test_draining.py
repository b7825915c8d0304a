"""A program that is told to stop drains first, says who told it, and tells by its exit code what it has left."""

from __future__ import annotations

import math
import signal
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.app import signals
from otpy.core.exit_codes import ExitCode
from otpy.drain.look import look_at
from otpy.events import DrainBegun, DrainEnded, DrainPhase
from otpy.testing import Gate, VirtualClock

if TYPE_CHECKING:
    from otpy.events import Event

NOTES: list[str] = []


class Agent(otpy.GenServer):
    """Notes what it is asked."""

    def init(self, problem: str | None = None) -> None:
        NOTES.clear()
        self.problem = problem

    def handle_drain(self, drain: otpy.Drain) -> None:
        NOTES.append(drain.reason)

    def handle_flush(self, _: otpy.Drain) -> None:
        if self.problem is not None:
            raise ValueError(self.problem)

    @otpy.cast
    def hold(self, gate: Gate) -> None:
        gate.wait()


def events_of(**options: Any) -> tuple[list[Event], dict[str, Any]]:
    events: list[Event] = []
    return events, {"control": "off", "on_event": events.append} | options


def test_a_block_that_is_left_drains_its_program() -> None:
    events, options = events_of(name="shop")
    with otpy.run(Agent, **options) as system:
        assert system.draining is None
    assert NOTES == ["the block was left"]
    assert [event.phase for event in events if isinstance(event, DrainPhase)] == [
        *("quiesce", "drain", "checkpoint", "flush", "release"),
    ]
    assert [event.reason for event in events if isinstance(event, DrainBegun | DrainEnded)] == NOTES * 2
    assert system.undone == ()


def test_a_block_that_raises_says_by_what_it_was_left() -> None:
    with pytest.raises(ZeroDivisionError), otpy.run(Agent, control="off"):
        raise ZeroDivisionError
    assert NOTES == ["the block was left by ZeroDivisionError"]


def test_who_told_it_first_is_named_and_the_wait_ends_at_once() -> None:
    with otpy.run(Agent, control="off", shutdown=20.0) as system:
        system.request_stop("the shift is over", within=5.0)
        told = system.draining
        assert told is not None
        assert (told.reason, told.deadline - told.since) == ("the shift is over", 5.0)
        assert system.wait() is None
        system.request_stop("once more")
    assert NOTES == ["the shift is over"]


def test_a_drain_by_hand_has_the_program_end_and_can_be_waited_for() -> None:
    with otpy.run(Agent, control="off") as system:
        course = system.request_drain(reason="by hand")
        assert course.wait(10.0)
        assert system.wait() is None
    assert NOTES == ["by hand"]
    assert system.left == []


def test_what_a_drain_leaves_undone_is_seen_in_the_exit_code() -> None:
    for problem, code in (("no line", ExitCode.LEFT_OVER), (None, ExitCode.CLEAN)):

        class Ends(Agent):
            def init(self, problem: str | None = None) -> None:
                super().init(problem)
                self.system.request_stop("at once")  # type: ignore[attr-defined]  # it is an Application

        assert otpy.main(Ends, problem, control="off") == code


def test_a_clock_that_nobody_moves_any_more_keeps_no_program() -> None:
    with Gate() as gate:
        with otpy.run(Agent, control="off", clock=VirtualClock(), shutdown=0.2) as system:
            agent = system.find("agent")
            assert agent is not None
            agent.cast(Agent.hold, gate)
            gate.reached()
        assert system.undone[0] == "it was cut short in quiesce: nobody moves the clock any more"
        gate.open()


def test_a_program_may_take_as_long_as_it_likes() -> None:
    with otpy.run(Agent, control="off", shutdown=math.inf) as system:
        system.request_stop("by hand")
        assert system.ending() == ("by hand", None)
        assert look_at(system, system.request_drain())["left"] is None
    assert (system.left, system.undone) == ([], ())


def test_a_program_whose_child_waits_for_its_restart_ends() -> None:
    class Falls(otpy.GenServer):
        @otpy.cast
        def fall(self) -> None:
            raise RuntimeError

    class Tree(otpy.Supervisor):
        def children(self) -> list[otpy.ChildSpec]:
            return [otpy.child(Falls).opts(name="falls", backoff=otpy.Backoff(first=60.0))]

    with otpy.run(Tree, control="off") as system:
        falls = system.whereis("falls")
        assert falls is not None
        falls.cast(Falls.fall)
        falls.monitor().wait()
        system.request_stop()
    assert (system.left, system.undone) == ([], ())


def test_who_is_started_after_the_program_was_told_to_stop_drains_as_well() -> None:
    """As when SIGTERM comes while the tree is still being started: the start goes on, and then all of it drains."""

    class Early(otpy.GenServer):
        def init(self) -> None:
            self.system.request_stop("SIGTERM")  # type: ignore[attr-defined]  # it is an Application

    class Tree(otpy.Supervisor):
        def children(self) -> list[otpy.ChildSpec]:
            return [otpy.child(Early), otpy.child(Agent)]

    with otpy.run(Tree, control="off") as system:
        assert system.wait() is None
    assert NOTES == ["SIGTERM"]
    assert (system.left, system.undone) == ([], ())


class Handled:
    """A handler of signals on a clock of its own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        self.told: list[tuple[int, int]] = []
        monkeypatch.setattr(signals.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(signals, "_show_stacks", lambda: self.told.append((0, 0)))
        monkeypatch.setattr(signals, "_end_now", lambda: self.told.append((-1, -1)))
        self._handler = signals.stop_handler(lambda number, wish: self.told.append((number, wish)), [])

    def hear(self, number: int, after: float = 0.0) -> None:
        self.now += after
        self._handler(number, None)


def test_a_doubled_signal_is_one_wish_and_later_ones_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    handled = Handled(monkeypatch)
    handled.hear(signal.SIGTERM)
    handled.hear(signal.SIGINT, 0.9)
    assert handled.told == [(signal.SIGTERM, 1)]
    handled.hear(signal.SIGTERM, 0.2)
    handled.hear(signal.SIGTERM, 0.5)
    assert handled.told[1:] == [(signal.SIGTERM, 2)]
    handled.hear(signal.SIGINT, 1.0)
    assert handled.told[2] == (-1, -1)


def test_sigquit_shows_the_stacks_and_is_a_second_wish_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    handled = Handled(monkeypatch)
    handled.hear(signal.SIGQUIT)
    assert handled.told == [(0, 0), (signal.SIGQUIT, 2)]
    handled.hear(signal.SIGQUIT, 0.5)
    assert handled.told[2:] == [(0, 0)]
    handled.hear(signal.SIGQUIT, 1.5)
    assert handled.told[3:5] == [(0, 0), (-1, -1)]


def test_a_double_that_comes_after_a_quick_end_takes_no_exit_code() -> None:
    taken: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: taken.append(number))
    try:
        with otpy.run(Agent, control="off") as system:
            signal.raise_signal(signal.SIGTERM)
            system.wait()
        signal.raise_signal(signal.SIGTERM)  # the same wish, sent twice
        assert taken == []
        with otpy.run(Agent, control="off"):
            pass
        assert signals.handler_of(signal.SIGTERM) is not signal.SIG_DFL
        last = signals._Echo(signal.SIG_DFL, [math.inf])  # until the program has ended, whatever the interpreter does
        with_echo = signal.signal(signal.SIGTERM, last)
        last.close(signal.SIGTERM)
        assert signal.signal(signal.SIGTERM, with_echo) is signal.SIG_IGN
        echo = signal.getsignal(signal.SIGTERM)
        echo_of_long_ago = signals._Echo(signals.handler_of(signal.SIGTERM), [-math.inf])
        signal.signal(signal.SIGTERM, echo_of_long_ago)
        signal.raise_signal(signal.SIGTERM)
        assert (taken, echo is echo_of_long_ago) == ([signal.SIGTERM], False)
    finally:
        signal.signal(signal.SIGTERM, before)
