"""`otpy.run_async`: a tree inside a program of asyncio, on its own event loop."""

from __future__ import annotations

import asyncio
import inspect
import re
import sys
import threading
from typing import Any

import pytest

import otpy
from otpy.app.settings import RunOptions
from otpy.errors import BlockingError, SpecError
from otpy.runtime.seat import here
from otpy.testing import Gate
from support.blocks import Log, Tree, loop_of, thread_name
from support.doer import AsyncDoer, Doer

# --- where what runs


def test_actors_of_the_loop_run_on_the_loop_of_the_program() -> None:
    async def main() -> None:
        async with otpy.run_async(Tree, control="off") as system:
            assert await system.ref("it").acall(AsyncDoer.do, loop_of) is asyncio.get_running_loop()
            assert re.fullmatch(r"otpy-\d+", await system.ref("pool").acall(Doer.do, thread_name))
            assert "-thread" in await system.ref("thread").acall(Doer.do, thread_name)
            assert (await system.ref("it").aask("raw"), await system.ref("thread").aask("raw")) == ("raw", "raw")

    asyncio.run(main())


def test_nothing_of_a_block_is_left_on_the_loop() -> None:
    async def main() -> None:
        before = here()
        async with otpy.run_async(Tree, control="off") as system:
            await system.ref("it").acall(Doer.read)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        assert here() is before
        assert not system.threads

    asyncio.run(main())


def test_a_blocking_call_in_the_body_raises_and_names_the_other_form() -> None:
    async def main() -> None:
        other = otpy.System("other")
        async with otpy.run_async(Tree, control="off") as system:
            for blocks in (
                lambda: system.ref("pool").call(Doer.read),
                lambda: other.start(Doer),
                system.wait,
                system.stop,
            ):
                with pytest.raises(BlockingError, match="await"):
                    blocks()
        assert other.start(Doer).call(Doer.read) == []  # outside of the block it is the program's own business
        other.stop()

    asyncio.run(main())


def test_awaiting_an_actor_that_blocks_does_not_block_the_loop() -> None:
    gate = Gate()

    async def main() -> str:
        async with otpy.run_async(Tree, control="off") as system:
            call = asyncio.create_task(system.ref("pool").acall(Doer.do, lambda _: gate.wait() or "done"))
            await asyncio.to_thread(gate.reached)
            gate.open()
            return str(await call)

    assert asyncio.run(main()) == "done"


def test_neither_start_nor_stop_block_the_loop() -> None:
    opened: list[str] = []

    class Slow(otpy.GenServer):
        """Goes on only when the loop has run a while beside it."""

        trap_exit = True

        def init(self, loop: asyncio.AbstractEventLoop) -> None:
            self.loop = loop
            self.meet("init")

        def terminate(self, reason: otpy.Reason) -> None:
            self.meet("terminate")

        def meet(self, word: str) -> None:
            done = threading.Event()
            self.loop.call_soon_threadsafe(done.set)
            opened.append(word if done.wait(10.0) else "blocked")

    async def main() -> None:
        async with otpy.run_async(Slow, asyncio.get_running_loop(), control="off"):
            pass

    asyncio.run(main())
    assert opened == ["init", "terminate"]


def test_several_systems_share_the_loop_and_may_leave_in_any_order() -> None:
    async def main() -> None:
        before = here()
        one = otpy.run_async(Tree, name="one", control="off")
        other = otpy.run_async(Tree, name="other", control="off")
        first, second = await one.__aenter__(), await other.__aenter__()

        async def ask(_: Any) -> Any:
            return await second.ref("it").acall(Doer.do, loop_of)

        assert await first.ref("it").acall(Doer.do, ask) is asyncio.get_running_loop()
        await one.__aexit__(None, None, None)
        assert await second.ref("it").acall(Doer.read) == []
        with pytest.raises(BlockingError):
            second.ref("it").call(Doer.read)
        await other.__aexit__(None, None, None)
        assert here() is before

    asyncio.run(main())


def test_a_program_may_run_on_another_thread_and_in_an_actor() -> None:
    results: list[object] = []

    async def main() -> None:
        async with otpy.run_async(Tree, control="off") as system:
            results.append(await system.ref("it").acall(Doer.do, lambda _: "here"))

    thread = threading.Thread(target=lambda: asyncio.run(main()))
    thread.start()
    thread.join()
    outer = otpy.System("outer")
    outer.start(Doer).call(Doer.do, lambda _: asyncio.run(main()))
    outer.start(AsyncDoer).call(Doer.do, lambda _: main())
    assert outer.start(AsyncDoer).call(Doer.do, lambda _: "still works") == "still works"
    assert outer.stop() == []
    assert results == ["here"] * 3


@pytest.mark.skipif(sys.version_info < (3, 12), reason="eager tasks came with 3.12")
def test_tasks_of_the_program_may_begin_at_once() -> None:
    async def main() -> None:
        asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)  # type: ignore[attr-defined, unused-ignore]
        async with otpy.run_async(Tree, control="off") as system:
            calls = [asyncio.create_task(system.ref("it").acall(Doer.do, loop_of)) for _ in range(3)]
            assert set(await asyncio.gather(*calls)) == {asyncio.get_running_loop()}

    asyncio.run(main())


def test_an_actor_may_have_several_messages_in_hand() -> None:
    gate = Gate()

    class Many(AsyncDoer):
        max_concurrency = 3

    async def main() -> None:
        async with otpy.run_async(Many, control="off") as system:
            ref: Any = system.root
            calls = [asyncio.create_task(ref.acall(Doer.do, lambda _: gate.await_open())) for _ in range(3)]
            await asyncio.to_thread(gate.reached, 3)
            assert await asyncio.wait_for(asyncio.to_thread(lambda: len(system.records())), 5.0) == 1
            gate.open()
            await asyncio.gather(*calls)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())


# --- what may become of the loop


def test_tasks_that_the_program_cancels_harm_no_actor_that_rests() -> None:
    async def main() -> None:
        async with otpy.run_async(Tree, control="off") as system:
            await asyncio.gather(*(system.ref("it").acall(Doer.read) for _ in range(3)))
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                task.cancel()
            assert await system.ref("it").acall(Doer.do, loop_of) is asyncio.get_running_loop()
            system.ref("it").cast(Doer.run, lambda _: None)  # a worker begins, and is cancelled before its first step
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                task.cancel()
            assert await system.ref("it").acall(Doer.do, loop_of) is asyncio.get_running_loop()

    asyncio.run(main())


def test_a_block_in_a_task_that_asyncio_cancels_at_the_end_stops_in_order() -> None:
    log = Log()

    async def serve() -> None:
        async with otpy.run_async(Tree, log, control="off") as system:
            log.append("up")
            await system.await_end()

    async def main() -> None:
        task = asyncio.create_task(serve())
        await log.begun()
        assert not task.done()

    asyncio.run(main())
    assert log == ["up", "b", "a"]


def test_a_block_that_is_never_left_is_left_when_its_loop_is_wound_up() -> None:
    """By asyncio itself, which closes what has been suspended."""
    log: list[str] = []
    block: list[Any] = []

    async def main() -> None:
        block.append(otpy.run_async(Tree, log, control="off"))
        await block[0].__aenter__()

    asyncio.run(main())
    assert log == ["b", "a"]


# --- its options


def test_it_has_the_options_of_run() -> None:
    parameters = inspect.signature(otpy.run).parameters.values()
    assert set(RunOptions.__annotations__) == {one.name for one in parameters if one.kind is one.KEYWORD_ONLY}


@pytest.mark.parametrize("options", [{"name": ""}, {"shutdown": -1}, {"max_threads": 0}, {"control": "most"}])
def test_options_that_cannot_work_are_refused(options: Any) -> None:
    async def main() -> None:
        async with otpy.run_async(Tree, **options):
            pass

    with pytest.raises(SpecError):
        asyncio.run(main())
