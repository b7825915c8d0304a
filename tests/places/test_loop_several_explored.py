"""Several handlers of one actor in flight, in an order that a seed decides."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.core.reason import Crashed, Killed, Normal
from otpy.errors import CallExitError
from otpy.testing import explore
from support.doer import BOOM, AsyncDoer, Doer, flush

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

SEEDS = 40


class Several(AsyncDoer):
    """A doer with up to three handlers in flight."""

    max_concurrency = 3


async def pause(actor: Any, number: int) -> int:
    for _ in range(number % 4):
        await asyncio.sleep(0)
    await otpy.asleep(number % 3)
    return number


async def ask_many(actor: Any, server: Any, count: int) -> list[int]:
    return await asyncio.gather(*(server.acall(Doer.do, pause, number) for number in range(count)))


def test_all_are_answered_and_never_more_than_three_at_once() -> None:
    def scenario(system: otpy.System) -> None:
        at_once: list[int] = [0]
        most: list[int] = [0]

        async def count(actor: Any, number: int) -> int:
            at_once[0] += 1
            most[0] = max(most[0], at_once[0])
            try:
                return await pause(actor, number)
            finally:
                at_once[0] -= 1

        async def ask(actor: Any) -> list[int]:
            return await asyncio.gather(*(server.acall(Doer.do, count, number) for number in range(10)))

        server, client = system.start(Several), system.start(AsyncDoer)
        assert client.within(None).call(Doer.do, ask) == list(range(10))
        assert most == [3]

    explore(scenario, seeds=SEEDS)


ENDS: dict[str, Any] = {
    "kill": (lambda ref: ref.kill(), Killed()),
    "exit": (lambda ref: ref.exit(BOOM), BOOM),
    "crash": (lambda ref: ref.cast(Doer.run, lambda _: 1 / 0), None),
    "decision": (lambda ref: ref.cast(Doer.run, lambda _: otpy.Stop(BOOM)), BOOM),
    "stop": (lambda ref: ref.stop(block=False), Normal()),
}


@pytest.mark.parametrize("end", ENDS)
def test_each_caller_hears_of_the_end_and_all_is_closed(end: str) -> None:
    """Whenever it comes, and what its handlers are just in."""
    order, reason = ENDS[end]

    def scenario(system: otpy.System) -> None:
        log: list[str] = []

        @asynccontextmanager
        async def opened() -> AsyncIterator[None]:
            log.append("open")
            yield
            await asyncio.sleep(0)
            log.append("close")

        async def try_often(actor: Any) -> list[Any]:
            calls = (server.acall(Doer.do, pause, number) for number in range(6))
            return await asyncio.gather(*calls, return_exceptions=True)

        server = system.start(Several, deed=lambda actor: actor.ause(opened()))
        client = system.start(AsyncDoer, deed=lambda actor: actor.link(server) and None)
        client.call(Doer.do, lambda actor: setattr(actor, "trap_exit", True))
        answers: list[Any] = []

        async def collect(actor: Any) -> None:
            answers.extend(await try_often(actor))

        client.cast(Doer.run, collect)
        otpy.sleep(0.5)
        order(server)
        monitor = server.monitor()
        down = monitor.wait(None)
        if down.reason != otpy.NoProc():
            assert down.reason == reason or (reason is None and isinstance(down.reason, Crashed))
        flush(client)
        system.wait_idle()  # what a killed actor had entered is closed behind its death
        assert len(answers) == 6
        assert all(isinstance(answer, int | CallExitError) for answer in answers)
        assert log == ["open", "close"]

    explore(scenario, seeds=SEEDS)


def test_calls_in_circles_end_in_an_answer_or_a_deadlock() -> None:
    def scenario(system: otpy.System) -> None:
        one, other = system.start(Several), system.start(Several)

        async def ask_on(actor: Any, depth: int) -> int:
            target = other if actor.ref is one else one
            if not depth:
                return 0
            return 1 + int(await target.within(None).acall(Doer.do, ask_on, depth - 1))

        async def ask_all(actor: Any) -> list[Any]:
            calls = (ref.within(None).acall(Doer.do, ask_on, 3) for ref in (one, other, one))
            return await asyncio.gather(*calls, return_exceptions=True)

        answers = system.start(AsyncDoer).within(None).call(Doer.do, ask_all)
        assert all(answer == 3 or isinstance(answer, CallExitError) for answer in answers)

    explore(scenario, seeds=SEEDS)
