"""The place `loop`: what a handler awaits of otpy."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.errors import (
    CallExitError,
    CallTimeoutError,
    DeadlockError,
    NoProcError,
)
from otpy.testing import Gate
from support.doer import BOOM, AsyncDoer, Doer, flush
from support.waits import hold

if TYPE_CHECKING:
    from otpy.testing import VirtualClock


def test_a_call_times_out_on_the_systems_clock(timed: otpy.System, clock: VirtualClock) -> None:
    gate = Gate()
    server, client = timed.start(AsyncDoer), timed.start(AsyncDoer)
    server.cast(Doer.run, hold, gate)
    log: list[str] = []

    async def ask(actor: Any) -> None:
        try:
            await server.acall(Doer.do, lambda _: None)
        except CallTimeoutError as error:
            log.append(str(error))

    client.cast(Doer.run, ask)
    clock.advance(4.9)
    assert log == []
    clock.advance(0.1)
    assert len(log) == 1
    gate.open()


def test_a_call_times_out_in_real_time(system: otpy.System) -> None:
    gate = Gate()
    server = system.start(AsyncDoer)
    server.cast(Doer.run, hold, gate)

    async def main() -> None:
        with pytest.raises(CallTimeoutError):
            await server.within(0.01).acall(Doer.do, lambda _: None)
        with pytest.raises(TimeoutError):
            await server.monitor().await_down(0.01)

    asyncio.run(main())
    gate.open()


def test_calls_without_end_leave_the_loop_time_for_others(system: otpy.System) -> None:
    """Most of them are answered without a look at what else is ready."""
    server = system.start(AsyncDoer)

    async def ask_until_told(actor: Any) -> int:
        told = asyncio.Event()
        asyncio.get_running_loop().call_soon(told.set)
        calls = 0
        while not told.is_set():
            await server.acall(Doer.do, lambda _: None)
            calls += 1
        return calls

    assert system.start(AsyncDoer).call(Doer.do, ask_until_told) <= 64


def test_the_servers_death_ends_the_call(system: otpy.System) -> None:
    server = system.start(AsyncDoer)

    async def main() -> None:
        with pytest.raises(CallExitError):
            await server.acall(Doer.do, lambda _: otpy.exit(BOOM))
        with pytest.raises(NoProcError):
            await server.acall(Doer.do, lambda _: None)
        assert (await server.monitor().await_down()).reason == otpy.NoProc()

    asyncio.run(main())


def test_sleep_is_on_the_systems_clock(timed: otpy.System, clock: VirtualClock) -> None:
    ref = timed.start(AsyncDoer)

    async def nap(actor: Any) -> None:
        await otpy.asleep(3.0)
        actor.log.append("awake")

    ref.cast(Doer.run, nap)
    timed.wait_idle()
    assert timed.record(ref.path).waiting == "sleep"
    clock.advance(3.0)
    assert flush(ref) == ["awake"]


def test_a_circle_through_both_kinds_of_calls_is_found(system: otpy.System) -> None:
    plain, served = system.start(Doer), system.start(AsyncDoer)

    async def ask_plain(actor: Any) -> Any:
        return await plain.acall(Doer.do, lambda _: served.call(Doer.do, lambda _: None))

    with pytest.raises(CallExitError, match="DeadlockError"):
        served.call(Doer.do, ask_plain)

    async def ask_self(actor: Any) -> Any:
        with pytest.raises(DeadlockError):
            await actor.ref.acall(Doer.do, lambda _: None)
        return "refused"

    assert system.start(AsyncDoer).call(Doer.do, ask_self) == "refused"
