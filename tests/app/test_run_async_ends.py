"""`otpy.run_async`: how a block ends, and what that does to its body."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import Any

import pytest

import otpy
from otpy.errors import StartError, TreeFailedError
from otpy.runtime.seat import here
from otpy.testing import Gate
from support.blocks import LONG, Log, Own, Tree
from support.doer import BOOM, AsyncDoer, Doer

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
        left = [each.path for each in asyncio.run(main()).left]
    assert left[-1] == "tree/Doer"
    assert left[:-1] in ([], ["tree"])  # which waits for it, and may get no turn in time on a busy machine


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
