"""The place `loop`: a handler is a task like any other."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

import otpy
from otpy.errors import (
    CallExitError,
)
from support.doer import AsyncDoer, Doer
from support.waits import LONG


def test_timeouts_of_asyncio_work_inside(system: otpy.System) -> None:
    async def wait(actor: Any) -> str:
        try:
            async with asyncio.timeout(0.001):
                await asyncio.Event().wait()
        except TimeoutError:
            return "in time"
        return "never"

    ref = system.start(AsyncDoer)
    assert [ref.call(Doer.do, wait) for _ in range(3)] == ["in time"] * 3


def test_groups_of_tasks_work_inside(system: otpy.System) -> None:
    server = system.start(Doer)

    async def ask_many(actor: Any) -> list[int]:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(server.acall(Doer.do, lambda _, n: n, n)) for n in range(10)]
        return [task.result() for task in tasks]

    assert system.start(AsyncDoer).call(Doer.do, ask_many) == list(range(10))


def test_a_task_that_a_handler_starts_belongs_to_its_actor(system: otpy.System) -> None:
    async def look(actor: Any) -> otpy.Ref[Any]:
        async def who() -> otpy.Ref[Any]:
            return otpy.current()

        return await asyncio.create_task(who())

    ref = system.start(AsyncDoer)
    assert ref.call(Doer.do, look) is ref
    assert ref.call(Doer.do, lambda _: otpy.current()) is ref


def test_each_handler_has_a_task_of_its_own_for_its_whole_length(system: otpy.System) -> None:
    """Also while one lends another its step, as a call to an actor that rests does."""
    server, client = system.start(AsyncDoer), system.start(AsyncDoer)

    async def look(actor: Any) -> Any:
        before = asyncio.current_task()
        await asyncio.sleep(0)
        assert asyncio.current_task() is before
        return id(before)

    async def ask(actor: Any) -> None:
        own = asyncio.current_task()
        for _ in range(100):
            assert await server.acall(Doer.do, look) != id(own)
            assert await server.acall(Doer.do, lambda _: id(asyncio.current_task())) != id(own)
            assert asyncio.current_task() is own

    client.call(Doer.do, ask)


def test_a_cancellation_reaches_the_task_that_a_lent_handler_awaits(system: otpy.System) -> None:
    log: list[str] = []
    begun = threading.Event()

    async def beside() -> None:
        begun.set()
        try:
            await asyncio.sleep(LONG)
        finally:
            log.append("beside")

    async def wait(actor: Any) -> None:
        try:
            await asyncio.create_task(beside())
        finally:
            log.append("handler")

    async def ask(actor: Any, server: Any) -> None:
        await server.acall(Doer.do, lambda _: None)  # now a worker rests, to which the next one lends its step
        await server.acall(Doer.do, wait)

    server, client = system.start(AsyncDoer), system.start(AsyncDoer)
    client.cast(Doer.run, ask, server)
    assert begun.wait(5.0)
    server.kill()
    system.wait_idle()
    assert log == ["beside", "handler"]
    assert not client.is_alive()


def test_a_handler_that_awaits_its_own_task_is_told_so(system: otpy.System) -> None:
    server, client = system.start(AsyncDoer), system.start(AsyncDoer)

    async def ask(actor: Any) -> None:
        await server.acall(Doer.do, lambda _: None)
        await server.acall(Doer.do, lambda _: asyncio.current_task())  # it is awaited there

    with pytest.raises(CallExitError, match="cannot await on itself"):
        client.call(Doer.do, ask)


def test_a_long_chain_of_calls_does_not_exhaust_the_stack(system: otpy.System) -> None:
    async def pass_on(actor: Any, rest: list[Any]) -> int:
        return 1 + await rest[0].acall(Doer.do, pass_on, rest[1:]) if rest else 1

    refs = [system.start(AsyncDoer) for _ in range(500)]
    assert [refs[0].call(Doer.do, pass_on, refs[1:]) for _ in range(3)] == [500] * 3
