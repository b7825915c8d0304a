"""The place `loop`: a handler is a task like any other."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import sys
import threading
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.errors import CallExitError
from support.doer import AsyncDoer, Doer
from support.waits import LONG

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class Several(AsyncDoer):
    """The same with up to three handlers in flight, each of which has a task of its own."""

    max_concurrency = 3


@pytest.fixture(params=[AsyncDoer, Several])
def ref(request: pytest.FixtureRequest, system: otpy.System) -> otpy.Ref[Doer]:
    found: otpy.Ref[Doer] = system.start(request.param)
    return found


def test_timeouts_of_asyncio_work_inside(ref: otpy.Ref[Doer]) -> None:
    async def wait(actor: Any) -> str:
        try:
            async with asyncio.timeout(0.001):
                await asyncio.Event().wait()
        except TimeoutError:
            return "in time"
        return "never"

    assert [ref.call(Doer.do, wait) for _ in range(3)] == ["in time"] * 3


def test_a_timeout_that_is_over_at_once_works_inside(ref: otpy.Ref[Doer]) -> None:
    async def wait(actor: Any) -> str:
        try:
            async with asyncio.timeout(0):
                await asyncio.Event().wait()
        except TimeoutError:
            return "in time"
        return "never"

    assert [ref.call(Doer.do, wait) for _ in range(3)] == ["in time"] * 3


def test_a_cancelled_handler_cancels_what_it_awaits_whoever_has_lent_it_the_step(system: otpy.System) -> None:
    """What was called is handled in its caller's step, and is a task of its own all the same."""
    server, client = system.start(AsyncDoer), system.start(AsyncDoer)

    async def wait(actor: Any) -> tuple[bool, bool]:
        own, awaited = asyncio.current_task(), asyncio.get_running_loop().create_future()
        assert own is not None
        own.cancel()
        try:
            await awaited
        except asyncio.CancelledError:
            left = own.uncancel()
            await asyncio.sleep(0)
            return awaited.cancelled(), left == 0
        return False, False

    async def ask(actor: Any) -> Any:
        return await server.acall(AsyncDoer.do, wait)

    assert [client.call(AsyncDoer.do, ask) for _ in range(5)] == [(True, True)] * 5


def test_groups_of_tasks_work_inside(system: otpy.System, ref: otpy.Ref[Doer]) -> None:
    server = system.start(Doer)

    async def ask_many(actor: Any) -> list[int]:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(server.acall(Doer.do, lambda _, n: n, n)) for n in range(10)]
        return [task.result() for task in tasks]

    assert ref.call(Doer.do, ask_many) == list(range(10))


def test_a_failure_in_a_group_of_tasks_cancels_the_handlers_own_wait(ref: otpy.Ref[Doer]) -> None:
    async def fail() -> None:
        await asyncio.sleep(0)
        raise ValueError("in the group")

    async def wait(actor: Any) -> list[str]:
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(fail())
                await asyncio.Event().wait()
        except* ValueError as found:
            texts = [str(error) for error in found.exceptions]
        task = asyncio.current_task()
        assert task is not None
        return [*texts, str(task.cancelling())]

    assert ref.call(Doer.do, wait) == ["in the group", "0"]
    assert ref.call(Doer.do, lambda _: "alive") == "alive"


@pytest.mark.parametrize("way", ["to_thread", "run_in_executor"])
def test_what_blocks_may_run_on_another_thread(system: otpy.System, ref: otpy.Ref[Doer], way: str) -> None:
    server = system.start(Doer)

    def block() -> tuple[str, str]:
        return threading.current_thread().name, server.call(Doer.do, lambda _: "answer")

    async def wait(actor: Any) -> tuple[str, str]:
        if way == "to_thread":
            return await asyncio.to_thread(block)
        return await asyncio.get_running_loop().run_in_executor(None, block)

    thread, answer = ref.call(Doer.do, wait)
    assert thread.startswith("asyncio")
    assert answer == "answer"


def test_a_thread_has_a_copy_of_the_handlers_context(ref: otpy.Ref[Doer]) -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")

    async def wait(actor: Any) -> str:
        variable.set("mine")
        return await asyncio.to_thread(variable.get)

    assert ref.call(Doer.do, wait) == "mine"


def test_a_kill_does_not_wait_for_a_thread_that_a_handler_awaits(system: otpy.System, ref: otpy.Ref[Doer]) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def block() -> None:
        begun.set()
        go_on.wait(30.0)

    ref.cast(Doer.run, lambda _: asyncio.to_thread(block))
    assert begun.wait(30.0)
    ref.kill()
    system.wait_idle()
    assert system.zombies() == []
    go_on.set()


def test_async_generators_work_inside_and_are_closed(ref: otpy.Ref[Doer]) -> None:
    log: list[str] = []

    async def count() -> AsyncIterator[int]:
        try:
            for number in range(10):
                await asyncio.sleep(0)
                yield number
        finally:
            await asyncio.sleep(0)
            log.append("closed")

    async def read(actor: Any) -> list[int]:
        numbers = [number async for number in count()]
        async with aclosing(count()) as some:
            async for number in some:
                if number == 2:
                    break
        return numbers

    assert ref.call(Doer.do, read) == list(range(10))
    assert log == ["closed", "closed"]


def test_one_that_is_dropped_in_the_middle_is_closed_by_the_loop(system: otpy.System, ref: otpy.Ref[Doer]) -> None:
    closed = threading.Event()

    async def endless() -> AsyncIterator[None]:
        try:
            while True:
                yield
        finally:
            await asyncio.sleep(0)
            closed.set()

    async def read(actor: Any) -> None:
        async for _ in endless():
            break

    ref.call(Doer.do, read)
    gc.collect()
    assert closed.wait(30.0)


def test_a_handler_may_cancel_its_own_task_and_take_that_back(ref: otpy.Ref[Doer]) -> None:
    async def cancel(actor: Any) -> list[Any]:
        task = asyncio.current_task()
        assert task is not None
        task.cancel("by itself")
        counts: list[Any] = [task.cancelling()]
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError as error:
            counts += [*error.args, task.uncancel()]
        await asyncio.sleep(0)
        return counts

    assert [ref.call(Doer.do, cancel) for _ in range(3)] == [[1, "by itself", 0]] * 3


def test_a_handler_that_cancels_its_own_task_and_leaves_it_so_has_crashed(ref: otpy.Ref[Doer]) -> None:
    async def cancel(actor: Any) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.Event().wait()

    with pytest.raises(CallExitError, match="CancelledError"):
        ref.call(Doer.do, cancel)


def test_a_handler_may_shield_and_wait_for_others(ref: otpy.Ref[Doer]) -> None:
    async def answer() -> str:
        await asyncio.sleep(0)
        return "kept"

    async def wait(actor: Any) -> tuple[str, str]:
        kept = await asyncio.shield(answer())
        return kept, await asyncio.wait_for(answer(), 5.0)

    assert ref.call(Doer.do, wait) == ("kept", "kept")


@pytest.mark.skipif(sys.version_info < (3, 12), reason="there are no eager tasks")
def test_eager_tasks_work_inside_and_are_the_actors(ref: otpy.Ref[Doer]) -> None:
    log: list[Any] = []

    async def beside(actor: Any) -> Any:
        log.append(otpy.current())
        await asyncio.sleep(0)
        return asyncio.current_task()

    async def start(actor: Any) -> None:
        own = asyncio.current_task()
        eager: Any = asyncio.Task  # 3.11 has no such option, and mypy looks with its eyes
        task = eager(beside(actor), loop=asyncio.get_running_loop(), eager_start=True)
        log.append("started")
        assert asyncio.current_task() is own
        assert await task is task

    ref.call(Doer.do, start)
    assert log == [ref, "started"]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="there are no eager tasks")
def test_a_loop_all_of_whose_tasks_are_eager_runs_actors(system: otpy.System, ref: otpy.Ref[Doer]) -> None:
    async def make_eager(actor: Any) -> None:
        asyncio.get_running_loop().set_task_factory(getattr(asyncio, "eager_task_factory"))  # noqa: B009 - as above

    async def pause(actor: Any, number: int) -> int:
        await asyncio.sleep(0)
        return number

    async def ask_many(actor: Any) -> list[int]:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(other.acall(Doer.do, pause, n)) for n, other in enumerate(others)]
        return [task.result() for task in tasks]

    ref.call(Doer.do, make_eager)
    others = [system.start(AsyncDoer) for _ in range(10)]
    assert ref.call(Doer.do, ask_many) == list(range(10))


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
    assert begun.wait(30.0)
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


def test_a_handler_that_stops_the_loop_keeps_nobody_from_going_on(
    system: otpy.System, ref: otpy.Ref[Doer], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("ERROR", "otpy")
    other = system.start(AsyncDoer)

    async def stop(actor: Any) -> str:
        asyncio.get_running_loop().stop()
        await asyncio.sleep(0)
        return "done"

    assert [ref.call(Doer.do, stop) for _ in range(3)] == ["done"] * 3
    assert other.call(Doer.do, lambda _: 1) == 1
    assert system.start(AsyncDoer).call(Doer.do, lambda _: 1) == 1
    assert "has stopped the event loop" in caplog.text
