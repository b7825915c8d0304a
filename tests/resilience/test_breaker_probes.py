"""How an open breaker finds out whether it may close: seen by calls of an unmodified function through it.

The kind of fault this keeps away is a breaker that is stuck: a failing probe that does not begin the cool-down anew, a
probe that never comes back, a refusal that moves the timer.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import otpy
from otpy.resilience import Breaker, BreakerOpenError
from otpy.testing import Gate, VirtualSystem
from support.services import LONG, Crowd, Service, changes, kept, outcome, trip


@pytest.fixture
def service() -> Service:
    return Service()


def test_a_successful_probe_closes_it(virtual_system: VirtualSystem, service: Service) -> None:
    breaker = kept(virtual_system, cooldown=30.0)
    ask = breaker(service.ask)
    trip(virtual_system, service, ask)
    service.is_ill = False
    seen = changes(virtual_system)

    virtual_system.clock.advance(33.0)
    assert breaker.retry_after() == 0.0
    assert outcome(ask) == "fine"
    virtual_system.wait_idle()

    assert breaker.state == "closed"
    assert seen == [("service", "open", "half_open"), ("service", "half_open", "closed")]
    trip(virtual_system, service, ask, times=4)
    assert breaker.state == "closed", "the failures of before are forgotten"


@pytest.mark.parametrize("probes", [1, 3])
def test_exactly_so_many_of_a_hundred_threads_probe(
    virtual_system: VirtualSystem, service: Service, probes: int
) -> None:
    breaker = kept(virtual_system, probes=probes)
    trip(virtual_system, service, breaker(service.ask))
    inside = Gate()
    ask = breaker(inside.wait)
    virtual_system.clock.advance(33.0)

    crowd = Crowd(100, ask)
    refused = crowd.results(100 - probes)

    assert {type(error) for error in refused} == {BreakerOpenError}
    assert len(inside.reached(probes)) == probes
    virtual_system.wait_idle()
    assert breaker.state == "half_open"
    assert outcome(ask) is BreakerOpenError
    inside.open()
    assert crowd.results(probes) == [None] * probes
    crowd.join()
    virtual_system.wait_idle()
    assert breaker.state == "closed"


@pytest.mark.parametrize("probes", [1, 3])
def test_exactly_so_many_of_a_hundred_tasks_probe(virtual_system: VirtualSystem, service: Service, probes: int) -> None:
    breaker = kept(virtual_system, probes=probes)
    trip(virtual_system, service, breaker(service.ask))
    virtual_system.clock.advance(33.0)

    async def crowd() -> list[object]:
        answered = asyncio.Event()

        @breaker
        async def ask() -> str:
            await answered.wait()
            return "fine"

        tasks = [asyncio.ensure_future(ask()) for _ in range(100)]
        refused, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        answered.set()
        assert len(refused) == 100 - probes
        return await asyncio.gather(*tasks, return_exceptions=True)

    results = asyncio.run(crowd())
    virtual_system.wait_idle()

    assert results.count("fine") == probes
    assert [type(result) for result in results].count(BreakerOpenError) == 100 - probes
    assert breaker.state == "closed"


@pytest.mark.parametrize("probes", [1, 3])
@pytest.mark.report("J46", "resilience4j/resilience4j#935")
def test_each_failed_probe_begins_a_longer_cool_down(
    virtual_system: VirtualSystem, service: Service, probes: int
) -> None:
    """In a row: five times over it opens again, and lets no more through than its probes."""
    breaker = kept(virtual_system, cooldown=30.0, longest=200.0, probes=probes)
    ask = breaker(service.ask)
    trip(virtual_system, service, ask)
    before = service.calls

    for seconds in (30.0, 60.0, 120.0, 200.0, 200.0):
        wait = breaker.retry_after()
        assert wait is not None
        assert seconds <= wait < seconds * 1.1
        virtual_system.clock.advance(wait - 0.01)
        assert outcome(ask) is BreakerOpenError
        virtual_system.clock.advance(0.02)
        crowd = Crowd(10, ask)
        crowd.results(10)
        crowd.join()
        virtual_system.wait_idle()
        assert breaker.state == "open"

    assert 5 <= service.calls - before <= 5 * probes


def test_it_closes_after_as_many_successes_as_it_wants(virtual_system: VirtualSystem, service: Service) -> None:
    breaker = kept(virtual_system, probes=3, successes=2)
    ask = breaker(service.ask)
    trip(virtual_system, service, ask)
    service.is_ill = False
    virtual_system.clock.advance(33.0)

    ask()
    virtual_system.wait_idle()
    assert breaker.state == "half_open"
    ask()
    virtual_system.wait_idle()

    assert breaker.state == "closed"


def test_one_failure_among_the_probes_opens_it(virtual_system: VirtualSystem, service: Service) -> None:
    breaker = kept(virtual_system, probes=3, successes=3)
    ask = breaker(service.ask)
    trip(virtual_system, service, ask)
    virtual_system.clock.advance(33.0)

    service.is_ill = False
    ask()
    trip(virtual_system, service, ask, times=1)

    assert breaker.state == "open"
    assert outcome(ask) is BreakerOpenError


def test_a_slow_probe_counts_as_failed(virtual_system: VirtualSystem, service: Service) -> None:
    breaker = kept(virtual_system, slow=2.0)
    trip(virtual_system, service, breaker(service.ask))
    virtual_system.clock.advance(33.0)

    with breaker:
        virtual_system.clock.advance(2.0)
    virtual_system.wait_idle()

    assert breaker.state == "open"


@pytest.mark.report("J46", "resilience4j/resilience4j#935")
def test_a_probe_that_hangs_counts_as_failed_after_its_time(virtual_system: VirtualSystem, service: Service) -> None:
    """There the breaker stayed half open for ever: the limit of that wait is off by default."""
    breaker = kept(virtual_system, probe_timeout=10.0)
    trip(virtual_system, service, breaker(service.ask))
    virtual_system.clock.advance(33.0)
    inside = Gate()
    crowd = Crowd(1, breaker(inside.wait))
    inside.reached(1)

    virtual_system.clock.advance(9.0)
    assert breaker.state == "half_open"
    virtual_system.clock.advance(2.0)
    assert breaker.state == "open"

    inside.open()  # it does come back: too late
    crowd.join()
    virtual_system.wait_idle()
    assert breaker.state == "open"
    service.is_ill = False
    virtual_system.clock.advance(LONG)
    assert outcome(breaker(service.ask)) == "fine"
    virtual_system.wait_idle()
    assert breaker.state == "closed"


class Caller(otpy.GenServer):
    """An actor that calls the service, and stays in the call."""

    def init(self, breaker: Breaker, inside: Gate) -> None:
        self._breaker = breaker
        self._inside = inside

    @otpy.cast
    def ask(self) -> None:
        with self._breaker:
            self._inside.wait()

    @otpy.cast
    def sleep(self) -> None:
        with self._breaker:
            self._inside.wait()
            otpy.sleep(1_000_000.0)


class AsyncCaller(otpy.GenServer):
    """The same on the loop, where a kill cancels the call."""

    def init(self, breaker: Breaker, inside: Gate) -> None:
        self._breaker = breaker
        self._inside = inside

    @otpy.cast
    async def ask(self) -> None:
        async with self._breaker:
            await self._inside.await_open()


@pytest.mark.report("J47", "diegosouzapw/OmniRoute#13836")
def test_a_probe_whose_holder_is_killed_has_failed_at_once(virtual_system: VirtualSystem, service: Service) -> None:
    """There the one permit was consumed and never given back: nothing got through for six days."""
    breaker = kept(virtual_system)
    trip(virtual_system, service, breaker(service.ask))
    virtual_system.clock.advance(33.0)
    with Gate() as inside:
        caller = virtual_system.start(Caller, breaker, inside)
        caller.cast(Caller.ask)
        inside.reached(1)
        virtual_system.wait_idle()
        assert breaker.state == "half_open"

        caller.kill()
        virtual_system.wait_idle()
        assert breaker.state == "open"
    virtual_system.wait_idle()

    assert breaker.state == "open"
    service.is_ill = False
    virtual_system.clock.advance(LONG)
    assert outcome(breaker(service.ask)) == "fine"


@pytest.mark.report("J47", "diegosouzapw/OmniRoute#13836")
@pytest.mark.parametrize("how", ["asleep", "on the loop"])
def test_a_holder_that_leaves_its_call_by_being_killed_does_not_give_the_permit_back(
    virtual_system: VirtualSystem, service: Service, how: str
) -> None:
    """It would be taken at once by the next one: whoever kills what hangs would send probe after probe."""
    breaker = kept(virtual_system)
    trip(virtual_system, service, breaker(service.ask))
    virtual_system.clock.advance(33.0)
    inside = Gate()
    if how == "asleep":
        caller: otpy.Ref[Any] = virtual_system.start(Caller, breaker, inside)
        caller.cast(Caller.sleep)
    else:
        caller = virtual_system.start(AsyncCaller, breaker, inside)
        caller.cast(AsyncCaller.ask)
    inside.reached(1)
    if how == "asleep":
        inside.open()
    virtual_system.wait_idle()
    assert breaker.state == "half_open"

    caller.kill()
    virtual_system.wait_idle()

    assert breaker.state == "open"


@pytest.mark.parametrize("place", ["pool", "loop"])
def test_a_holder_that_is_told_to_stop_gives_its_permit_back(
    virtual_system: VirtualSystem, service: Service, place: str
) -> None:
    breaker = kept(virtual_system)
    trip(virtual_system, service, breaker(service.ask))
    virtual_system.clock.advance(33.0)
    inside = Gate()
    if place == "pool":
        caller: otpy.Ref[Any] = virtual_system.start(Caller, breaker, inside)
        caller.cast(Caller.sleep)
        inside.reached(1)
        inside.open()
    else:
        caller = virtual_system.start(AsyncCaller, breaker, inside)
        caller.cast(AsyncCaller.ask)
        inside.reached(1)
    virtual_system.wait_idle()

    caller.exit(otpy.Shutdown())
    virtual_system.wait_idle()

    assert not caller.is_alive()
    assert breaker.state == "half_open"


@pytest.mark.report("J47", "diegosouzapw/OmniRoute#13836")
def test_a_permit_that_was_taken_and_lost_comes_back(virtual_system: VirtualSystem, service: Service) -> None:
    """As when Ctrl-C comes in the moment between taking it and saying so: whoever is refused has the actor look."""
    breaker = kept(virtual_system, probe_timeout=10.0)
    ask = breaker(service.ask)
    trip(virtual_system, service, ask)
    virtual_system.clock.advance(33.0)
    breaker._snapshot.probes.pop()

    assert outcome(ask) is BreakerOpenError
    virtual_system.clock.advance(11.0)
    service.is_ill = False
    virtual_system.clock.advance(LONG)

    assert outcome(ask) == "fine"
    virtual_system.wait_idle()
    assert breaker.state == "closed"


def test_a_probe_that_is_told_to_stop_gives_its_permit_back(virtual_system: VirtualSystem, service: Service) -> None:
    breaker = kept(virtual_system)
    trip(virtual_system, service, breaker(service.ask))
    virtual_system.clock.advance(33.0)

    with pytest.raises(asyncio.CancelledError), breaker:
        raise asyncio.CancelledError
    virtual_system.wait_idle()

    assert breaker.state == "half_open"
    service.is_ill = False
    assert outcome(breaker(service.ask)) == "fine"
    virtual_system.wait_idle()
    assert breaker.state == "closed"


def test_an_excluded_error_gives_a_probes_permit_back(virtual_system: VirtualSystem, service: Service) -> None:
    breaker = kept(virtual_system, excludes=ValueError)
    trip(virtual_system, service, breaker(service.ask))
    virtual_system.clock.advance(33.0)

    for _ in range(3):
        with pytest.raises(ValueError, match="no such card"), breaker:
            raise ValueError("no such card")
        virtual_system.wait_idle()
        assert breaker.state == "half_open"
    service.is_ill = False

    assert outcome(breaker(service.ask)) == "fine"


@pytest.mark.parametrize("is_ill", [False, True])
def test_what_began_before_it_opened_decides_nothing_later(
    virtual_system: VirtualSystem, service: Service, *, is_ill: bool
) -> None:
    """Polly closes a circuit by the late success of a call from before."""
    breaker = kept(virtual_system)
    seen = changes(virtual_system)
    late, probing = Gate(), Gate()

    @breaker
    def ask_late() -> None:
        late.wait()
        if is_ill:
            raise ConnectionError

    early = Crowd(5, ask_late)
    late.reached(5)
    trip(virtual_system, service, breaker(service.ask))
    virtual_system.clock.advance(33.0)
    probe = Crowd(1, breaker(probing.wait))
    probing.reached(1)

    late.open()
    early.join()
    virtual_system.wait_idle()
    assert breaker.state == "half_open"
    probing.open()
    probe.join()
    virtual_system.wait_idle()

    assert [after for _, _, after in seen] == ["open", "half_open", "closed"]


@pytest.mark.report("J49", "Abilityai/trinity PR #688")
def test_refusals_do_not_put_the_probe_off(virtual_system: VirtualSystem, service: Service) -> None:
    """There each refused call set the timer anew, so a busy service was never probed."""
    breaker = kept(virtual_system, cooldown=30.0)
    ask = breaker(service.ask)
    trip(virtual_system, service, ask)
    due = breaker.retry_after()
    assert due is not None

    for second in range(10):
        assert {outcome(ask) for _ in range(100)} == {BreakerOpenError}
        assert breaker.retry_after() == pytest.approx(due - second)
        virtual_system.clock.advance(1.0)
    service.is_ill = False
    virtual_system.clock.advance(due - 10.0)

    assert outcome(ask) == "fine"


def test_a_jump_of_the_clock_makes_one_probe_due_and_no_more(virtual_system: VirtualSystem, service: Service) -> None:
    """As after a suspended machine: the monotonic clock never goes back, but may have gone far."""
    breaker = kept(virtual_system)
    ask = breaker(service.ask)
    trip(virtual_system, service, ask)
    reached = service.calls

    virtual_system.clock.advance(1_000_000.0)
    assert outcome(ask) is ConnectionError
    virtual_system.wait_idle()

    assert outcome(ask) is BreakerOpenError
    assert service.calls == reached + 1
    wait = breaker.retry_after()
    assert wait is not None
    assert wait > 59.0


def test_no_timer_and_no_monitor_is_left_when_it_is_closed(virtual_system: VirtualSystem, service: Service) -> None:
    breaker = kept(virtual_system, probes=3, successes=3)
    ask = breaker(service.ask)
    for _ in range(3):
        trip(virtual_system, service, ask)
        service.is_ill = False
        virtual_system.clock.advance(LONG)
        for _ in range(3):
            ask()
            virtual_system.wait_idle()
        assert breaker.state == "closed"

    assert virtual_system.timers.pending() == []
