"""The place `loop`: several handlers of one actor in flight, each a task of its own."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.errors import SpecError, TreeFailedError
from otpy.testing import Gate
from support.doer import AsyncDoer, Doer
from support.several import Several
from support.wide import Wide

if TYPE_CHECKING:
    from otpy.testing import VirtualClock


# --- how many


@pytest.mark.parametrize("limit", [0, -1, 1.0, True, "2", None])
def test_what_is_no_number_of_handlers_is_refused(system: otpy.System, limit: Any) -> None:
    cls = type("Odd", (AsyncDoer,), {"max_concurrency": limit})
    with pytest.raises(SpecError, match=r"t/Odd: Odd\.max_concurrency=.*: a whole number > 0"):
        system.start(cls)
    assert system.alive == 0


@pytest.mark.parametrize("place", [None, "loop", "thread"])
def test_a_class_without_coroutine_functions_cannot_have_several(system: otpy.System, place: Any) -> None:
    cls = type("Plain", (Doer,), {"max_concurrency": 2})
    with pytest.raises(SpecError, match=r"Plain\.max_concurrency=2: without a coroutine function .* leave it out"):
        system.start(otpy.child(cls).opts(place=place))
    assert system.alive == 0


def test_no_more_begin_than_the_class_asks_for_and_in_the_order_of_the_mailbox(system: otpy.System) -> None:
    gates = [Gate() for _ in range(5)]
    log: list[int] = []

    async def wait(actor: Any, number: int) -> None:
        log.append(number)
        await gates[number].await_open()

    ref = system.start(Several)
    for number in range(5):
        ref.cast(Doer.run, wait, number)
    system.wait_idle()
    assert log == [0, 1, 2]
    assert len(ref.mailbox or ()) == 2
    gates[1].open()
    system.wait_idle()
    assert log == [0, 1, 2, 3]
    for gate in gates:
        gate.open()
    system.wait_idle()
    assert log == [0, 1, 2, 3, 4]


def test_replies_come_as_each_ends(system: otpy.System) -> None:
    gate = Gate()

    async def answer(actor: Any, word: str) -> str:
        return word

    async def answer_late(actor: Any) -> str:
        await gate.await_open()
        return "late"

    async def main() -> list[str]:
        late = asyncio.create_task(ref.acall(Doer.do, answer_late))
        await asyncio.sleep(0)
        words = [await ref.acall(Doer.do, answer, "soon"), await ref.acall(Doer.do, lambda _: "plain")]
        gate.open()
        return [*words, await late]

    ref = system.start(Several)
    assert asyncio.run(main()) == ["soon", "plain", "late"]


def test_a_plain_handler_begins_after_those_before_it(system: otpy.System) -> None:
    class Mixed(otpy.GenServer):
        max_concurrency = 4

        async def init(self) -> None:
            self.log: list[str] = []

        @otpy.cast
        async def slow(self) -> None:
            self.log.append("slow")
            await asyncio.sleep(0)

        @otpy.call
        def plain(self) -> list[str]:
            return [*self.log, "plain"]

    ref = system.start(Mixed)
    ref.cast(Mixed.slow)
    ref.cast(Mixed.slow)
    assert ref.call(Mixed.plain) == ["slow", "slow", "plain"]


def test_hundreds_in_flight(system: otpy.System) -> None:
    class Wide(AsyncDoer):
        max_concurrency = 1_000

    async def pause(actor: Any, number: int) -> int:
        await asyncio.sleep(0)
        return number

    async def main() -> list[int]:
        return await asyncio.gather(*(ref.acall(Doer.do, pause, number) for number in range(2_000)))

    ref = system.start(Wide)
    assert asyncio.run(main()) == list(range(2_000))


# --- each is a task of its own


def test_each_has_its_own_task_context_and_caller(system: otpy.System) -> None:
    variable: contextvars.ContextVar[int] = contextvars.ContextVar("variable", default=0)
    gate = Gate()

    async def look(actor: Any, number: int) -> tuple[int, int, Any]:
        before = asyncio.current_task()
        variable.set(number)
        own = actor.caller
        await gate.await_open()
        assert asyncio.current_task() is before
        assert actor.caller is own

        async def beside() -> Any:
            return actor.caller

        async with asyncio.TaskGroup() as group:
            asked = group.create_task(beside())
        assert asked.result() is own
        return variable.get(), id(before), own

    async def main() -> list[Any]:
        calls = [asyncio.create_task(ref.acall(Doer.do, look, number)) for number in (1, 2, 3)]
        await asyncio.to_thread(gate.reached, 3)
        gate.open()
        return await asyncio.gather(*calls)

    ref = system.start(Several, deed=lambda _: variable.set(7) and None)
    seen = asyncio.run(main())
    assert [number for number, _, _ in seen] == [1, 2, 3]
    assert len({task for _, task, _ in seen}) == 3
    assert len({id(caller) for _, _, caller in seen}) == 3
    assert ref.call(Doer.do, lambda _: variable.get()) == 7


def test_raw_requests_messages_and_put_off_replies(system: otpy.System) -> None:
    waiting: list[otpy.Caller] = []

    async def put_off(actor: Any, caller: otpy.Caller) -> Any:
        assert actor.caller is caller
        waiting.append(caller)
        return otpy.NoReply()

    ref = system.start(Several)
    future = ref.ask(put_off, block=False)
    ref.tell("told")
    assert ref.ask("raw") == "raw"
    system.wait_idle()
    assert waiting[0].reply("later")
    assert future.get(timeout=5.0) == "later"
    assert ref.call(Doer.read) == ["told"]


def test_a_continuation_runs_in_the_same_handler(system: otpy.System) -> None:
    gate = Gate()
    tasks: list[Any] = []

    async def go_on(actor: Any) -> None:
        tasks.append(asyncio.current_task())
        await gate.await_open()

    async def decide(actor: Any) -> Any:
        tasks.append(asyncio.current_task())
        return otpy.Reply("yes", then=otpy.Continue(go_on))

    ref = system.start(Several)
    assert ref.call(Doer.do, decide) == "yes"
    gate.reached()
    assert tasks[0] is tasks[1]
    assert ref.call(Doer.do, lambda _: "meanwhile") == "meanwhile"
    gate.open()


def test_a_timeout_comes_unless_a_message_begins(timed: otpy.System, clock: VirtualClock) -> None:
    log: list[Any] = []
    ref = timed.start(Several, log)

    async def wait(actor: Any) -> Any:
        return otpy.Reply(None, timeout=2.0)

    ref.call(Doer.do, wait)
    ref.call(Doer.do, lambda _: None)
    clock.advance(3.0)
    assert log == []
    ref.call(Doer.do, wait)
    clock.advance(2.0)
    assert log == ["timeout"]


def test_init_and_terminate_run_alone(system: otpy.System) -> None:
    gate, end = Gate(), Gate()
    log: list[str] = []

    class Careful(AsyncDoer):
        max_concurrency = 3

        async def init(self, log: Any = None, **_: Any) -> None:
            self.log = log
            await gate.await_open()
            log.append("init")

        async def terminate(self, reason: otpy.Reason) -> None:
            await end.await_open()
            self.log.append("terminate")

    async def note(actor: Any) -> None:
        log.append("handler")
        await asyncio.sleep(0)

    begun = threading.Thread(target=lambda: system.start(Careful, log))
    begun.start()
    gate.reached()
    ref = system.find("t/Careful")
    assert ref is not None
    ref.cast(Doer.run, note)
    ref.stop(block=False)
    ref.cast(Doer.run, note)
    system.wait_idle()
    assert log == []
    gate.open()
    end.reached()
    begun.join()
    system.wait_idle()
    assert log == ["init", "handler"]
    end.open()
    system.wait_idle()
    assert log == ["init", "handler", "terminate"]


async def use(ref: otpy.Ref[Wide]) -> None:
    assert await asyncio.gather(*(ref.acall(Wide.work, number) for number in range(12))) == list(range(12))
    assert await ref.acall(Wide.peak) == 4
    both = await asyncio.gather(ref.acall(Wide.hang), ref.acall(Wide.fail), return_exceptions=True)
    assert ["ValueError: boom" in str(error) for error in both] == [True, True]


def test_they_run_on_a_loop_with_a_name(system: otpy.System) -> None:
    asyncio.run(use(system.start(otpy.child(Wide).opts(loop="images"))))


def test_they_run_in_a_process(farm: otpy.System) -> None:
    asyncio.run(use(farm.start(otpy.child(Wide).opts(place="process", start_timeout=60.0))))


def test_they_run_on_the_loop_of_the_users_program() -> None:
    async def main() -> None:
        with pytest.raises(TreeFailedError):
            async with otpy.run_async(Wide, control="off") as system:
                assert system.root is not None
                await use(system.root)

    asyncio.run(main())
