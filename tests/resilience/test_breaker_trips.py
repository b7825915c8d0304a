"""When a breaker opens, and when it does not: seen by calls of an unmodified function through it."""

from __future__ import annotations

import asyncio

import pytest

from otpy.resilience import BreakerOpenError
from otpy.testing import Gate, VirtualSystem
from support.services import Crowd, Service, changes, kept, outcome, trip


@pytest.fixture
def service() -> Service:
    return Service()


def test_it_opens_after_so_many_failures_in_a_row(virtual_system: VirtualSystem, service: Service) -> None:
    breaker = kept(virtual_system, failures=5)
    ask = breaker(service.ask)
    seen = changes(virtual_system)

    trip(virtual_system, service, ask, times=4)
    assert breaker.state == "closed"
    trip(virtual_system, service, ask, times=1)

    assert outcome(ask) is BreakerOpenError
    assert service.calls == 5
    assert seen == [("service", "closed", "open")]


def test_the_error_says_which_breaker_and_when_to_come_again(virtual_system: VirtualSystem, service: Service) -> None:
    breaker = kept(virtual_system, name="payments", failures=1, cooldown=30.0)
    ask = breaker(service.ask)
    trip(virtual_system, service, ask, times=1)
    virtual_system.clock.advance(10.0)

    with pytest.raises(
        BreakerOpenError, match=r"^breaker 'payments' is open: it lets the next call through in "
    ) as got:
        ask()

    assert got.value.breaker == "payments"
    assert got.value.retry_after is not None
    assert 20.0 <= got.value.retry_after <= 23.0  # up to a tenth is added by chance
    assert breaker.retry_after() == got.value.retry_after


def test_each_caller_gets_an_error_of_its_own(virtual_system: VirtualSystem, service: Service) -> None:
    """Purgatory 3.0.1 raises one shared object, whose traceback grows and whose context is another caller's."""
    ask = kept(virtual_system, failures=1)(service.ask)
    trip(virtual_system, service, ask, times=1)
    crowd = Crowd(20, ask)

    errors = crowd.results(20)
    crowd.join()

    assert {type(error) for error in errors} == {BreakerOpenError}
    assert len({id(error) for error in errors}) == 20


def test_a_success_begins_the_row_anew(virtual_system: VirtualSystem, service: Service) -> None:
    breaker = kept(virtual_system, failures=3)
    ask = breaker(service.ask)

    for _ in range(5):
        trip(virtual_system, service, ask, times=2)
        service.is_ill = False
        ask()

    assert breaker.state == "closed"


def test_it_does_not_open_for_a_rate_before_there_are_enough_calls(
    virtual_system: VirtualSystem, service: Service
) -> None:
    breaker = kept(virtual_system, failures=None, rate=0.5, min_calls=20)
    ask = breaker(service.ask)

    trip(virtual_system, service, ask, times=19)
    assert breaker.state == "closed"
    trip(virtual_system, service, ask, times=1)

    assert breaker.state == "open"


def test_successes_do_not_hide_a_rate_of_failures(virtual_system: VirtualSystem, service: Service) -> None:
    """Pybreaker 1.4.1 forgets all failures at each success: with one in five it never opens at an 80 % failure rate."""
    breaker = kept(virtual_system, failures=5, rate=0.5, min_calls=20)
    ask = breaker(service.ask)
    for failures in (4, 4, 4, 3):
        service.is_ill = False
        ask()
        trip(virtual_system, service, ask, times=failures)
    assert breaker.state == "closed"
    trip(virtual_system, service, ask, times=1)  # the 20th call, and the fourth failure in a row

    assert service.calls == 20
    assert breaker.state == "open"


def test_failures_age_out_of_the_window(virtual_system: VirtualSystem, service: Service) -> None:
    breaker = kept(virtual_system, failures=None, rate=0.5, min_calls=4, window=60.0)
    ask = breaker(service.ask)

    trip(virtual_system, service, ask, times=3)
    virtual_system.clock.advance(61.0)
    trip(virtual_system, service, ask, times=3)
    assert breaker.state == "closed"
    trip(virtual_system, service, ask, times=1)

    assert breaker.state == "open"


def test_it_opens_when_too_many_calls_are_slow(virtual_system: VirtualSystem) -> None:
    breaker = kept(virtual_system, slow=2.0, slow_rate=0.5, min_calls=4)

    @breaker
    def ask(seconds: float) -> str:
        virtual_system.clock.advance(seconds)
        return "fine"

    for seconds in (0.1, 0.1, 2.0):
        ask(seconds)
    virtual_system.wait_idle()
    assert breaker.state == "closed"
    ask(3.0)
    virtual_system.wait_idle()

    assert breaker.state == "open"


def test_excluded_errors_pass_and_count_as_neither(virtual_system: VirtualSystem) -> None:
    breaker = kept(virtual_system, failures=2, excludes=ValueError)
    errors: list[Exception] = [OSError("down"), *[ValueError("no such card")] * 50, OSError("down")]

    @breaker
    def charge(error: Exception) -> None:
        raise error

    for error in errors:
        assert outcome(lambda error=error: charge(error)) is type(error)  # type: ignore[misc]
    virtual_system.wait_idle()

    assert breaker.state == "open"


def test_a_function_may_tell_which_errors_count(virtual_system: VirtualSystem) -> None:
    def is_theirs(error: BaseException) -> bool:
        return "503" in str(error)

    breaker = kept(virtual_system, failures=1, counts=is_theirs)

    @breaker
    def ask(text: str) -> None:
        raise RuntimeError(text)

    assert outcome(lambda: ask("404")) is RuntimeError
    virtual_system.wait_idle()
    assert breaker.state == "closed"
    assert outcome(lambda: ask("503")) is RuntimeError
    virtual_system.wait_idle()

    assert breaker.state == "open"


@pytest.mark.parametrize("error", [KeyboardInterrupt, asyncio.CancelledError, SystemExit, GeneratorExit])
def test_what_is_no_exception_says_nothing_about_the_service(
    virtual_system: VirtualSystem, error: type[BaseException]
) -> None:
    breaker = kept(virtual_system, failures=1)

    @breaker
    def ask() -> None:
        raise error

    with pytest.raises(error):
        ask()
    virtual_system.wait_idle()

    assert breaker.state == "closed"


def test_the_refusal_of_another_breaker_does_not_count(virtual_system: VirtualSystem, service: Service) -> None:
    bank = kept(virtual_system, name="bank", failures=1)
    payments = kept(virtual_system, name="payments", failures=1)
    ask = payments(bank(service.ask))
    bank.force("open")

    assert outcome(ask) is BreakerOpenError
    virtual_system.wait_idle()

    assert (bank.state, payments.state) == ("forced_open", "closed")


def test_two_breakers_do_not_see_each_other(virtual_system: VirtualSystem) -> None:
    ill, well = Service(), Service()
    one, other = kept(virtual_system, name="one"), kept(virtual_system, name="other")
    ask_ill, ask_well = one(ill.ask), other(well.ask)

    trip(virtual_system, ill, ask_ill)

    assert outcome(ask_ill) is BreakerOpenError
    assert outcome(ask_well) == "fine"
    assert (one.state, other.state) == ("open", "closed")


def test_a_hundred_threads_through_one_unmodified_function(virtual_system: VirtualSystem, service: Service) -> None:
    breaker = kept(virtual_system)
    ask = breaker(service.ask)
    seen = changes(virtual_system)
    service.is_ill = True

    crowd = Crowd(100, ask)
    kinds = {type(result) for result in crowd.results(100)}
    crowd.join()
    virtual_system.wait_idle()

    assert kinds <= {ConnectionError, BreakerOpenError}
    assert breaker.state == "open"
    assert seen == [("service", "closed", "open")]
    reached = service.calls
    assert {outcome(ask) for _ in range(100)} == {BreakerOpenError}
    assert service.calls == reached
    assert breaker.rejected == 200 - reached


def test_a_hundred_tasks_through_one_unmodified_coroutine_function(
    virtual_system: VirtualSystem, service: Service
) -> None:
    breaker = kept(virtual_system)
    ask = breaker(service.aask)
    service.is_ill = True

    async def crowd() -> list[object]:
        return await asyncio.gather(*(ask() for _ in range(100)), return_exceptions=True)

    first = asyncio.run(crowd())
    virtual_system.wait_idle()
    reached = service.calls
    second = asyncio.run(crowd())

    assert {type(result) for result in first} <= {ConnectionError, BreakerOpenError}
    assert {type(result) for result in second} == {BreakerOpenError}
    assert service.calls == reached


@pytest.mark.report("J50", "danielfm/pybreaker#3")
def test_calls_run_side_by_side(virtual_system: VirtualSystem) -> None:
    """Pybreaker holds its lock during the call: ten calls of 20 ms took 205 ms. Here ten are in it at the same time."""
    breaker = kept(virtual_system)
    inside = Gate()

    @breaker
    def ask() -> str:
        inside.wait()
        return "fine"

    crowd = Crowd(10, ask)
    together = inside.reached(10)
    inside.open()

    assert len(together) == 10
    assert crowd.results(10) == ["fine"] * 10
    crowd.join()
