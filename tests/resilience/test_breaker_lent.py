"""Calls that go by a permit which somebody else has got for them, as the calls of a job do."""

from __future__ import annotations

import contextvars
import logging
from typing import TYPE_CHECKING

import pytest

from otpy.resilience import Breaker, BreakerOpenError
from otpy.resilience.permit import lent
from support.services import LONG, Service, kept, outcome, trip

if TYPE_CHECKING:
    from otpy.testing import VirtualSystem


@pytest.fixture
def service() -> Service:
    return Service()


def test_a_permit_carries_no_call_after_its_end(virtual_system: VirtualSystem, service: Service) -> None:
    breaker = kept(virtual_system)
    ask = breaker(service.ask)
    trip(virtual_system, service, ask)
    virtual_system.clock.advance(LONG)
    permit = breaker.allow()
    with lent([breaker], [permit]):
        later = contextvars.copy_context()
    permit.failed()
    assert outcome(lambda: later.run(ask)) is BreakerOpenError
    assert service.calls == 5


def test_a_permit_of_the_phase_before_carries_one_call_which_counts_nothing(
    virtual_system: VirtualSystem, service: Service
) -> None:
    breaker = kept(virtual_system, probes=2, successes=2)
    ask = breaker(service.ask)
    trip(virtual_system, service, ask)
    virtual_system.clock.advance(LONG)
    first, second = breaker.allow(), breaker.allow()
    first.failed()
    virtual_system.wait_idle()
    service.is_ill = False
    with lent([breaker], [second]):
        assert outcome(ask) == "fine", "it was let begin, as one of the two"
        virtual_system.wait_idle()
        assert breaker.state == "open"
        assert outcome(ask) is BreakerOpenError
        breaker.reset()
        assert outcome(ask) == "fine"
    second.failed()
    virtual_system.wait_idle()
    assert (breaker.state, service.calls) == ("closed", 7)


@pytest.mark.parametrize("is_forced", [False, True])
def test_a_permit_of_before_it_opened_carries_one_call_unless_that_was_by_hand(
    virtual_system: VirtualSystem, service: Service, *, is_forced: bool
) -> None:
    breaker = kept(virtual_system)
    ask = breaker(service.ask)
    permit = breaker.allow()
    if is_forced:
        breaker.force("open")
    else:
        trip(virtual_system, service, ask)
    with lent([breaker], [permit]):
        told = [outcome(ask), outcome(ask)]
    assert told == [BreakerOpenError if is_forced else ConnectionError, BreakerOpenError]


def test_a_permit_of_two_phases_before_carries_nothing(virtual_system: VirtualSystem, service: Service) -> None:
    breaker = kept(virtual_system)
    ask = breaker(service.ask)
    permit = breaker.allow()
    trip(virtual_system, service, ask)
    virtual_system.clock.advance(LONG)
    probe = breaker.allow()
    virtual_system.wait_idle()
    with lent([breaker], [permit]):
        assert outcome(ask) is BreakerOpenError
    probe.failed()
    virtual_system.wait_idle()
    with lent([breaker], [permit]):
        assert outcome(ask) is BreakerOpenError


def test_a_slow_probe_carries_no_further_call(virtual_system: VirtualSystem, service: Service) -> None:
    breaker = kept(virtual_system, slow=1.0)
    ask = breaker(service.ask)
    trip(virtual_system, service, ask)
    service.is_ill = False
    virtual_system.clock.advance(LONG)
    with lent([breaker], [breaker.allow()]):
        with breaker:
            virtual_system.clock.advance(2.0)
        assert outcome(ask) is BreakerOpenError
    virtual_system.wait_idle()
    assert breaker.state == "open"


def test_calls_by_one_permit_at_the_same_time_are_one_probe(virtual_system: VirtualSystem, service: Service) -> None:
    breaker = kept(virtual_system)
    trip(virtual_system, service, breaker(service.ask))
    virtual_system.clock.advance(LONG)
    permit = breaker.allow()
    with lent([breaker], [permit]):
        one, other = breaker.allow(), breaker.allow()
    one.succeeded()
    virtual_system.wait_idle()
    assert breaker.state == "closed"
    other.failed()
    permit.failed()
    virtual_system.wait_idle()
    assert breaker.state == "closed", "they began in a phase that is over"


def test_a_process_without_the_permit_does_not_say_that_the_breaker_has_no_actor(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    breaker = Breaker("far")
    with caplog.at_level(logging.WARNING, "otpy"):
        with lent([breaker], []):
            assert breaker(service.ask)() == "fine"
        assert caplog.messages == []
        breaker(service.ask)()
    assert len(caplog.messages) == 1


def test_a_call_that_says_nothing_leaves_the_probe_to_the_next(virtual_system: VirtualSystem, service: Service) -> None:
    breaker = kept(virtual_system, excludes=LookupError)
    ask = breaker(service.ask)
    trip(virtual_system, service, ask)
    service.is_ill = False
    virtual_system.clock.advance(LONG)
    permit = breaker.allow()
    with lent([breaker], [permit]):
        assert outcome(breaker({}.popitem)) is KeyError
        virtual_system.wait_idle()
        with pytest.raises(BreakerOpenError):
            contextvars.Context().run(ask)  # somebody else
        assert outcome(ask) == "fine"
    permit.succeeded()
    virtual_system.wait_idle()
    assert (breaker.state, service.calls) == ("closed", 6)
