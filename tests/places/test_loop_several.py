"""The place `loop`: several handlers of one actor in flight."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.core.reason import Crashed, Killed, Normal, Shutdown
from otpy.errors import CallExitError, DeadlockError, MailboxFullError, SpecError, TreeFailedError
from otpy.events import ActorCrashed, DeadLetter
from otpy.testing import Gate
from support.doer import BOOM, AsyncDoer, Doer
from support.waits import LONG, hold, note_cancelled, stay
from support.wide import Wide

if TYPE_CHECKING:
    from otpy.testing import Recorder, VirtualClock


class Several(AsyncDoer):
    """A doer with up to three handlers in flight."""

    max_concurrency = 3


class Pair(AsyncDoer):
    """One with up to two."""

    max_concurrency = 2


async def fail(actor: Any) -> None:
    raise ValueError("boom")


async def fail_late(actor: Any, gate: Gate) -> None:
    await gate.await_open()
    raise ValueError("boom")


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
    both = await asyncio.gather(ref.acall(Wide.work, 1), ref.acall(Wide.fail), return_exceptions=True)
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


# --- how it ends


def test_a_crash_of_one_cancels_the_others_and_then_terminate_runs(system: otpy.System, events: Recorder) -> None:
    gate = Gate()
    log: list[Any] = []
    ref = system.start(Several, log)
    calls: list[Any] = []

    async def main() -> None:
        deeds = (lambda a: note_cancelled(a, log), lambda a: fail_late(a, gate))
        calls.extend(asyncio.create_task(ref.acall(Doer.do, deed)) for deed in deeds)
        await asyncio.to_thread(gate.reached)
        gate.open()
        for call in calls:
            with pytest.raises(CallExitError, match="ValueError: boom"):
                await call

    asyncio.run(main())
    assert log == ["cancelled", "cleaned up", ("terminate", ref.reason)]
    assert isinstance(ref.reason, Crashed)
    (report,) = events.of(ActorCrashed)
    assert report.message is not None
    assert report.message.startswith("call do(")
    assert report.callers == ("outside", "outside")


def test_what_waits_is_buried_when_one_has_crashed(system: otpy.System, events: Recorder) -> None:
    gate, never = Gate(), Gate()
    ref = system.start(Pair)
    ref.cast(Doer.run, hold, never)
    ref.cast(Doer.run, fail_late, gate)
    ref.cast(Doer.run, hold, never)
    never.reached()
    gate.reached()
    gate.open()
    system.wait_idle()
    assert isinstance(ref.reason, Crashed)
    assert [letter.message for letter in events.of(DeadLetter)] == ["cast run"]


def test_only_the_first_crash_is_the_reason(system: otpy.System) -> None:
    gate = Gate()
    ref = system.start(Several)

    async def fail_too(actor: Any) -> None:
        try:
            await gate.await_open()
        finally:
            raise KeyError("second")

    monitor = ref.monitor()
    ref.cast(Doer.run, fail_too)
    gate.reached()
    ref.cast(Doer.run, fail)
    assert "boom" in str(monitor.wait().reason)
    gate.open()


@pytest.mark.parametrize("how", ["kill", "exit", "stop decided"])
def test_all_in_flight_are_cancelled(system: otpy.System, how: str) -> None:
    log: list[Any] = []
    ref = system.start(Several)
    monitor = ref.monitor()
    for _ in range(2):
        ref.cast(Doer.run, note_cancelled, log)
    system.wait_idle()

    async def decide(actor: Any) -> Any:
        return otpy.Stop(BOOM)

    {"kill": ref.kill, "exit": lambda: ref.exit(BOOM), "stop decided": lambda: ref.cast(Doer.run, decide)}[how]()
    assert monitor.wait().reason == (Killed() if how == "kill" else BOOM)
    system.wait_idle()
    assert log in (["cancelled", "cleaned up"] * 2, ["cancelled", "cancelled", "cleaned up", "cleaned up"])
    assert system.zombies() == []
    assert ref.actor is None


def test_one_that_decides_to_stop_replies_after_terminate(system: otpy.System) -> None:
    log: list[Any] = []
    ref = system.start(Several, log)
    ref.cast(Doer.run, note_cancelled, log)

    async def decide(actor: Any) -> Any:
        return otpy.Stop(BOOM, "bye")

    assert ref.call(Doer.do, decide) == "bye"
    assert log == ["cancelled", "cleaned up", ("terminate", BOOM)]


def test_a_wish_to_stop_waits_for_those_before_it(system: otpy.System) -> None:
    gate = Gate()
    log: list[Any] = []
    ref = system.start(Several, log)
    for _ in range(2):
        ref.cast(Doer.run, hold, gate)
    gate.reached(2)
    ref.stop(block=False)
    system.wait_idle()
    assert ref.is_alive()
    gate.open()
    system.wait_idle()
    assert ref.reason == Normal()
    assert log == [("terminate", Normal())]


def test_one_that_crashes_while_a_stop_waits_is_the_reason(system: otpy.System) -> None:
    gate = Gate()
    log: list[Any] = []
    ref = system.start(Several, log)
    ref.cast(Doer.run, note_cancelled, log)
    ref.cast(Doer.run, fail_late, gate)
    gate.reached()
    ref.stop(block=False)
    gate.open()
    system.wait_idle()
    assert isinstance(ref.reason, Crashed)
    assert log == ["cancelled", "cleaned up", ("terminate", ref.reason)]


def test_an_exit_signal_cancels_those_that_a_stop_waits_for(system: otpy.System) -> None:
    log: list[Any] = []
    ref = system.start(Several, log)
    ref.cast(Doer.run, note_cancelled, log)
    ref.stop(block=False)
    system.wait_idle()
    ref.exit(BOOM)
    system.wait_idle()
    assert ref.reason == BOOM
    assert log == ["cancelled", "cleaned up"]


def test_the_shutdown_time_cancels_those_of_one_that_traps_exits(timed: otpy.System, clock: VirtualClock) -> None:
    log: list[str] = []
    sup = timed.start(otpy.dynamic())
    ref = sup.call(otpy.DynamicSupervisor.start_child, otpy.child(Several, traps=True).opts(shutdown=2.0))
    assert ref is not None
    for _ in range(2):
        ref.cast(Doer.run, note_cancelled, log)
    timed.wait_idle()
    sup.stop(Shutdown(), block=False)
    timed.wait_idle()
    assert log == []
    clock.advance(2.0)
    assert ref.reason == Killed()
    assert sorted(log) == ["cancelled", "cancelled", "cleaned up", "cleaned up"]


def test_one_that_swallows_its_cancellation_makes_the_actor_a_fenced_zombie(system: otpy.System) -> None:
    gate = Gate()
    log: list[Any] = []
    other = system.start(Doer, log)

    async def swallow(actor: Any) -> None:
        await stay(actor, gate)
        other.cast(Doer.run, lambda self: self.log.append("sent"))

    ref = system.start(Several)
    ref.cast(Doer.run, swallow)
    ref.cast(Doer.run, note_cancelled, log)
    gate.reached()
    system.wait_idle()
    ref.kill()
    gate.reached(2)
    assert [record.path for record in system.zombies()] == [ref.path]
    assert ref.actor is not None
    gate.open()
    system.wait_idle()
    assert system.zombies() == []
    assert log == ["cancelled", "cleaned up"]
    assert ref.actor is None


def test_the_callers_of_all_in_flight_hear_of_a_kill_at_once(system: otpy.System) -> None:
    gate = Gate()
    ref = system.start(Several)
    futures = [ref.ask(lambda a, _: stay(a, gate), block=False) for _ in range(2)]
    gate.reached(2)
    ref.kill()
    for future in futures:
        with pytest.raises(CallExitError):
            future.get(timeout=5.0)
    (record,) = system.exits(ref.path)
    assert (record.message, len(record.waiting)) == ("call request", 2)
    gate.open()


def test_trapped_exits_and_downs_are_handled_beside_those_in_flight(system: otpy.System) -> None:
    gate = Gate()
    log: list[Any] = []
    plain = system.start(Doer)
    ref = system.start(Several, log, traps=True)
    ref.call(Doer.do, lambda self: self.link(plain))
    ref.call(Doer.do, lambda self: self.monitor(plain))
    ref.cast(Doer.run, hold, gate)
    gate.reached()
    plain.stop(BOOM)
    system.wait_idle()
    assert {type(message) for message in log} == {otpy.Down, otpy.ExitSignal}
    gate.open()


def test_one_that_cancels_its_own_task_has_crashed(system: otpy.System) -> None:
    async def cancel_own(actor: Any) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(LONG)

    with pytest.raises(CallExitError, match="CancelledError"):
        system.start(Several).call(Doer.do, cancel_own)


def test_a_cancellation_in_the_first_step_reaches_what_it_awaits(system: otpy.System) -> None:
    log: list[str] = []

    async def beside() -> None:
        try:
            await asyncio.sleep(LONG)
        finally:
            log.append("beside")

    async def wait(actor: Any) -> None:
        inner = asyncio.create_task(beside())
        await asyncio.sleep(0)
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().call_soon(task.cancel)
        await inner

    with pytest.raises(CallExitError, match="CancelledError"):
        system.start(Several).call(Doer.do, wait)
    assert log == ["beside"]


# --- suspended, limited, seen


def test_a_suspended_actor_begins_nothing_and_has_nothing_in_flight(system: otpy.System) -> None:
    gate = Gate()
    log: list[Any] = []
    ref = system.start(Several, log)
    ref.cast(Doer.run, hold, gate)
    gate.reached()
    thread = threading.Thread(target=system.suspend, args=(ref.path,))
    thread.start()
    while not ref.is_suspended():
        system.record(ref.path)
    assert thread.is_alive()
    gate.open()
    thread.join()
    ref.tell("later")
    system.wait_idle()
    assert log == []
    system.resume(ref.path)
    system.wait_idle()
    assert log == ["later"]


def test_a_bounded_mailbox_counts_what_waits_alone(system: otpy.System) -> None:
    gate = Gate()
    ref = system.start(otpy.child(Pair).opts(max_queue=1))
    futures = []
    for number in (1, 2):
        futures.append(ref.ask(lambda a, _: hold(a, gate), block=False))
        gate.reached(number)
    futures.append(ref.ask("third", block=False))
    with pytest.raises(MailboxFullError):
        ref.ask("fourth")
    gate.open()
    assert [future.get(timeout=5.0) for future in futures] == [None, None, "third"]


def test_those_in_flight_are_shown_each_with_its_stack(system: otpy.System) -> None:
    gate = Gate()
    ref = system.start(Several)
    ref.cast(Doer.run, hold, gate)
    future = ref.ask(lambda a, _: stay(a, gate), block=False)
    gate.reached(2)
    system.wait_idle()
    record = system.record(ref.path)
    assert (record.status, record.handlers, record.max_concurrency) == ("running", 2, 3)
    assert (record.current, record.waiting) == ("cast run", "2 of 3 handlers")
    assert record.busy is not None
    stack = system.stack(ref.path)
    assert stack is not None
    first, second = stack.split("in call request")
    assert first.startswith("in cast run\n")
    assert ("in hold" in first, "in stay" in second) == (True, True)
    assert system.state(ref.path).state == ("log = []",)
    gate.open()
    assert future.get(timeout=5.0) is None
    system.wait_idle()
    assert system.record(ref.path).status == "idle"


# --- circles


def test_a_call_to_itself_is_served_while_there_is_room(system: otpy.System) -> None:
    async def ask_self(actor: Any, depth: int) -> int:
        return 1 + int(await actor.ref.acall(Doer.do, ask_self, depth - 1)) if depth else 0

    ref = system.start(Pair)
    assert ref.call(Doer.do, ask_self, 1) == 1
    with pytest.raises(CallExitError, match="DeadlockError"):
        ref.call(Doer.do, ask_self, 2)


def test_a_circle_through_a_handler_is_found_though_there_is_room(system: otpy.System) -> None:
    plain, served = system.start(Doer), system.start(Several)

    async def ask_plain(actor: Any) -> Any:
        return await plain.acall(Doer.do, lambda _: None)

    with pytest.raises(CallExitError, match="DeadlockError"):
        plain.call(Doer.do, lambda _: served.call(Doer.do, ask_plain))


def test_a_call_back_to_one_with_room_is_no_circle(system: otpy.System) -> None:
    plain, served = system.start(Doer), system.start(Pair)

    async def ask_plain(actor: Any) -> Any:
        return await plain.acall(Doer.do, lambda _: served.call(Doer.do, lambda _: "room"))

    assert served.call(Doer.do, ask_plain) == "room"


def test_a_call_to_one_that_is_full_is_a_circle_only_when_all_of_them_wait_for_the_caller(system: otpy.System) -> None:
    gate = Gate()
    plain, served = system.start(Doer), system.start(Pair)

    async def ask_plain(actor: Any) -> Any:
        return await plain.acall(Doer.do, lambda _: served.call(Doer.do, lambda _: "room"))

    free = served.ask(lambda a, _: hold(a, gate), block=False)
    gate.reached()
    future = served.ask(lambda a, _: ask_plain(a), block=False)
    system.wait_idle()
    gate.open()
    assert (free.get(timeout=5.0), future.get(timeout=5.0)) == (None, "room")

    begun = Gate()

    async def ask_when_full(actor: Any, _: Any) -> Any:
        await begun.await_open()
        return await ask_plain(actor)

    both = [served.ask(ask_when_full, block=False) for _ in range(2)]
    begun.reached(2)
    begun.open()
    for one in both:
        with pytest.raises(CallExitError, match="DeadlockError"):
            one.get(timeout=5.0)


@pytest.mark.parametrize("way", ["stop", "wait"])
def test_a_handler_does_not_wait_for_its_own_actors_end(system: otpy.System, way: str) -> None:
    async def wait(actor: Any) -> str:
        with pytest.raises(DeadlockError):
            await (actor.ref.astop() if way == "stop" else actor.ref.monitor().await_down())
        return "refused"

    assert system.start(Several).call(Doer.do, wait) == "refused"
