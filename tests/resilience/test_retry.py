"""`retry`: what is tried again, how often, after which pauses, and what is raised in the end."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.errors import SpecError
from otpy.resilience import BreakerOpenError, RetryBudget, RetryError, retry
from otpy.testing import Gate, Probe, VirtualSystem
from support.services import Crowd, Service, kept, outcome, trip

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NO_PAUSE = otpy.Backoff(first=0.0, most=0.0)
STEADY = otpy.Backoff(first=1.0, most=8.0, jitter=0.0)


class Flaky:
    """Fails so many times, then gives its value."""

    def __init__(self, *errors: BaseException) -> None:
        self.errors = list(errors)
        self.calls: list[float] = []
        self.now: Callable[[], float] = lambda: 0.0

    def ask(self, value: str = "fine", *, twice: bool = False) -> str:
        self.calls.append(self.now())
        if self.errors:
            raise self.errors.pop(0)
        return value * 2 if twice else value

    async def aask(self, value: str = "fine", *, twice: bool = False) -> str:
        return self.ask(value, twice=twice)


class Runner(otpy.GenServer):
    """Makes a call in an actor, on the system's clock, and tells the probe what came of it."""

    def init(self, probe: otpy.Ref[Any]) -> None:
        self._probe = probe

    @otpy.cast
    def run(self, call: Callable[[], object]) -> None:
        self._probe.tell(_result(call))


class AsyncRunner(otpy.GenServer):
    """The same, on the loop."""

    def init(self, probe: otpy.Ref[Any]) -> None:
        self._probe = probe

    @otpy.cast
    async def run(self, call: Callable[[], Any]) -> None:
        try:
            self._probe.tell(await call())
        except Exception as error:
            self._probe.tell(error)


def _result(call: Callable[[], object]) -> object:
    try:
        return call()
    except Exception as error:
        return error


@pytest.fixture
def played(virtual_system: VirtualSystem) -> Callable[[Callable[[], object]], object]:
    """Runs a call in an actor until it is done, however long it takes in virtual time."""

    def play(call: Callable[[], object]) -> object:
        probe = Probe(virtual_system)
        runner = virtual_system.start(Runner, probe.ref)
        runner.cast(Runner.run, call)
        virtual_system.clock.advance(100_000.0)
        [found] = probe.messages
        return found

    return play


def test_a_call_that_fails_is_made_again() -> None:
    flaky = Flaky(OSError("one"), OSError("two"))
    ask = retry(on=OSError, backoff=NO_PAUSE)(flaky.ask)

    assert ask("good", twice=True) == "goodgood"
    assert len(flaky.calls) == 3


def test_a_single_call_needs_no_decorator() -> None:
    flaky = Flaky(OSError("one"))

    assert retry(on=OSError, backoff=NO_PAUSE).call(flaky.ask, "good", twice=True) == "goodgood"


def test_a_coroutine_function_is_awaited_again() -> None:
    decorated, single = Flaky(OSError("one")), Flaky(OSError("one"))
    again = retry(on=OSError, backoff=NO_PAUSE)
    ask = again(decorated.aask)

    assert asyncio.run(ask("good", twice=True)) == "goodgood"
    assert asyncio.run(again.acall(single.aask, "good", twice=True)) == "goodgood"
    assert (len(decorated.calls), len(single.calls)) == (2, 2)


def test_what_is_raised_says_how_often_and_how_it_failed_last() -> None:
    last = OSError("three")
    flaky = Flaky(OSError("one"), OSError("two"), last)

    with pytest.raises(RetryError) as got:
        retry(on=OSError, attempts=3, backoff=NO_PAUSE).call(flaky.ask)

    assert str(got.value) == "Flaky.ask failed 3 times, and that was the last attempt; last by OSError: three"
    assert (got.value.attempts, got.value.gave_up, got.value.last) == (3, "attempts", last)
    assert got.value.__cause__ is last


def test_the_same_when_awaited() -> None:
    last = OSError("one")

    with pytest.raises(RetryError, match=r"^Flaky.aask failed once, and that was the last attempt") as got:
        asyncio.run(retry(on=OSError, attempts=1).acall(Flaky(last).aask))

    assert got.value.__cause__ is last


@pytest.mark.parametrize(
    ("on", "calls"), [(OSError, 1), ((OSError, KeyError), 2), (lambda error: "card" in str(error), 2)]
)
def test_an_error_that_is_not_meant_passes_unchanged(on: Any, calls: int) -> None:
    error = KeyError("no such card")
    flaky = Flaky(error, ValueError("wrong"))

    with pytest.raises((KeyError, ValueError)) as got:
        retry(on=on, backoff=NO_PAUSE).call(flaky.ask)

    assert len(flaky.calls) == calls
    assert got.value.__cause__ is None


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), SystemExit(), asyncio.CancelledError(), otpy.errors.ActorExit(otpy.Normal())]
)
def test_what_is_no_exception_is_never_tried_again(error: BaseException) -> None:
    flaky = Flaky(error)

    with pytest.raises(type(error)):
        retry(on=BaseException, backoff=NO_PAUSE).call(flaky.ask)

    assert len(flaky.calls) == 1


def test_pauses_are_on_the_clock_of_the_system(
    virtual_system: VirtualSystem, played: Callable[[Callable[[], object]], object]
) -> None:
    flaky = Flaky(*[OSError("down")] * 5)
    flaky.now = virtual_system.clock.now
    ask = retry(on=OSError, attempts=6, backoff=STEADY)(flaky.ask)

    assert played(ask) == "fine"
    assert flaky.calls == [0.0, 1.0, 3.0, 7.0, 15.0, 23.0]


def test_pauses_of_a_coroutine_are_too(virtual_system: VirtualSystem) -> None:
    flaky = Flaky(*[OSError("down")] * 2)
    flaky.now = virtual_system.clock.now
    probe = Probe(virtual_system)
    runner = virtual_system.start(AsyncRunner, probe.ref)

    runner.cast(AsyncRunner.run, retry(on=OSError, backoff=STEADY)(flaky.aask))
    virtual_system.clock.advance(10.0)

    assert probe.messages == ["fine"]
    assert flaky.calls == [0.0, 1.0, 3.0]


def test_an_actor_that_is_told_to_stop_leaves_the_pause_at_once(virtual_system: VirtualSystem) -> None:
    flaky = Flaky(*[OSError("down")] * 2)
    seen: list[object] = []

    def work() -> None:
        try:
            retry(on=OSError, backoff=otpy.Backoff(first=60.0, jitter=0.0)).call(flaky.ask)
        except BaseException as error:
            seen.append(type(error))
            raise

    ref = virtual_system.start(work)
    virtual_system.wait_idle()
    ref.exit(otpy.Shutdown())
    virtual_system.wait_idle()

    assert not ref.is_alive()
    assert seen == [otpy.errors.ActorExit]
    assert len(flaky.calls) == 1


def test_no_attempt_begins_after_the_deadline_and_no_pause_is_made_in_vain(
    virtual_system: VirtualSystem, played: Callable[[Callable[[], object]], object]
) -> None:
    flaky = Flaky(*[OSError("down")] * 9)
    flaky.now = virtual_system.clock.now
    ended: list[float] = []

    def call() -> object:
        found = _result(lambda: retry(on=OSError, attempts=None, backoff=STEADY, deadline=10.0).call(flaky.ask))
        ended.append(virtual_system.clock.now())
        return found

    error = played(call)

    assert isinstance(error, RetryError)
    assert (error.gave_up, error.attempts) == ("deadline", 4)
    assert flaky.calls == [0.0, 1.0, 3.0, 7.0]
    assert ended == [7.0]


class BusyError(Exception):
    retry_after = 30.0


@pytest.mark.parametrize("how", ["attribute", "function"])
def test_a_service_is_not_called_sooner_than_it_asked_for(
    virtual_system: VirtualSystem, played: Callable[[Callable[[], object]], object], how: str
) -> None:
    error = BusyError() if how == "attribute" else OSError("Retry-After: 30")
    flaky = Flaky(error)
    flaky.now = virtual_system.clock.now
    asked = None if how == "attribute" else (lambda error: float(str(error).partition(": ")[2]))
    backoff = otpy.Backoff(first=5.0, most=20.0)

    assert played(retry(on=Exception, backoff=backoff, retry_after=asked)(flaky.ask)) == "fine"
    assert 30.0 <= flaky.calls[1] <= 31.0  # a fifth of the pause of 5 s is added by chance


@pytest.mark.parametrize("asked", [None, -1.0, float("inf"), float("nan"), "soon"])
def test_what_cannot_be_waited_for_is_not(
    virtual_system: VirtualSystem, played: Callable[[Callable[[], object]], object], asked: object
) -> None:
    error = OSError("down")
    error.retry_after = asked  # type: ignore[attr-defined]
    flaky = Flaky(error)
    flaky.now = virtual_system.clock.now

    assert played(retry(on=OSError, backoff=STEADY)(flaky.ask)) == "fine"
    assert flaky.calls == [0.0, 1.0]


def test_each_attempt_goes_through_the_breaker_and_an_open_one_ends_it(
    virtual_system: VirtualSystem, played: Callable[[Callable[[], object]], object]
) -> None:
    service = Service()
    service.is_ill = True
    breaker = kept(virtual_system, failures=3)

    error = played(retry(on=ConnectionError, attempts=10, backoff=STEADY, breaker=breaker)(service.ask))

    assert isinstance(error, BreakerOpenError)
    assert isinstance(error.__cause__, ConnectionError)
    assert error.__notes__ == ["Service.ask had failed before; attempts: 3"]
    assert service.calls == 3


def test_with_a_deadline_it_waits_for_the_breaker_and_spends_no_attempt(
    virtual_system: VirtualSystem, played: Callable[[Callable[[], object]], object]
) -> None:
    service = Service()
    breaker = kept(virtual_system, failures=1, cooldown=30.0)
    trip(virtual_system, service, breaker(service.ask), times=1)
    service.is_ill = False

    assert played(retry(on=OSError, attempts=1, deadline=40.0, breaker=breaker)(service.ask)) == "fine"
    virtual_system.wait_idle()
    assert breaker.state == "closed"


@pytest.mark.parametrize("forced", [False, True])
def test_it_does_not_wait_for_a_breaker_that_stays_open_longer(
    virtual_system: VirtualSystem, played: Callable[[Callable[[], object]], object], *, forced: bool
) -> None:
    service = Service()
    breaker = kept(virtual_system, failures=1, cooldown=30.0)
    if forced:
        breaker.force("open")
    else:
        trip(virtual_system, service, breaker(service.ask), times=1)
    calls = service.calls

    error = played(retry(on=Exception, deadline=20.0, breaker=breaker)(service.ask))

    assert isinstance(error, BreakerOpenError)
    assert error.__cause__ is None
    assert service.calls == calls


def test_the_breaker_of_a_coroutine_function_counts_what_was_awaited(virtual_system: VirtualSystem) -> None:
    service = Service()
    service.is_ill = True
    breaker = kept(virtual_system, failures=2)

    got = outcome(lambda: asyncio.run(retry(on=OSError, attempts=2, backoff=NO_PAUSE, breaker=breaker)(service.aask)()))  # type: ignore[arg-type]
    virtual_system.wait_idle()

    assert got is RetryError
    assert breaker.state == "open"


def test_without_room_in_the_budget_nothing_is_tried_again() -> None:
    budget = RetryBudget(ratio=0.5, minimum=0.0)
    again = retry(on=OSError, backoff=NO_PAUSE, attempts=2, budget=budget)
    calls = 0
    gave_up: list[str] = []

    def ask() -> None:
        nonlocal calls
        calls += 1
        raise OSError("down")

    for _ in range(20):
        with pytest.raises(RetryError) as got:
            again.call(ask)
        gave_up.append(got.value.gave_up)

    assert calls == 30
    assert gave_up.count("budget") == 10


def test_a_retry_in_a_retry_gives_up_for_both() -> None:
    flaky = Flaky(*[OSError("down")] * 9)
    inner = retry(on=OSError, attempts=2, backoff=NO_PAUSE)(flaky.ask)

    with pytest.raises(RetryError) as got:
        retry(on=RetryError, attempts=3, backoff=NO_PAUSE).call(inner)

    assert len(flaky.calls) == 6
    assert isinstance(got.value.last, RetryError)


def test_two_threads_do_not_see_each_others_attempts(virtual_system: VirtualSystem) -> None:
    with Gate() as gate:

        @retry(on=OSError, attempts=2, backoff=NO_PAUSE)
        def ask() -> None:
            gate.wait()
            raise OSError("down")

        crowd = Crowd(20, ask)
        gate.reached(20)
    errors = crowd.results(20)
    crowd.join()

    assert {error.attempts for error in errors if isinstance(error, RetryError)} == {2}
    assert len({id(error) for error in errors}) == 20


def test_generators_and_coroutines_in_disguise_are_refused() -> None:
    def pages() -> Iterator[int]:
        yield 1

    async def ask() -> None: ...

    with pytest.raises(TypeError, match="retry what is called inside of it"):
        retry(on=OSError)(pages)
    with pytest.raises(TypeError, match="returns a coroutine: declare it `async`, or use acall"):
        retry(on=OSError).call(lambda: ask())  # noqa: PLW0108 - this is the point
    with pytest.raises(TypeError, match="a retry is of a function, got int"):
        retry(on=OSError)(17)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"attempts": 0}, "attempts=0: a whole number > 0, or None"),
        ({"deadline": -1.0}, "deadline=-1.0: seconds > 0, or None"),
        ({"attempts": None}, "attempts=None, deadline=None: it would never end"),
        ({"backoff": 3.0}, "backoff=3.0: an otpy.Backoff"),
        ({"backoff": otpy.Backoff(first=-1.0)}, "first=-1.0, most=60.0: seconds, with 0 <= first <= most"),
        ({"on": 17}, "on=17: a class of errors, a tuple of them, or a function of an error"),
    ],
)
def test_what_cannot_be_is_refused_where_it_is_written(options: dict[str, Any], text: str) -> None:
    with pytest.raises(SpecError) as got:
        retry(**{"on": OSError, **options})

    assert str(got.value) == f"retry: {text}"


def test_without_tenacity_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tenacity", None)
    monkeypatch.delitem(sys.modules, "otpy.resilience.attempts", raising=False)

    with pytest.raises(ImportError, match=r"^otpy.resilience.retry needs tenacity: install otpy\[jobs\]$"):
        retry(on=OSError)
