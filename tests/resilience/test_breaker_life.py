"""A breaker's actor: before it runs, when it ends, when it is told what to do; and how it is seen."""

from __future__ import annotations

import logging
import os
import pickle

import pytest

import otpy
from otpy.errors import NoProcError, SpecError, StartError, UnknownOptionError
from otpy.events import BreakerChanged
from otpy.resilience import Breaker, BreakerOpenError
from otpy.testing import Gate, Recorder, VirtualSystem
from support.forks import in_a_child
from support.services import Crowd, FarCaller, Service, changes, kept, outcome, trip


@pytest.fixture
def service() -> Service:
    return Service()


BREAKER = Breaker("payments", failures=2)


class Tree(otpy.Supervisor):
    def children(self) -> list[otpy.ChildSpec]:
        return [BREAKER.child()]


def test_without_an_actor_calls_go_through_and_the_log_says_so_once(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    breaker = Breaker("payments", failures=1)
    ask = breaker(service.ask)
    service.is_ill = True

    with caplog.at_level(logging.WARNING, "otpy"):
        results = [outcome(ask) for _ in range(10)]

    assert results == [ConnectionError] * 10
    assert breaker.state == "unkept"
    assert [record.message for record in caplog.records] == [
        "breaker 'payments' has no actor, so calls go through: put its .child() into the tree"
    ]


def test_it_is_a_child_of_a_tree_and_seen_there(virtual_system: VirtualSystem, service: Service) -> None:
    virtual_system.start_root(otpy.child(Tree).opts(id="shop"))
    path = f"{virtual_system.name}/payments"

    assert virtual_system.record(path).kind == "Breaker closed"
    trip(virtual_system, service, BREAKER(service.ask), times=2)

    assert virtual_system.record(path).kind == "Breaker open"
    shown = dict(line.split(" = ", 1) for line in virtual_system.state(path).state)
    assert shown["state"] == "'open'"
    assert shown["why"] == "'2 failures in a row'"


def test_its_state_shows_what_it_has_counted(virtual_system: VirtualSystem, service: Service) -> None:
    ask = kept(virtual_system)(service.ask)
    ask()
    trip(virtual_system, service, ask, times=2)

    shown = dict(line.split(" = ", 1) for line in virtual_system.state(f"{virtual_system.name}/service").state)

    assert (shown["calls"], shown["failures"], shown["in_a_row"]) == ("3", "2", "2")


def test_each_change_is_an_event(virtual_system: VirtualSystem, service: Service) -> None:
    ask = kept(virtual_system, failures=1, cooldown=30.0)(service.ask)

    with Recorder(virtual_system, BreakerChanged) as recorded:
        trip(virtual_system, service, ask, times=1)
        virtual_system.clock.advance(33.0)
        with pytest.raises(ConnectionError, match="ill"):
            ask()
        virtual_system.wait_idle()
        virtual_system.clock.advance(66.0)
        service.is_ill = False
        ask()
        virtual_system.wait_idle()

    opened, _, opened_again, half_opened, closed = recorded.of(BreakerChanged)
    assert (opened.path, opened.breaker) == (f"{virtual_system.name}/service", "service")
    assert opened.retry_after is not None
    assert 30.0 <= opened.retry_after < 33.0
    assert str(opened).startswith("test/service: breaker 'service' went from closed to open: a call failed (")
    assert [event.why for event in (half_opened, closed)] == ["the first probe is on its way", "a probe succeeded"]
    levels = [event.level for event in (opened, opened_again, half_opened, closed)]
    assert levels == [logging.WARNING, logging.INFO, logging.INFO, logging.INFO], "a probe that fails is no news"


def test_after_a_crash_it_begins_closed_and_ignores_the_permits_of_before(
    virtual_system: VirtualSystem, service: Service
) -> None:
    virtual_system.start_root(otpy.child(Tree).opts(id="shop"))
    ask = BREAKER(service.ask)
    late = Gate()

    def ask_late() -> None:
        late.wait()
        raise ConnectionError

    crowd = Crowd(2, BREAKER(ask_late))
    late.reached(2)
    trip(virtual_system, service, ask, times=2)
    first = BREAKER.generation
    virtual_system.kill(f"{virtual_system.name}/payments")
    virtual_system.wait_idle()

    assert BREAKER.state == "closed"
    assert BREAKER.generation > first
    late.open()
    crowd.join()
    virtual_system.wait_idle()
    assert BREAKER.state == "closed"
    trip(virtual_system, service, ask, times=2)
    assert BREAKER.state == "open"


def test_when_its_system_has_stopped_calls_go_through(service: Service) -> None:
    system = VirtualSystem()
    breaker = kept(system, failures=1)
    ask = breaker(service.ask)
    trip(system, service, ask, times=1)
    assert outcome(ask) is BreakerOpenError

    system.stop()

    assert breaker.state == "unkept"
    assert outcome(ask) is ConnectionError
    with pytest.raises(NoProcError):
        breaker.force("open")


def test_another_system_may_keep_it_later_but_not_at_the_same_time(service: Service) -> None:
    breaker = Breaker("payments", failures=1)
    one, other = VirtualSystem("one"), VirtualSystem("other")
    one.start(breaker.child())

    with pytest.raises(StartError, match=r"'breaker payments' is taken by one/payments"):
        other.start(breaker.child())
    one.stop()
    other.start(breaker.child())
    trip(other, service, breaker(service.ask), times=1)

    assert breaker.state == "open"
    other.stop()


@pytest.mark.parametrize("state", ["open", "closed"])
def test_what_was_forced_stays_until_it_is_reset(virtual_system: VirtualSystem, service: Service, state: str) -> None:
    breaker = kept(virtual_system, failures=1)
    ask = breaker(service.ask)
    seen = changes(virtual_system)
    service.is_ill = True

    breaker.force("open" if state == "open" else "closed")
    results = {outcome(ask) for _ in range(10)}
    virtual_system.clock.advance(10_000.0)
    results |= {outcome(ask) for _ in range(10)}

    assert results == {BreakerOpenError if state == "open" else ConnectionError}
    assert breaker.retry_after() == (None if state == "open" else 0.0)
    breaker.reset()
    assert breaker.state == "closed"
    assert seen == [("service", "closed", f"forced_{state}"), ("service", f"forced_{state}", "closed")]
    trip(virtual_system, service, ask, times=1)
    assert breaker.state == "open"


def test_what_was_forced_outlives_its_actor(virtual_system: VirtualSystem, service: Service) -> None:
    virtual_system.start_root(otpy.child(Tree).opts(id="shop"))
    BREAKER.force("open")

    virtual_system.kill(f"{virtual_system.name}/payments")
    assert outcome(BREAKER(service.ask)) is BreakerOpenError
    virtual_system.wait_idle()

    assert BREAKER.state == "forced_open"
    BREAKER.reset()
    assert outcome(BREAKER(service.ask)) == "fine"


def test_a_reset_in_the_middle_of_a_probe_leaves_nothing_of_it(virtual_system: VirtualSystem, service: Service) -> None:
    """Fuse has to look for the stray message of a timer; Truxify#6690 leaks it."""
    breaker = kept(virtual_system, probe_timeout=10.0)
    trip(virtual_system, service, breaker(service.ask))
    virtual_system.clock.advance(33.0)
    inside = Gate()
    probe = Crowd(1, breaker(inside.wait))
    inside.reached(1)
    virtual_system.wait_idle()

    breaker.reset()
    assert virtual_system.timers.pending() == []
    virtual_system.clock.advance(100.0)
    inside.open()
    probe.join()
    virtual_system.wait_idle()

    assert breaker.state == "closed"


def test_a_probe_of_a_cool_down_that_was_cut_short_decides_nothing(
    virtual_system: VirtualSystem, service: Service
) -> None:
    breaker = kept(virtual_system, failures=1)
    ask = breaker(service.ask)
    trip(virtual_system, service, ask, times=1)
    virtual_system.clock.advance(33.0)
    permit = breaker.allow()
    assert permit.is_probe

    breaker.reset()
    permit.failed()
    virtual_system.wait_idle()

    assert breaker.state == "closed"


def test_a_suspended_actor_costs_bounded_room_and_catches_up(virtual_system: VirtualSystem, service: Service) -> None:
    breaker = kept(virtual_system, failures=3)
    ask = breaker(service.ask)
    path = f"{virtual_system.name}/service"
    virtual_system.suspend(path)
    service.is_ill = True

    assert {outcome(ask) for _ in range(15_000)} == {ConnectionError}
    assert len(breaker._reports) == 10_000
    assert virtual_system.record(path).queue <= 2
    virtual_system.resume(path)
    virtual_system.wait_idle()

    assert breaker.state == "open"


@pytest.mark.parametrize(
    ("rules", "text"),
    [
        ({"failures": 0}, "failures=0: a whole number > 0"),
        ({"rate": 1.5}, "rate=1.5: above 0 and up to 1"),
        ({"window": 0.0}, "window=0.0: seconds > 0"),
        ({"cooldown": 700.0}, "cooldown=700.0, longest=600.0: the first is not above the second"),
        ({"probes": 1, "successes": 2}, "successes=2, probes=1: it lets so few through that it would never close"),
        ({"failures": None, "rate": None}, "failures=None, rate=None: it would never open"),
        ({"slow": -1}, "slow=-1: seconds > 0, or None"),
        ({"counts": 17}, "counts=17: a class of errors, a tuple of them, or a function of an error"),
        ({"excludes": (int,)}, "excludes=(<class int>,): a class of errors"),
    ],
)
def test_rules_that_cannot_be_are_refused_where_they_are_written(rules: dict[str, object], text: str) -> None:
    with pytest.raises(SpecError) as got:
        Breaker("payments", **rules)  # type: ignore[arg-type]

    assert str(got.value).startswith(f"payments: {text}")


def test_a_misspelt_rule_is_guessed() -> None:
    with pytest.raises(UnknownOptionError, match=r"no option 'probe_timout': did you mean 'probe_timeout'\?"):
        Breaker("payments", probe_timout=3.0)  # type: ignore[call-arg]


@pytest.mark.parametrize("name", ["", "a/b", 17])
def test_a_name_that_cannot_be_one_is_refused(name: object) -> None:
    with pytest.raises(SpecError, match="a text without '/'"):
        Breaker(name)  # type: ignore[arg-type]


def test_a_notice_that_was_cut_off_is_given_again(virtual_system: VirtualSystem, service: Service) -> None:
    """As by Ctrl-C between two steps of it: a second later the next report brings the actor to all of them."""
    breaker = kept(virtual_system, failures=2)
    ask = breaker(service.ask)
    breaker._told_at = virtual_system.clock.now()  # the actor never was
    trip(virtual_system, service, ask, times=2)
    assert breaker.state == "closed"

    virtual_system.clock.advance(1.0)
    trip(virtual_system, service, ask, times=1)

    assert breaker.state == "open"


def test_a_notice_that_failed_is_given_again_at_once(
    virtual_system: VirtualSystem, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    breaker = kept(virtual_system, failures=2)
    ask = breaker(service.ask)
    service.is_ill = True
    with monkeypatch.context() as patch:
        patch.setattr(type(breaker._keeper), "cast", _interrupt)
        with pytest.raises(KeyboardInterrupt):
            ask()
    trip(virtual_system, service, ask, times=1)

    assert breaker.state == "open"


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize("state", ["closed", "open"])
def test_in_a_forked_process_nobody_keeps_it(virtual_system: VirtualSystem, service: Service, state: str) -> None:
    breaker = kept(virtual_system, failures=2)
    ask = breaker(service.ask)
    if state == "open":
        trip(virtual_system, service, ask, times=2)
    service.is_ill = True
    breaker._lock.acquire()  # as another thread may in the moment of the fork

    def is_free() -> bool:
        return {outcome(ask) for _ in range(600)} == {ConnectionError} and breaker.state == "unkept"

    code = in_a_child(is_free)
    breaker._lock.release()

    assert code == 0
    assert breaker.state == state


def test_an_actor_in_a_process_has_one_of_its_own(otpy_system: otpy.System) -> None:
    unkept = otpy_system.start(otpy.child(FarCaller, keeps=False).opts(id="unkept"))
    keeping = otpy_system.start(otpy.child(FarCaller, keeps=True).opts(id="keeping"))

    assert [unkept.call(FarCaller.ask) for _ in range(2)] == [("ConnectionError", "unkept")] * 2
    assert keeping.call(FarCaller.ask) == ("ConnectionError", "closed")
    assert keeping.call(FarCaller.ask) == ("BreakerOpenError", "open")


def test_it_is_not_carried_to_another_process() -> None:
    with pytest.raises(TypeError, match="breaker 'payments' stays in its process: make it in the module that uses it"):
        pickle.dumps(Breaker("payments"))
