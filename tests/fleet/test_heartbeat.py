"""An agent tells its hub that it is there, and how it is; never in step with others, never two at a time."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.drain.begin import begin
from otpy.errors import SpecError, StartError
from otpy.fleet import Beat, FleetView, Heartbeat
from otpy.resilience import Autonomy, Breaker, Outbox
from otpy.testing import Gate, VirtualSystem

if TYPE_CHECKING:
    from pathlib import Path


class Line:
    """The way to a hub, which may be cut."""

    def __init__(self) -> None:
        self.beats: list[Beat] = []
        self.is_cut = False
        self.tries = 0

    def send(self, beat: Beat) -> None:
        self.tries += 1
        if self.is_cut:
            raise ConnectionError("no route")
        self.beats.append(beat)

    async def asend(self, beat: Beat) -> None:
        self.send(beat)


@pytest.fixture
def line() -> Line:
    return Line()


@pytest.mark.parametrize("way", ["send", "asend"])
def test_beats_come_about_each_period_and_say_who_it_is(line: Line, way: str) -> None:
    one = Heartbeat("beats", send=getattr(line, way), agent="boiler-7", labels={"region": "eu"}, version="3")
    system = VirtualSystem("agent", seed=1)
    system.start(one.child())
    system.clock.advance(3_000.0)
    first, last = line.beats[0], line.beats[-1]
    assert 90 < len(line.beats) < 110
    assert (first.agent, first.labels, first.period) == ("boiler-7", {"region": "eu", "version": "3"}, 30.0)
    assert (first.state, first.sequence, last.sequence) == ("normal", 1, len(line.beats))
    assert first.incarnation == last.incarnation
    gaps = [(b.at or 0) - (a.at or 0) for a, b in zip(line.beats, line.beats[1:], strict=False)]
    assert min(gaps) >= 15_000
    assert max(gaps) <= 45_000
    look = one.look()
    assert (look.sent, look.failed, look.error, look.sending) == (len(line.beats), 0, None, None)
    system.stop()


@pytest.mark.report("J52", "payloadcms/payload#16318")
def test_agents_that_were_started_together_do_not_beat_together() -> None:
    """payloadcms/payload#16318: the same pause for all has all come back in the same instant, again and again."""
    times: Counter[int] = Counter()
    system = VirtualSystem("agents", seed=1)

    def send(_: Beat) -> None:
        times[int(system.clock.now() * 10)] += 1

    for number in range(200):
        system.start(Heartbeat("beats", send=send).child().opts(id=f"a{number}"))
    system.clock.advance(100.0)
    assert max(times.values()) <= 10, "5 % of them in a tenth of a second"
    system.stop()


def test_a_beat_that_fails_is_no_trouble_and_the_next_one_is_the_next_try(line: Line) -> None:
    one = Heartbeat("beats", send=line.send, period=10.0)
    system = VirtualSystem("agent", seed=1)
    system.start(one.child())
    line.is_cut = True
    system.clock.advance(1_000.0)
    look = one.look()
    assert (look.failed, look.error, line.beats) == (line.tries, "ConnectionError: no route", [])
    assert 80 < line.tries < 120, "no hurry to try again"
    line.is_cut = False
    system.clock.advance(15.0)
    assert (one.look().error, one.look().sent) == (None, len(line.beats))
    assert system.records()[0].kind.startswith("Heartbeat normal, sent ")
    system.stop()


@pytest.mark.parametrize("way", ["send", "asend"])
def test_a_breaker_that_is_open_holds_them_back(line: Line, way: str) -> None:
    hub = Breaker("hub", min_calls=2, failures=3, cooldown=600.0)
    one = Heartbeat("beats", send=getattr(line, way), period=1.0, breaker=hub)
    system = VirtualSystem("agent", seed=1)
    system.start(hub.child())
    system.start(one.child())
    line.is_cut = True
    system.clock.advance(100.0)
    look = one.look()
    assert (line.tries, look.failed, look.held > 50) == (look.failed, line.tries, True)
    assert line.tries < 20
    system.stop()


def test_it_says_that_it_is_degraded_when_its_autonomy_is(line: Line) -> None:
    def connect() -> None:
        raise ConnectionError("no hub")

    hub = Autonomy("hub", connect=connect, backoff=otpy.Backoff(first=1.0, most=1.0))
    one = Heartbeat("beats", send=line.send, autonomy=hub, figures=lambda: {"jobs": 3})
    system = VirtualSystem("agent", seed=1)
    system.start(hub.child())
    system.start(one.child())
    system.clock.advance(60.0)
    assert (line.beats[-1].state, line.beats[-1].why) == ("degraded", "ConnectionError: no hub")
    assert line.beats[-1].figures == {"jobs": 3}
    system.stop()


def test_what_waits_in_its_outbox_is_a_figure(line: Line, tmp_path: Path) -> None:
    def down(_: object) -> None:
        raise ConnectionError

    outbox = Outbox("readings", tmp_path / "outbox.db", senders=[down], topics=["celsius"])
    one = Heartbeat("beats", send=line.send, outbox=outbox)
    system = VirtualSystem("agent", seed=1)
    system.start(outbox.child())
    system.start(one.child())
    outbox.put("celsius", 21.5)
    outbox.put("celsius", 21.6)
    system.clock.advance(30.0)
    figures = line.beats[0].figures
    assert (figures["outbox_rows"], figures["outbox_age"] > 0) == (2, True)
    system.stop()


def test_what_it_says_of_itself_is_told_at_once(line: Line) -> None:
    one = Heartbeat("beats", send=line.send)
    one.say("degraded", "disk is slow")
    system = VirtualSystem("agent", seed=1)
    system.start(one.child())
    assert line.beats == []
    one.say("draining", "scale-in")
    system.wait_idle()
    [beat] = line.beats
    assert (beat.state, beat.why, one.look().state) == ("draining", "scale-in", "draining")
    system.clock.advance(14.0)
    assert len(line.beats) == 1, "the next one is a period away"
    with pytest.raises(ValueError, match="normal, degraded or draining"):
        one.say("gone")
    system.stop()
    assert (line.beats[-1].state, line.beats[-1].why) == ("gone", "drained")


@pytest.mark.parametrize("way", ["send", "asend"])
def test_a_drain_is_told_at_once_and_the_beats_go_on_until_the_goodbye(line: Line, way: str) -> None:
    one = Heartbeat("beats", send=getattr(line, way))
    system = VirtualSystem("agent", seed=1)
    system.start(one.child())
    begin(system, "SIGTERM", 100.0)
    system.clock.advance(1.0)
    assert [(beat.state, beat.why) for beat in line.beats] == [("draining", "SIGTERM")]
    system.clock.advance(50.0)
    assert line.beats[-1].state == "draining"
    assert len(line.beats) >= 2
    system.stop()
    assert (line.beats[-1].state, line.beats[-1].why) == ("gone", "drained")


@pytest.mark.parametrize("way", ["send", "asend"])
def test_it_says_goodbye_when_it_is_stopped_and_not_when_it_crashes(line: Line, way: str) -> None:
    one = Heartbeat("beats", send=getattr(line, way))
    system = VirtualSystem("agent", seed=1)
    system.start(one.child())
    system.kill("agent/beats")
    system.wait_idle()
    assert line.beats == []
    system.stop()
    again = VirtualSystem("agent", seed=1)
    again.start(one.child())
    again.stop()
    assert [(beat.state, beat.why) for beat in line.beats] == [("gone", "stopped")]
    assert repr(one).endswith(" normal, 1 sent>")


@pytest.mark.report("J56", "temporalio/sdk-java#2903")
def test_the_first_child_beats_for_as_long_as_the_others_take_to_end(line: Line) -> None:
    """Heartbeats are the last thing to stop."""
    one = Heartbeat("beats", send=line.send)

    class Worker(otpy.GenServer):
        trap_exit = True

        def terminate(self, reason: otpy.Reason) -> None:
            one.say("draining", "it works")

    class Agent(otpy.Supervisor):
        def children(self) -> list[otpy.ChildSpec]:
            return [one.child(), otpy.child(Worker)]

    system = VirtualSystem("agent", seed=1)
    system.start_root(otpy.child(Agent))
    system.stop()
    assert [beat.state for beat in line.beats] == ["draining", "gone"]


def test_one_is_under_way_at_a_time_and_what_was_missed_is_not_made_good() -> None:
    with Gate() as gate:
        calls = []

        def send(beat: Beat) -> None:
            calls.append(beat)
            gate.wait()

        one = Heartbeat("beats", send=send, period=1.0)
        system = VirtualSystem("agent", seed=1)
        system.start(one.child())
        one.say("normal")
        gate.reached()
        for _ in range(5):
            one.say("normal")
        assert (len(calls), one.look().sending) == (1, 0.0)
    system.wait_idle()
    assert len(calls) == 2
    system.stop()


def test_a_coroutine_function_that_hangs_is_cancelled(line: Line) -> None:
    async def send(beat: Beat) -> None:
        line.beats.append(beat)
        await otpy.asleep(10_000.0)

    one = Heartbeat("beats", send=send, timeout=5.0)
    system = VirtualSystem("agent", seed=1)
    system.start(one.child())
    system.clock.advance(300.0)
    assert len(line.beats) > 5
    assert one.look().error == "TimeoutError: send did not come back in 5 s"
    system.kill("agent/beats")
    system.stop()


def test_an_agents_life_as_its_hub_sees_it() -> None:
    view = FleetView("fleet")
    hub = VirtualSystem("hub", seed=1)
    hub.start(view.child())
    ways: dict[str, Any] = {"send": lambda beat: view.beats([beat.plain()]), "agent": "a"}
    for version in "12":
        one = Heartbeat("beats", **ways, version=version)
        hub.start(one.child().opts(id=f"agent{version}"))
        hub.clock.advance(60.0)
        assert [(look.name, look.state) for look in view.agents()] == [("a", "alive")]
        assert [(group.value, group.alive) for group in view.groups("version")] == [(version, 1)]
        if version == "1":
            hub.kill("hub/agent1")
    found = view.agent("a")
    assert found is not None
    assert (found.restarts, found.skew) == (1, 0.0)
    hub.stop()


@pytest.mark.parametrize(
    "options",
    [
        {"send": None},
        {"period": 0.0},
        {"timeout": "x"},
        {"goodbye": -1},
        {"agent": ""},
        {"labels": {"x": 1}},
        {"figures": 3},
        {"breaker": "hub"},
        {"autonomy": 1},
        {"outbox": 1},
    ],
)
def test_options_that_cannot_be_used_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(SpecError):
        Heartbeat("beats", **({"send": print} | options))


def test_two_actors_do_not_keep_the_same_one(line: Line) -> None:
    one = Heartbeat("beats", send=line.send)
    system = VirtualSystem("agent", seed=1)
    system.start(one.child())
    with pytest.raises(StartError):
        system.start(one.child().opts(id="twice"))
    with pytest.raises(SpecError):
        Heartbeat("a/b", send=line.send)
    system.stop()


def test_figures_that_cannot_be_had_do_not_stop_the_beats(line: Line) -> None:
    def figures() -> dict[str, float]:
        raise OSError("disk")

    one = Heartbeat("beats", send=line.send, figures=figures)
    system = VirtualSystem("agent", seed=1)
    system.start(one.child())
    system.clock.advance(60.0)
    assert len(line.beats) >= 1
    assert (line.beats[0].figures, line.beats[0].state) == ({}, "normal")
    assert one.look().trouble == "OSError: disk"
    system.stop()
