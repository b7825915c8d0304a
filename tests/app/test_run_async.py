"""`otpy.run_async`: a tree inside a program of asyncio, on its own event loop."""

from __future__ import annotations

import asyncio
import inspect
import sys
import threading
from contextlib import suppress
from typing import Any

import pytest

import otpy
from otpy.app.settings import RunOptions
from otpy.errors import BlockingError, SpecError, StartError, TreeFailedError
from otpy.runtime.seat import here
from otpy.testing import Gate
from support.doer import BOOM, AsyncDoer, Doer

LONG = 1_000.0


class Ending(otpy.GenServer):
    """Writes down that it ends, on the loop."""

    trap_exit = True

    async def init(self, name: str, log: list[str]) -> None:
        self.name, self.log = name, log

    async def terminate(self, reason: otpy.Reason) -> None:
        await asyncio.sleep(0)
        self.log.append(self.name)


class Tree(otpy.Supervisor):
    max_restarts = 0

    def init(self, log: list[str] | None = None) -> None:
        self.log = [] if log is None else log

    def children(self) -> list[otpy.ChildSpec]:
        return [
            otpy.child(AsyncDoer).opts(name="it"),
            otpy.child(Doer).opts(name="pool"),
            otpy.child(Doer).opts(id="thread", name="thread", place="thread"),
            *(otpy.child(Ending, name, self.log).opts(id=name) for name in "ab"),
        ]


class Log(list[str]):
    """Somebody on the same loop may wait until something stands in it."""

    def append(self, word: str) -> None:
        super().append(word)
        self.event.set()

    async def begun(self) -> None:
        await self.event.wait()

    @property
    def event(self) -> asyncio.Event:
        made = self.__dict__.setdefault("_event", asyncio.Event())
        assert isinstance(made, asyncio.Event)
        return made


class Own(Exception):
    """What a body raises."""


def thread_name(_: Any) -> str:
    return threading.current_thread().name


async def loop_of(_: Any) -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()


# --- where what runs


def test_actors_of_the_loop_run_on_the_loop_of_the_program() -> None:
    async def main() -> None:
        async with otpy.run_async(Tree, control="off") as system:
            assert await system.ref("it").acall(AsyncDoer.do, loop_of) is asyncio.get_running_loop()
            assert await system.ref("pool").acall(Doer.do, thread_name) == "otpy-1"
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


# --- ends


def test_the_end_is_awaited_by_any_number_of_tasks() -> None:
    async def main() -> None:
        async with otpy.run_async(Tree, control="off") as system:
            waits = [asyncio.create_task(system.await_end()) for _ in range(3)]
            await asyncio.sleep(0)
            threading.Timer(0.0, system.request_stop).start()
            assert await asyncio.gather(*waits) == [None] * 3
            assert await system.await_end() is None
            assert await asyncio.to_thread(system.wait) is None

    asyncio.run(main())


def test_the_end_of_a_program_that_blocks_may_be_awaited_on_a_loop() -> None:
    with otpy.run(Tree, control="off") as system:
        threading.Timer(0.0, system.request_stop).start()
        assert asyncio.run(system.await_end()) is None


def test_a_root_that_ends_by_itself_ends_the_wait() -> None:
    async def short() -> None:
        await asyncio.sleep(0)

    async def main() -> None:
        async with otpy.run_async(short, control="off") as system:
            assert await system.await_end() == otpy.Normal()

    asyncio.run(main())


def test_a_tree_that_gave_up_fails_the_block() -> None:
    async def main() -> None:
        async with otpy.run_async(Tree, control="off") as system:
            system.ref("it").kill()
            assert isinstance(await system.await_end(), otpy.Shutdown)

    with pytest.raises(TreeFailedError, match="tree reached the restart limit"):
        asyncio.run(main())


def test_a_tree_that_does_not_start_leaves_nothing() -> None:
    async def main() -> None:
        before = here()
        with pytest.raises(StartError, match="boom"):
            async with otpy.run_async(otpy.child(AsyncDoer, deed=lambda _: otpy.Stop(BOOM)), control="off"):
                pass
        assert here() is before
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())


def test_the_tree_stops_in_reverse_before_an_error_of_the_body_goes_on() -> None:
    log: list[str] = []

    async def main() -> None:
        try:
            async with otpy.run_async(Tree, log, control="off"):
                raise Own
        except Own:
            log.append("own")

    asyncio.run(main())
    assert log == ["b", "a", "own"]


@pytest.mark.parametrize("way", ["cancel", "group"])
def test_the_tree_stops_in_reverse_before_a_cancellation_goes_on(way: str) -> None:
    log = Log()

    async def serve() -> None:
        try:
            async with otpy.run_async(Tree, log, control="off") as system:
                log.append("up")
                await system.await_end()
        except asyncio.CancelledError:
            log.append("cancelled")
            raise

    async def by_cancel() -> None:
        task = asyncio.create_task(serve())
        await log.begun()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    async def by_group() -> None:
        with pytest.raises(ExceptionGroup):
            async with asyncio.TaskGroup() as group:
                group.create_task(serve())
                await log.begun()
                raise Own

    asyncio.run(by_cancel() if way == "cancel" else by_group())
    assert log == ["up", "b", "a", "cancelled"]


def test_a_cancellation_while_the_tree_stops_goes_on_when_it_has_stopped() -> None:
    log: list[str] = []
    gate = Gate()

    async def end(_: Any) -> None:
        await gate.await_open()
        log.append("ended")

    class Slow(AsyncDoer):
        trap_exit = True

        async def terminate(self, reason: otpy.Reason) -> None:
            await end(self)

    async def serve() -> None:
        async with otpy.run_async(otpy.child(Slow, traps=True).opts(shutdown=LONG), control="off"):
            pass

    async def main() -> None:
        task = asyncio.create_task(serve())
        await asyncio.to_thread(gate.reached)
        for _ in range(3):
            task.cancel()
            await asyncio.sleep(0)
        gate.open()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert log == ["ended"]


def test_a_start_can_be_cancelled() -> None:
    log = Log()

    async def hang(_: Any) -> None:
        log.append("hangs")
        try:
            await asyncio.sleep(LONG)
        finally:
            log.append("cleaned up")

    async def serve() -> None:
        async with otpy.run_async(otpy.child(AsyncDoer, deed=hang), control="off"):
            log.append("never")

    async def main() -> None:
        task = asyncio.create_task(serve())
        await log.begun()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())
    assert log == ["hangs", "cleaned up"]


def test_what_does_not_stop_is_left_over_after_the_deadline() -> None:
    gate = Gate()

    async def main() -> otpy.Application:
        async with otpy.run_async(Tree, control="off", shutdown=0.05) as system:
            system.ref("pool").cast(Doer.run, lambda _: gate.wait())
            await asyncio.to_thread(gate.reached)
        return system

    with gate:
        assert [left.path for left in asyncio.run(main()).left] == ["tree/Doer"]


def test_a_handler_that_does_not_end_is_cancelled_at_the_deadline() -> None:
    log = Log()

    async def hang(_: Any) -> None:
        log.append("hangs")
        try:
            await otpy.asleep(LONG)
        finally:
            log.append("cleaned up")

    async def main() -> None:
        async with otpy.run_async(Tree, control="off", shutdown=0.05) as system:
            system.ref("it").cast(Doer.run, hang)
            await log.begun()

    asyncio.run(main())
    assert log == ["hangs", "cleaned up"]


def test_a_system_may_be_stopped_in_its_block() -> None:
    async def main() -> None:
        async with otpy.run_async(Tree, control="off") as system:
            assert await system.astop() == []
            assert system.alive == 0

    asyncio.run(main())


# --- a body that does not wait for the end


async def until_cancelled(log: list[str]) -> None:
    try:
        await asyncio.sleep(LONG)
    except asyncio.CancelledError:
        log.append("cancelled")
        raise


def test_a_body_that_never_waits_is_cancelled_when_told_to_stop() -> None:
    log: list[str] = []

    async def main() -> None:
        async with otpy.run_async(Tree, log, control="off") as system:
            threading.Timer(0.0, system.request_stop).start()
            await until_cancelled(log)

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(main())
    assert log == ["cancelled", "b", "a"]


def test_a_body_that_never_waits_is_cancelled_when_the_tree_fails() -> None:
    """As in a TaskGroup: the failure is what comes out, and nothing of the cancellation stays."""
    log: list[str] = []

    async def main() -> None:
        with pytest.raises(TreeFailedError, match="restart limit"):
            async with otpy.run_async(Tree, control="off") as system:
                system.ref("it").kill()
                await until_cancelled(log)
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0

    asyncio.run(main())
    assert log == ["cancelled"]


def test_a_body_that_has_ever_waited_decides_itself() -> None:
    async def main() -> str:
        async with otpy.run_async(Tree, control="off") as system:
            with suppress(TimeoutError):
                await asyncio.wait_for(system.await_end(), 0.001)
            system.request_stop()
            for _ in range(10):
                await asyncio.sleep(0)
            return "in its own time"

    assert asyncio.run(main()) == "in its own time"


def test_a_root_that_ends_clean_cancels_nobody() -> None:
    async def short() -> None:
        await asyncio.sleep(0)

    async def main() -> str:
        async with otpy.run_async(short, control="off") as system:
            assert system.root is not None
            await system.root.monitor().await_down()
            for _ in range(10):
                await asyncio.sleep(0)
            return "went on"

    assert asyncio.run(main()) == "went on"


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
