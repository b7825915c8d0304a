"""The ways to send a call through a breaker: decorator, `with`, `async with`, permits."""

from __future__ import annotations

import asyncio
import functools
import inspect
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.resilience import Breaker, BreakerOpenError
from support.services import Service, kept, outcome, trip

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from otpy.testing import VirtualSystem


@pytest.fixture
def service() -> Service:
    return Service()


def test_a_decorated_function_is_still_the_function(virtual_system: VirtualSystem) -> None:
    @kept(virtual_system)
    def charge(card: str, *, amount: int = 1) -> str:
        """Charge a card."""
        return f"{card} {amount}"

    assert charge("visa", amount=3) == "visa 3"
    assert (charge.__name__, charge.__doc__) == ("charge", "Charge a card.")
    assert list(inspect.signature(charge).parameters) == ["card", "amount"]


def test_a_decorated_coroutine_function_is_still_one(virtual_system: VirtualSystem, service: Service) -> None:
    ask = kept(virtual_system)(service.aask)

    assert inspect.iscoroutinefunction(ask)
    assert asyncio.run(ask()) == "fine"


def test_a_method_may_be_decorated(virtual_system: VirtualSystem) -> None:
    class Bank:
        owner = "otpy"

        @kept(virtual_system)
        def hold(self, amount: int) -> str:
            return f"{self.owner} {amount}"

    assert Bank().hold(3) == "otpy 3"


@pytest.mark.parametrize("shape", ["lambda", "partial", "callable object"])
def test_whatever_returns_a_coroutine_is_counted_when_that_has_ended(
    virtual_system: VirtualSystem, service: Service, shape: str
) -> None:
    class Asker:
        async def __call__(self) -> str:
            return await service.aask()

    shapes: dict[str, Any] = {
        "lambda": lambda: service.aask(),  # noqa: PLW0108 - this is the point
        "partial": functools.partial(service.aask),
        "callable object": Asker(),
    }
    breaker = kept(virtual_system, failures=3)
    service.is_ill = True

    through = breaker(shapes[shape])
    for _ in range(3):
        assert outcome(lambda: asyncio.run(through())) is ConnectionError
    virtual_system.wait_idle()

    assert breaker.state == "open"


def test_generators_are_refused_for_their_call_does_nothing_yet() -> None:
    def pages() -> Iterator[int]:
        yield 1

    async def apages() -> AsyncIterator[int]:
        yield 1

    for function in (pages, apages):
        with pytest.raises(TypeError, match="use `with` the breaker inside of it"):
            Breaker("pages")(function)
    with pytest.raises(TypeError, match="a breaker guards a function, got int"):
        Breaker("pages")(17)  # type: ignore[arg-type]


def test_a_with_block_is_a_call(virtual_system: VirtualSystem) -> None:
    breaker = kept(virtual_system, failures=2)
    for _ in range(2):
        with pytest.raises(OSError, match="down"), breaker:
            raise OSError("down")
    virtual_system.wait_idle()

    with pytest.raises(BreakerOpenError), breaker:
        pytest.fail("the block is not entered")


def test_an_async_with_block_is_a_call(virtual_system: VirtualSystem) -> None:
    breaker = kept(virtual_system, failures=2)

    async def ask() -> None:
        async with breaker:
            raise OSError("down")

    for _ in range(2):
        assert outcome(lambda: asyncio.run(ask())) is OSError
    virtual_system.wait_idle()

    assert outcome(lambda: asyncio.run(ask())) is BreakerOpenError


def test_blocks_may_stand_in_each_other(virtual_system: VirtualSystem) -> None:
    one, other = kept(virtual_system, name="one", failures=1), kept(virtual_system, name="other", failures=1)

    with one, other, one, pytest.raises(OSError, match="down"), other:
        raise OSError("down")
    virtual_system.wait_idle()

    assert (one.state, other.state) == ("closed", "open")


def test_blocks_that_are_left_in_another_order_keep_their_own_breakers(virtual_system: VirtualSystem) -> None:
    one, other = kept(virtual_system, name="one", failures=1), kept(virtual_system, name="other", failures=1)

    def reading(breaker: Breaker) -> Iterator[None]:
        with breaker:
            yield

    first, second = reading(one), reading(other)
    next(first)
    next(second)
    with pytest.raises(OSError, match="down"):
        first.throw(OSError("down"))
    second.close()
    virtual_system.wait_idle()

    assert (one.state, other.state) == ("open", "closed")


def test_a_block_that_is_left_in_another_context_reports_nothing(virtual_system: VirtualSystem) -> None:
    breaker = kept(virtual_system, failures=1)

    async def in_a_task() -> None:
        breaker.__enter__()

    asyncio.run(in_a_task())
    breaker.__exit__(OSError, OSError("down"), None)
    virtual_system.wait_idle()

    assert breaker.state == "closed"


def test_tasks_have_their_own_blocks(virtual_system: VirtualSystem, service: Service) -> None:
    breaker = kept(virtual_system, probes=1)
    trip(virtual_system, service, breaker(service.ask))
    virtual_system.clock.advance(33.0)

    async def main() -> list[object]:
        go_on = asyncio.Event()

        async def probe() -> str:
            async with breaker:
                await go_on.wait()
            return "fine"

        async def refused() -> str:
            await asyncio.sleep(0)
            try:
                async with breaker:
                    return "let through"
            finally:
                go_on.set()

        return await asyncio.gather(probe(), refused(), return_exceptions=True)

    first, second = asyncio.run(main())
    virtual_system.wait_idle()

    assert first == "fine"
    assert isinstance(second, BreakerOpenError)
    assert breaker.state == "closed"


def test_a_permit_is_told_later_and_once(virtual_system: VirtualSystem) -> None:
    breaker = kept(virtual_system, failures=3, excludes=ValueError)
    permits = [breaker.allow() for _ in range(5)]
    assert not permits[0].is_probe

    permits[0].failed()
    permits[0].succeeded()  # too late
    permits[1].release()
    permits[2].failed(ValueError())
    permits[3].failed(OSError("down"))
    virtual_system.wait_idle()
    assert breaker.state == "closed"
    permits[4].failed()
    virtual_system.wait_idle()

    assert breaker.state == "open"
    with pytest.raises(BreakerOpenError):
        breaker.allow()


def test_a_slow_permit_counts_as_slow(virtual_system: VirtualSystem) -> None:
    breaker = kept(virtual_system, slow=1.0, slow_rate=1.0, min_calls=1)

    permit = breaker.allow()
    virtual_system.clock.advance(1.0)
    permit.succeeded()
    virtual_system.wait_idle()

    assert breaker.state == "open"


def test_the_end_of_the_holder_of_a_permit_is_the_failure_of_a_probe(
    virtual_system: VirtualSystem, service: Service
) -> None:
    """For those who hand the call to another actor, as a scheduler does."""
    breaker = kept(virtual_system)
    trip(virtual_system, service, breaker(service.ask))
    virtual_system.clock.advance(33.0)
    agent = virtual_system.start(work)

    assert breaker.allow(holder=agent).is_probe
    virtual_system.wait_idle()
    assert breaker.state == "half_open"
    agent.kill()
    virtual_system.wait_idle()

    assert breaker.state == "open"


def work() -> None:
    otpy.sleep(1_000_000.0)
